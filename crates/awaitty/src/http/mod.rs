//! MCP over HTTP, for both eras of the protocol, and the live page: what is asked is answered by the same tools; here is who
//! may ask.

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
use connections::{Busy, Connections};
use guard::{Guard, Refusal, Right};

/// How often a silent answer says that it is still to come. Clients and what is between give up after a minute at the
/// earliest.
const COMMENT_PAUSE: Duration = Duration::from_secs(15);

/// How long a client of the older protocol may be silent before its session is forgotten. A person may sleep on it.
const SESSION_IDLE: Duration = Duration::from_secs(24 * 60 * 60);

/// Sessions of clients of the older protocol at a time.
const SESSIONS_MAX: usize = 1_000;

/// Bytes of a request to MCP: a long paste, several times over.
const BODY_MAX: usize = 4 << 20;

/// How long the head of a request may take to come.
const HEAD_TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of a request's head.
const HEAD_MAX: usize = 64 * 1024;

/// How long what we sent may be unacknowledged, in milliseconds, before a connection is given up.
const GONE_AFTER_MS: u32 = 20_000;

/// How long nobody is let in when there is no descriptor left for the next one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where a server listens, and whom it lets in.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Network")]
pub struct Options {
    /// The port; 0 takes any that is free.
    #[arg(long, env = "AWAITTY_PORT", default_value_t = 0)]
    pub port: u16,
    /// The address to listen at.
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    pub bind: IpAddr,
    /// Listen beyond this machine. Whoever has the token can run any program as you, and nothing is encrypted.
    #[arg(long)]
    pub i_understand_that_others_can_connect: bool,
    /// A name by which the server may be asked, besides its address; with a port, if that is another, as behind a
    /// tunnel. May be given several times.
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// The file of the token that lets in; made if it is not there. Default: in the runtime directory.
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// The file of a token that lets look only; made if it is not there.
    #[arg(long, value_name = "FILE")]
    pub read_token_file: Option<PathBuf>,
}

/// A server that listens.
#[derive(Debug)]
pub struct Listener {
    inner: TcpListener,
    address: SocketAddr,
    guard: Arc<Guard>,
    token_file: PathBuf,
}

impl Listener {
    /// Listens where it is asked to.
    ///
    /// # Errors
    /// If it may not, or cannot; it says what to do.
    pub async fn bind(options: &Options) -> io::Result<Listener> {
        let address = SocketAddr::new(options.bind, options.port);
        if !options.bind.is_loopback() && !options.i_understand_that_others_can_connect {
            return Err(io::Error::other(format!(
                "--bind {}: others can connect there, and whoever has the token can run any program as you: \
                 leave it out, or add --i-understand-that-others-can-connect",
                options.bind
            )));
        }
        let token_file = match &options.token_file {
            Some(path) => path.clone(),
            None => crate::socket::runtime_dir()?.join("token"),
        };
        let token = token::of_file(&token_file)?;
        let read_token = options.read_token_file.as_deref().map(token::of_file).transpose()?;
        if read_token.as_ref() == Some(&token) {
            return Err(io::Error::other("--read-token-file: it holds the token of --token-file"));
        }
        let inner = TcpListener::bind(address)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("{address}: {error}")))?;
        let address = inner.local_addr()?;
        let guard = Arc::new(Guard::new(address, &options.allow_host, token, read_token)?);
        Ok(Listener { inner, address, guard, token_file })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        // Where we listen at all addresses, this machine's own is one of them.
        let ip = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
            ip => ip,
        };
        format!("http://{}", SocketAddr::new(ip, self.address.port()))
    }

    /// The file of its token.
    pub fn token_file(&self) -> &std::path::Path {
        &self.token_file
    }

    /// Makes the file by which its owner opens the page.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn make_login_file(&self) -> io::Result<LoginFile> {
        LoginFile::make(&self.url(), self.address.port(), self.guard.page_token())
    }

    /// Serves MCP until `ended`. `make` gets who calls.
    pub async fn serve<S: ServerHandler>(self, make: impl Make<S>, ended: CancellationToken) {
        let mcp = self.mcp(make, &ended);
        self.serve_app(mcp, ended).await;
    }

    /// Serves a host's MCP and its page to whoever comes, until `ended`.
    pub async fn serve_host(self, host: Arc<Host>, ended: CancellationToken) {
        let make = {
            let host = Arc::clone(&host);
            move |caller| Server::new(Arc::clone(&host), Connection::http(caller))
        };
        let guard = &self.guard;
        let api = page::api(host).route_layer(from_fn_with_state(Arc::clone(guard), check_ticket));
        let open = page::files().merge(page::hello(Arc::clone(guard)));
        let app = self.mcp(make, &ended).merge(api).merge(open);
        self.serve_app(app, ended).await;
    }

    fn mcp<S: ServerHandler>(&self, make: impl Make<S>, ended: &CancellationToken) -> Router {
        let guard = Arc::clone(&self.guard);
        mcp_of(make, ended).route_layer(from_fn_with_state(guard, check_token))
    }

    /// Serves what looks at tokens itself, or needs none.
    async fn serve_app(self, app: Router, ended: CancellationToken) {
        let app = app
            .fallback(|| async {
                refuse(StatusCode::NOT_FOUND, "MCP is at /mcp, and the page at /")
            })
            .layer(from_fn_with_state(self.guard, check_place));
        let connections = Connections::default();
        loop {
            let accepted = tokio::select! {
                () = ended.cancelled() => break,
                accepted = self.inner.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if connections.make_room() => {
                    let busy = Busy::default();
                    let task = tokio::spawn(serve_one(stream, app.clone(), busy.clone()));
                    connections.add(busy, task.abort_handle());
                }
                Ok(_) => {}
                // No descriptor is left: it would fail again at once.
                Err(_) => tokio::time::sleep_until(Instant::now() + ACCEPT_PAUSE).await,
            }
        }
        connections.end();
    }
}

