//! Starts slow responses early, as an SSE stream of comments.
//!
//! In the newest protocol a server sends nothing until it has the response, and clients close a silent connection. So a
//! response that takes longer than [`EARLY_AFTER`] starts as an SSE stream that carries comments until the response is
//! ready. The stream then carries the same message.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval};

/// An HTTP response.
pub(super) type HttpResponse = Response<Body>;

/// Time after which a response starts early. Most are ready by then and keep their own status.
const EARLY_AFTER: Duration = Duration::from_secs(1);

/// JSON-RPC code of an internal error.
const INTERNAL_ERROR: i32 = -32603;

type ResponseFuture = Pin<Box<dyn Future<Output = HttpResponse> + Send>>;

/// Returns the response, or the start of an SSE stream that will carry it.
pub(super) async fn respond(mut response: ResponseFuture, pause: Duration) -> HttpResponse {
    tokio::select! {
        biased;
        ready = &mut response => ready,
        () = tokio::time::sleep_until(Instant::now() + EARLY_AFTER) => {
            let comments = tokio::time::interval_at(Instant::now(), pause);
            let body = EarlyBody { state: BodyState::Waiting(response), comments };
            let mut response = Response::new(Body::new(body));
            let headers = response.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            response
        }
    }
}

/// The body of an SSE stream that started before its response was ready.
struct EarlyBody {
    state: BodyState,
    comments: Interval,
}

enum BodyState {
    Waiting(ResponseFuture),
    /// The response is an SSE stream itself.
    Events(Body),
    /// The response is one message, sent as one event.
    Message(Pin<Box<dyn Future<Output = Bytes> + Send>>),
    Ended,
}

impl BodyState {
    fn of(response: HttpResponse) -> BodyState {
        let kind = response.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if is_stream && response.status() == StatusCode::OK {
            return BodyState::Events(response.into_body());
        }
        BodyState::Message(Box::pin(async {
            let whole = response.into_body().collect().await.map(|whole| whole.to_bytes());
            let whole = whole.unwrap_or_default();
            // Not a message, so it is an error text. The status has been sent already, so the error goes into a
            // message.
            let message = serde_json::from_slice(&whole).ok().filter(Value::is_object);
            let message = message.unwrap_or_else(|| {
                let why = String::from_utf8_lossy(&whole);
                json!({"jsonrpc": "2.0", "error": {"code": INTERNAL_ERROR, "message": why}})
            });
            Bytes::from(format!("data: {message}\n\n"))
        }))
    }
}

impl http_body::Body for EarlyBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            match &mut self.state {
                BodyState::Waiting(response) => match response.as_mut().poll(task) {
                    Poll::Ready(response) => self.state = BodyState::of(response),
                    Poll::Pending => {
                        return self.comments.poll_tick(task).map(|_| {
                            Some(Ok(Frame::data(Bytes::from_static(b": still waiting\n\n"))))
                        });
                    }
                },
                BodyState::Events(body) => return Pin::new(body).poll_frame(task),
                BodyState::Message(message) => {
                    let Poll::Ready(event) = message.as_mut().poll(task) else {
                        return Poll::Pending;
                    };
                    self.state = BodyState::Ended;
                    return Poll::Ready(Some(Ok(Frame::data(event))));
                }
                BodyState::Ended => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(15);

    fn response(kind: &'static str, text: &'static str) -> HttpResponse {
        let mut response = Response::new(Body::from(text));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        response
    }

    async fn after(seconds: u64, kind: &'static str, text: &'static str) -> (String, String) {
        let response = Box::pin(async move {
            tokio::time::sleep_until(Instant::now() + Duration::from_secs(seconds)).await;
            response(kind, text)
        });
        let started = respond(response, PAUSE).await;
        let kind = started.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = started.into_body().collect().await.unwrap().to_bytes();
        (kind, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn a_fast_response_is_unchanged() {
        let (kind, text) = after(0, "application/json", "{}").await;
        assert_eq!((kind.as_str(), text.as_str()), ("application/json", "{}"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_response_starts_with_comments() {
        let waited = ": still waiting\n\n";
        let (kind, text) = after(40, "application/json", "{\n}").await;
        assert_eq!(kind, "text/event-stream");
        assert_eq!(text, format!("{}data: {{}}\n\n", waited.repeat(3)));
        let (_, text) = after(2, "text/plain", "too\nlong").await;
        let error = json!({"jsonrpc": "2.0", "error": {"code": -32603, "message": "too\nlong"}});
        assert_eq!(text, format!("{waited}data: {error}\n\n"));
        let (_, text) = after(310, "text/event-stream", "data: 1\n\n").await;
        assert_eq!(text, format!("{}data: 1\n\n", waited.repeat(21)));
    }
}
