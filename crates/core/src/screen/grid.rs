//! The cells of one screen and the ways they move. It knows no escape sequence and no mode.
//!
//! Rows and columns count from 0; ranges exclude their end. Rows are moved, not copied, when the
//! screen scrolls: a row that only moved keeps the rendering that frames share.

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
    /// Cells from here on are pristine, so clearing a row costs what was written to it.
    used: usize,
    /// At least the newest tick of any cell.
    tick: Tick,
    wrapped: bool,
    /// Text came here because it did not fit into the row above.
    continued: bool,
    /// Made when somebody asks for it, and again after the row changed.
    rendered: OnceCell<Arc<Row>>,
}

impl GridRow {
    pub(crate) fn new(cols: usize) -> GridRow {
        GridRow {
            cells: vec![Cell::PRISTINE; cols].into_boxed_slice(),
            used: 0,
            tick: Tick(0),
            wrapped: false,
            continued: false,
            rendered: OnceCell::new(),
        }
    }

    /// A row of the given cells, whatever their number.
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

    /// The cells up to the last that is not pristine.
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

    /// The cells `cols`, about to be changed at `tick`.
    fn edit(&mut self, cols: Range<usize>, tick: Tick) -> &mut [Cell] {
        self.used = self.used.max(cols.end);
        self.tick = self.tick.max(tick);
        self.rendered.take();
        &mut self.cells[cols]
    }

    /// Writes ASCII from `col` on, each byte a copy of `cell` with that glyph.
    pub(crate) fn write_ascii(&mut self, col: usize, text: &[u8], cell: Cell, protected: bool) {
        self.split_wide(col, cell.tick);
        self.split_wide(col + text.len(), cell.tick);
        let cells = self.edit(col..col + text.len(), cell.tick);
        for (target, &byte) in cells.iter_mut().zip(text) {
            *target = Cell { glyph: Glyph::ascii(byte).protected(protected), ..cell };
        }
    }

    /// Writes cells from `col` on; wide ones come with their spacers.
    pub(crate) fn write_cells(&mut self, col: usize, cells: &[Cell], tick: Tick) {
        self.split_wide(col, tick);
        self.split_wide(col + cells.len(), tick);
        self.edit(col..col + cells.len(), tick).copy_from_slice(cells);
    }

    /// Writes a cell, and a spacer behind it if it is wide.
    pub(crate) fn write(&mut self, col: usize, cell: Cell) {
        let to = col + 1 + usize::from(cell.glyph.is_wide());
        self.split_wide(col, cell.tick);
        self.split_wide(to, cell.tick);
        let cells = self.edit(col..to, cell.tick);
        cells[0] = cell;
        if let Some(spacer) = cells.get_mut(1) {
            *spacer = Cell { glyph: Glyph::spacer().protected(cell.glyph.is_protected()), ..cell };
        }
        self.unwrap_single();
    }

