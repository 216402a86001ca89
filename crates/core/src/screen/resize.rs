//! Resizing: rewraps the lines of the main screen and cuts the alternate screen.
//!
//! Only the screen is affected, because the scrollback has no width. Lines that no longer fit move from the top of the
//! screen to the scrollback, and return when there is room again. Lines below the cursor that no longer fit are lost,
//! as in other terminals: the program redraws them.

use std::collections::VecDeque;

use super::cell::{Cell, Glyph};
use super::clusters::Clusters;
use super::grid::{Grid, GridRow};
use super::{COLS_MAX, Position, ROWS_MAX, Screen};
use crate::intern::Interner;
use crate::lines::LineNumbers;
use crate::row::Row;
use crate::style::Style;

/// The maximum number of rows of one line that are taken back from the scrollback to rewrap the whole line. A line
/// longer than the largest screen is only rewrapped in part.
const LINE_ROWS_MAX: usize = ROWS_MAX;

/// Rows for a new grid, with their line numbers.
#[derive(Default)]
struct Rows {
    rows: VecDeque<GridRow>,
    numbers: VecDeque<u64>,
}

/// An unwrapped line, with the number of its first row.
struct LogicalLine {
    cells: Vec<Cell>,
    number: u64,
    wrapped: bool,
}

impl Screen {
    /// Changes the size, clamped to between 1x1 and [`COLS_MAX`]x[`ROWS_MAX`]. Resets the margins.
    ///
    /// Does not call any observer before cells are lost: the caller must examine the screen first if it matters.
    pub fn resize(&mut self, cols: usize, rows: usize) {
        let (cols, rows) = (cols.clamp(1, COLS_MAX), rows.clamp(1, ROWS_MAX));
        if (cols, rows) == (self.cols, self.rows) {
            return;
        }
        // Lines from the scrollback add clusters to the table, so unused ones are removed first to make room.
        self.sweep_clusters();
        self.resize_main(cols, rows);
        self.resize_alternate(cols, rows);
        for col in self.tabs.len()..cols {
            self.tabs.push(col % 8 == 0);
        }
        self.tabs.truncate(cols);
        (self.cols, self.rows) = (cols, rows);
        // The last printed character may have moved.
        self.last_printed = None;
        self.reset_margins();
        let Position { row, col, pending_wrap } = self.position;
        self.move_to(row, col);
        self.position.pending_wrap = pending_wrap && col + 1 == cols;
        for saved in &mut self.saved {
            let position = &mut saved.position;
            position.pending_wrap &= position.col + 1 == cols;
            position.row = position.row.min(rows - 1);
            position.col = position.col.min(cols - 1);
        }
        if self.modes.has(super::Mode::InBandResize) {
            self.report_in_band_size();
        }
    }

    fn resize_alternate(&mut self, cols: usize, rows: usize) {
        let Some(mut grid) = self.alternate.take() else { return };
        grid.set_cols(cols);
        let mut grid_rows = grid.into_rows();
        // The row with the cursor must stay visible.
        while grid_rows.len() > rows {
            if self.is_alternate && self.position.row >= rows {
                grid_rows.pop_front();
                self.position.row -= 1;
            } else {
                grid_rows.pop_back();
            }
        }
        grid_rows.resize_with(rows, || GridRow::new(cols));
        if let Some(last) = grid_rows.back_mut() {
            last.set_wrapped(false);
        }
        self.alternate = Some(Grid::from_rows(grid_rows, cols));
    }

    fn resize_main(&mut self, cols: usize, rows: usize) {
        let cursor = if self.is_alternate { self.main_position } else { self.position };
        let old = std::mem::replace(&mut self.main, Grid::new(1, 1));
        // The line at the top may start in the scrollback.
        let continued = self.scrollback.is_last_wrapped() && old.row(0).is_continued();
        let first_line = if continued { self.pop_line() } else { None };
        let used = used_rows(&old, cursor);
        let was_full = used == self.rows;
        let (mut new, new_cursor) = rewrap(old, used, first_line, &self.lines, cursor, cols);
        let mut row = new_cursor.0;
        while new.rows.len() > rows {
            if row > 0 {
                self.move_first_to_scrollback(&mut new);
                row -= 1;
            } else {
                new.rows.pop_back();
                new.numbers.pop_back();
            }
        }
        // A screen that was not full is not filled from the scrollback, so that text that the program cleared does not
        // return.
        while was_full && new.rows.len() < rows && !self.scrollback.is_empty() {
            row += self.restore_last_from_scrollback(&mut new, cols, rows);
        }
        while new.rows.len() < rows {
            new.rows.push_back(GridRow::new(cols));
            let last = new.numbers.back().copied();
            new.numbers.push_back(last.map_or(self.lines.number(0).0, |last| last + 1));
        }
        if let Some(last) = new.rows.back_mut() {
            last.set_wrapped(false);
        }
        self.lines = LineNumbers::new(new.numbers.make_contiguous());
        self.main = Grid::from_rows(new.rows, cols);
        let position =
            Position { row, col: new_cursor.1.min(cols - 1), pending_wrap: new_cursor.1 == cols };
        if !self.is_alternate {
            self.position = position;
            return;
        }
        self.main_position = position;
        if self.saved[0].position == cursor {
            // The switch to the alternate screen saved it, and the switch back will restore it.
            self.saved[0].position = position;
        }
    }

