//! `snapshot`.

use std::fmt::Write;
use std::sync::Arc;

use awaitty_core::{CursorShape, Frame, Seq};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exit::ExitOutput;

use super::params::max_chars;
use super::screen_output::{
    ChangeOutput, SelectionOutput, changes, diff_text, fits, header, selected_line, selection,
};
use super::spec::{Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::state::StateOutput;
use super::{Context, Tool, ToolResult, styled};
use crate::text;
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::Driver;

/// The maximum number of concealed spans in a result: more than a program has by accident.
const CONCEALED_MAX: usize = 20;

/// The maximum length of each, in characters. The rows have the full text.
const CONCEALED_CHARS: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Only what changed since this seq.
    since: Option<u64>,
    /// "text" (default), "annotated": styles marked, e.g. [r+]error[/], or "styled".
    format: Option<String>,
    /// First and last, from 1.
    rows: Option<[usize; 2]>,
    /// Also lines above the screen.
    #[serde(default)]
    scrollback: usize,
    /// Default 20000.
    max_chars: Option<usize>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Size {
    cols: usize,
    rows: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct CursorOutput {
    row: usize,
    col: usize,
    visible: bool,
    shape: &'static str,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    seq: u64,
    size: Size,
    cursor: CursorOutput,
    title: String,
    alt_screen: bool,
    hash: String,
    /// `running` or `exited`.
    state: &'static str,
    #[serde(flatten)]
    exit: ExitOutput,
    #[serde(flatten)]
    doing: StateOutput,
    /// Highlighted spans, such as the selected entry of a menu.
    selection: Vec<SelectionOutput>,
    /// Text that is invisible to a person: concealed, or in the colour of its background.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    concealed: Vec<SelectionOutput>,
    /// The number of further concealed spans.
    #[serde(skip_serializing_if = "Option::is_none")]
    concealed_more: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The rows as runs of one style.
    #[serde(skip_serializing_if = "Option::is_none")]
    styled: Option<Vec<Vec<styled::Run>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<ChangeOutput>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scrolled: Option<isize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history_truncated: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Text,
    Annotated,
    Styled,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    is_core: true,
    callers: Callers::ReadersAndPrograms,
    command: CommandSpec {
        alias: None,
        positions: &["session_id"],
        switches: &[("plain", "Print only the text of the screen")],
        after_help: None,
    },
    ..ToolSpec::new(
        "snapshot",
        "Shows the screen as text, with cursor, title, state and selection; with `since` (a seq) only what changed.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

fn output(session_id: String, driver: &Driver, frame: &Frame) -> Output {
    let session = driver.session();
    let cursor = session.screen().cursor();
    let shape = match cursor.shape {
        CursorShape::Block => "block",
        CursorShape::Underline => "underline",
        CursorShape::Bar => "bar",
    };
    let concealed = frame.concealed(session.screen());
    let more = concealed.len().saturating_sub(CONCEALED_MAX);
    let shorten = |shown: SelectionOutput| SelectionOutput {
        text: shown.text.chars().take(CONCEALED_CHARS).collect(),
        ..shown
    };
    Output {
        session_id,
        seq: frame.seq().0,
        size: Size { cols: frame.cols(), rows: frame.rows().len() },
        cursor: CursorOutput {
            row: cursor.row + 1,
            col: cursor.col + 1,
            visible: cursor.visible,
            shape,
        },
        title: text::visible(session.screen().title()),
        alt_screen: frame.is_alternate(),
        hash: format!("{:016x}", frame.hash()),
        state: if session.exit().is_some() { "exited" } else { "running" },
        exit: session.exit().into(),
        doing: StateOutput::of(driver),
        selection: selection(frame),
        concealed: concealed
            .iter()
            .take(CONCEALED_MAX)
            .map(SelectionOutput::from)
            .map(shorten)
            .collect(),
        concealed_more: Some(more).filter(|more| *more > 0),
        text: None,
        styled: None,
        changes: None,
        scrolled: None,
        history_truncated: None,
    }
}

/// Returns a line that names the concealed text, which looks like any other in the rows. It cannot be confused with a
/// row: rows are numbered.
fn concealed_note(output: &Output) -> String {
    let mut note = String::new();
    for (i, span) in output.concealed.iter().enumerate() {
        let (begin, [from, to]) =
            (if i == 0 { "\ninvisible to a person: " } else { ", " }, span.cols);
        let _ = write!(note, "{begin}row {} columns {from}-{to} {:?}", span.row, span.text);
    }
    if let Some(more) = output.concealed_more {
        let _ = write!(note, ", and {more} more");
    }
    note
}

/// Returns the requested rows with their labels: row numbers, and absolute line numbers above the screen.
fn rows(driver: &Driver, frame: &Frame, params: &Params, annotated: bool) -> Vec<(String, String)> {
    let lines = driver.session().screen().scrollback();
    let first = lines.len().saturating_sub(params.scrollback);
    let above = (first..lines.len()).filter_map(|i| lines.text(i));
    let above =
        above.map(|(line, line_text)| (format!("line {}", line.0), text::visible(line_text)));
    let shown = if annotated { frame.annotated() } else { frame.text() };
    let mut shown: Vec<String> = shown.lines().map(text::visible).collect();
    shown.resize(frame.rows().len(), String::new());
    let [from, to] = params.rows.unwrap_or([1, frame.rows().len()]);
    let screen = shown.into_iter().enumerate().map(|(i, row)| (i + 1, row));
    let screen = screen
        .filter(move |(row, _)| (from..=to).contains(row))
        .map(|(row, t)| (row.to_string(), t));
    above.chain(screen).collect()
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let format = match params.format.as_deref().unwrap_or("text") {
        "text" => Format::Text,
        "annotated" => Format::Annotated,
        "styled" => Format::Styled,
        other => {
            return Err(ToolError::argument(format!(
                "format: {other:?} is invalid: use \"text\", \"annotated\" or \"styled\""
            )));
        }
    };
    if let Some([from, to]) = params.rows.filter(|[from, to]| *from == 0 || from > to) {
        return Err(ToolError::argument(format!(
            "rows: [{from}, {to}] is invalid: give the first and the last row, from 1"
        )));
    }
    let entry = context.find(params.session_id.as_deref()).await?;
    let result = entry.handle.call({
        let entry = Arc::clone(&entry);
        move |driver| take_snapshot(driver, &entry, &params, format)
    });
    result.await.ok_or_else(ToolError::gone)?
}

fn take_snapshot(
    driver: &mut Driver,
    entry: &crate::sessions::Entry,
    params: &Params,
    format: Format,
) -> ToolResult<Output> {
    const HOW: &str = "limit the rows, or call read_output";
    let session = driver.session();
    let frame = Arc::clone(session.frame());
    let mut output = output(entry.id.clone(), driver, &frame);
    let max = max_chars(params.max_chars)?;
    let words = format!("{}{}{}", output.state, output.exit.words(), output.doing.words());
    let selected = selected_line(&output.selection);
    let head = header(entry, &frame, &words) + &concealed_note(&output) + "\n" + &selected;
    if let Some(since) = params.since {
        if since > frame.seq().0 {
            return Err(ToolError::argument(format!(
                "since: there is no seq {since} yet, the newest is {}: pass a seq that a result gave",
                frame.seq().0
            )));
        }
        if let Some(diff) = session.history().diff_since(Seq(since)).filter(fits) {
            output.scrolled = Some(diff.scrolled);
            output.changes = Some(changes(&diff));
            let old = session.history().get(Seq(since)).unwrap_or(&frame);
            let shown = diff_text(session.comparable(old), &frame).unwrap_or_default();
            return Ok((output, head + &text::cut(shown, max, HOW)));
        }
        output.history_truncated = Some(true);
    }
    if format == Format::Styled {
        output.styled = Some(styled::rows(&frame));
        return Ok((output, head));
    }
    let rows = rows(driver, &frame, params, format == Format::Annotated);
    let plain: Vec<&str> = rows.iter().map(|(_, row)| row.as_str()).collect();
    let plain = plain.join("\n");
    output.text = Some(text::cut(plain.trim_end_matches('\n').to_owned(), max, HOW));
    let numbered = text::numbered(&rows);
    Ok((output, head + &text::cut(numbered, max, HOW)))
}
