//! The live page: its files, and what it asks for.

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
use super::guard::{Guard, Right};
use super::live::Viewer;
use super::{refuse, token};
use crate::mcp::Host;
use crate::operator::{AuditEntry, Who};
use crate::sessions::wall_clock_ms;
use crate::{text, tools};
use awaitty_terminal::ToolError;
use awaitty_terminal::rules::Rules as _;

/// Bytes of what a page sends at once: a long paste.
const BODY_MAX: usize = 1 << 20;

/// Characters of what a page calls itself.
const VIEWER_CHARS: std::ops::RangeInclusive<usize> = 16..=64;

/// A file of the page: where it is, what it is, and its bytes.
type File = (&'static str, &'static str, &'static [u8]);

macro_rules! file {
    ($path:literal, $mime:expr) => {
        (concat!("/", $path), $mime, include_bytes!(concat!("page/", $path)))
    };
}

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// The page itself; `NONCE` in it stands for one that is made for each answer.
const INDEX: &str = include_str!("page/index.html");

/// Everything else that it needs, so that nothing is fetched from anywhere else.
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

/// What the page may do in a browser: run and show what comes from here, and nothing else. Its terminal makes style
/// sheets, which is what the nonce is for.
fn policy_of(nonce: &str) -> String {
    format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; \
         img-src 'self' data:; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'"
    )
}

/// The files, which hold no secret.
pub(super) fn files() -> Router {
    let mut router = Router::new().route("/", get(index));
    for (path, mime, bytes) in FILES {
        let kind = [(header::CONTENT_TYPE, mime), (header::CACHE_CONTROL, "no-cache")];
        router = router.route(path, get(move || async move { (kind, bytes) }));
    }
    router
}

async fn index() -> Response<Body> {
    let Ok(nonce) = token::new_token() else {
        return refuse(StatusCode::INTERNAL_SERVER_ERROR, "there is no randomness");
    };
    let kind =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CACHE_CONTROL, "no-store")];
    let mut answer = (kind, INDEX.replace("NONCE", &nonce)).into_response();
    if let Ok(policy) = HeaderValue::from_str(&policy_of(&nonce)) {
        answer.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    answer
}

/// What the page's requests share.
#[derive(Debug)]
struct Page {
    host: Arc<Host>,
    viewers: Arc<Viewers>,
}

/// Returns the route by which the page asks for a proof, before it sends anything secret.
pub(super) fn hello(guard: Arc<Guard>) -> Router {
    Router::new().route("/api/hello", get(greet)).with_state(guard)
}

#[derive(Debug, Deserialize)]
struct HelloParams {
    nonce: String,
}

