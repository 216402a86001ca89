//! `resize_session`.

use awaitty_core::{COLS_MAX, ROWS_MAX, Since};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::outcome::WaitOutput;
use super::params::within;
use super::screen_output::ScreenMode;
use super::spec::{CommandSpec, Effect, ToolSpec};
use super::wait_call::start;
use super::wait_params::WaitParam;
use super::writable::ensure_not_controlled;
use super::{Context, Tool, ToolResult};
use crate::export::{self, Act};
use crate::sessions::{Entry, Sessions};
use awaitty_terminal::ToolError;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// 1 to 1000.
    cols: usize,
    /// 1 to 500.
    rows: usize,
    /// Return when one of these holds.
    wait: Option<WaitParam>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    cols: usize,
    rows: usize,
    #[serde(flatten)]
    wait: WaitOutput,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    command: CommandSpec {
        alias: Some("resize"),
        positions: &["session_id", "cols", "rows"],
        switches: &[],
        after_help: None,
    },
    ..ToolSpec::new(
        "resize_session",
        "Changes the size of a terminal; the program gets SIGWINCH.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let (cols, rows) = (params.cols, params.rows);
    let signals = &context.sessions.signals;
    let request = params.wait.as_ref().map(|wait| wait.to_request(signals)).transpose()?;
    let entry = context.find(params.session_id.as_deref()).await?;
    ensure_not_controlled(&context, &entry).await?;
    let before = entry.handle.call(|driver| driver.session().frame().seq()).await;
    let before = before.ok_or_else(ToolError::gone)?;
    export::before_input(&context.sessions, &entry).await;
    let seq = resize(&context.sessions, &entry, cols, rows).await?;
    context.sessions.logs.add(&entry.id, Act::Resized { cols, rows });
    let (wait, text) = match request {
        Some(mut request) => {
            // The program reacts to the new size and not to input, so the default anchor is the frame before it.
            if params.wait.is_some_and(|wait| !wait.has_since()) {
                request.since = Since::Frame(before);
            }
            start(&context, &entry, &request, ScreenMode::Full).await?
        }
        None => (WaitOutput::at_seq(seq), format!("[{}] seq={seq} {cols}x{rows}", entry.label())),
    };
    Ok((Output { session_id: entry.id.clone(), cols, rows, wait }, text))
}

/// Changes a terminal's size. Returns the number of its frame.
pub(crate) async fn resize(
    sessions: &Sessions,
    entry: &Entry,
    cols: usize,
    rows: usize,
) -> Result<u64, ToolError> {
    let cols = within("cols", cols, 1, COLS_MAX)?;
    let rows = within("rows", rows, 1, ROWS_MAX)?;
    if let Some((server, pane)) = &entry.pane
        && !server.resize(pane, cols, rows).await?
    {
        return Err(ToolError::new(
            "denied",
            format!(
                "pane {pane} belongs to the user's tmux, which sets its size: use tmux resize-pane"
            ),
        ));
    }
    export::trace::start_resize(sessions, entry, cols, rows).await;
    let resized = entry.handle.call(move |driver| {
        driver.resize(cols, rows)?;
        Ok::<u64, std::io::Error>(driver.session().frame().seq().0)
    });
    let seq = resized.await.ok_or_else(ToolError::gone)?;
    seq.map_err(|error| ToolError::new("exited", format!("the terminal is gone: {error}")))
}
