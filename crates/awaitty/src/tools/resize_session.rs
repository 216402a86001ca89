//! `resize_session`.

use awaitty_core::{COLS_MAX, ROWS_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::params::within;
use super::{Answer, Context, Kind, Tool};
use crate::error::ToolError;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// 1 to 1000.
    cols: usize,
    /// 1 to 500.
    rows: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    cols: usize,
    rows: usize,
    seq: u64,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "resize_session",
        "Changes a terminal's size; the program is told.",
        Kind::Acts,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let cols = within("cols", params.cols, 1, COLS_MAX)?;
    let rows = within("rows", params.rows, 1, ROWS_MAX)?;
    let entry = context.sessions.find(params.session_id.as_deref()).await?;
    if let Some((server, pane)) = &entry.pane
        && !server.resize(pane, cols, rows).await?
    {
        return Err(ToolError::new(
            "denied",
            format!(
                "the size of pane {pane} is tmux's, and the person's who looks at it: tmux resize-pane changes it"
            ),
        ));
    }
    let resized = entry.handle.call(move |driver| {
        driver.resize(cols, rows)?;
        Ok::<u64, std::io::Error>(driver.session().frame().seq().0)
    });
    let seq = resized.await.ok_or_else(ToolError::gone)?;
    let seq =
        seq.map_err(|error| ToolError::new("exited", format!("the terminal is gone: {error}")))?;
    let text = format!("[{}] seq={seq} {cols}x{rows}", entry.label());
    Ok((Output { session_id: entry.id.clone(), cols, rows, seq }, text))
}
