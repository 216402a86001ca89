//! How many may be connected: when there are too many, one goes that waits for nothing: a stranger, or whoever has
//! said nothing for longest.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::task::AbortHandle;

/// Connections at a time. Half of the descriptors that a process usually has; terminals need some, too.
pub(super) const CONNECTIONS_MAX: usize = 512;

/// What is known of a connection.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy(Arc<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The requests that it waits for the answers of.
    requests: AtomicUsize,
    /// It has shown a token.
    is_trusted: AtomicBool,
    /// When it asked for something last, by a clock of requests.
    asked: AtomicUsize,
}

/// Counts all requests.
static CLOCK: AtomicUsize = AtomicUsize::new(1);

impl Busy {
    /// A request has come, and is there until its answer is gone.
    pub(super) fn enter(&self) -> Request {
        self.0.requests.fetch_add(1, Ordering::Relaxed);
        self.0.asked.store(CLOCK.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        Request(self.clone())
    }

    /// It has shown a token.
    pub(super) fn trust(&self) {
        self.0.is_trusted.store(true, Ordering::Relaxed);
    }

    fn is_idle(&self) -> bool {
        self.0.requests.load(Ordering::Relaxed) == 0
    }

    /// The least of them goes first: who has shown no token, then who has asked for nothing for longest.
    fn worth(&self) -> (bool, usize) {
        (self.0.is_trusted.load(Ordering::Relaxed), self.0.asked.load(Ordering::Relaxed))
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Request(Busy);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Request {
    /// The body of the answer: with its end the request is over.
    pub(super) fn answer(self, body: Body) -> Body {
        Body::new(Held { body, _request: self })
    }
}

struct Held {
    body: Body,
    _request: Request,
}

impl http_body::Body for Held {
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

/// Those who are connected, oldest first.
#[derive(Debug, Default)]
pub(super) struct Connections(Mutex<VecDeque<(Busy, AbortHandle)>>);

impl Connections {
    /// Makes room for one more; says whether there is any.
    pub(super) fn make_room(&self) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(_, task)| !task.is_finished());
        if all.len() < CONNECTIONS_MAX {
            return true;
        }
        let idle = all.iter().enumerate().filter(|(_, (busy, _))| busy.is_idle());
        let least = idle.min_by_key(|(_, (busy, _))| busy.worth()).map(|(i, _)| i);
        let Some((_, task)) = least.and_then(|least| all.remove(least)) else { return false };
        task.abort();
        true
    }

    pub(super) fn add(&self, busy: Busy, task: AbortHandle) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push_back((busy, task));
    }

    /// Ends all of them.
    pub(super) fn end(&self) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.drain(..).for_each(|(_, task)| task.abort());
    }
}
