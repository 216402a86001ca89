//! The difference of two frames, in as few rows as possible: a scroll is one number instead of forty rows.
//!
//! Invariant: shifting the old rows up by `scrolled` (down if negative), with blank rows coming in, and then replacing
//! each row in `changes` gives the rows of the new frame.

use std::sync::Arc;

use super::{Frame, Selection};
use crate::Tick;
use crate::row::{Row, Span};
use crate::style::Style;

/// Cost of a row of a diff in addition to its text, in characters.
const ROW_COST: usize = 4;

/// Cost of a scroll, in characters: a line or two that moved are not reported as a scroll.
const SCROLL_COST: usize = 8;

/// The kind of change of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Its text differs.
    Changed,
    /// It was blank.
    Added,
    /// It is blank now.
    Removed,
    /// Its text is the same and its style differs.
    Style,
}

/// The change of a row's selection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectionChange {
    /// A span became selected.
    Selected,
    /// It has no selected span any longer.
    Deselected,
}

/// A row that changed.
#[derive(Clone, Debug)]
pub struct Change {
    /// The kind of the change.
    pub kind: ChangeKind,
    /// The row, from 0.
    pub row: usize,
    /// The row as it is now.
    pub now: Arc<Row>,
    /// The columns whose style changed, with the new style, for [`ChangeKind::Style`].
    pub spans: Vec<Span<Style>>,
    /// The change of its selection, if any.
    pub selection: Option<SelectionChange>,
}

/// The difference of two frames of the same size.
#[derive(Clone, Debug, Default)]
pub struct Diff {
    /// The number of rows by which the old screen moved up, negative for down; all rows if nothing of it is left.
    pub scrolled: isize,
    /// The other rows that changed.
    pub changes: Vec<Change>,
    /// Whether the inversion of the whole screen changed.
    pub reversed: bool,
}

impl Diff {
    /// Returns the changes from `old` to `new`; `None` if their sizes differ.
    pub fn new(old: &Frame, new: &Frame) -> Option<Diff> {
        if old.cols() != new.cols() || old.rows().len() != new.rows().len() {
            return None;
        }
        let reversed = old.is_reverse() != new.is_reverse();
        let scrolled = shift_between(old, new);
        let (old_rows, new_rows) = (old.rows(), new.rows());
        let mut changes: Vec<Change> = (0..new_rows.len())
            .filter_map(|row| change(shifted(old_rows, scrolled, row), &new_rows[row], row))
            .collect();
        if !changes.is_empty() {
            let (before, after) = (old.selection(), new.selection());
            for change in &mut changes {
                let old_row = change.row.checked_add_signed(scrolled);
                change.selection = selection_change(&before, old_row, &after, change.row);
            }
        }
        Some(Diff { scrolled, changes, reversed })
    }

    /// Returns whether nothing of the old screen is left, so that all rows are new or blank.
    pub fn is_replaced(&self, rows: usize) -> bool {
        self.scrolled.unsigned_abs() >= rows
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.scrolled == 0 && self.changes.is_empty() && !self.reversed
    }

    /// Returns the rows of the new frame, made from those of the old one.
    pub fn apply(&self, old: &[Arc<Row>]) -> Vec<Arc<Row>> {
        let blank = Arc::new(Row::default());
        let moved = (0..old.len()).map(|row| shifted(old, self.scrolled, row).unwrap_or(&blank));
        let mut rows: Vec<Arc<Row>> = moved.cloned().collect();
        for change in &self.changes {
            rows[change.row] = Arc::clone(&change.now);
        }
        rows
    }
}

/// Returns the old row that is at `row` after the shift; `None` for a blank row that comes in.
fn shifted(old: &[Arc<Row>], scrolled: isize, row: usize) -> Option<&Arc<Row>> {
    old.get(row.checked_add_signed(scrolled)?)
}

