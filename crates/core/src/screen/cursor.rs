//! Cursor movement: moves, tabs, index, save and restore.

use std::ops::Range;

use super::grid::Area;
use super::modes::Mode;
use super::perform::Performer;
use super::{Position, SavedCursor, Screen};

impl Screen {
    /// Moves the cursor to a cell, clamped to the screen.
    pub(super) fn move_to(&mut self, row: usize, col: usize) {
        self.position = Position {
            row: row.min(self.rows - 1),
            col: col.min(self.cols - 1),
            pending_wrap: false,
        };
    }

    /// Moves the cursor to an address given by the program, which is relative to the margins in origin mode.
    pub(super) fn move_to_address(&mut self, row: usize, col: usize) {
        if self.modes.has(Mode::Origin) {
            let (rows, cols) = (self.margins.rows.clone(), self.margins.cols.clone());
            self.move_to(
                (row + rows.start).min(rows.end - 1),
                (col + cols.start).min(cols.end - 1),
            );
        } else {
            self.move_to(row, col);
        }
    }

    /// Returns the cursor's address as the program sees it, relative to the margins in origin mode.
    pub(super) fn address(&self) -> (usize, usize) {
        let Position { row, col, .. } = self.position;
        if self.modes.has(Mode::Origin) {
            let (rows, cols) = (&self.margins.rows, &self.margins.cols);
            (row.saturating_sub(rows.start), col.saturating_sub(cols.start))
        } else {
            (row, col)
        }
    }

    /// Moves the cursor up, stopping at the top margin if it starts below that.
    pub(super) fn move_up(&mut self, n: usize) {
        let Position { row, col, .. } = self.position;
        let top = if row >= self.margins.rows.start { self.margins.rows.start } else { 0 };
        self.move_to(row.saturating_sub(n).max(top), col);
    }

    /// Moves the cursor down, stopping at the bottom margin if it starts above that.
    pub(super) fn move_down(&mut self, n: usize) {
        let Position { row, col, .. } = self.position;
        let end = if row < self.margins.rows.end { self.margins.rows.end } else { self.rows };
        self.move_to((row + n).min(end - 1), col);
    }

    /// Moves the cursor right, stopping at the right margin if it starts left of that.
    pub(super) fn move_right(&mut self, n: usize) {
        let Position { row, col, .. } = self.position;
        self.move_to(row, (col + n).min(self.right_end() - 1));
    }

    /// Moves the cursor left, stopping at the left margin if it starts right of that. In reverse wrap mode, continues
    /// in the row above.
    pub(super) fn move_left(&mut self, n: usize) {
        if self.modes.has(Mode::AutoWrap)
            && (self.modes.has(Mode::ReverseWrap) || self.modes.has(Mode::ReverseWrapExtended))
        {
            return self.move_left_wrapping(n);
        }
        let Position { row, col, .. } = self.position;
        self.move_to(row, col.saturating_sub(n).max(self.left_start()));
    }

    fn move_left_wrapping(&mut self, n: usize) {
        // Longer moves only repeat the same positions.
        let mut remaining = n.min(self.rows * self.cols);
        // A pending wrap counts as one column.
        if self.position.pending_wrap {
            self.position.pending_wrap = false;
            remaining -= 1;
        }
        while remaining > 0 {
            let Position { row, col, .. } = self.position;
            let start = self.left_start();
            if col > start {
                let step = remaining.min(col - start);
                self.position.col -= step;
                remaining -= step;
                continue;
            }
            let extended = self.modes.has(Mode::ReverseWrapExtended);
            let above = if row > 0 && (extended || self.grid().row(row - 1).is_wrapped()) {
                row - 1
            } else if extended {
                self.margins.rows.end - 1
            } else {
                break;
            };
            self.move_to(above, self.margins.cols.end - 1);
            remaining -= 1;
        }
    }

    pub(super) fn backspace(&mut self) {
        self.move_left(1);
    }

    pub(super) fn carriage_return(&mut self) {
        let Position { row, col, .. } = self.position;
        let left = self.margins.cols.start;
        let to = if col >= left || self.modes.has(Mode::Origin) { left } else { 0 };
        self.move_to(row, to);
    }

    /// Returns the leftmost column that the cursor can move left to.
    fn left_start(&self) -> usize {
        let left = self.margins.cols.start;
        if self.position.col >= left { left } else { 0 }
    }

    /// Returns the column after the last one that the cursor can reach by moving right and that text can be written to.
    pub(super) fn right_end(&self) -> usize {
        let end = self.margins.cols.end;
        if self.position.col < end { end } else { self.cols }
    }

    pub(super) fn set_tab(&mut self) {
        self.tabs[self.position.col] = true;
    }

    pub(super) fn tab_forward(&mut self, n: usize) {
        let Position { row, mut col, pending_wrap } = self.position;
        let last = self.right_end() - 1;
        for _ in 0..n.min(self.cols) {
            let next = (col + 1..last).find(|&col| self.tabs[col]);
            col = next.unwrap_or(last.max(col));
        }
        self.move_to(row, col);
        // A tab in the last column does not move the cursor, so a pending wrap stays.
        self.position.pending_wrap = pending_wrap;
    }

    pub(super) fn tab_backward(&mut self, n: usize) {
        let Position { row, mut col, .. } = self.position;
        let first = if self.modes.has(Mode::Origin) { self.margins.cols.start } else { 0 };
        for _ in 0..n.min(self.cols) {
            col = (first..col).rev().find(|&col| self.tabs[col]).unwrap_or(first.min(col));
        }
        self.move_to(row, col);
    }

