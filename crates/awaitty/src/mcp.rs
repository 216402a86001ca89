//! MCP over stdio and sockets: translation only. What a tool does and takes is in `tools`; here it is listed, called
//! and answered, with the traps of the protocol's crate taken care of.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context as TaskContext, Poll};
use std::time::Duration;

use futures::FutureExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool as ListedTool,
    ToolAnnotations,
};
use rmcp::service::{RequestContext, ServerInitializeError};
use rmcp::transport::async_rw::AsyncRwTransport;
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::backend::processes;
use crate::error::ToolError;
use crate::policy;
use crate::sessions::Sessions;
use crate::socket::{self, Listener};
use crate::tools::{self, Context, Reply, Tool};

const INSTRUCTIONS: &str = "Drives terminal programs. spawn starts one; send_input types, and with `wait` \
answers when something happened and shows what changed; wait_for_text, wait_for_screen_change and \
wait_for_exit wait without polling. Waits look at what came after your last input, so call them after \
sending: nothing is missed and nothing stale matches. Every result has a `seq` to pass as `since`.";

static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(tools::all);

/// What all clients of a server share.
#[derive(Debug)]
pub struct Host {
    /// The terminals.
    pub sessions: Arc<Sessions>,
    /// Those who are connected by a socket.
    pub guests: Guests,
    call_limit: Duration,
    calls: Semaphore,
}

/// How many are connected, and since when nobody is.
#[derive(Debug)]
pub struct Guests(watch::Sender<usize>);

/// Somebody who is connected, until it is dropped.
#[derive(Debug)]
pub struct Guest<'g>(&'g Guests);

impl Guests {
    /// Somebody comes.
    pub fn enter(&self) -> Guest<'_> {
        self.0.send_modify(|count| *count += 1);
        Guest(self)
    }

    /// How many there are, and a way to hear of a change.
    pub fn watch(&self) -> watch::Receiver<usize> {
        self.0.subscribe()
    }
}

impl Drop for Guest<'_> {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
    }
}

/// One client's way to the host.
#[derive(Clone, Debug)]
struct Server(Arc<Host>);

fn reply(result: Result<Reply, ToolError>) -> CallToolResult {
    let (mut answer, structured, text) = match result {
        Ok(Reply { structured, text }) => (CallToolResult::success(Vec::new()), structured, text),
        Err(ToolError { code, message }) => {
            let text = format!("{code}: {message}");
            (CallToolResult::error(Vec::new()), json!({ "code": code, "message": message }), text)
        }
    };
    answer.structured_content = Some(structured);
    answer.content = vec![ContentBlock::text(text)];
    answer
}

fn listed(tool: &Tool) -> ListedTool {
    let hints = ToolAnnotations::new()
        .read_only(tool.read_only)
        .destructive(tool.destructive)
        .idempotent(tool.idempotent)
        .open_world(!tool.read_only);
    ListedTool::new(tool.name, tool.description, Arc::clone(&tool.input))
        .with_raw_output_schema(Arc::clone(&tool.output))
        .with_annotations(hints)
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("awaitty", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(listed).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None));
        };
        let host = &*self.0;
        let Ok(_slot) = host.calls.try_acquire() else {
            let full = format!(
                "{} calls are running, which is the limit: read the answers first",
                policy::limits().calls
            );
            return Ok(reply(Err(ToolError::new("limit_reached", full))).into());
        };
        let token = context.meta.get_progress_token();
        let call = tool.call(Context {
            sessions: Arc::clone(&host.sessions),
            call_limit: token.is_none().then_some(host.call_limit),
            arguments: request.arguments.map_or(Value::Null, Value::Object),
        });
        // A tool that panics must not leave its caller without an answer.
        let work = AssertUnwindSafe(call).catch_unwind();
        let panicked = || Err(ToolError::new("internal", "the tool failed; the server goes on"));
        let progress = async {
            let Some(token) = token else { return std::future::pending().await };
            for seconds in 1u32.. {
                let done = f64::from(seconds) * policy::PROGRESS_INTERVAL.as_secs_f64();
                tokio::time::sleep_until(tokio::time::Instant::now() + policy::PROGRESS_INTERVAL)
                    .await;
                let note =
                    ProgressNotificationParam::new(token.clone(), done).with_message("waiting");
                let peer = context.peer.clone();
                // Sending may block on a client that does not read, and must hold up nobody.
                tokio::spawn(async move { peer.notify_progress(note).await });
            }
        };
        let result = tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|_| panicked()),
            () = context.ct.cancelled() => Err(ToolError::new("cancelled", "the call was cancelled")),
            () = progress => panicked(),
        };
        Ok(reply(result).into())
    }

    /// A known method whose parameters do not parse comes here.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            method @ ("tools/call" | "tools/list") => {
                ErrorData::invalid_params(format!("malformed params for {method}"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }
}

/// Passes reads through, and says when the stream ends: the protocol's crate would wait five seconds for
/// running calls then.
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
    /// A host without terminals.
    pub fn new(call_limit: Duration) -> Arc<Host> {
        Arc::new(Host {
            sessions: Arc::new(Sessions::default()),
            guests: Guests(watch::Sender::new(0)),
            call_limit,
            calls: Semaphore::new(policy::limits().calls),
        })
    }

    /// Serves one client until it goes away or `ended` is cancelled.
    ///
    /// # Errors
    /// If the client does not speak the protocol.
    pub async fn serve<R, W>(
        self: &Arc<Self>,
        reader: R,
        writer: W,
        ended: CancellationToken,
    ) -> anyhow::Result<()>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let reader = EndReader { inner: reader, ended: ended.clone() };
        let transport = AsyncRwTransport::new_server(reader, writer);
        match Server(Arc::clone(self)).serve_with_ct(transport, ended.clone()).await {
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

    /// Ends all programs.
    pub async fn shut_down(&self) {
        self.sessions.shut_down().await;
        processes::end_orphans().await;
    }
}

/// Serves standard input and output until the client goes away or `ended` is cancelled; ends all programs
/// then.
///
/// # Errors
/// If the client does not speak the protocol.
pub async fn serve_stdio(call_limit: Duration, ended: CancellationToken) -> anyhow::Result<()> {
    let host = Host::new(call_limit);
    let own = format!("mcp-{}.sock", rustix::process::getpid().as_raw_nonzero());
    // Without a socket everything works but signals from inside the terminals.
    let listening = match socket::runtime_dir().and_then(|dir| Listener::bind(dir.join(own))) {
        Ok(listener) => {
            host.sessions.set_socket(listener.path());
            Some(tokio::spawn(listener.serve(Arc::clone(&host), ended.clone())))
        }
        Err(error) => {
            crate::log(&format!("no socket, so `awaitty signal` will not work: {error}"));
            None
        }
    };
    let (stdin, stdout) = rmcp::transport::stdio_pipes();
    let served = host.serve(stdin, stdout, ended.clone()).await;
    ended.cancel();
    host.shut_down().await;
    if let Some(listening) = listening {
        // It takes its file away.
        let _ = listening.await;
    }
    served
}
