//! The cells of one screen and how they move. Must not know any escape sequence or mode.
//!
//! Rows and columns count from 0. Scrolling moves rows instead of copying them, so a row that only moved keeps the
//! rendering that frames share.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use super::cell::{Cell, Glyph};
use crate::Tick;
use crate::row::Row;

/// A row of cells.
#[derive(Clone, Debug)]
pub(crate) struct GridRow {
    cells: Box<[Cell]>,
    /// Cells from this column on are pristine, so clearing a row costs only the cells that were used.
    used: usize,
    /// An upper bound of the ticks of the cells.
    tick: Tick,
    wrapped: bool,
    /// The row continues the text of the row above, which did not fit there.
    continued: bool,
    /// Created on demand, and again after the row changed.
    rendered: OnceCell<Arc<Row>>,
}

impl GridRow {
    pub(crate) fn new(cols: usize) -> GridRow {
        GridRow {
            cells: vec![Cell::PRISTINE; cols].into_boxed_slice(),
            used: 0,
            tick: Tick::NEVER,
            wrapped: false,
            continued: false,
            rendered: OnceCell::new(),
        }
    }

    /// Creates a row of `cells`, padded or truncated to `cols`.
    pub(crate) fn from_cells(mut cells: Vec<Cell>, cols: usize, wrapped: bool) -> GridRow {
        cells.resize(cols, Cell::PRISTINE);
        let used = cells.iter().rposition(|c| *c != Cell::PRISTINE).map_or(0, |last| last + 1);
        let tick = cells.iter().map(|cell| cell.tick).max().unwrap_or_default();
        let cells = cells.into_boxed_slice();
        GridRow { cells, used, tick, wrapped, continued: false, rendered: OnceCell::new() }
    }

    pub(crate) fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Returns the cells up to the last one that is not pristine.
    pub(crate) fn used_cells(&self) -> &[Cell] {
        &self.cells[..self.used]
    }

    pub(crate) fn tick(&self) -> Tick {
        self.tick
    }

    pub(crate) fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    pub(crate) fn is_continued(&self) -> bool {
        self.continued
    }

    pub(crate) fn set_continued(&mut self, continued: bool) {
        self.continued = continued;
    }

    pub(crate) fn set_wrapped(&mut self, wrapped: bool) {
        if self.wrapped != wrapped {
            self.wrapped = wrapped;
            self.rendered.take();
        }
    }

    /// Returns the cells of `cols` for a change at `tick`.
    fn edit(&mut self, cols: Range<usize>, tick: Tick) -> &mut [Cell] {
        self.used = self.used.max(cols.end);
        self.tick = self.tick.max(tick);
        self.rendered.take();
        &mut self.cells[cols]
    }

    /// Writes ASCII from `col` on. Each byte becomes a copy of `cell` with its glyph.
    pub(crate) fn write_ascii(&mut self, col: usize, text: &[u8], cell: Cell, protected: bool) {
        self.split_wide(col, cell.tick);
        self.split_wide(col + text.len(), cell.tick);
        let cells = self.edit(col..col + text.len(), cell.tick);
        for (target, &byte) in cells.iter_mut().zip(text) {
            *target = Cell { glyph: Glyph::ascii(byte).protected(protected), ..cell };
        }
    }

    /// Writes cells from `col` on. Wide cells must include their spacers.
    pub(crate) fn write_cells(&mut self, col: usize, cells: &[Cell], tick: Tick) {
        self.split_wide(col, tick);
        self.split_wide(col + cells.len(), tick);
        self.edit(col..col + cells.len(), tick).copy_from_slice(cells);
    }

    /// Writes a cell, followed by a spacer if it is wide.
    pub(crate) fn write(&mut self, col: usize, cell: Cell) {
        let to = col + 1 + usize::from(cell.glyph.is_wide());
        self.split_wide(col, cell.tick);
        self.split_wide(to, cell.tick);
        let cells = self.edit(col..to, cell.tick);
        cells[0] = cell;
        if let Some(spacer) = cells.get_mut(1) {
            *spacer = Cell { glyph: Glyph::spacer().protected(cell.glyph.is_protected()), ..cell };
        }
        self.unwrap_single_column();
    }

    /// Replaces the cell at `col`. The caller keeps wide characters whole.
    pub(crate) fn update(&mut self, col: usize, cell: Cell) {
        self.edit(col..col + 1, cell.tick)[0] = cell;
    }

    /// Sets `cols` to `blank`.
    pub(crate) fn fill(&mut self, cols: Range<usize>, blank: Cell) {
        if cols.is_empty() {
            return;
        }
        self.split_wide(cols.start, blank.tick);
        self.split_wide(cols.end, blank.tick);
        self.edit(cols, blank.tick).fill(blank);
        self.unwrap_single_column();
    }

    /// Sets `cols` to `blank`. A row whose end is erased is not wrapped any more.
    pub(crate) fn erase(&mut self, cols: Range<usize>, blank: Cell) {
        let Range { start, end } = cols;
        self.fill(cols, blank);
        self.unwrap_if_last_blank(end);
        self.continued &= start > 0;
    }

