//! State that all clients of a server share, and how a client is served over any stream.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use super::Server;
use super::outbox::{HangupDetector, Outbox};
use crate::access::{Connection, SocketAccess};
use crate::operator::{AuditEntry, AuditLog};
use crate::policy;
use crate::sessions::{Sessions, Settings};
use crate::tools;
use crate::tools::waiting::Waits;
use awaitty_terminal::ToolError;
use awaitty_terminal::platform::processes;

/// Configuration of a server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time after which a wait answers `pending` to a client that requested no progress.
    pub call_limit: Duration,
    /// Names of the offered tools.
    pub tools: Vec<&'static str>,
    /// Settings of the sessions.
    pub sessions: Settings,
    /// Access of programs in the terminals.
    pub socket_access: SocketAccess,
    /// The audit log, if the policy configures one.
    pub audit: Option<AuditLog>,
}

impl Default for Options {
    fn default() -> Options {
        let tools = tools::names().collect();
        Options {
            call_limit: policy::CALL_LIMIT,
            tools,
            sessions: Settings::default(),
            socket_access: SocketAccess::default(),
            audit: None,
        }
    }
}

impl Options {
    /// Returns whether the offered tools are those of `--tools core`, which are listed briefly.
    pub(super) fn is_core(&self) -> bool {
        core_tools().eq(self.tools.iter().copied())
    }

    pub(super) fn offers(&self, tool: &tools::Tool) -> bool {
        self.tools.contains(&tool.spec.name)
    }
}

/// Parses `--tools`: `core`, `all`, or names separated by commas.
///
/// # Errors
/// If a tool is unknown.
pub fn choose_tools(choice: &str) -> Result<Vec<&'static str>, String> {
    match choice {
        "all" => Ok(Options::default().tools),
        "core" => Ok(core_tools().collect()),
        names => names.split(',').map(str::trim).map(tool_named).collect(),
    }
}

/// Returns the names of the tools of `--tools core`: those for one terminal at a time.
fn core_tools() -> impl Iterator<Item = &'static str> {
    tools::specs().filter(|spec| spec.is_core).map(|spec| spec.name)
}

fn tool_named(name: &str) -> Result<&'static str, String> {
    tools::find(name).map(|tool| tool.spec.name).ok_or_else(|| {
        let known: Vec<&str> = tools::names().collect();
        format!("--tools: {name:?} is not a tool: use core, all, or some of {}", known.join(","))
    })
}

/// State that all clients of a server share.
#[derive(Debug)]
pub struct Host {
    /// The terminals.
    pub sessions: Arc<Sessions>,
    /// Number of clients connected by a socket.
    pub client_count: ClientCount,
    pub(super) options: Options,
    pub(super) calls: Semaphore,
    /// Calls in flight per client, if the policy limits them.
    client_calls: Mutex<HashMap<Arc<str>, usize>>,
    /// Calls that are waiting.
    pub(crate) waits: Arc<Waits>,
}

/// A counter of connected clients that can be awaited.
#[derive(Debug)]
pub struct ClientCount(watch::Sender<usize>);

/// A counted client, until this is dropped.
#[derive(Debug)]
pub struct CountedClient<'g>(&'g ClientCount);

impl ClientCount {
    /// Counts a client.
    pub fn enter(&self) -> CountedClient<'_> {
        self.0.send_modify(|count| *count += 1);
        CountedClient(self)
    }

    /// Returns a receiver for changes of the count.
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.0.subscribe()
    }
}

impl Drop for CountedClient<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// A call in flight, counted until this is dropped.
#[derive(Debug)]
pub(super) struct ClientCall {
    host: Arc<Host>,
    client: Arc<str>,
}

impl Drop for ClientCall {
    fn drop(&mut self) {
        let mut calls = self.host.client_calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = calls.get_mut(&self.client) {
            *count -= 1;
            if *count == 0 {
                calls.remove(&self.client);
            }
        }
    }
}

