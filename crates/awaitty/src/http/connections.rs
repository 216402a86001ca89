//! How many may be connected: when there are too many, the one that has said nothing for longest goes.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use http_body::{Frame, SizeHint};
use tokio::task::AbortHandle;

/// Connections at a time. Half of the descriptors that a process usually has; terminals need some, too.
pub(super) const CONNECTIONS_MAX: usize = 512;

/// The requests that a connection waits for the answers of.
#[derive(Clone, Debug, Default)]
pub(super) struct Busy(Arc<AtomicUsize>);

impl Busy {
    /// A request has come, and is there until its answer is gone.
    pub(super) fn enter(&self) -> Request {
        self.0.fetch_add(1, Ordering::Relaxed);
        Request(self.clone())
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Request(Busy);

impl Drop for Request {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
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
        let idle = all.iter().position(|(busy, _)| busy.0.load(Ordering::Relaxed) == 0);
        let Some((_, task)) = idle.and_then(|idle| all.remove(idle)) else { return false };
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