async fn greet(
    State(guard): State<Arc<Guard>>,
    Query(params): Query<HelloParams>,
    headers: HeaderMap,
) -> Response<Body> {
    let Some(hello) = guard.prove(&headers, &params.nonce) else {
        return refuse(StatusCode::BAD_REQUEST, "nonce: 32 to 128 hexadecimal digits");
    };
    let kind = [(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")];
    (kind, hello.to_string()).into_response()
}

/// Returns the routes of the page that need a ticket or a token.
pub(super) fn api(host: Arc<Host>) -> Router {
    let viewers = Viewers::new(Arc::clone(&host.sessions));
    Router::new()
        .route("/api/live", get(live))
        .route("/api/control", post(control))
        .route("/api/input", post(input))
        .route("/api/resize", post(resize))
        .layer(DefaultBodyLimit::max(BODY_MAX))
        .with_state(Arc::new(Page { host, viewers }))
}

#[derive(Debug, Deserialize)]
struct LiveParams {
    viewer: String,
    big: Option<String>,
}

async fn live(
    State(page): State<Arc<Page>>,
    Extension(right): Extension<Right>,
    Query(params): Query<LiveParams>,
) -> Response<Body> {
    let is_name = params.viewer.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if !is_name || !VIEWER_CHARS.contains(&params.viewer.len()) {
        return refuse(StatusCode::BAD_REQUEST, "viewer: 16 to 64 letters and digits");
    }
    let Some(presence) = page.viewers.enter(&params.viewer) else {
        let why = "too many pages look on: close some";
        return refuse(StatusCode::SERVICE_UNAVAILABLE, why);
    };
    let host = Arc::clone(&page.host);
    let viewer = Viewer::new(host, presence, params.big, right == Right::Full);
    let kind =
        [(header::CONTENT_TYPE, "application/x-ndjson"), (header::CACHE_CONTROL, "no-store")];
    (kind, viewer.stream()).into_response()
}

/// What all requests that do something have in common.
#[derive(Debug, Deserialize)]
struct Act<T> {
    viewer: String,
    session_id: String,
    #[serde(flatten)]
    rest: T,
}

/// Does what is asked for, if its asker may.
async fn act<T: DeserializeOwned>(
    host: &Host,
    right: Right,
    name: &str,
    body: &Bytes,
    run: impl AsyncFnOnce(Act<T>) -> Result<Value, ToolError>,
) -> Response<Body> {
    if right != Right::Full {
        return refuse(StatusCode::FORBIDDEN, "this token lets look only");
    }
    let act: Act<T> = match serde_json::from_slice(body) {
        Ok(act) => act,
        Err(error) => return refuse(StatusCode::BAD_REQUEST, &error.to_string()),
    };
    let (viewer, session_id) = (act.viewer.clone(), act.session_id.clone());
    let started = Instant::now();
    let result = run(act).await;
    // A person types here. What they type is not logged: it may be a password.
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
    let (status, answer) = match result {
        Ok(answer) => (StatusCode::OK, answer),
        Err(ToolError { code, message }) => {
            let status = match code {
                "bad_argument" => StatusCode::BAD_REQUEST,
                "unknown_session" => StatusCode::NOT_FOUND,
                _ => StatusCode::CONFLICT,
            };
            (status, json!({"error": message, "code": code}))
        }
    };
    (status, [(header::CONTENT_TYPE, "application/json")], answer.to_string()).into_response()
}

#[derive(Debug, Deserialize)]
struct Take {
    take: bool,
}

async fn control(
    State(page): State<Arc<Page>>,
    Extension(right): Extension<Right>,
    body: Bytes,
) -> Response<Body> {
    act(&page.host, right, "control", &body, async |asked: Act<Take>| {
        let sessions = &page.host.sessions;
        let entry = sessions.find(Some(&asked.session_id)).await?;
        sessions.policy().check_typing(&entry.names())?;
        if asked.rest.take {
            let seq = page.viewers.take(&entry, &asked.viewer).await?;
            return Ok(json!({"seq": seq}));
        }
        let had = give_back(sessions, &entry, &asked.viewer).await.ok_or_else(not_in_control)?;
        Ok(json!({"from_seq": had.from.0, "to_seq": had.to.0}))
    })
    .await
}

fn not_in_control() -> ToolError {
    ToolError::new("not_in_control", "you do not have control: take it first")
}

#[derive(Debug, Deserialize)]
struct Typed {
    /// Keys, as a terminal sends them.
    #[serde(default)]
    data: String,
    /// Pasted text.
    #[serde(default)]
    paste: String,
}

impl Typed {
    /// Returns what the program gets. A paste cannot end itself: what follows the mark of its end would be run.
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
    State(page): State<Arc<Page>>,
    Extension(right): Extension<Right>,
    body: Bytes,
) -> Response<Body> {
    act(&page.host, right, "input", &body, async |asked: Act<Typed>| {
        let sessions = &page.host.sessions;
        let entry = sessions.find(Some(&asked.session_id)).await?;
        sessions.policy().check_typing(&entry.names())?;
        let people = entry.people.clone();
        let sent = entry.handle.call(move |driver| {
            if !driver.is_controlled_by(&asked.viewer) {
                return Err(not_in_control());
            }
            let typed = asked.rest.encode(driver.session().screen());
            let is_hidden_line = driver.reads_secret() && typed.contains('\r');
            driver.send_as_person(typed.as_bytes(), &typed)?;
            if is_hidden_line {
                people.note_typed();
            }
            Ok(json!({}))
        });
        sent.await.ok_or_else(ToolError::gone)?
    })
    .await
}

#[derive(Debug, Deserialize)]
struct Size {
    cols: usize,
    rows: usize,
}

async fn resize(
    State(page): State<Arc<Page>>,
    Extension(right): Extension<Right>,
    body: Bytes,
) -> Response<Body> {
    act(&page.host, right, "resize", &body, async |asked: Act<Size>| {
        let sessions = &page.host.sessions;
        let entry = sessions.find(Some(&asked.session_id)).await?;
        sessions.policy().check_typing(&entry.names())?;
        let viewer = asked.viewer;
        let is_theirs = entry.handle.call(move |driver| driver.is_controlled_by(&viewer));
        if is_theirs.await != Some(true) {
            return Err(not_in_control());
        }
        tools::resize_session::resize(&entry, asked.rest.cols, asked.rest.rows).await?;
        Ok(json!({}))
    })
    .await
}

/// The login file: a browser that opens it goes to the page, with the page token. It is removed when it is dropped.
///
/// The file of a server that crashed stays. Its port does not show whether its server runs, so a later server removes only
/// that of its own port. The token in it was valid for the run that ended.
#[derive(Debug)]
pub struct LoginFile {
    path: PathBuf,
}

impl LoginFile {
    pub(super) fn make(url: &str, port: u16, page_token: &str) -> io::Result<LoginFile> {
        let path = crate::socket::runtime_dir()?.join(format!("page-{port}.html"));
        let _ = std::fs::remove_file(&path);
        let mut file =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        // The address and the token have no character that ends a string or a script.
        let place = format!("\"{url}/#{page_token}\"");
        let text = format!(
            "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\">\
             <title>awaitty</title><script>location.replace({place})</script>\n"
        );
        file.write_all(text.as_bytes())?;
        Ok(LoginFile { path })
    }

    /// Returns where it is.
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
    fn a_paste_cannot_end_itself() {
        let typed =
            |data: &str, paste: &str| Typed { data: data.to_owned(), paste: paste.to_owned() };
        let mut screen = Screen::new(20, 5, 0);
        let hostile = "one\x1b[20\x1b[201~1~\nrm -r x\n";
        assert_eq!(typed("", hostile).encode(&screen), "one\rrm -r x\r");
        screen.feed(b"\x1b[?2004h");
        assert_eq!(typed("", hostile).encode(&screen), "\x1b[200~one\rrm -r x\r\x1b[201~");
        // A client of the page's own making has no other way.
        assert_eq!(typed("\x1b[200~x\x1b[201~ls\r", "").encode(&screen), "xls\r");
        assert_eq!(typed("\x1b[A", "").encode(&screen), "\x1b[A");
    }
}
