//! A client that asks and does not listen is heard no further, so that what it has not been told is bounded.
//!
//! The protocol's crate makes a task of each request and of each answer that waits to be written. Whoever asked for large
//! screens and read nothing would have us keep them all. So requests are counted from when they are read until their
//! answers are written. Nothing more is read while there are many that will be answered by themselves, and while many are
//! open and something cannot be written. Waits that run for hours hold up nobody as long as their client reads.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ClientNotification, ClientRequest, JsonRpcMessage, RequestId};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::policy;

/// What a client has asked and was not told.
#[derive(Debug, Default)]
struct Open {
    /// Requests that are being worked on, and which of them are brief. By id, as in the protocol's crate: one that is used
    /// twice is answered once.
    asked: HashMap<RequestId, bool>,
    /// How many are brief.
    brief: usize,
    /// Messages that are to be written.
    unwritten: usize,
}

impl Open {
    fn is_full(&self) -> bool {
        self.brief >= policy::UNTOLD_MAX
            || self.unwritten > 0 && self.asked.len() + self.unwritten >= policy::UNTOLD_MAX
    }

    fn begin(&mut self, id: RequestId, is_brief: bool) {
        self.end(&id);
        self.brief += usize::from(is_brief);
        self.asked.insert(id, is_brief);
    }

    fn end(&mut self, id: &RequestId) {
        self.brief -= usize::from(self.asked.remove(id) == Some(true));
    }
}

/// Tells whether a request is answered in a moment, whatever else happens.
fn is_brief(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::CallToolRequest(call) => {
            let may_wait = ["wait", "submit", "secret", "grace_ms"];
            let has = |name: &str| {
                call.params.arguments.as_ref().is_some_and(|all| all.contains_key(name))
            };
            let tool = call.params.name.as_ref();
            let waits = tool.starts_with("wait_for_")
                || ["run_command", "run_steps", "close_session"].contains(&tool);
            !waits && !may_wait.into_iter().any(has)
        }
        ClientRequest::SubscriptionsListenRequest(_) => false,
        _ => true,
    }
}

/// A second look at where a client's requests come from, which tells its end while nothing is read.
#[derive(Debug)]
pub enum Hangup {
    /// A pipe.
    Pipe(pipe::Receiver),
    /// A socket.
    Socket(UnixStream),
    /// Something that does not tell, as a file.
    Unknown,
}

impl Hangup {
    /// Of standard input.
    pub(super) fn of_stdin() -> Hangup {
        // Opened anew, because whoever has the other end shares the flags of what we were given.
        let opened = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0");
        opened.map_or(Hangup::Unknown, Hangup::Pipe)
    }

    /// Of a socket.
    pub(crate) fn of_socket(stream: &UnixStream) -> Hangup {
        let again = stream.as_fd().try_clone_to_owned();
        let again = again.and_then(|fd| UnixStream::from_std(fd.into()));
        again.map_or(Hangup::Unknown, Hangup::Socket)
    }

    /// Waits until nobody is at the other end, whatever there is still to be read.
    async fn hung_up(&self) {
        loop {
            let ready = match self {
                Hangup::Pipe(pipe) => pipe.ready(Interest::READABLE).await,
                Hangup::Socket(socket) => socket.ready(Interest::READABLE).await,
                Hangup::Unknown => return std::future::pending().await,
            };
            match ready {
                Ok(ready) if ready.is_read_closed() => return,
                Ok(_) => {}
                Err(_) => return std::future::pending().await,
            }
            // Only that there is something to read, which is forgotten until there is more. A read that is not made tells
            // the reactor so.
            let again = io::Error::from(io::ErrorKind::WouldBlock);
            let _ = match self {
                Hangup::Pipe(pipe) => pipe.try_io(|| Err::<(), _>(again)),
                Hangup::Socket(socket) => socket.try_io(Interest::READABLE, || Err::<(), _>(again)),
                Hangup::Unknown => Ok(()),
            };
        }
    }
}

/// A client's transport, and what it was not told yet.
pub(super) struct Outbox<T> {
    inner: T,
    hangup: Hangup,
    ended: CancellationToken,
    /// It went away without reading what it asked for, so that this will never be written.
    is_deaf: CancellationToken,
    open: Arc<watch::Sender<Open>>,
}

impl<T> Outbox<T> {
    /// Bounds what a client is not told; `ended` is cancelled when it has gone.
    pub(super) fn new(inner: T, hangup: Hangup, ended: CancellationToken) -> Outbox<T> {
        let (is_deaf, open) = (CancellationToken::new(), Arc::default());
        Outbox { inner, hangup, ended, is_deaf, open }
    }