fn change(old: Option<&Arc<Row>>, new: &Arc<Row>, row: usize) -> Option<Change> {
    let same = match old {
        Some(old) => Arc::ptr_eq(old, new) || old.looks_like(new),
        None => new.is_blank(),
    };
    if same {
        return None;
    }
    let old_text = old.map_or("", |old| old.text());
    let (kind, spans) = if old_text == new.text() {
        (ChangeKind::Style, restyled(old.map(|old| &**old), new))
    } else if old_text.is_empty() {
        (ChangeKind::Added, Vec::new())
    } else if new.text().is_empty() {
        (ChangeKind::Removed, Vec::new())
    } else {
        (ChangeKind::Changed, Vec::new())
    };
    Some(Change { kind, row, now: Arc::clone(new), spans, selection: None })
}

/// Returns how the selected spans of a row changed. Their text may have changed as well.
fn selection_change(
    before: &[Selection],
    old_row: Option<usize>,
    after: &[Selection],
    row: usize,
) -> Option<SelectionChange> {
    let old: Vec<_> = before.iter().filter(|span| Some(span.row) == old_row).collect();
    let new: Vec<_> = after.iter().filter(|span| span.row == row).collect();
    let is_old =
        |span: &&Selection| old.iter().any(|old| (old.from, old.to) == (span.from, span.to));
    if new.iter().any(|span| !is_old(span)) {
        Some(SelectionChange::Selected)
    } else {
        (old.len() > new.len()).then_some(SelectionChange::Deselected)
    }
}

/// Returns the columns whose style differs, with the new style.
fn restyled(old: Option<&Row>, new: &Row) -> Vec<Span<Style>> {
    let end = |row: &Row| row.styles().last().map_or(0, |span| span.to);
    let cols = old.map_or(0, end).max(end(new));
    let mut spans = Vec::new();
    for col in 0..cols {
        let style = new.style_at(usize::from(col));
        if old.map_or(Style::default(), |old| old.style_at(usize::from(col))) != style {
            crate::row::extend_spans(&mut spans, col, col + 1, style);
        }
    }
    spans
}

/// Returns the shift that makes the smallest diff. One candidate is a shift by all rows, which reports the whole new
/// screen, so a diff is never larger than that. Any other shift has to be a scroll.
pub(crate) fn shift_between(old: &Frame, new: &Frame) -> isize {
    let is_same_screen = old.is_alternate() == new.is_alternate();
    // A full-screen program may redraw the rows that it scrolls.
    let drawn_until = if new.is_alternate() { None } else { Some(old.tick()) };
    let (old, new) = (old.rows(), new.rows());
    let rows = new.len() as isize;
    let cost = |scrolled: isize, limit: usize| {
        let mut sum = 0;
        for (row, new) in new.iter().enumerate() {
            let same = match shifted(old, scrolled, row) {
                Some(old) => Arc::ptr_eq(old, new) || old.looks_like(new),
                None => new.is_blank(),
            };
            if !same {
                // A run of rows that are blank now is reported as one line.
                sum += if new.is_blank() { 1 } else { new.text().len() + ROW_COST };
            }
            if sum >= limit {
                break;
            }
        }
        sum
    };
    let (mut best, mut least) = (0, cost(0, usize::MAX));
    // Among candidates of equal cost the first wins: no shift, all rows, the smallest shift.
    let candidates = [rows].into_iter().chain((1..rows).flat_map(|n| [n, -n]));
    for scrolled in candidates {
        if least == 0 {
            break;
        }
        if scrolled != rows && !(is_same_screen && has_moved(old, new, scrolled, drawn_until)) {
            continue;
        }
        let extra = if scrolled == rows { 0 } else { SCROLL_COST };
        let cost = cost(scrolled, least) + extra;
        if cost < least {
            (best, least) = (scrolled, cost);
        }
    }
    best
}

/// Returns whether a row with text moved by that shift and was not drawn at its new place. A program that prints the
/// same lines again has not scrolled.
fn has_moved(
    old: &[Arc<Row>],
    new: &[Arc<Row>],
    scrolled: isize,
    drawn_until: Option<Tick>,
) -> bool {
    let is_moved = |(row, new): (usize, &Arc<Row>)| {
        let has_text = !new.text().is_empty();
        has_text
            && shifted(old, scrolled, row).is_some_and(|old| old.looks_like(new))
            && drawn_until.is_none_or(|tick| new.newest_tick(0, new.width()) <= tick)
    };
    new.iter().enumerate().any(is_moved)
}
