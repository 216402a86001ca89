//! `list_sessions`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exit::ExitOutput;
use super::state::StateOutput;
use super::{Answer, Context, Kind, Tool};
use crate::text;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Also the panes of the user's tmux server. Not yet supported, so nothing is added.
    #[schemars(skip)]
    #[serde(default = "yes")]
    #[expect(dead_code, reason = "a parameter of the contract whose backend is still to come")]
    tmux: bool,
}

fn yes() -> bool {
    true
}

/// A session.
#[derive(Debug, Serialize, JsonSchema)]
struct SessionOutput {
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    command: String,
    pid: i32,
    cols: usize,
    rows: usize,
    /// `running` or `exited`.
    state: &'static str,
    #[serde(flatten)]
    exit: ExitOutput,
    #[serde(flatten)]
    doing: StateOutput,
    title: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    alt_screen: bool,
    seq: u64,
    /// Since the text changed or input was sent.
    idle_ms: u64,
    /// When it was started, in milliseconds since 1970.
    created: u64,
    /// Waits that run on it.
    waits: usize,
    /// People who are at it.
    #[serde(skip_serializing_if = "is_none")]
    attached: usize,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    sessions: Vec<SessionOutput>,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "list_sessions",
        "Lists the terminals there are, and what state they are in.",
        Kind::Reads,
        run,
    )
}

async fn run(context: Context, _params: Params) -> Answer<Output> {
    let mut sessions = Vec::new();
    let mut lines = String::new();
    for entry in context.sessions.all() {
        let known = entry.handle.call({
            let entry = std::sync::Arc::clone(&entry);
            move |driver| {
                let doing = StateOutput::of(driver);
                let (session, now) = (driver.session(), driver.now());
                let screen = session.screen();
                SessionOutput {
                    session_id: entry.id.clone(),
                    name: entry.name.clone(),
                    command: text::visible(&entry.command),
                    pid: entry.pid.as_raw_nonzero().get(),
                    cols: screen.cols(),
                    rows: screen.rows(),
                    state: if session.exit().is_some() { "exited" } else { "running" },
                    exit: session.exit().into(),
                    doing,
                    title: text::visible(screen.title()),
                    cwd: session.shell_cwd().or(screen.cwd()).map(text::visible),
                    alt_screen: screen.is_alternate(),
                    seq: session.frame().seq().0,
                    idle_ms: now.since(session.active_at()).as_millis() as u64,
                    created: entry.created_ms,
                    waits: session.waits_running(),
                    attached: entry.people.count(),
                }
            }
        });
        if let Some(session) = known.await {
            lines += &format!(
                "{}\t{}\t{}{}\tseq={} idle={}ms\t{}\n",
                session.session_id,
                session.name.as_deref().unwrap_or("-"),
                session.state,
                session.doing.words(),
                session.seq,
                session.idle_ms,
                session.command
            );
            sessions.push(session);
        }
    }
    let text = if sessions.is_empty() { "no sessions: spawn one".to_owned() } else { lines };
    Ok((Output { sessions }, text))
}
