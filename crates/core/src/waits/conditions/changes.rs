//! The changes of the screen since an anchor: of text beyond the echo of input, of the selection, of other styles.

use std::sync::Arc;
use std::time::Duration;

use super::Styles;
use crate::frames::{Frame, shift_between};
use crate::row::Row;
use crate::waits::{Anchor, Pattern};
use crate::{Tick, Time};

/// Maximum number of rows in [`ChangeState::busy_rows`].
const BUSY_ROWS_MAX: usize = 5;

/// The changes since the anchor of a wait.
#[derive(Clone, Debug, Default)]
pub(crate) struct ChangeState {
    /// The text differs from the anchor's by more than the echo of input.
    pub(crate) text: bool,
    /// The selection differs.
    selection: bool,
    /// Some style differs.
    pub(crate) style: bool,
    /// The time at which the clock of the wait was last started, by a change of text or by input.
    pub(crate) changed_at: Time,
    /// The number of changes of the text.
    pub(crate) count: u32,
    rows: Vec<RowChanges>,
}

/// The changes of one row.
#[derive(Clone, Copy, Debug, Default)]
struct RowChanges {
    count: u32,
    last: Time,
}

impl ChangeState {
    /// Returns a state without changes, whose clock starts at `changed_at`.
    pub(crate) fn new(changed_at: Time) -> ChangeState {
        ChangeState { changed_at, ..ChangeState::default() }
    }

    /// Starts the clock again at `at`, if the text has not changed later.
    pub(crate) fn restart(&mut self, at: Time) {
        self.changed_at = self.changed_at.max(at);
    }

    /// Returns whether there was a change that counts.
    pub(crate) fn counts(&self, styles: Styles) -> bool {
        self.text
            || match styles {
                Styles::Text => false,
                Styles::Selection => self.selection,
                Styles::All => self.style,
            }
    }

    /// Handles the next frame. Only a change of text restarts the clock.
    pub(crate) fn note_frame(
        &mut self,
        now: Time,
        anchor: &Anchor,
        before: &Frame,
        frame: &Frame,
        ignore: &[Arc<Pattern>],
    ) {
        let rows = changed_rows(before, frame, ignore);
        if !rows.is_empty() {
            (self.changed_at, self.count) = (now, self.count + 1);
            // Rows that are missing on a smaller screen count as changed.
            let rows_max = before.rows().len().max(frame.rows().len());
            self.rows.resize(rows_max.max(self.rows.len()), RowChanges::default());
            for row in rows {
                self.rows[row].count += 1;
                self.rows[row].last = now;
            }
        }
        self.text = changed_beyond_echo(anchor, frame, ignore);
        // An echo that does not count is no change of style either.
        self.style = if self.text {
            !frame.looks_like(&anchor.frame)
        } else {
            style_changed(&anchor.frame, frame)
        };
        self.selection = self.style && selection_changed(&anchor.frame, frame, ignore);
    }

    /// Returns the rows that changed more than once, the last time within `window` before `now`, most often first.
    pub(crate) fn busy_rows(&self, now: Time, window: Duration) -> Vec<usize> {
        let is_busy = |&row: &usize| {
            let RowChanges { count, last } = self.rows[row];
            count > 1 && now.since(last) < window
        };
        let mut rows: Vec<usize> = (0..self.rows.len()).filter(is_busy).collect();
        rows.sort_by_key(|&row| std::cmp::Reverse(self.rows[row].count));
        rows.truncate(BUSY_ROWS_MAX);
        rows
    }
}

/// Returns whether a frame shows more than the anchor's frame and the echo of input.
pub(crate) fn differs_from(anchor: &Anchor, frame: &Frame) -> bool {
    changed_beyond_echo(anchor, frame, &[]) || style_changed(&anchor.frame, frame)
}

fn is_ignored(text: &str, ignore: &[Arc<Pattern>]) -> bool {
    ignore.iter().any(|pattern| pattern.is_match(text))
}

/// Returns the rows whose text differs, except those whose text is ignored before and after: a spinner is left out, but
/// not the result that replaces it.
fn changed_rows(before: &Frame, after: &Frame, ignore: &[Arc<Pattern>]) -> Vec<usize> {
    let (old, new) = (before.rows(), after.rows());
    let differs = |row: usize| {
        let (a, b) = (old.get(row), new.get(row));
        let same = match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a.text() == b.text(),
            _ => false,
        };
        let text = |row: Option<&Arc<Row>>| row.map_or(String::new(), |row| row.text().to_owned());
        !(same || is_ignored(&text(a), ignore) && is_ignored(&text(b), ignore))
    };
    (0..old.len().max(new.len())).filter(|&row| differs(row)).collect()
}

/// Returns whether a row has the same text in another style.
fn style_changed(before: &Frame, after: &Frame) -> bool {
    let mut rows = before.rows().iter().zip(after.rows());
    before.is_reverse() != after.is_reverse()
        || rows.any(|(before, after)| before.text() == after.text() && !before.looks_like(after))
}

/// Returns whether other cells are selected. The text in them does not matter: it may be the echo of input in a field.
fn selection_changed(before: &Frame, after: &Frame, ignore: &[Arc<Pattern>]) -> bool {
    let spans = |frame: &Frame| -> Vec<(usize, usize, usize)> {
        let is_left_out = |row: usize| is_ignored(frame.rows()[row].text(), ignore);
        let selected = frame.selection().into_iter().filter(|span| !is_left_out(span.row));
        selected.map(|span| (span.row, span.from, span.to)).collect()
    };
    spans(before) != spans(after)
}

/// Returns whether the text differs from the anchor's by more than the echo of the input, whose cells count as never
/// drawn, and by more than the scroll that an echoed Enter makes.
fn changed_beyond_echo(anchor: &Anchor, frame: &Frame, ignore: &[Arc<Pattern>]) -> bool {
    let old = anchor.frame.rows();
    if old.len() != frame.rows().len() || anchor.frame.cols() != frame.cols() {
        return true;
    }
    let scrolled = if anchor.echo_counts { 0 } else { shift_between(&anchor.frame, frame) };
    if scrolled.unsigned_abs() > anchor.enters {
        return true;
    }
    frame.rows().iter().enumerate().any(|(index, row)| {
        let before = index.checked_add_signed(scrolled).and_then(|index| old.get(index));
        let old_text = before.map_or("", |row| row.text());
        let ignored = is_ignored(row.text(), ignore);
        old_text != row.text()
            && !ignored
            && (anchor.echo_counts || differs_beyond_echo(before.map(|row| &**row), row))
    })
}

fn differs_beyond_echo(before: Option<&Row>, after: &Row) -> bool {
    let cols = after.width().max(before.map_or(0, Row::width));
    (0..cols).any(|col| {
        let old = before.map_or("", |row| row.slice(col, col + 1)).trim_end();
        let new = after.slice(col, col + 1).trim_end();
        let is_echo = !new.is_empty() && after.tick_at(col) == Tick::ECHO;
        old != new && !is_echo
    })
}
