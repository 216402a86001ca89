//! The HTTP server: MCP in both generations of the protocol, and the live page. Authenticates requests and passes them
//! to the same tools as stdio.

mod connections;
mod control;
mod early;
mod guard;
mod live;
mod page;
mod paint;
mod syntax;
mod ticket;
mod token;

pub use page::LoginFile;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::IntoResponse;
use axum::routing::any;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rmcp::ServerHandler;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::access::{Caller, Connection};
use crate::mcp::{Host, Server};
use connections::{ConnectionHandle, Connections};
use guard::{Guard, Refusal, TokenAccess};

/// Interval between SSE comments while a response is not ready. Clients and proxies time out after a minute at the
/// earliest.
const COMMENT_PAUSE: Duration = Duration::from_secs(15);

/// Idle time after which a session of the older protocol is dropped. Long enough for a client that idles overnight.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// Sessions of the older protocol at a time.
const SESSIONS_MAX: usize = 1_000;

/// Bytes of an MCP request body: several long pastes.
const BODY_MAX: usize = 4 << 20;

/// Timeout for receiving the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a request head.
const HEAD_MAX: usize = 64 * 1024;

/// Milliseconds for which sent data may stay unacknowledged before the connection is closed (TCP_USER_TIMEOUT).
const GONE_AFTER_MS: u32 = 20_000;

/// Pause before the next `accept` when no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Address, host names and tokens of the HTTP server.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub struct Options {
    /// Port to listen on; 0 picks a free one.
    #[arg(long, env = "AWAITTY_PORT", default_value_t = 0)]
    pub port: u16,
    /// Address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Allow a --bind address that other machines can reach. Anyone with the token can run any program as you, and
    /// traffic is not encrypted.
    #[arg(long)]
    pub i_understand_that_others_can_connect: bool,
    /// Additional host name to accept in the Host header, with a port if it differs, as behind a tunnel. May be given
    /// several times.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// File of the token for full access; created if missing. Default: in the runtime directory.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// File of a read-only token; created if missing.
    #[arg(long, value_name = "FILE")]
    pub read_token_file: Option<PathBuf>,
}

/// A bound HTTP server that does not accept connections yet.
#[derive(Debug)]
pub struct Listener {
    inner: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    token_file: PathBuf,
}

impl Listener {
    /// Binds the configured address and loads the tokens.
    ///
    /// # Errors
    /// If the address is refused or cannot be bound, or a token file cannot be used. The message names the next step.
    pub async fn bind(options: &Options) -> io::Result<Listener> {
        let address = SocketAddr::new(options.bind, options.port);
        if !options.bind.is_loopback() && !options.i_understand_that_others_can_connect {
            return Err(io::Error::other(format!(
                "--bind {}: other machines can connect to this address, and anyone with the token can run any \
                 program as you: leave it out, or add --i-understand-that-others-can-connect",
                options.bind
            )));
        }
        let token_file = match &options.token_file {
            Some(path) => path.clone(),
            None => crate::socket::runtime_dir()?.join("token"),
        };
        let token = token::load_or_create(&token_file)?;
        let read_token =
            options.read_token_file.as_deref().map(token::load_or_create).transpose()?;
        if read_token.as_ref() == Some(&token) {
            let same =
                "--read-token-file: it contains the token of --token-file: give another file";
            return Err(io::Error::other(same));
        }
        let inner = TcpListener::bind(address)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
        let address = inner.local_addr()?;
        let guard = Arc::new(Guard::new(address, &options.allow_host, token, read_token)?);
        Ok(Listener { inner, address, guard, token_file })
    }

