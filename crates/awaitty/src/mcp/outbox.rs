//! Backpressure for clients that send requests and do not read the responses.
//!
//! rmcp spawns a task for each request and for each response that waits to be written. A client that requests large
//! screens and reads nothing would make the server buffer all of them. So requests are counted from reading them until
//! their responses are written. Reading stops while many brief requests are open, and while many are open and a write
//! is blocked. Waits that run for hours block nothing as long as their client reads.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use awaitty_terminal::platform::files;
use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::{policy, tools};

/// Requests without a written response.
#[derive(Debug, Default)]
struct OpenRequests {
    /// Requests in progress, and whether each is brief. Keyed by ID as in rmcp: a reused ID gets one response.
    by_id: HashMap<RequestId, bool>,
    /// Number of brief requests in progress.
    brief: usize,
    /// Messages that wait to be written.
    unwritten: usize,
}

impl OpenRequests {
    fn is_full(&self) -> bool {
        self.brief >= policy::OPEN_REQUESTS_MAX
            || self.unwritten > 0 && self.by_id.len() + self.unwritten >= policy::OPEN_REQUESTS_MAX
    }

    fn add(&mut self, id: RequestId, is_brief: bool) {
        self.remove(&id);
        self.brief += usize::from(is_brief);
        self.by_id.insert(id, is_brief);
    }

    fn remove(&mut self, id: &RequestId) {
        self.brief -= usize::from(self.by_id.remove(id) == Some(true));
    }
}

/// Returns whether a request does not wait for an event.
fn is_brief(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::CallToolRequest(call) => {
            let has = |name: &str| {
                call.params.arguments.as_ref().is_some_and(|all| all.contains_key(name))
            };
            // A call of an unknown tool is an error at once.
            !tools::specs()
                .find(|spec| spec.name == call.params.name)
                .is_some_and(|spec| spec.may_wait(has))
        }
        ClientRequest::SubscriptionsListenRequest(_) => false,
        _ => true,
    }
}

/// Detects the hangup of a client while nothing is read from it.
#[derive(Debug)]
pub enum HangupDetector {
    /// A duplicate of the client's pipe.
    Pipe(pipe::Receiver),
    /// A duplicate of the client's socket.
    Socket(UnixStream),
    /// A source without a hangup event, such as a file.
    Unknown,
}

impl HangupDetector {
    /// Watches standard input.
    pub(super) fn of_stdin() -> HangupDetector {
        // Reopened, because O_NONBLOCK on the inherited descriptor would affect all processes that share it.
        let opened = pipe::OpenOptions::new().open_receiver(files::descriptor_path(0));
        opened.map_or(HangupDetector::Unknown, HangupDetector::Pipe)
    }

    /// Watches a socket.
    pub(crate) fn of_socket(stream: &UnixStream) -> HangupDetector {
        let duplicate = stream.as_fd().try_clone_to_owned();
        let duplicate = duplicate.and_then(|fd| UnixStream::from_std(fd.into()));
        duplicate.map_or(HangupDetector::Unknown, HangupDetector::Socket)
    }

    /// Waits until the other end is closed, even if unread data is left.
    async fn wait_for_hangup(&self) {
        loop {
            let ready = match self {
                HangupDetector::Pipe(pipe) => pipe.ready(Interest::READABLE).await,
                HangupDetector::Socket(socket) => socket.ready(Interest::READABLE).await,
                HangupDetector::Unknown => return std::future::pending().await,
            };
            match ready {
                Ok(ready) if ready.is_read_closed() => return,
                Ok(_) => {}
                Err(_) => return std::future::pending().await,
            }
            // The stream is readable but not closed. A read that reports WouldBlock clears the readiness, so that
            // `ready` waits for the next event.
            let would_block = io::Error::from(io::ErrorKind::WouldBlock);
            let _ = match self {
                HangupDetector::Pipe(pipe) => pipe.try_io(|| Err::<(), _>(would_block)),
                HangupDetector::Socket(socket) => {
                    socket.try_io(Interest::READABLE, || Err::<(), _>(would_block))
                }
                HangupDetector::Unknown => Ok(()),
            };
        }
    }
}

/// A transport with backpressure.
pub(super) struct Outbox<T> {
    inner: T,
    hangup: HangupDetector,
    ended: CancellationToken,
    /// Cancelled on hangup: pending writes will never finish.
    is_abandoned: CancellationToken,
    requests: Arc<watch::Sender<OpenRequests>>,
}

impl<T> Outbox<T> {
    /// Wraps a transport; `ended` is cancelled when the client hangs up.
    pub(super) fn new(inner: T, hangup: HangupDetector, ended: CancellationToken) -> Outbox<T> {
        let (is_abandoned, requests) = (CancellationToken::new(), Arc::default());
        Outbox { inner, hangup, ended, is_abandoned, requests }
    }

    /// Updates the counts for a received message.
    fn count_message(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                let is_brief = is_brief(&request.request);
                self.requests.send_modify(|requests| requests.add(request.id.clone(), is_brief));
            }
            JsonRpcMessage::Notification(note) => {
                // A cancelled request gets no response.
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.requests.send_modify(|requests| requests.remove(id));
                }
            }
            _ => {}
        }
    }
}