/// Signals EOF of the wrapped reader, because rmcp would wait five seconds for running calls then.
struct EndReader<R> {
    inner: R,
    ended: CancellationToken,
}

impl<R: AsyncRead + Unpin> AsyncRead for EndReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        task: &mut TaskContext<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        let poll = Pin::new(&mut self.inner).poll_read(task, buffer);
        let empty = room > 0 && buffer.filled().len() == before;
        if matches!(&poll, Poll::Ready(read) if read.is_err() || empty) {
            self.ended.cancel();
        }
        poll
    }
}

impl Host {
    /// Creates a host without terminals.
    pub fn new(mut options: Options) -> Arc<Host> {
        let sessions = Sessions::new(std::mem::take(&mut options.sessions));
        Arc::new(Host {
            sessions: Arc::new(sessions),
            client_count: ClientCount(watch::Sender::new(0)),
            options,
            calls: Semaphore::new(policy::limits().calls),
            client_calls: Mutex::default(),
            waits: Arc::default(),
        })
    }

    /// Serves one client until EOF, a hangup or `ended`.
    ///
    /// # Errors
    /// If the client violates the protocol.
    pub async fn serve<R, W>(
        self: &Arc<Self>,
        reader: R,
        writer: W,
        hangup: HangupDetector,
        connection: Connection,
        ended: CancellationToken,
    ) -> anyhow::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let reader = EndReader { inner: reader, ended: ended.clone() };
        let transport = AsyncRwTransport::new_server(reader, writer);
        let transport = Outbox::new(transport, hangup, ended.clone());
        let server = Server::new(Arc::clone(self), connection);
        match server.serve_with_ct(transport, ended.clone()).await {
            Ok(running) => tokio::select! {
                end = running.waiting() => end.map(drop).map_err(anyhow::Error::from),
                () = ended.cancelled() => Ok(()),
            },
            Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Serves standard input and output until EOF, a hangup or `ended`.
    ///
    /// # Errors
    /// If the client violates the protocol.
    pub async fn serve_stdio(self: &Arc<Self>, ended: CancellationToken) -> anyhow::Result<()> {
        let (stdin, stdout) = rmcp::transport::stdio_pipes();
        self.serve(stdin, stdout, HangupDetector::of_stdin(), Connection::stdio(), ended).await
    }

    /// Returns the access of programs in the terminals.
    pub fn socket_access(&self) -> SocketAccess {
        self.options.socket_access
    }

    /// Waits until no call is running.
    pub async fn wait_for_calls(&self) {
        let all = u32::try_from(policy::limits().calls).unwrap_or(u32::MAX);
        let _ = self.calls.acquire_many(all).await;
    }

    /// Writes an entry to the audit log, if there is one.
    pub(crate) fn audit(&self, entry: impl FnOnce() -> AuditEntry) {
        if let Some(audit) = &self.options.audit {
            audit.write(entry());
        }
    }

    /// Returns whether there is an audit log.
    pub(super) fn has_audit(&self) -> bool {
        self.options.audit.is_some()
    }

    /// Counts a call of a client until the result is dropped.
    ///
    /// # Errors
    /// If the client has as many calls in flight as the policy allows.
    pub(super) fn enter_call(
        self: &Arc<Self>,
        client: &Arc<str>,
    ) -> Result<Option<ClientCall>, ToolError> {
        let Some(allowed) = self.sessions.policy().client_limits().calls else { return Ok(None) };
        let mut calls = self.client_calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(Arc::clone(client)).or_default();
        if *count >= allowed {
            let message = format!(
                "this client has {count} calls in progress, and limits.calls of the operator's policy allows \
                 {allowed}: read their responses first"
            );
            return Err(ToolError::new("limit_reached", message));
        }
        *count += 1;
        Ok(Some(ClientCall { host: Arc::clone(self), client: Arc::clone(client) }))
    }

    /// Ends all programs.
    pub async fn shut_down(&self) {
        self.sessions.shut_down().await;
        if let Some(audit) = &self.options.audit {
            audit.finish().await;
        }
        processes::end_orphans().await;
    }
}