    /// Returns the base URL.
    pub fn url(&self) -> String {
        // Replaces the wildcard address, which clients cannot connect to on every system.
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.address.port()))
    }

    /// Returns the path of the token file.
    pub fn token_file(&self) -> &std::path::Path {
        &self.token_file
    }

    /// Creates the login file of the page.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create_login_file(&self) -> io::Result<LoginFile> {
        LoginFile::create(&self.url(), self.address.port(), self.guard.page_token())
    }

    /// Serves MCP until `ended`. `new_server` makes the handler for a caller.
    pub async fn serve<S: ServerHandler>(
        self,
        new_server: impl ServerFactory<S>,
        ended: CancellationToken,
    ) {
        let mcp = self.mcp(new_server, &ended);
        self.serve_app(mcp, ended).await;
    }

    /// Serves MCP and the live page of a host until `ended`.
    pub async fn serve_host(self, host: Arc<Host>, ended: CancellationToken) {
        let new_server = {
            let host = Arc::clone(&host);
            move |caller| Server::new(Arc::clone(&host), Connection::http(caller))
        };
        let guard = &self.guard;
        let api = page::api(host).route_layer(from_fn_with_state(Arc::clone(guard), check_ticket));
        let without_token = page::files().merge(page::hello_route(Arc::clone(guard)));
        let app = self.mcp(new_server, &ended).merge(api).merge(without_token);
        self.serve_app(app, ended).await;
    }

    fn mcp<S: ServerHandler>(
        &self,
        new_server: impl ServerFactory<S>,
        ended: &CancellationToken,
    ) -> Router {
        let guard = Arc::clone(&self.guard);
        mcp_router(new_server, ended).route_layer(from_fn_with_state(guard, check_token))
    }

    /// Accepts connections and serves `app`, whose routes check tokens themselves.
    async fn serve_app(self, app: Router, ended: CancellationToken) {
        let app = app
            .fallback(|| async {
                refuse(StatusCode::NOT_FOUND, "not found: MCP is at /mcp, the page at /")
            })
            .layer(from_fn_with_state(self.guard, check_host_and_origin));
        let connections = Connections::default();
        loop {
            let accepted = tokio::select! {
                () = ended.cancelled() => break,
                accepted = self.inner.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if connections.make_room() => {
                    let handle = ConnectionHandle::default();
                    let task = tokio::spawn(serve_one(stream, app.clone(), handle.clone()));
                    connections.add(handle, task.abort_handle());
                }
                Ok(_) => {}
                // No file descriptor is left, and a retry would fail at once.
                Err(_) => tokio::time::sleep_until(Instant::now() + ACCEPT_PAUSE).await,
            }
        }
        connections.end();
    }
}

async fn serve_one(stream: TcpStream, app: Router, handle: ConnectionHandle) {
    // Small responses must not wait for the ACK of earlier ones (Nagle).
    let _ = stream.set_nodelay(true);
    // A viewer whose network is gone must lose control.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, GONE_AFTER_MS);
    let app = app.layer(axum::middleware::from_fn(move |mut request: Request, next: Next| {
        let guard = handle.start_request();
        request.extensions_mut().insert(handle.clone());
        async move {
            let (parts, body) = next.run(request).await.into_parts();
            Response::from_parts(parts, guard.guard_body(body))
        }
    }));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    // A client that violates HTTP only loses its own connection.
    let _ = connection.await;
}

/// Makes the handler of a client: one per session of the older protocol, one per request of the newest.
pub trait ServerFactory<S>: Fn(Caller) -> S + Clone + Send + Sync + 'static {}

impl<S, F: Fn(Caller) -> S + Clone + Send + Sync + 'static> ServerFactory<S> for F {}

type McpService<S> = (StreamableHttpService<S, LocalSessionManager>, Arc<LocalSessionManager>);

/// The MCP services for full and for read-only access.
struct McpServices<S> {
    full: McpService<S>,
    read_only: McpService<S>,
}

