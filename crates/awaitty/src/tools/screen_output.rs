//! The screen in results: its rows or their changes, and the selection, as JSON and as text.

use std::fmt::Write;
use std::sync::Arc;

use awaitty_core::{ChangeKind, Diff, Frame, Selection, SelectionChange, Seq};
use schemars::JsonSchema;
use serde::Serialize;

use super::outcome::WaitOutput;
use crate::policy;
use crate::sessions::Entry;
use crate::text;
use awaitty_terminal::terminal::Driver;

/// The number of selected spans in the text. A menu has one or two; a screen with more has coloured columns.
const SELECTED_MAX: usize = 5;

/// The maximum length of a selected span in the text, in characters.
const SELECTED_CHARS: usize = 80;

/// The next step for a reader of a text that omits rows.
pub(crate) const HOW_TO_READ: &str = "snapshot with rows, or read_output, returns them";

/// The form of the screen in a result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ScreenMode {
    /// The whole screen.
    Full,
    /// The changes since a frame.
    Diff(Seq),
    /// No screen: another result has it.
    Omitted,
}

/// A span of highlighted or concealed cells.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SelectionOutput {
    pub(super) row: usize,
    /// First and last column, from 1.
    pub(super) cols: [usize; 2],
    pub(super) text: String,
}

impl From<&Selection> for SelectionOutput {
    fn from(span: &Selection) -> SelectionOutput {
        SelectionOutput {
            row: span.row + 1,
            cols: [span.from + 1, span.to],
            text: text::visible(&span.text),
        }
    }
}

/// Returns the selection of a frame.
pub(super) fn selection(frame: &Frame) -> Vec<SelectionOutput> {
    frame.selection().iter().map(SelectionOutput::from).collect()
}

/// Returns the line of text that names the selection, with its line feed; an empty string if there is none. It cannot
/// be confused with a row: rows are numbered.
pub(super) fn selected_line(selection: &[SelectionOutput]) -> String {
    if selection.is_empty() {
        return String::new();
    }
    let span = |span: &SelectionOutput| {
        let text: String = span.text.chars().take(SELECTED_CHARS).collect();
        format!("row {} {text:?}", span.row)
    };
    let spans: Vec<String> = selection.iter().take(SELECTED_MAX).map(span).collect();
    let mut line = format!("selected: {}", spans.join(", "));
    if selection.len() > SELECTED_MAX {
        let _ = write!(line, ", and {} more", selection.len() - SELECTED_MAX);
    }
    line + "\n"
}

/// A row that changed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct ChangeOutput {
    /// `changed`, `added`, `removed` or `style`.
    kind: &'static str,
    /// From 1.
    row: usize,
    /// Its current text.
    text: String,
    /// For `style`: the columns, from 1 and inclusive, whose style changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    spans: Vec<[u16; 2]>,
    /// `selected` or `deselected`, if its selection changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    selection: Option<&'static str>,
}

/// Returns the changes of a diff.
pub(crate) fn changes(diff: &Diff) -> Vec<ChangeOutput> {
    let kind = |kind: ChangeKind| match kind {
        ChangeKind::Changed => "changed",
        ChangeKind::Added => "added",
        ChangeKind::Removed => "removed",
        ChangeKind::Style => "style",
    };
    let change = |change: &awaitty_core::Change| ChangeOutput {
        kind: kind(change.kind),
        row: change.row + 1,
        text: text::visible(change.now.text()),
        spans: change.spans.iter().map(|span| [span.from + 1, span.to]).collect(),
        selection: change.selection.map(selection_word),
    };
    diff.changes.iter().map(change).collect()
}

fn selection_word(change: SelectionChange) -> &'static str {
    match change {
        SelectionChange::Selected => "selected",
        SelectionChange::Deselected => "deselected",
    }
}

/// Returns whether a diff is short enough for a result.
pub(crate) fn fits(diff: &Diff) -> bool {
    diff.changes.iter().map(|change| change.now.text().chars().count() + 4).sum::<usize>()
        <= policy::limits().result_chars
}

/// Adds the screen or its changes to the output and returns them as text.
pub(crate) fn show_frame(
    driver: &Driver,
    frame: &Arc<Frame>,
    mode: ScreenMode,
    output: &mut WaitOutput,
) -> String {
    match mode {
        ScreenMode::Omitted => String::new(),
        ScreenMode::Full => show_rows(frame, output),
        ScreenMode::Diff(seq) => {
            let old = driver.session().history().get(seq).cloned();
            show_since(driver, old.as_ref(), frame, output)
        }
    }
}

/// Adds the changes since a frame to the output and returns them as text; the whole screen if that frame is no longer
/// kept, had another size or differs too much.
pub(super) fn show_since(
    driver: &Driver,
    old: Option<&Arc<Frame>>,
    frame: &Arc<Frame>,
    output: &mut WaitOutput,
) -> String {
    let Some((old, diff)) = old.and_then(|old| Some((old, Diff::new(old, frame).filter(fits)?)))
    else {
        output.history_truncated = Some(true);
        return show_rows(frame, output);
    };
    output.scrolled = Some(diff.scrolled);
    output.changes = Some(changes(&diff));
    output.selection = selection(frame);
    let diff = diff_text(driver.session().comparable(old), frame).unwrap_or_default();
    selected_line(&output.selection) + &text::cut_rows(diff, screen_chars_max(), HOW_TO_READ)
}

/// Adds the whole screen to the output and returns it as text.
fn show_rows(frame: &Frame, output: &mut WaitOutput) -> String {
    let limit = policy::limits().result_chars;
    output.selection = selection(frame);
    output.screen_text = Some(text::cut(text::visible(&frame.text()), limit, HOW_TO_READ));
    let rows = text::numbered(&text::frame_rows(frame));
    selected_line(&output.selection) + &text::cut_rows(rows, screen_chars_max(), HOW_TO_READ)
}

/// Returns the maximum length of the screen in a text block, in characters.
fn screen_chars_max() -> usize {
    policy::SHOWN_CHARS.min(policy::limits().result_chars)
}

/// Returns the changes between two frames as text; `None` if their sizes differ.
pub(super) fn diff_text(old: &Frame, new: &Frame) -> Option<String> {
    let diff = Diff::new(old, new)?;
    Some(text::diff_text(&diff, new.rows().len()))
}

/// Returns the header line of a text block.
pub(crate) fn header(entry: &Entry, frame: &Frame, what: &str) -> String {
    let cursor = frame.cursor();
    format!(
        "[{}] seq={} {}x{} cursor={},{} {what}",
        text::visible(entry.label()),
        frame.seq().0,
        frame.cols(),
        frame.rows().len(),
        cursor.row + 1,
        cursor.col + 1
    )
}
