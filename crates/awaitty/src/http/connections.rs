//! Limits the number of connections. When it is reached, the least important idle connection is closed: an
//! unauthenticated one first, then the one that has been idle for longest.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::task::AbortHandle;

/// Connections at a time: half of the usual limit of 1024 file descriptors, since terminals need some, too.
pub(super) const CONNECTIONS_MAX: usize = 512;

/// A handle to the state of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct ConnectionHandle(Arc<ConnectionInfo>);

#[derive(Debug, Default)]
struct ConnectionInfo {
    /// Requests in progress.
    requests: AtomicUsize,
    /// A request with a valid token has arrived.
    is_authenticated: AtomicBool,
    /// [`CLOCK`] at the last request.
    last_request: AtomicUsize,
}

/// Number of requests so far, as a logical clock.
static CLOCK: AtomicUsize = AtomicUsize::new(1);

impl ConnectionHandle {
    /// Counts a request as in progress until its response has been sent.
    pub(super) fn start_request(&self) -> RequestGuard {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        self.0.last_request.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        RequestGuard(self.clone())
    }

    /// Records that a request had a valid token.
    pub(super) fn mark_authenticated(&self) {
        self.0.is_authenticated.store(true, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) == 0
    }

    /// Returns the sort key for eviction; the connection with the lowest one is closed.
    fn eviction_rank(&self) -> (bool, usize) {
        (
            self.0.is_authenticated.load(Ordering::Relaxed),
            self.0.last_request.load(Ordering::Relaxed),
        )
    }
}

/// A request in progress, counted until this is dropped.
#[derive(Debug)]
pub(super) struct RequestGuard(ConnectionHandle);

impl Drop for RequestGuard {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RequestGuard {
    /// Wraps the response body so that the request ends with it.
    pub(super) fn guard_body(self, body: Body) -> Body {
        Body::new(GuardedBody { body, _guard: self })
    }
}

struct GuardedBody {
    body: Body,
    _guard: RequestGuard,
}

impl http_body::Body for GuardedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(task)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Open connections, oldest first.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<VecDeque<(ConnectionHandle, AbortHandle)>>);

impl Connections {
    /// Closes an idle connection if the limit is reached. Returns whether there is room for another one.
    pub(super) fn make_room(&self) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, task)| !task.is_finished());
        if all.len() < CONNECTIONS_MAX {
            return true;
        }
        let idle = all.iter().enumerate().filter(|(_, (handle, _))| handle.is_idle());
        let evicted = idle.min_by_key(|(_, (handle, _))| handle.eviction_rank()).map(|(i, _)| i);
        let Some((_, task)) = evicted.and_then(|index| all.remove(index)) else { return false };
        task.abort();
        true
    }

    pub(super) fn add(&self, handle: ConnectionHandle, task: AbortHandle) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((handle, task));
    }

    /// Closes all connections.
    pub(super) fn end(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.drain(..).for_each(|(_, task)| task.abort());
    }
}