    /// Moves the first row to the scrollback.
    fn move_first_to_scrollback(&mut self, new: &mut Rows) {
        if let (Some(row), Some(number)) = (new.rows.pop_front(), new.numbers.pop_front()) {
            row.render(&self.clusters, &mut self.parts);
            let style = |number: u32| *self.styles.value(number);
            self.scrollback.push(crate::Line(number), &self.parts, style);
        }
    }

    /// Moves as many rows of the last scrollback line as fit to the top of the screen. Returns the number of moved
    /// rows.
    fn restore_last_from_scrollback(&mut self, new: &mut Rows, cols: usize, rows: usize) -> usize {
        let Some(mut line) = self.pop_line() else { return 0 };
        line.wrapped &= new.rows.front().is_some_and(GridRow::is_continued);
        let next = new.numbers.front().copied().unwrap_or(u64::MAX);
        let mut restored = Rows::default();
        wrap_line(line, next, cols, None, &mut restored);
        let room = rows - new.rows.len();
        while restored.rows.len() > room {
            self.move_first_to_scrollback(&mut restored);
        }
        let count = restored.rows.len();
        restored.rows.append(&mut new.rows);
        restored.numbers.append(&mut new.numbers);
        *new = restored;
        count
    }

    /// Removes the last line from the scrollback, with all of its rows.
    fn pop_line(&mut self) -> Option<LogicalLine> {
        let (mut number, last) = self.scrollback.pop()?;
        let wrapped = last.is_wrapped();
        let mut rows = vec![last];
        while self.scrollback.is_last_wrapped() && rows.len() < LINE_ROWS_MAX {
            let (before, row) = self.scrollback.pop()?;
            number = before;
            rows.push(row);
        }
        let cells =
            rows.iter().rev().flat_map(|row| cells_of(row, &mut self.styles, &mut self.clusters));
        Some(LogicalLine { cells: cells.collect(), number: number.0, wrapped })
    }
}

/// Returns the number of rows down to the cursor or the last visible content, whichever is lower.
fn used_rows(grid: &Grid, cursor: Position) -> usize {
    let is_bare = |row: &GridRow| row.used_cells().iter().all(Cell::is_invisible);
    let content = grid.rows().rposition(|row| !is_bare(row)).unwrap_or(0);
    content.max(cursor.row) + 1
}

/// Rewraps the first `count` rows of a grid to another width. Returns them with the new position of the cursor. Its
/// column is `cols` if a wrap is pending.
fn rewrap(
    old: Grid,
    count: usize,
    first_line: Option<LogicalLine>,
    lines: &LineNumbers,
    cursor: Position,
    cols: usize,
) -> (Rows, (usize, usize)) {
    let mut new = Rows::default();
    let mut new_cursor = (0, 0);
    let mut line = first_line;
    let mut cursor_at = None;
    for (i, row) in old.rows().take(count).enumerate() {
        let new_line =
            || LogicalLine { cells: Vec::new(), number: lines.number(i).0, wrapped: false };
        let mut whole = line.take().unwrap_or_else(new_line);
        whole.wrapped = false;
        if i == cursor.row {
            cursor_at = Some(whole.cells.len() + cursor.col + usize::from(cursor.pending_wrap));
        }
        if row.is_wrapped() {
            whole.cells.extend_from_slice(&row.cells()[..row.line_end()]);
        } else {
            let shown = row.used_cells().iter().rposition(|cell| !cell.is_invisible());
            whole.cells.extend_from_slice(&row.used_cells()[..shown.map_or(0, |last| last + 1)]);
        }
        if row.is_wrapped() && i + 1 < count {
            line = Some(whole);
        } else {
            let found = wrap_line(whole, lines.number(i + 1).0, cols, cursor_at.take(), &mut new);
            new_cursor = found.unwrap_or(new_cursor);
        }
    }
    (new, new_cursor)
}