    /// Erases the unprotected cells of `cols`.
    pub(crate) fn erase_unprotected(&mut self, cols: Range<usize>, blank: Cell) {
        let end = cols.end;
        self.replace_unprotected(cols, |_| blank);
        self.unwrap_if_last_blank(end);
    }

    /// Replaces the unprotected cells of `cols`.
    pub(crate) fn replace_unprotected(
        &mut self,
        cols: Range<usize>,
        replace: impl Fn(Cell) -> Cell,
    ) {
        for col in cols {
            let old = self.cells[col];
            if !old.glyph.is_protected() {
                self.write(col, replace(old));
            }
        }
    }

    /// Moves the cells of `cols` right by `n` and inserts `blank` at the left.
    pub(crate) fn insert(&mut self, cols: Range<usize>, n: usize, blank: Cell) {
        let n = n.min(cols.len());
        self.split_wide(cols.start, blank.tick);
        self.split_wide(cols.end - n, blank.tick);
        self.split_wide(cols.end, blank.tick);
        let cells = self.edit(cols.clone(), blank.tick);
        cells.copy_within(..cols.len() - n, n);
        cells[..n].fill(blank);
        self.unwrap_if_last_blank(cols.end);
    }

    /// Moves the cells of `cols` left by `n` and inserts `blank` at the right.
    pub(crate) fn delete(&mut self, cols: Range<usize>, n: usize, blank: Cell) {
        let n = n.min(cols.len());
        self.split_wide(cols.start, blank.tick);
        self.split_wide(cols.start + n, blank.tick);
        self.split_wide(cols.end, blank.tick);
        let cells = self.edit(cols.clone(), blank.tick);
        cells.copy_within(n.., 0);
        cells[cols.len() - n..].fill(blank);
        self.unwrap_if_last_blank(cols.end);
    }

    /// Unwraps a row of one column whose cell is blank. In a wider row a blank at the end may be the place where a wide
    /// character did not fit; a single column has no such place.
    fn unwrap_single_column(&mut self) {
        if self.cells.len() == 1 {
            self.unwrap_if_last_blank(1);
        }
    }

    /// Unwraps the row if the edit blanked its last cell.
    fn unwrap_if_last_blank(&mut self, edited_to: usize) {
        if edited_to == self.cells.len() && self.cells[edited_to - 1].glyph.is_blank() {
            self.wrapped = false;
        }
    }

    /// Replaces a wide character whose halves `col` would separate by two spaces in its style, as xterm does. The row
    /// changes at `tick`, but the spaces keep the tick of the character: the program draws only the half that it
    /// addressed.
    fn split_wide(&mut self, col: usize, tick: Tick) {
        if col < self.cells.len() && self.cells[col].glyph.is_spacer() {
            for cell in self.edit(col - 1..col + 1, tick) {
                cell.glyph = Glyph::SPACE;
            }
        }
    }

    /// Resets the row to undrawn `blank` cells.
    fn clear(&mut self, blank: Cell) {
        if blank == Cell::PRISTINE {
            self.cells[..self.used].fill(blank);
            self.used = 0;
        } else {
            self.cells.fill(blank);
            self.used = self.cells.len();
        }
        self.tick = blank.tick;
        self.wrapped = false;
        self.continued = false;
        self.rendered.take();
    }

    /// Returns whether a change of `cols` would lose content drawn at `tick` or later. That is the case if one of the
    /// cells was drawn since, or if any cell of the row was and one of `cols` is part of its text. Halves of wide
    /// characters just outside `cols` are included.
    fn would_lose(&self, cols: Range<usize>, tick: Tick) -> bool {
        if self.tick < tick {
            return false;
        }
        let spacer = |col: usize| self.cells.get(col).is_some_and(|cell| cell.glyph.is_spacer());
        let from = cols.start - usize::from(spacer(cols.start));
        let to = (cols.end + usize::from(spacer(cols.end))).min(self.used);
        let lost = |cell: &Cell| cell.tick >= tick || !cell.glyph.is_blank();
        from < to && self.cells[from..to].iter().any(lost)
    }
}

/// A rectangle of the grid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Area {
    pub(crate) rows: Range<usize>,
    pub(crate) cols: Range<usize>,
}

/// The cells of one screen.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    rows: VecDeque<GridRow>,
    cols: usize,
}

impl Grid {
    pub(crate) fn new(cols: usize, rows: usize) -> Grid {
        Grid { rows: (0..rows).map(|_| GridRow::new(cols)).collect(), cols }
    }

    /// Creates a grid of the given rows.
    pub(crate) fn from_rows(rows: VecDeque<GridRow>, cols: usize) -> Grid {
        debug_assert!(rows.iter().all(|row| row.cells.len() == cols));
        Grid { rows, cols }
    }

    pub(crate) fn into_rows(self) -> VecDeque<GridRow> {
        self.rows
    }