    /// Changes the cell at `col` in place; the caller keeps wide characters whole.
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
        self.unwrap_single();
    }

    /// Sets `cols` to `blank`; a row that loses its end so does not go on in the next one.
    pub(crate) fn erase(&mut self, cols: Range<usize>, blank: Cell) {
        let Range { start, end } = cols;
        self.fill(cols, blank);
        self.unwrap_if_open(end);
        self.continued &= start > 0;
    }

    /// Erases the cells of `cols` that are not protected.
    pub(crate) fn erase_unprotected(&mut self, cols: Range<usize>, blank: Cell) {
        let end = cols.end;
        self.replace_unprotected(cols, |_| blank);
        self.unwrap_if_open(end);
    }

    /// Replaces the cells of `cols` that are not protected.
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

    /// Moves the cells of `cols` right by `n`, `blank` coming in at the left.
    pub(crate) fn insert(&mut self, cols: Range<usize>, n: usize, blank: Cell) {
        let n = n.min(cols.len());
        self.split_wide(cols.start, blank.tick);
        self.split_wide(cols.end - n, blank.tick);
        self.split_wide(cols.end, blank.tick);
        let cells = self.edit(cols.clone(), blank.tick);
        cells.copy_within(..cols.len() - n, n);
        cells[..n].fill(blank);
        self.unwrap_if_open(cols.end);
    }

    /// Moves the cells of `cols` left by `n`, `blank` coming in at the right.
    pub(crate) fn delete(&mut self, cols: Range<usize>, n: usize, blank: Cell) {
        let n = n.min(cols.len());
        self.split_wide(cols.start, blank.tick);
        self.split_wide(cols.start + n, blank.tick);
        self.split_wide(cols.end, blank.tick);
        let cells = self.edit(cols.clone(), blank.tick);
        cells.copy_within(n.., 0);
        cells[cols.len() - n..].fill(blank);
        self.unwrap_if_open(cols.end);
    }

    /// A blank at the end of a wrapped row is where a wide character did not fit, and a row of one column
    /// has no such place.
    fn unwrap_single(&mut self) {
        if self.cells.len() == 1 {
            self.unwrap_if_open(1);
        }
    }

    /// A row whose last cell was emptied does not go on in the next one.
    fn unwrap_if_open(&mut self, edited_to: usize) {
        if edited_to == self.cells.len() && self.cells[edited_to - 1].glyph.is_blank() {
            self.wrapped = false;
        }
    }

    /// Replaces the wide character, if there is one, whose halves would be parted at `col` by two
    /// spaces in its style, as xterm does. The row changes at `tick`, but the spaces keep the tick of the
    /// character: the program did not draw them, and what it draws is the half it asked for.
    fn split_wide(&mut self, col: usize, tick: Tick) {
        if col < self.cells.len() && self.cells[col].glyph.is_spacer() {
            for cell in self.edit(col - 1..col + 1, tick) {
                cell.glyph = Glyph::SPACE;
            }
        }
    }

    /// Makes the row new: nothing drawn, `blank` everywhere.
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

    /// Tells whether a change of `cols` would lose something drawn at `tick` or later: one of them was, or
    /// the row was and one of them is part of its text. The other halves of wide characters that the
    /// edges cut count too.
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

    /// A grid of the given rows.
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

    /// The row's rendering, made anew only if the row changed since the last one was.
    pub(crate) fn rendered(&self, row: usize, make: impl FnOnce(&GridRow) -> Arc<Row>) -> Arc<Row> {
        let row = &self.rows[row];
        Arc::clone(row.rendered.get_or_init(|| make(row)))
    }

    /// Tells whether a change of the area would lose something drawn at `tick` or later.
    pub(crate) fn would_lose(&self, area: &Area, tick: Tick) -> bool {
        self.rows.range(area.rows.clone()).any(|row| row.would_lose(area.cols.clone(), tick))
    }

    /// Moves the area up by `n` rows, `blank` coming in at the bottom. `leaving` is shown each row
    /// that leaves, if whole rows do. Where they do not, wide characters that the edges cut are parted
    /// at `tick`.
    pub(crate) fn scroll_up(
        &mut self,
        area: &Area,
        n: usize,
        blank: Cell,
        tick: Tick,
        mut leaving: impl FnMut(&GridRow),
    ) {
        let n = n.min(area.rows.len());
        if area.cols == (0..self.cols) {
            for _ in 0..n {
                let Some(mut row) = self.rows.remove(area.rows.start) else { return };
                leaving(&row);
                row.clear(blank);
                self.rows.insert(area.rows.end - 1, row);
            }
        } else {
            self.part_cols(area, tick);
            for to in area.rows.start..area.rows.end - n {
                self.move_cells(to + n, to, area.cols.clone());
            }
            self.fill_rows(area.rows.end - n..area.rows.end, area.cols.clone(), blank);
        }
        self.part_rows(area.rows.start);
        self.part_rows(area.rows.end - n);
    }

    /// Moves the area down by `n` rows, `blank` coming in at the top.
    pub(crate) fn scroll_down(&mut self, area: &Area, n: usize, blank: Cell, tick: Tick) {
        let n = n.min(area.rows.len());
        if area.cols == (0..self.cols) {
            for _ in 0..n {
                let Some(mut row) = self.rows.remove(area.rows.end - 1) else { return };
                row.clear(blank);
                self.rows.insert(area.rows.start, row);
            }
        } else {
            self.part_cols(area, tick);
            for to in (area.rows.start + n..area.rows.end).rev() {
                self.move_cells(to - n, to, area.cols.clone());
            }
            self.fill_rows(area.rows.start..area.rows.start + n, area.cols.clone(), blank);
        }
        self.part_rows(area.rows.start);
        self.part_rows(area.rows.end);
    }

    /// Ends the line above `row`: what it went on in has moved away.
    fn part_rows(&mut self, row: usize) {
        if row > 0 {
            self.rows[row - 1].set_wrapped(false);
        }
    }

    /// Replaces the wide characters that the sides of the area cut.
    fn part_cols(&mut self, area: &Area, tick: Tick) {
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
        target.unwrap_if_open(cols.end);
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

    /// Changes every cell's glyph and style number, when a table was swept.
    pub(crate) fn renumber(&mut self, mut change: impl FnMut(&mut Cell)) {
        for row in &mut self.rows {
            row.cells[..row.used].iter_mut().for_each(&mut change);
        }
    }
}
