//! The live page: its static files and its API.

use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use awaitty_core::Screen;
use axum::Extension;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::{get, post};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::control::{Viewers, give_back};
use super::guard::{Guard, TokenAccess};
use super::live::Viewer;
use super::{refuse, token};
use crate::export::{self, Act};
use crate::mcp::Host;
use crate::operator::{AuditEntry, Who};
use crate::sessions::wall_clock_ms;
use crate::{text, tools};
use awaitty_terminal::ToolError;
use awaitty_terminal::rules::Rules as _;

/// Bytes of an API request body: a long paste.
const BODY_MAX: usize = 1 << 20;

/// Characters of a viewer ID.
const VIEWER_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// A static file: path, content type and bytes.
type File = (&'static str, &'static str, &'static [u8]);

macro_rules! file {
    ($path:literal, $mime:expr) => {
        (concat!("/", $path), $mime, include_bytes!(concat!("page/", $path)))
    };
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The HTML of the page. `NONCE` is a placeholder for a random value per response.
const INDEX: &str = include_str!("page/index.html");

/// All other files, so that the page loads nothing from other servers.
const FILES: [File; 12] = [
    file!("csp.js", SCRIPT),
    file!("hmac.js", SCRIPT),
    file!("icon.svg", "image/svg+xml"),
    file!("live.js", SCRIPT),
    file!("page.css", STYLE),
    file!("page.js", SCRIPT),
    file!("tiles.js", SCRIPT),
    file!("view.js", SCRIPT),
    file!("vendor/addon-search.mjs", SCRIPT),
    file!("vendor/addon-unicode11.mjs", SCRIPT),
    file!("vendor/xterm.css", STYLE),
    file!("vendor/xterm.mjs", SCRIPT),
];

/// Returns the policy of the page: it may load and run files of this server only. xterm.js creates style elements,
/// which need the nonce.
fn content_security_policy(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'"
    )
}

/// Returns the routes of the static files, which contain no secret.
pub(super) fn files() -> Router {
    let mut router = Router::new().route("/", get(index));
    for (path, mime, bytes) in FILES {
        let headers = [(header::CONTENT_TYPE, mime), (header::CACHE_CONTROL, "no-cache")];
        router = router.route(path, get(move || async move { (headers, bytes) }));
    }
    router
}

async fn index() -> Response<Body> {
    let Ok(nonce) = token::new_token() else {
        let why = "the kernel provides no random bytes";
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, why);
    };
    let headers =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    let mut response = (headers, INDEX.replace("NONCE", &nonce)).into_response();
    if let Ok(policy) = HeaderValue::from_str(&content_security_policy(&nonce)) {
        response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    response
}

/// Shared state of the API handlers.
#[derive(Debug)]
struct PageState {
    host: Arc<Host>,
    viewers: Arc<Viewers>,
}

/// Returns the route by which the page asks for a proof, before it sends a ticket.
pub(super) fn hello_route(guard: Arc<Guard>) -> Router {
    Router::new().route("/api/hello", get(hello)).with_state(guard)
}

#[derive(Debug, Deserialize)]
struct HelloParams {
    nonce: String,
}

async fn hello(
    State(guard): State<Arc<Guard>>,
    Query(params): Query<HelloParams>,
    headers: HeaderMap,
) -> Response<Body> {
    let Some(hello) = guard.prove(&headers, &params.nonce) else {
        return refuse(StatusCode::BAD_REQUEST, "nonce: give 32 to 128 hexadecimal digits");
    };
    let headers = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (headers, hello.to_string()).into_response()
}

/// Returns the routes that need a ticket or a token.
pub(super) fn api(host: Arc<Host>) -> Router {
    let viewers = Viewers::new(Arc::clone(&host.sessions));
    Router::new()
        .route("/api/live", get(live))
        .route("/api/control", post(control))
        .route("/api/input", post(input))
        .route("/api/resize", post(resize))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(Arc::new(PageState { host, viewers }))
}

#[derive(Debug, Deserialize)]
struct LiveParams {
    viewer: String,
    big: Option<String>,
}

async fn live(
    State(page): State<Arc<PageState>>,
    Extension(access): Extension<TokenAccess>,
    Query(params): Query<LiveParams>,
) -> Response<Body> {
    let is_name = params.viewer.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_name || !VIEWER_CHARS.contains(&params.viewer.len()) {
        return refuse(StatusCode::BAD_REQUEST, "viewer: give 16 to 64 letters and digits");
    }
    let Some(stream) = page.viewers.open_stream(&params.viewer) else {
        let why = "too many pages are connected: close some";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, why);
    };
    let host = Arc::clone(&page.host);
    let viewer = Viewer::new(host, stream, params.big, access == TokenAccess::Full);
    let headers =
        [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    (headers, viewer.stream()).into_response()
}

/// The body of a request that changes a session.
#[derive(Debug, Deserialize)]
struct ControlRequest<T> {
    viewer: String,
    session_id: String,
    #[serde(flatten)]
    params: T,
}

/// Runs a request that changes a session, if the access allows it, and logs it.
async fn handle_request<T: DeserializeOwned>(
    host: &Host,
    access: TokenAccess,
    name: &str,
    body: &Bytes,
    run: impl AsyncFnOnce(ControlRequest<T>) -> Result<Value, ToolError>,
) -> Response<Body> {
    if access != TokenAccess::Full {
        let why = "this token is read-only: use the full token for this request";
        return refuse(StatusCode::FORBIDDEN, why);
    }
    let request: ControlRequest<T> = match serde_json::from_slice(body) {
        Ok(request) => request,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let (viewer, session_id) = (request.viewer.clone(), request.session_id.clone());
    let started = Instant::now();
    let result = run(request).await;
    // Typed text is not logged: it may be a password.
    host.audit(|| {
        let error = result.as_ref().err();
        AuditEntry {
            time_ms: wall_clock_ms(),
            who: Who { via: "page", client: Some(viewer), pid: None },
            tool: format!("page:{name}"),
            session_id: Some(session_id),
            outcome: error.map_or("ok", |error| error.code).to_owned(),
            message: error.map(|error| error.message.clone()),
            elapsed_ms: started.elapsed().as_millis() as u64,
            ..AuditEntry::default()
        }
    });
    let (status, body) = match result {
        Ok(body) => (StatusCode::OK, body),
        Err(ToolError { code, message }) => {
            let status = match code {
                "bad_argument" => StatusCode::BAD_REQUEST,
                "unknown_session" => StatusCode::NOT_FOUND,
                _ => StatusCode::CONFLICT,
            };
            (status, json!({"error": message, "code": code}))
        }
    };
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}

#[derive(Debug, Deserialize)]
struct ControlParams {
    take: bool,
}

async fn control(
    State(page): State<Arc<PageState>>,
    Extension(access): Extension<TokenAccess>,
    body: Bytes,
) -> Response<Body> {
    handle_request(
        &page.host,
        access,
        "control",
        &body,
        async |request: ControlRequest<ControlParams>| {
            let sessions = &page.host.sessions;
            let entry = sessions.find(Some(&request.session_id)).await?;
            sessions.policy().check_typing(&entry.names())?;
            if request.params.take {
                let seq = page.viewers.take_control(&entry, &request.viewer).await?;
                return Ok(json!({"seq": seq}));
            }
            let had =
                give_back(sessions, &entry, &request.viewer).await.ok_or_else(not_in_control)?;
            Ok(json!({"from_seq": had.from.0, "to_seq": had.to.0}))
        },
    )
    .await
}

fn not_in_control() -> ToolError {
    ToolError::new("not_in_control", "this viewer does not have control: take control first")
}

#[derive(Debug, Deserialize)]
struct InputParams {
    /// Keystrokes as terminal bytes.
    #[serde(default)]
    data: String,
    /// Text to paste.
    #[serde(default)]
    paste: String,
}

impl InputParams {
    /// Returns the bytes to send to the program. Removes end marks from a paste: the text after one would be executed.
    fn encode(&self, screen: &Screen) -> String {
        let keys = text::without_paste_marks(&self.data);
        let paste =
            text::without_paste_marks(&self.paste).replace("\r\n", "\r").replace('\n', "\r");
        match paste.is_empty() || !screen.has_bracketed_paste() {
            true => keys + &paste,
            false => format!("{keys}\x1b[200~{paste}\x1b[201~"),
        }
    }
}

async fn input(
    State(page): State<Arc<PageState>>,
    Extension(access): Extension<TokenAccess>,
    body: Bytes,
) -> Response<Body> {
    handle_request(
        &page.host,
        access,
        "input",
        &body,
        async |request: ControlRequest<InputParams>| {
            let sessions = &page.host.sessions;
            let entry = sessions.find(Some(&request.session_id)).await?;
            sessions.policy().check_typing(&entry.names())?;
            export::before_input(sessions, &entry).await;
            let (sessions, at) = (Arc::clone(sessions), Arc::clone(&entry));
            let sent = entry.handle.call(move |driver| {
                let ControlRequest { params, viewer, .. } = request;
                if !driver.is_controlled_by(&viewer) {
                    return Err(not_in_control());
                }
                let typed = params.encode(driver.session().screen());
                let is_hidden = driver.reads_secret();
                let acts = export::page_input(&params.data, &params.paste);
                export::trace::start_input(&sessions, &at, driver, acts.clone(), is_hidden);
                driver.send_as_person(typed.as_bytes(), &typed).map_err(|error| {
                    let error = ToolError::from(error);
                    export::trace::fail_input(&sessions, &at, &error);
                    error
                })?;
                if is_hidden && typed.contains('\r') {
                    at.people.note_typed();
                }
                for act in acts {
                    export::add_input(&sessions, &at, act, is_hidden);
                }
                Ok(json!({}))
            });
            sent.await.ok_or_else(ToolError::gone)?
        },
    )
    .await
}

#[derive(Debug, Deserialize)]
struct ResizeParams {
    cols: usize,
    rows: usize,
}

async fn resize(
    State(page): State<Arc<PageState>>,
    Extension(access): Extension<TokenAccess>,
    body: Bytes,
) -> Response<Body> {
    handle_request(
        &page.host,
        access,
        "resize",
        &body,
        async |request: ControlRequest<ResizeParams>| {
            let sessions = &page.host.sessions;
            let entry = sessions.find(Some(&request.session_id)).await?;
            sessions.policy().check_typing(&entry.names())?;
            let viewer = request.viewer;
            let is_controlled = entry.handle.call(move |driver| driver.is_controlled_by(&viewer));
            if is_controlled.await != Some(true) {
                return Err(not_in_control());
            }
            let ResizeParams { cols, rows } = request.params;
            export::before_input(sessions, &entry).await;
            tools::resize_session::resize(sessions, &entry, cols, rows).await?;
            sessions.logs.add(&entry.id, Act::Resized { cols, rows });
            Ok(json!({}))
        },
    )
    .await
}

/// The login file: opened in a browser, it leads to the page with the page token. Removed on drop.
///
/// A crashed server leaves its file behind. Its port does not show whether the server still runs, so a server only
/// removes a stale file of its own port. The token in a stale file was valid for the ended run only.
#[derive(Debug)]
pub struct LoginFile {
    path: PathBuf,
}

impl LoginFile {
    pub(super) fn create(url: &str, port: u16, page_token: &str) -> io::Result<LoginFile> {
        let path = crate::socket::runtime_dir()?.join(format!("page-{port}.html"));
        let _ = std::fs::remove_file(&path);
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        // URL and token contain no character that ends a string or a script.
        let target = format!("\"{url}/#{page_token}\"");
        let text = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <title>awaitty</title><script>location.replace({target})</script>\n"
        );
        file.write_all(text.as_bytes())?;
        Ok(LoginFile { path })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LoginFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paste_cannot_contain_its_own_end_mark() {
        let typed = |data: &str, paste: &str| InputParams {
            data: data.to_owned(),
            paste: paste.to_owned(),
        };
        let mut screen = Screen::new(20, 5, 0);
        let hostile = "one\x1b[20\x1b[201~1~\nrm -r x\n";
        assert_eq!(typed("", hostile).encode(&screen), "one\rrm -r x\r");
        screen.feed(b"\x1b[?2004h");
        assert_eq!(typed("", hostile).encode(&screen), "\x1b[200~one\rrm -r x\r\x1b[201~");
        // Another API client may put paste marks into `data`.
        assert_eq!(typed("\x1b[200~x\x1b[201~ls\r", "").encode(&screen), "xls\r");
        assert_eq!(typed("\x1b[A", "").encode(&screen), "\x1b[A");
    }
}