    pub(crate) fn rows(&self) -> impl DoubleEndedIterator<Item = &GridRow> + ExactSizeIterator {
        self.rows.iter()
    }

    pub(crate) fn row(&self, row: usize) -> &GridRow {
        &self.rows[row]
    }

    pub(crate) fn row_mut(&mut self, row: usize) -> &mut GridRow {
        &mut self.rows[row]
    }

    pub(crate) fn cell(&self, row: usize, col: usize) -> Cell {
        self.rows[row].cells[col]
    }

    /// Returns the rendering of a row, creating it if the row changed since the last rendering.
    pub(crate) fn rendered(&self, row: usize, make: impl FnOnce(&GridRow) -> Arc<Row>) -> Arc<Row> {
        let row = &self.rows[row];
        Arc::clone(row.rendered.get_or_init(|| make(row)))
    }

    /// Returns whether a change of the area would lose content drawn at `tick` or later.
    pub(crate) fn would_lose(&self, area: &Area, tick: Tick) -> bool {
        self.rows.range(area.rows.clone()).any(|row| row.would_lose(area.cols.clone(), tick))
    }

    /// Moves the area up by `n` rows and inserts `blank` at the bottom. Calls `on_leave` for each row that leaves if
    /// the area is as wide as the grid. In a narrower area, wide characters cut by its edges are split at `tick`.
    pub(crate) fn scroll_up(
        &mut self,
        area: &Area,
        n: usize,
        blank: Cell,
        tick: Tick,
        mut on_leave: impl FnMut(&GridRow),
    ) {
        let n = n.min(area.rows.len());
        if area.cols == (0..self.cols) {
            for _ in 0..n {
                let Some(mut row) = self.rows.remove(area.rows.start) else { return };
                on_leave(&row);
                row.clear(blank);
                self.rows.insert(area.rows.end - 1, row);
            }
        } else {
            self.split_wide_at_edges(area, tick);
            for to in area.rows.start..area.rows.end - n {
                self.move_cells(to + n, to, area.cols.clone());
            }
            self.fill_rows(area.rows.end - n..area.rows.end, area.cols.clone(), blank);
        }
        self.unwrap_above(area.rows.start);
        self.unwrap_above(area.rows.end - n);
    }

    /// Moves the area down by `n` rows and inserts `blank` at the top.
    pub(crate) fn scroll_down(&mut self, area: &Area, n: usize, blank: Cell, tick: Tick) {
        let n = n.min(area.rows.len());
        if area.cols == (0..self.cols) {
            for _ in 0..n {
                let Some(mut row) = self.rows.remove(area.rows.end - 1) else { return };
                row.clear(blank);
                self.rows.insert(area.rows.start, row);
            }
        } else {
            self.split_wide_at_edges(area, tick);
            for to in (area.rows.start + n..area.rows.end).rev() {
                self.move_cells(to - n, to, area.cols.clone());
            }
            self.fill_rows(area.rows.start..area.rows.start + n, area.cols.clone(), blank);
        }
        self.unwrap_above(area.rows.start);
        self.unwrap_above(area.rows.end);
    }

    /// Marks the row above `row` as not wrapped, because its continuation moved.
    fn unwrap_above(&mut self, row: usize) {
        if row > 0 {
            self.rows[row - 1].set_wrapped(false);
        }
    }

    /// Replaces the wide characters that the left and right edges of the area cut.
    fn split_wide_at_edges(&mut self, area: &Area, tick: Tick) {
        for row in self.rows.range_mut(area.rows.clone()) {
            row.split_wide(area.cols.start, tick);
            row.split_wide(area.cols.end, tick);
        }
    }

    fn fill_rows(&mut self, rows: Range<usize>, cols: Range<usize>, blank: Cell) {
        for row in rows {
            self.rows[row].fill(cols.clone(), blank);
        }
    }

    fn move_cells(&mut self, from: usize, to: usize, cols: Range<usize>) {
        let source = &self.rows[from];
        let tick = source.tick;
        let cells = source.cells[cols.clone()].to_vec();
        let target = &mut self.rows[to];
        target.edit(cols.clone(), tick).copy_from_slice(&cells);
        target.unwrap_if_last_blank(cols.end);
    }

    /// Changes the number of columns without moving text between rows.
    pub(crate) fn set_cols(&mut self, cols: usize) {
        for row in &mut self.rows {
            if cols < self.cols {
                row.split_wide(cols, row.tick);
            }
            let mut cells = std::mem::take(&mut row.cells).into_vec();
            cells.resize(cols, Cell::PRISTINE);
            *row = GridRow::from_cells(cells, cols, false);
        }
        self.cols = cols;
    }

    /// Changes the glyph and style numbers of every used cell, after a table was swept.
    pub(crate) fn renumber(&mut self, mut change: impl FnMut(&mut Cell)) {
        for row in &mut self.rows {
            row.cells[..row.used].iter_mut().for_each(&mut change);
        }
    }
}