fn mcp_router<S: ServerHandler>(
    new_server: impl ServerFactory<S>,
    ended: &CancellationToken,
) -> Router {
    let service = |caller: Caller| {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE);
        let (sessions, new_server) = (Arc::new(sessions), new_server.clone());
        let config = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(COMMENT_PAUSE))
            .with_cancellation_token(ended.child_token())
            .with_max_request_body_bytes(BODY_MAX)
            // `check_host_and_origin` has checked the host.
            .disable_allowed_hosts();
        let new_server = move || Ok(new_server(caller));
        (StreamableHttpService::new(new_server, Arc::clone(&sessions), config), sessions)
    };
    let (full, read_only) = (service(Caller::User), service(Caller::Reader));
    let services = Arc::new(McpServices { full, read_only });
    Router::new().route("/mcp", any(mcp::<S>)).with_state(services)
}

/// Rejects requests for a foreign host name, or from a page of a foreign origin.
async fn check_host_and_origin(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    match guard.check_host_and_origin(request.headers()) {
        Ok(()) => {
            let mut response = next.run(request).await;
            add_security_headers(response.headers_mut());
            response
        }
        Err(refusal) => refuse(refusal.status, refusal.why),
    }
}

/// Rejects requests without a valid token.
async fn check_token(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let access = guard.check_token(request.headers());
    run_if_allowed(access, request, next).await
}

/// Rejects page requests without a valid ticket or token.
async fn check_ticket(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let access = guard.check_ticket(request.headers());
    run_if_allowed(access, request, next).await
}

async fn run_if_allowed(
    access: Result<TokenAccess, Refusal>,
    mut request: Request,
    next: Next,
) -> Response<Body> {
    match access {
        Ok(access) => {
            if let Some(handle) = request.extensions().get::<ConnectionHandle>() {
                handle.mark_authenticated();
            }
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Err(refusal) => refuse(refusal.status, refusal.why),
    }
}

/// Adds security headers to a response.
fn add_security_headers(headers: &mut HeaderMap) {
    let all = [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ];
    for (name, value) in all {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}

fn refuse(status: StatusCode, why: &str) -> Response<Body> {
    let error = json!({"error": why}).to_string();
    let mut response =
        (status, [(header::CONTENT_TYPE, "application/json")], error).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer realm=\"awaitty\"");
        response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    add_security_headers(response.headers_mut());
    response
}

async fn mcp<S: ServerHandler>(
    State(services): State<Arc<McpServices<S>>>,
    request: Request,
) -> Response<Body> {
    let (service, sessions) = match request.extensions().get::<TokenAccess>() {
        Some(TokenAccess::Full) => services.full.clone(),
        Some(TokenAccess::ReadOnly) => services.read_only.clone(),
        None => return refuse(StatusCode::UNAUTHORIZED, "the token was not checked"),
    };
    // Requests of the newest protocol name their method in a header and need no session. `initialize` belongs to the
    // older one.
    let method = request.headers().get("mcp-method");
    let is_newest = method.is_some_and(|method| method != "initialize");
    let is_known = is_newest || request.headers().contains_key("mcp-session-id");
    let is_new = request.method() == Method::POST && !is_known;
    if is_new && sessions.sessions.read().await.len() >= SESSIONS_MAX {
        let why = format!(
            "{SESSIONS_MAX} MCP sessions are open, which is the limit: end one, or use the newest protocol"
        );
        return refuse(StatusCode::SERVICE_UNAVAILABLE, &why);
    }
    let is_end = request.method() == Method::DELETE;
    let is_json = syntax::is_json(request.headers());
    let request = match syntax::check(request).await {
        Ok(request) => request,
        Err(response) => return response,
    };
    let response = async move {
        let mut response = service.handle(request).await.map(Body::new);
        if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return syntax::not_a_message();
        }
        // The session has ended by now, and some clients take 202 for a failure.
        if is_end && response.status() == StatusCode::ACCEPTED {
            *response.status_mut() = StatusCode::NO_CONTENT;
        }
        response
    };
    // In the older protocol the response starts at once, because its headers carry the session ID.
    if is_newest { early::respond(Box::pin(response), COMMENT_PAUSE).await } else { response.await }
}
