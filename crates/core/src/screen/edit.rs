//! Erasing, inserting and deleting cells and lines.

use std::ops::Range;

use super::cell::{Cell, Glyph};
use super::grid::Area;
use super::perform::Performer;
use super::{Position, Screen};

impl Screen {
    /// Returns an erased cell: blank, in the pen's background, drawn now.
    pub(super) fn erased_cell(&mut self) -> Cell {
        Cell { tick: self.tick, ..self.blank_cell() }
    }

    /// Returns the cell that fills the gap left by scrolling: like an erased one, but not drawn.
    pub(super) fn blank_cell(&mut self) -> Cell {
        let style = self.pen.style.erased();
        Cell { glyph: Glyph::BLANK, style: self.styles.number(&style), tick: crate::Tick::NEVER }
    }
}

impl Performer<'_, '_> {
    /// Erases cells. A `selective` erase keeps protected cells.
    pub(super) fn erase(&mut self, area: &Area, selective: bool) {
        self.before_loss(area);
        let blank = self.screen.erased_cell();
        let grid = self.screen.grid_mut();
        for row in area.rows.clone() {
            if selective {
                grid.row_mut(row).erase_unprotected(area.cols.clone(), blank);
            } else {
                grid.row_mut(row).erase(area.cols.clone(), blank);
            }
        }
    }

    /// ED and DECSED.
    pub(super) fn erase_in_display(&mut self, which: u16, selective: bool) {
        let Position { row, col, .. } = self.screen.position;
        let (rows, cols) = (self.screen.rows, self.screen.cols);
        let is_beyond = self.screen.is_beyond_end();
        let mut erase =
            |rows: Range<usize>, cols: Range<usize>| self.erase(&Area { rows, cols }, selective);
        match which {
            0 if is_beyond => return erase(row + 1..rows, 0..cols),
            0 => {
                erase(row..row + 1, col..cols);
                erase(row + 1..rows, 0..cols);
            }
            1 => {
                erase(0..row, 0..cols);
                erase(row..row + 1, 0..col + 1);
            }
            2 => erase(0..rows, 0..cols),
            3 if !selective => self.screen.scrollback.clear(),
            _ => {}
        }
        self.screen.position.pending_wrap = false;
    }

    /// EL and DECSEL.
    pub(super) fn erase_in_line(&mut self, which: u16, selective: bool) {
        let Position { row, col, .. } = self.screen.position;
        let cols = match which {
            0 if self.screen.is_beyond_end() => return,
            0 => col..self.screen.cols,
            1 => 0..col + 1,
            2 => 0..self.screen.cols,
            _ => return,
        };
        self.erase(&Area { rows: row..row + 1, cols }, selective);
        self.screen.position.pending_wrap = false;
    }

    /// ECH.
    pub(super) fn erase_chars(&mut self, n: usize) {
        if self.screen.is_beyond_end() {
            return;
        }
        let Position { row, col, .. } = self.screen.position;
        let cols = col..(col + n).min(self.screen.cols);
        self.erase(&Area { rows: row..row + 1, cols }, false);
        self.screen.position.pending_wrap = false;
    }

    /// ICH.
    pub(super) fn insert_chars(&mut self, n: usize) {
        self.shift_chars(|row, cols, blank| row.insert(cols, n, blank));
    }

    /// DCH.
    pub(super) fn delete_chars(&mut self, n: usize) {
        self.shift_chars(|row, cols, blank| row.delete(cols, n, blank));
    }

    fn shift_chars(&mut self, shift: impl FnOnce(&mut super::grid::GridRow, Range<usize>, Cell)) {
        let Position { row, col, .. } = self.screen.position;
        self.screen.position.pending_wrap = false;
        if !self.screen.is_within_cols() {
            return;
        }
        let cols = col..self.screen.margins.cols.end;
        // Moving a part of the row changes its text.
        self.before_loss(&Area { rows: row..row + 1, cols: cols.clone() });
        let blank = self.screen.erased_cell();
        shift(self.screen.grid_mut().row_mut(row), cols, blank);
    }

    /// IL.
    pub(super) fn insert_lines(&mut self, n: usize) {
        if let Some(area) = self.lines_below() {
            self.scroll_area_down(&area, n);
        }
    }

    /// DL. Deleted lines do not become scrollback.
    pub(super) fn delete_lines(&mut self, n: usize) {
        if let Some(area) = self.lines_below() {
            let n = n.min(area.rows.len());
            self.before_scroll(&area, area.rows.start..area.rows.start + n);
            let (blank, tick) = (self.screen.blank_cell(), self.screen.tick);
            self.screen.grid_mut().scroll_up(&area, n, blank, tick, |_| {});
        }
    }

    /// Returns the area from the cursor's row to the bottom margin, or `None` if the cursor is outside the margins. The
    /// cursor keeps its column, as in most terminals; DEC terminals move it to the left margin.
    fn lines_below(&mut self) -> Option<Area> {
        let s = &mut *self.screen;
        let Position { row, .. } = s.position;
        s.position.pending_wrap = false;
        if !s.margins.rows.contains(&row) || !s.is_within_cols() {
            return None;
        }
        Some(Area { rows: row..s.margins.rows.end, cols: s.margins.cols.clone() })
    }

    /// DECIC.
    pub(super) fn insert_columns(&mut self, col: usize, n: usize) {
        self.shift_columns(col, |row, cols, blank| row.insert(cols, n, blank));
    }

    /// DECDC.
    pub(super) fn delete_columns(&mut self, col: usize, n: usize) {
        self.shift_columns(col, |row, cols, blank| row.delete(cols, n, blank));
    }

    fn shift_columns(
        &mut self,
        col: usize,
        shift: impl Fn(&mut super::grid::GridRow, Range<usize>, Cell),
    ) {
        let s = &mut *self.screen;
        if !s.margins.rows.contains(&s.position.row) || !s.is_within_cols() {
            return;
        }
        s.position.pending_wrap = false;
        let area = Area { rows: s.margins.rows.clone(), cols: col..s.margins.cols.end };
        self.before_loss(&area);
        let blank = self.screen.erased_cell();
        for row in area.rows {
            shift(self.screen.grid_mut().row_mut(row), area.cols.clone(), blank);
        }
    }

    /// SL and SR: scrolls the area between the margins sideways.
    pub(super) fn scroll_sideways(&mut self, n: usize, left: bool) {
        let start = self.screen.margins.cols.start;
        if left { self.delete_columns(start, n) } else { self.insert_columns(start, n) }
    }
}