    /// Takes down what was read.
    fn note(&self, message: &RxJsonRpcMessage<RoleServer>) {
        match message {
            JsonRpcMessage::Request(request) => {
                let is_brief = is_brief(&request.request);
                self.open.send_modify(|open| open.begin(request.id.clone(), is_brief));
            }
            JsonRpcMessage::Notification(note) => {
                // What was cancelled is not answered.
                if let ClientNotification::CancelledNotification(cancelled) = &note.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.send_modify(|open| open.end(id));
                }
            }
            _ => {}
        }
    }
}

/// A message that is to be written, until it is dropped.
struct Unwritten(Arc<watch::Sender<Open>>);

impl Drop for Unwritten {
    fn drop(&mut self) {
        self.0.send_modify(|open| open.unwritten -= 1);
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
        self.open.send_modify(|open| {
            open.unwritten += 1;
            if let Some(id) = id {
                open.end(id);
            }
        });
        let unwritten = Unwritten(Arc::clone(&self.open));
        let (sending, ended) = (self.inner.send(message), self.ended.clone());
        let is_deaf = self.is_deaf.clone();
        async move {
            // The end of a client waits for what is being written.
            let sent = is_deaf.run_until_cancelled_owned(sending).await;
            let sent = sent.unwrap_or_else(|| Err(io::ErrorKind::BrokenPipe.into()));
            drop(unwritten);
            // There is nobody to tell anything.
            if sent.is_err() {
                ended.cancel();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let mut open = self.open.subscribe();
        let room = async move { drop(open.wait_for(|open| !open.is_full()).await) };
        tokio::select! {
            biased;
            () = room => {}
            () = self.hangup.hung_up() => {
                self.is_deaf.cancel();
                self.ended.cancel();
                return None;
            }
        }
        let message = self.inner.receive().await?;
        self.note(&message);
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

    const ASK: &str = r#"{"jsonrpc":"2.0","method":"ping","id":"#;
    const CANCEL: &str =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;

    fn answer(id: i64) -> TxJsonRpcMessage<RoleServer> {
        let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
        serde_json::from_str(&answer).expect("it is an answer")
    }

    #[tokio::test]
    async fn who_does_not_listen_is_not_heard() {
        // Nobody reads from what is written, of which there is room for less than an answer.
        let (mut client, asked) = tokio::io::duplex(1 << 20);
        let (told, mut listener) = tokio::io::duplex(8);
        let (look, end) = UnixStream::pair().expect("there are sockets");
        let ended = CancellationToken::new();
        let transport = AsyncRwTransport::new_server(asked, told);
        let mut outbox = Outbox::new(transport, Hangup::of_socket(&look), ended.clone());
        for id in 0..policy::UNTOLD_MAX {
            client.write_all(format!("{ASK}{id}}}\n").as_bytes()).await.expect("there is room");
        }
        let more = format!("{CANCEL}\n{ASK}-1}}\n{ASK}-1}}\n{ASK}-2}}\n{ASK}-3}}\n");
        client.write_all(more.as_bytes()).await.expect("there is room");
        for _ in 1..policy::UNTOLD_MAX {
            outbox.receive().await.expect("it is a request");
        }
        let mut telling = Box::pin(outbox.send(answer(1)));
        assert!(poll!(telling.as_mut()).is_pending());
        // The last one that may be open, with the answer that is not read.
        outbox.receive().await.expect("it is a request");
        assert!(poll!(Box::pin(outbox.receive())).is_pending());
        listener.read_exact(&mut [0; 8]).await.expect("some of it is there");
        assert!(poll!(telling.as_mut()).is_pending());
        assert!(poll!(Box::pin(outbox.receive())).is_pending());
        // Nobody is there any more, which is told although there is something to be read.
        drop((end, client));
        assert!(outbox.receive().await.is_none());
        assert!(ended.is_cancelled());
        // What nobody will read is written no further, and counts no more.
        assert!(telling.await.is_err());
        assert!(matches!(outbox.receive().await, Some(JsonRpcMessage::Notification(_))));
        assert_eq!(outbox.open.borrow().asked.len(), policy::UNTOLD_MAX - 2, "one was cancelled");
        // Of those that are brief there may be as many, whatever is written; an id that is used twice is one.
        for _ in 0..3 {
            assert!(matches!(outbox.receive().await, Some(JsonRpcMessage::Request(_))));
        }
        assert!(outbox.receive().await.is_none(), "it is not read");
    }

    #[test]
    fn what_waits_is_not_brief() {
        let is_brief = |method: &str, params: serde_json::Value| {
            let request = serde_json::json!({"method": method, "params": params});
            is_brief(&serde_json::from_value(request).expect("it is a request"))
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