/// Splits a line into rows. The first row gets the line's number; the others count up to below `next`, the number of
/// the next line. Returns the new position of the line's cell `cursor`.
fn wrap_line(
    line: LogicalLine,
    next: u64,
    cols: usize,
    cursor: Option<usize>,
    new: &mut Rows,
) -> Option<(usize, usize)> {
    let first_row = new.rows.len();
    let (mut start, mut found) = (0, None);
    loop {
        let mut end = (start + cols).min(line.cells.len());
        let splits_wide = line.cells.get(end).is_some_and(|cell| cell.glyph.is_spacer());
        if end - start == cols && splits_wide && cols > 1 {
            end -= 1;
        }
        let is_last = end == line.cells.len();
        if let Some(cursor) = cursor.filter(|&cursor| cursor >= start)
            && (cursor < end || is_last)
        {
            // A cursor past the text keeps its column and adds no rows. A wrap can only be pending directly after the
            // text.
            let col = cursor - start;
            let col =
                if col == cols && cursor == line.cells.len() { cols } else { col.min(cols - 1) };
            found = Some((new.rows.len(), col));
        }
        let mut cells = line.cells[start..end].to_vec();
        if cols == 1 && cells.iter().any(|cell| cell.glyph.is_wide() || cell.glyph.is_spacer()) {
            // A wide character does not fit into one column.
            cells[0].glyph = Glyph::char(char::REPLACEMENT_CHARACTER);
        }
        if let Some(last) = cells.last_mut().filter(|cell| !is_last && cell.glyph.is_blank())
            && end - start == cols
        {
            // A blank here would mean that a wide character did not fit, but this cell is part of the line.
            last.glyph = Glyph::SPACE;
        }
        let offset = (new.rows.len() - first_row) as u64;
        new.numbers.push_back((line.number + offset).min(next - 1).max(line.number));
        let mut row = GridRow::from_cells(cells, cols, !is_last || line.wrapped);
        row.set_continued(start > 0);
        new.rows.push_back(row);
        if is_last {
            return found;
        }
        start = end;
    }
}

/// Returns the cells of a scrollback row.
fn cells_of(row: &Row, styles: &mut Interner<Style>, clusters: &mut Clusters) -> Vec<Cell> {
    let styled = row.styles().last().map_or(0, |span| usize::from(span.to));
    // A wrapped row ends where the next one continues, even if later columns hold cells.
    let len = if row.is_wrapped() { row.end() } else { row.width().max(styled) };
    let glyph = if row.is_wrapped() { Glyph::SPACE } else { Glyph::BLANK };
    let mut cells = vec![Cell { glyph, ..Cell::PRISTINE }; len];
    let mut rest = row.text();
    let mut col = 0;
    for (bytes, wide) in row.cell_sizes() {
        let (text, after) = rest.split_at(bytes);
        rest = after;
        let mut chars = text.chars();
        let glyph = match (chars.next(), chars.next()) {
            (Some(c), None) => Glyph::char(c),
            (Some(base), _) => clusters.number(text).map_or(Glyph::char(base), Glyph::cluster),
            (None, _) => Glyph::BLANK,
        };
        cells[col].glyph = if wide { glyph.wide() } else { glyph };
        if wide {
            cells[col + 1].glyph = Glyph::spacer();
        }
        col += 1 + usize::from(wide);
    }
    for span in row.styles() {
        let number = styles.number(&span.value);
        let is_plain = span.value == span.value.erased();
        let (from, to) = (usize::from(span.from).min(len), usize::from(span.to).min(len));
        for cell in &mut cells[from..to] {
            cell.style = number;
            if cell.glyph.is_blank() && !is_plain {
                // Only a space can have more than a background. Trailing spaces were trimmed from the text.
                cell.glyph = Glyph::SPACE;
            }
        }
    }
    for span in row.ticks() {
        let (from, to) = (usize::from(span.from).min(len), usize::from(span.to).min(len));
        cells[from..to].iter_mut().for_each(|cell| cell.tick = span.value);
    }
    cells
}
