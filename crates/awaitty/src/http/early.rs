//! Answers that take long begin early.
//!
//! In the newest protocol a server says nothing until it has the answer, and clients give up a connection on which nothing
//! comes. So an answer that is not there after a moment begins as a stream of events, in which comments come until it
//! is there. What comes then is in the stream what it would have been without it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::{HeaderValue, Response, StatusCode, header};
use http_body::Frame;
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tokio::time::{Instant, Interval};

/// An answer.
pub(super) type Answer = Response<Body>;

/// How long an answer may take before it begins early. Most are there by then, with a status of their own.
const PATIENCE: Duration = Duration::from_secs(1);

/// The code of JSON-RPC for what is not the caller's fault.
const INTERNAL_ERROR: i32 = -32603;

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// The answer, or the beginning of one.
pub(super) async fn begin(mut answering: Answering, pause: Duration) -> Answer {
    tokio::select! {
        biased;
        answer = &mut answering => answer,
        () = tokio::time::sleep_until(Instant::now() + PATIENCE) => {
            let comments = tokio::time::interval_at(Instant::now(), pause);
            let body = Early { part: Part::Waiting(answering), comments };
            let mut answer = Response::new(Body::new(body));
            let headers = answer.headers_mut();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            answer
        }
    }
}

/// A stream of events that has begun before there was one.
struct Early {
    part: Part,
    comments: Interval,
}

enum Part {
    Waiting(Answering),
    /// It is a stream itself.
    Events(Body),
    /// It is one message, which becomes an event.
    Message(Pin<Box<dyn Future<Output = Bytes> + Send>>),
    Over,
}

impl Part {
    fn of(answer: Answer) -> Part {
        let kind = answer.headers().get(header::CONTENT_TYPE);
        let is_stream = kind.is_some_and(|kind| kind.as_bytes().starts_with(b"text/event-stream"));
        if is_stream && answer.status() == StatusCode::OK {
            return Part::Events(answer.into_body());
        }
        Part::Message(Box::pin(async {
            let whole = answer.into_body().collect().await.map(|whole| whole.to_bytes());
            let whole = whole.unwrap_or_default();
            // What is not a message is why there is none; its status has gone already.
            let message = serde_json::from_slice(&whole).ok().filter(Value::is_object);
            let message = message.unwrap_or_else(|| {
                let why = String::from_utf8_lossy(&whole);
                json!({"jsonrpc": "2.0", "error": {"code": INTERNAL_ERROR, "message": why}})
            });
            Bytes::from(format!("data: {message}\n\n"))
        }))
    }
}

impl http_body::Body for Early {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            match &mut self.part {
                Part::Waiting(answering) => match answering.as_mut().poll(task) {
                    Poll::Ready(answer) => self.part = Part::of(answer),
                    Poll::Pending => {
                        return self.comments.poll_tick(task).map(|_| {
                            Some(Ok(Frame::data(Bytes::from_static(b": still waiting\n\n"))))
                        });
                    }
                },
                Part::Events(body) => return Pin::new(body).poll_frame(task),
                Part::Message(message) => {
                    let Poll::Ready(event) = message.as_mut().poll(task) else {
                        return Poll::Pending;
                    };
                    self.part = Part::Over;
                    return Poll::Ready(Some(Ok(Frame::data(event))));
                }
                Part::Over => return Poll::Ready(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAUSE: Duration = Duration::from_secs(15);

    fn answer(kind: &'static str, text: &'static str) -> Answer {
        let mut answer = Response::new(Body::from(text));
        answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
        answer
    }

    async fn after(seconds: u64, kind: &'static str, text: &'static str) -> (String, String) {
        let answering = Box::pin(async move {
            tokio::time::sleep_until(Instant::now() + Duration::from_secs(seconds)).await;
            answer(kind, text)
        });
        let begun = begin(answering, PAUSE).await;
        let kind = begun.headers()[header::CONTENT_TYPE].to_str().unwrap().to_owned();
        let body = begun.into_body().collect().await.unwrap().to_bytes();
        (kind, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_there_soon_is_as_it_is() {
        let (kind, text) = after(0, "application/json", "{}").await;
        assert_eq!((kind.as_str(), text.as_str()), ("application/json", "{}"));
    }

    #[tokio::test(start_paused = true)]
    async fn what_takes_long_begins_with_comments() {
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
