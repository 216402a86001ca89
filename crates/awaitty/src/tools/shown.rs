//! Screens in results: the rows, or what changed of them, and the selection, for programs and for readers.

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

/// Selected spans that a reader is shown in one line. A menu has one or two; a screen with more has coloured columns.
const SELECTED_MAX: usize = 5;

/// Characters of a selected span that a reader is shown.
const SELECTED_CHARS: usize = 80;

/// How the rows that a text block leaves out can be read.
pub(crate) const HOW_TO_READ: &str = "snapshot with rows, or read_output, gives them";

/// How the screen is shown in a result.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Show {
    /// All of it.
    Screen,
    /// What changed since that frame.
    Diff(Seq),
    /// Nothing of it: another result shows it.
    Nothing,
}

/// A span of cells that stand out, or that a person does not see.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct SelectionOutput {
    pub(super) row: usize,
    /// First and last column.
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

/// Returns the line that names the selection for a reader, with its line feed; nothing if there is none. No row looks like
/// it: rows are numbered.
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
    /// Its text now.
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

/// Returns whether a diff is short enough to be a result.
pub(crate) fn fits(diff: &Diff) -> bool {
    diff.changes.iter().map(|change| change.now.text().chars().count() + 4).sum::<usize>()
        <= policy::limits().result_chars
}

/// Puts the screen, or what changed, into the output. Returns it for a reader.
pub(crate) fn show_frame(
    driver: &Driver,
    frame: &Arc<Frame>,
    show: Show,
    output: &mut WaitOutput,
) -> String {
    match show {
        Show::Nothing => String::new(),
        Show::Screen => show_rows(frame, output),
        Show::Diff(seq) => {
            let old = driver.session().history().get(seq).cloned();
            show_since(driver, old.as_ref(), frame, output)
        }
    }
}

/// Puts what changed since a frame into the output; all of the screen if that frame is no longer kept, had another size or
/// differs too much. Returns it for a reader.
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
    let shown = diff_text(driver.session().comparable(old), frame).unwrap_or_default();
    selected_line(&output.selection) + &text::cut_rows(shown, shown_chars(), HOW_TO_READ)
}

/// Puts the screen into the output. Returns it for a reader.
fn show_rows(frame: &Frame, output: &mut WaitOutput) -> String {
    let limit = policy::limits().result_chars;
    output.selection = selection(frame);
    output.screen_text = Some(text::cut(text::visible(&frame.text()), limit, HOW_TO_READ));
    let rows = text::numbered(&text::frame_rows(frame));
    selected_line(&output.selection) + &text::cut_rows(rows, shown_chars(), HOW_TO_READ)
}

/// Returns how many characters of a screen a text block has at the most.
fn shown_chars() -> usize {
    policy::SHOWN_CHARS.min(policy::limits().result_chars)
}

/// Returns what changed between two frames, for a reader; `None` if their sizes differ.
pub(super) fn diff_text(old: &Frame, new: &Frame) -> Option<String> {
    let diff = Diff::new(old, new)?;
    Some(text::diff_text(&diff, new.rows().len()))
}

/// Returns the line above a screen.
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