    pub(super) fn save_cursor(&mut self) {
        self.saved[self.screen_index()] = SavedCursor {
            position: self.position,
            style: self.pen.style,
            protected: self.pen.protected,
            charsets: self.charsets,
            origin: self.modes.has(Mode::Origin),
        };
    }

    pub(super) fn restore_cursor(&mut self) {
        let saved = self.saved[self.screen_index()];
        self.modes.set(Mode::Origin, saved.origin);
        let Position { mut row, mut col, pending_wrap } = saved.position;
        if saved.origin {
            row = row.clamp(self.margins.rows.start, self.margins.rows.end - 1);
            col = col.clamp(self.margins.cols.start, self.margins.cols.end - 1);
        }
        self.move_to(row, col);
        self.position.pending_wrap = pending_wrap;
        self.clear_stale_wrap();
        self.set_pen(saved.style);
        self.pen.protected = saved.protected;
        self.charsets = saved.charsets;
    }

    pub(super) fn reset_margins(&mut self) {
        self.margins = self.whole_area();
        self.clear_stale_wrap();
    }

    /// Clears a pending wrap that is no longer at the end of a row. Must be called when that end may have moved.
    pub(super) fn clear_stale_wrap(&mut self) {
        self.position.pending_wrap &= self.position.col + 1 == self.right_end();
    }

    /// Returns whether the cursor is between the left and right margins.
    pub(super) fn is_within_cols(&self) -> bool {
        self.margins.cols.contains(&self.position.col)
    }
}

impl Performer<'_, '_> {
    /// IND: moves down one row, scrolling at the bottom margin.
    pub(super) fn index(&mut self) {
        let s = &mut *self.screen;
        s.position.pending_wrap = false;
        if s.position.row + 1 == s.margins.rows.end {
            if s.is_within_cols() {
                self.scroll_up(1);
            }
        } else if s.position.row + 1 < s.rows {
            s.position.row += 1;
        }
    }

    /// RI: moves up one row, scrolling at the top margin.
    pub(super) fn reverse_index(&mut self) {
        let s = &mut *self.screen;
        s.position.pending_wrap = false;
        if s.position.row == s.margins.rows.start {
            if s.is_within_cols() {
                self.scroll_down(1);
            }
        } else if s.position.row > 0 {
            s.position.row -= 1;
        }
    }

    /// DECBI: moves left one column, scrolling at the left margin.
    pub(super) fn back_index(&mut self) {
        let s = &mut *self.screen;
        if s.position.col == s.margins.cols.start && s.margins.rows.contains(&s.position.row) {
            let col = s.margins.cols.start;
            self.insert_columns(col, 1);
        } else {
            let Position { row, col, .. } = s.position;
            s.move_to(row, col.saturating_sub(1));
        }
    }

    /// DECFI: moves right one column, scrolling at the right margin.
    pub(super) fn forward_index(&mut self) {
        let s = &mut *self.screen;
        if s.position.col + 1 == s.margins.cols.end && s.margins.rows.contains(&s.position.row) {
            let col = s.margins.cols.start;
            self.delete_columns(col, 1);
        } else {
            let Position { row, col, .. } = s.position;
            s.move_to(row, col + 1);
        }
    }

    /// Scrolls the area between the margins up, as a line feed at the bottom does.
    pub(super) fn scroll_up(&mut self, n: usize) {
        let area = self.screen.margins.clone();
        self.scroll_area_up(&area, n);
    }

    /// Scrolls the area between the margins down.
    pub(super) fn scroll_down(&mut self, n: usize) {
        let area = self.screen.margins.clone();
        self.scroll_area_down(&area, n);
    }

    pub(super) fn scroll_area_up(&mut self, area: &Area, n: usize) {
        let n = n.min(area.rows.len());
        self.before_scroll(area, area.rows.start..area.rows.start + n);
        self.screen.scroll_area_up(area, n);
    }

    pub(super) fn scroll_area_down(&mut self, area: &Area, n: usize) {
        let n = n.min(area.rows.len());
        self.before_scroll(area, area.rows.end - n..area.rows.end);
        let (blank, tick) = (self.screen.blank_cell(), self.screen.tick);
        self.screen.grid_mut().scroll_down(area, n, blank, tick);
    }

    /// Must be called before an area scrolls. `lost` are the rows that leave it. In an area narrower than the screen,
    /// scrolling changes the text of every row.
    pub(super) fn before_scroll(&mut self, area: &Area, lost: Range<usize>) {
        let whole = area.cols == (0..self.screen.cols);
        let rows = if whole { lost } else { area.rows.clone() };
        self.before_loss(&Area { rows, cols: area.cols.clone() });
    }
}

impl Screen {
    /// Scrolls an area up. Whole rows that leave the top of the main screen become scrollback.
    pub(super) fn scroll_area_up(&mut self, area: &Area, n: usize) {
        let blank = self.blank_cell();
        let keep = !self.is_alternate && area.rows.start == 0 && area.cols == (0..self.cols);
        if !keep {
            let tick = self.tick;
            self.grid_mut().scroll_up(area, n, blank, tick, |_| {});
            return;
        }
        let Screen { main, scrollback, lines, parts, clusters, styles, tick, .. } = self;
        main.scroll_up(area, n, blank, *tick, |row| {
            if scrollback.needs_lines() {
                row.render(clusters, parts);
                scrollback.push(lines.number(0), parts, |number| *styles.value(number));
            }
            lines.advance();
        });
    }
}
