//! `list_sessions`.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exit::ExitOutput;
use super::spec::{Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::state::StateOutput;
use super::{Context, Tool, ToolResult};
use crate::sessions::Sessions;
use crate::{policy, text};
use awaitty_terminal::io::tmux::{PaneInfo, Server};

/// The maximum length of a command line in the text, in characters.
const COMMAND_CHARS: usize = 80;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Also the panes of the user's tmux server. Default true.
    #[schemars(skip)]
    #[serde(default = "yes")]
    tmux: bool,
}

fn yes() -> bool {
    true
}

/// A session.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(crate) struct SessionOutput {
    pub(crate) session_id: String,
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
    /// The directory of its shell, from a mark with a nonce. OSC 7 is ignored, because any program can print it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    alt_screen: bool,
    /// The number of the frame. A tmux pane has none before its first use.
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Time since the text changed or input was sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_ms: Option<u64>,
    /// When it was started, in milliseconds since 1970.
    created: u64,
    /// The number of running waits.
    waits: usize,
    /// `pty`, `tmux`, or `tmux (capture)`: a pane whose output is piped elsewhere, so that short-lived output may be
    /// missed.
    backend: &'static str,
    /// The number of rows of a pane that differed from tmux's and were corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    healed: Option<u64>,
    /// The path of its recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<String>,
    /// The reason why the recording ended early.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording_note: Option<String>,
    /// The place of the pane in tmux: session, window and pane.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<String>,
    /// Whether it is the pane that the server itself runs in.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<bool>,
    /// The number of attached people.
    #[serde(skip_serializing_if = "is_zero")]
    attached: usize,
    /// The open question for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<String>,
}

fn is_zero(count: &usize) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    sessions: Vec<SessionOutput>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    is_core: true,
    callers: Callers::Readers,
    command: CommandSpec {
        alias: Some("ls"),
        positions: &[],
        switches: &[("watch", "Keep running, and print the table again after each change")],
        after_help: None,
    },
    ..ToolSpec::new(
        "list_sessions",
        "Lists the sessions with their state and exit code, and the panes of the user's tmux.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let mut sessions = known(&context.sessions).await;
    if params.tmux {
        add_panes(&context.sessions, &mut sessions).await;
    }
    let text = match sessions.is_empty() {
        true => "no sessions: start one with spawn".to_owned(),
        false => lines(&sessions),
    };
    Ok((Output { sessions }, text))
}

/// Returns the sessions of the server.
pub(crate) async fn known(sessions: &Sessions) -> Vec<SessionOutput> {
    let mut known = Vec::new();
    for entry in sessions.all() {
        let output = entry.handle.call({
            let entry = std::sync::Arc::clone(&entry);
            move |driver| {
                let doing = StateOutput::of(driver);
                let (session, now) = (driver.session(), driver.now());
                let (screen, recording) = (session.screen(), driver.recording());
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
                    cwd: session.shell_cwd().map(text::visible),
                    alt_screen: screen.is_alternate(),
                    seq: Some(session.frame().seq().0),
                    idle_ms: Some(now.since(session.active_at()).as_millis() as u64),
                    created: entry.created_ms,
                    waits: session.waits_running(),
                    attached: entry.people.count(),
                    asked: entry.people.open_question(),
                    backend: match entry.pane {
                        Some(_) if driver.is_captured() => "tmux (capture)",
                        Some(_) => "tmux",
                        None => "pty",
                    },
                    recording: recording.as_ref().map(|it| it.path.display().to_string()),
                    recording_note: recording.and_then(|it| it.note),
                    healed: Some(driver.corrected()).filter(|&healed| healed > 0),
                    place: None,
                    own: entry.is_own_pane().then_some(true),
                }
            }
        });
        known.extend(output.await);
    }
    known
}

/// Adds the tmux panes that are not attached and that the policy shows, and the places of the attached ones.
pub(crate) async fn add_panes(held: &Sessions, sessions: &mut Vec<SessionOutput>) {
    for server in held.tmux_servers() {
        // An error means that the server is not running.
        for pane in server.panes().await.unwrap_or_default() {
            let pane = of_pane(&server, pane);
            match sessions.iter_mut().find(|one| one.session_id == pane.session_id) {
                Some(known) => known.place = pane.place,
                None if held.policy().allows_seeing(&[&pane.session_id]) => sessions.push(pane),
                None => {}
            }
        }
    }
}

/// Returns a pane that is not attached.
fn of_pane(server: &Server, pane: PaneInfo) -> SessionOutput {
    SessionOutput {
        session_id: server.id_of(&pane.id),
        command: text::visible(&pane.command),
        pid: pane.pid,
        cols: pane.cols,
        rows: pane.rows,
        state: if pane.is_dead { "exited" } else { "running" },
        exit: pane.is_dead.then(|| pane.exit()).into(),
        title: text::visible(&pane.title),
        cwd: Some(text::visible(&pane.path)),
        alt_screen: pane.is_alternate,
        created: pane.created * 1000,
        backend: if pane.is_piped { "tmux (capture)" } else { "tmux" },
        place: Some(text::visible(&pane.place)),
        own: server.is_own(&pane.id).then_some(true),
        ..SessionOutput::default()
    }
}

/// Returns the list as text, running sessions first, as far as it fits.
fn lines(sessions: &[SessionOutput]) -> String {
    let mut sorted: Vec<&SessionOutput> = sessions.iter().collect();
    sorted.sort_by_key(|session| session.state == "exited");
    let (mut text, mut chars) = (String::new(), 0);
    for (index, session) in sorted.iter().enumerate() {
        let line = line(session);
        chars += line.chars().count();
        if chars > policy::SHOWN_CHARS && index > 0 {
            let more = sorted.len() - index;
            let _ = writeln!(
                text,
                "… and {more} more: name one in snapshot, or read the structured result"
            );
            break;
        }
        text += &line;
    }
    text
}

fn line(session: &SessionOutput) -> String {
    let seen = match (session.seq, session.idle_ms) {
        (Some(seq), Some(idle)) => format!("seq={seq} idle={idle}ms"),
        _ => session.place.clone().unwrap_or_default(),
    };
    let short: String = session.command.chars().take(COMMAND_CHARS).collect();
    let more = if short.len() < session.command.len() { "…" } else { "" };
    format!(
        "{}\t{}\t{}{}{}\t{seen}\t{short}{more}\n",
        session.session_id,
        session.name.as_deref().unwrap_or("-"),
        session.state,
        session.exit.words(),
        session.doing.words(),
    )
}