/// A message to be written, counted until this is dropped.
struct Unwritten(Arc<watch::Sender<OpenRequests>>);

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.send_modify(|requests| requests.unwritten -= 1);
    }
}

impl<T: Transport<RoleServer, Error = io::Error>> Transport<RoleServer> for Outbox<T> {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &message {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        self.requests.send_modify(|requests| {
            requests.unwritten += 1;
            if let Some(id) = id {
                requests.remove(id);
            }
        });
        let unwritten = Unwritten(Arc::clone(&self.requests));
        let (sending, ended) = (self.inner.send(message), self.ended.clone());
        let is_abandoned = self.is_abandoned.clone();
        async move {
            // The end of a client waits for pending writes, which a hangup must cancel.
            let sent = is_abandoned.run_until_cancelled_owned(sending).await;
            let sent = sent.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()));
            drop(unwritten);
            // The client cannot receive anything.
            if sent.is_err() {
                ended.cancel();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut requests = self.requests.subscribe();
        let has_room = async move { drop(requests.wait_for(|requests| !requests.is_full()).await) };
        tokio::select! {
            biased;
            () = has_room => {}
            () = self.hangup.wait_for_hangup() => {
                self.is_abandoned.cancel();
                self.ended.cancel();
                return None;
            }
        }
        let message = self.inner.receive().await?;
        self.count_message(&message);
        Some(message)
    }

    async fn close(&mut self) -> io::Result<()> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use futures::poll;
    use rmcp::transport::async_rw::AsyncRwTransport;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    const PING: &str = r#"{"jsonrpc":"2.0","method":"ping","id":"#;
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;

    fn response(id: i64) -> TxJsonRpcMessage<RoleServer> {
        let response = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        serde_json::from_str(&response).expect("valid response")
    }

    #[tokio::test]
    async fn a_client_that_does_not_read_is_not_read_from() {
        // The client does not read, and the pipe has less room than one response needs.
        let (mut client, requests) = tokio::io::duplex(1 << 20);
        let (responses, mut response_reader) = tokio::io::duplex(8);
        let (watched, other_end) = UnixStream::pair().expect("a socket pair");
        let ended = CancellationToken::new();
        let transport = AsyncRwTransport::new_server(requests, responses);
        let mut outbox = Outbox::new(transport, HangupDetector::of_socket(&watched), ended.clone());
        for id in 0..policy::OPEN_REQUESTS_MAX {
            client.write_all(format!("{PING}{id}}}\n").as_bytes()).await.expect("room in the pipe");
        }
        let more = format!("{CANCEL}\n{PING}-1}}\n{PING}-1}}\n{PING}-2}}\n{PING}-3}}\n");
        client.write_all(more.as_bytes()).await.expect("room in the pipe");
        for _ in 1..policy::OPEN_REQUESTS_MAX {
            outbox.receive().await.expect("a request");
        }
        let mut sending = Box::pin(outbox.send(response(1)));
        assert!(poll!(sending.as_mut()).is_pending());
        // The last request below the limit, with the unread response.
        outbox.receive().await.expect("a request");
        assert!(poll!(Box::pin(outbox.receive())).is_pending());
        response_reader.read_exact(&mut [0; 8]).await.expect("a partial response");
        assert!(poll!(sending.as_mut()).is_pending());
        assert!(poll!(Box::pin(outbox.receive())).is_pending());
        // The client disconnects, which is detected although unread data is left.
        drop((other_end, client));
        assert!(outbox.receive().await.is_none());
        assert!(ended.is_cancelled());
        // The blocked write is cancelled and not counted any more.
        assert!(sending.await.is_err());
        assert!(matches!(outbox.receive().await, Some(JsonRpcMessage::Notification(_))));
        assert_eq!(
            outbox.requests.borrow().by_id.len(),
            policy::OPEN_REQUESTS_MAX - 2,
            "one was cancelled"
        );
        // As many brief requests are allowed, regardless of writes; a reused ID counts once.
        for _ in 0..3 {
            assert!(matches!(outbox.receive().await, Some(JsonRpcMessage::Request(_))));
        }
        assert!(outbox.receive().await.is_none(), "not read any more");
    }

    #[test]
    fn what_waits_is_not_brief() {
        let is_brief = |method: &str, params: serde_json::Value| {
            let request = serde_json::json!({"method": method, "params": params});
            is_brief(&serde_json::from_value(request).expect("a request"))
        };
        let call = |tool: &str, arguments: serde_json::Value| {
            is_brief("tools/call", serde_json::json!({"name": tool, "arguments": arguments}))
        };
        let empty = || serde_json::json!({});
        assert!(call("snapshot", empty()) && call("send_input", serde_json::json!({"input": "x"})));
        assert!(is_brief("tools/list", empty()));
        for tool in ["wait_for_text", "wait_for_any", "run_command", "run_steps", "close_session"] {
            assert!(!call(tool, empty()), "{tool}");
        }
        for argument in ["wait", "submit", "secret"] {
            assert!(!call("send_input", serde_json::json!({argument: true})), "{argument}");
        }
    }
}