async fn serve_one(stream: TcpStream, app: Router, busy: Busy) {
    // Small answers are not to wait for each other.
    let _ = stream.set_nodelay(true);
    // Somebody whose network is gone is not there, and has no control.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, GONE_AFTER_MS);
    let app = app.layer(axum::middleware::from_fn(move |mut request: Request, next: Next| {
        let request_of = busy.enter();
        request.extensions_mut().insert(busy.clone());
        async move {
            let (parts, body) = next.run(request).await.into_parts();
            Response::from_parts(parts, request_of.answer(body))
        }
    }));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app));
    // A client that does not speak the protocol is its own fault.
    let _ = connection.await;
}

/// Makes what answers a client: one for each client of the older protocol, one for each request of the newest.
pub trait Make<S>: Fn(Caller) -> S + Clone + Send + Sync + 'static {}

impl<S, F: Fn(Caller) -> S + Clone + Send + Sync + 'static> Make<S> for F {}

type Face<S> = (StreamableHttpService<S, LocalSessionManager>, Arc<LocalSessionManager>);

/// The two faces of a server: for those who may do everything, and for those who may look.
struct Faces<S> {
    full: Face<S>,
    read: Face<S>,
}

fn mcp_of<S: ServerHandler>(make: impl Make<S>, ended: &CancellationToken) -> Router {
    let face = |caller: Caller| {
        let mut sessions = LocalSessionManager::default();
        sessions.session_config.keep_alive = Some(SESSION_IDLE);
        let (sessions, make) = (Arc::new(sessions), make.clone());
        let config = StreamableHttpServerConfig::default()
            .with_sse_keep_alive(Some(COMMENT_PAUSE))
            .with_cancellation_token(ended.child_token())
            .with_max_request_body_bytes(BODY_MAX)
            // We have looked already.
            .disable_allowed_hosts();
        let make = move || Ok(make(caller));
        (StreamableHttpService::new(make, Arc::clone(&sessions), config), sessions)
    };
    let faces = Arc::new(Faces { full: face(Caller::User), read: face(Caller::Reader) });
    Router::new().route("/mcp", any(mcp::<S>)).with_state(faces)
}

/// Lets nobody by who asks by another name, or from another page.
async fn check_place(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    match guard.check_place(request.headers()) {
        Ok(()) => {
            let mut answer = next.run(request).await;
            protect(answer.headers_mut());
            answer
        }
        Err(refusal) => refuse(refusal.status, refusal.why),
    }
}

/// Refuses a request that has no token.
async fn check_token(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let right = guard.check_token(request.headers());
    let_in(right, request, next).await
}

/// Refuses a request of the page that has no ticket and no token.
async fn check_ticket(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response<Body> {
    let right = guard.check_ticket(request.headers());
    let_in(right, request, next).await
}

async fn let_in(right: Result<Right, Refusal>, mut request: Request, next: Next) -> Response<Body> {
    match right {
        Ok(right) => {
            if let Some(busy) = request.extensions().get::<Busy>() {
                busy.trust();
            }
            request.extensions_mut().insert(right);
            next.run(request).await
        }
        Err(refusal) => refuse(refusal.status, refusal.why),
    }
}

/// What browsers are told about everything that comes from here.
fn protect(headers: &mut HeaderMap) {
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
    let mut answer = (status, [(header::CONTENT_TYPE, "application/json")], error).into_response();
    if status == StatusCode::UNAUTHORIZED {
        let scheme = HeaderValue::from_static("Bearer realm=\"awaitty\"");
        answer.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    }
    protect(answer.headers_mut());
    answer
}

async fn mcp<S: ServerHandler>(
    State(faces): State<Arc<Faces<S>>>,
    request: Request,
) -> Response<Body> {
    let (service, sessions) = match request.extensions().get::<Right>() {
        Some(Right::Full) => faces.full.clone(),
        Some(Right::Read) => faces.read.clone(),
        None => return refuse(StatusCode::UNAUTHORIZED, "nobody has looked at the token"),
    };
    // Requests of the newest protocol, which say what they ask for, need no session. Whoever greets is of the older.
    let method = request.headers().get("mcp-method");
    let is_newest = method.is_some_and(|method| method != "initialize");
    let is_known = is_newest || request.headers().contains_key("mcp-session-id");
    let is_new = request.method() == Method::POST && !is_known;
    if is_new && sessions.sessions.read().await.len() >= SESSIONS_MAX {
        let why = "too many clients are connected: end one, or ask in the newest protocol";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, why);
    }
    let is_end = request.method() == Method::DELETE;
    let is_json = syntax::is_json(request.headers());
    let request = match syntax::check(request).await {
        Ok(request) => request,
        Err(answer) => return answer,
    };
    let answering = async move {
        let mut answer = service.handle(request).await.map(Body::new);
        if is_json && answer.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
            return syntax::no_message();
        }
        // A session has ended when we say so; some clients take "accepted" for a failure.
        if is_end && answer.status() == StatusCode::ACCEPTED {
            *answer.status_mut() = StatusCode::NO_CONTENT;
        }
        answer
    };
    // In the older protocol an answer begins at once, with what its client must know of its session.
    if is_newest { early::begin(Box::pin(answering), COMMENT_PAUSE).await } else { answering.await }
}
