//! Writes characters to cells: wrapping, widths, combining characters and clusters.

use unicode_segmentation::UnicodeSegmentation;

use super::cell::{Cell, Glyph};
use super::grid::Area;
use super::modes::Mode;
use super::perform::Performer;
use super::width::{char_width, cluster_width};
use super::{Position, Screen};

/// The maximum length of a cell's text in bytes. Further combining characters are dropped. The longest real clusters,
/// families with skin tones, have 41.
const CLUSTER_MAX: usize = 64;

impl Performer<'_, '_> {
    /// Prints a run of ASCII, row by row.
    pub(super) fn print_ascii(&mut self, text: &[u8]) {
        let s = &*self.screen;
        if !s.charsets.is_plain() || s.modes.has(Mode::Insert) || s.has_echo() {
            text.iter().for_each(|&byte| self.print(char::from(byte)));
            return;
        }
        let mut rest = text;
        let cell = self.screen.drawn_cell();
        while !rest.is_empty() {
            self.start_run();
            let Position { row, col, .. } = self.screen.position;
            let (now, later) = rest.split_at(rest.len().min(self.screen.right_end() - col));
            let s = &mut *self.screen;
            let (cell, protected) = (Cell { tick: s.tick, ..cell }, s.pen.protected);
            s.grid_mut().row_mut(row).write_ascii(col, now, cell, protected);
            s.advance_cursor(now.len());
            s.last_printed = now.last().map(|&byte| char::from(byte));
            rest = later;
        }
    }

    /// Prints as much of the start of a text as fits into the row. Returns the number of printed bytes.
    fn print_fitting(&mut self, text: &str) -> usize {
        if text.chars().next().is_none_or(|c| char_width(c) == 0) {
            // It combines with the previous character, before any wrap.
            return 0;
        }
        self.start_run();
        let s = &mut *self.screen;
        let Position { row, col, .. } = s.position;
        let room = s.right_end() - col;
        let mut cells = std::mem::take(&mut s.cells);
        let (mut bytes, mut last) = (0, None);
        cells.clear();
        let cell = s.drawn_cell();
        let protected = s.pen.protected;
        for c in text.chars() {
            let width = char_width(c);
            if width == 0 || cells.len() + width > room {
                break;
            }
            let glyph = Glyph::char(c).protected(protected);
            if width == 2 {
                cells.push(Cell { glyph: glyph.wide(), ..cell });
                cells.push(Cell { glyph: Glyph::spacer().protected(protected), ..cell });
            } else {
                cells.push(Cell { glyph, ..cell });
            }
            bytes += c.len_utf8();
            last = Some(c);
        }
        if last.is_some() {
            let s = &mut *self.screen;
            let tick = s.tick;
            s.grid_mut().row_mut(row).write_cells(col, &cells, tick);
            s.advance_cursor(cells.len());
            s.last_printed = last;
        }
        self.screen.cells = cells;
        bytes
    }

    /// Prints a run of text.
    pub(super) fn print_text(&mut self, text: &str) {
        let s = &*self.screen;
        let plain = s.charsets.is_plain()
            && !s.has_echo()
            && !s.modes.has(Mode::Insert)
            && !s.modes.has(Mode::GraphemeClusters);
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            let done = if plain { self.print_fitting(rest) } else { 0 };
            if done == 0 {
                // It combines, does not fit, or is affected by a mode.
                self.print(c);
                rest = &rest[c.len_utf8()..];
            } else {
                rest = &rest[done..];
            }
        }
    }

    /// Prints a character.
    pub(super) fn print(&mut self, c: char) {
        let c = if c.is_ascii() { self.screen.charsets.map(c) } else { c };
        let width = if c.is_ascii() { 1 } else { char_width(c) };
        if self.screen.modes.has(Mode::GraphemeClusters) && self.join_cluster(c) {
            return;
        }
        if width == 0 {
            self.screen.combine(c);
            return;
        }
        self.start_run();
        self.screen.last_printed = Some(c);
        self.print_glyph(Glyph::char(c), width);
    }

    fn print_glyph(&mut self, glyph: Glyph, width: usize) {
        if self.wrap_if_pending() {
            self.before_run();
        }
        let room = self.screen.right_end() - self.screen.position.col;
        // A screen of one column has no room for a wide character and shows a replacement character.
        let fits = width <= self.screen.cols;
        let glyph = if fits { glyph } else { Glyph::char(char::REPLACEMENT_CHARACTER) };
        let width = width.min(self.screen.cols);
        if width > room {
            if self.screen.modes.has(Mode::AutoWrap) {
                self.erase_at_cursor(room);
                self.wrap();
            } else {
                self.screen.position.col -= width - room;
            }
            self.before_run();
        }
        let Position { row, col, .. } = self.screen.position;
        let end = self.screen.right_end();
        if self.screen.modes.has(Mode::Insert) {
            self.before_loss(&Area { rows: row..row + 1, cols: col..end });
            let blank = self.screen.erased_cell();
            self.screen.grid_mut().row_mut(row).insert(col..end, width, blank);
        }
        let s = &mut *self.screen;
        let glyph = if width == 2 { glyph.wide() } else { glyph };
        let tick = match glyph.as_char() {
            Some(c) if s.has_echo() => s.tick_for(row, col, c, width),
            _ => s.tick,
        };
        let cell = Cell { glyph: glyph.protected(s.pen.protected), tick, ..s.drawn_cell() };
        s.grid_mut().row_mut(row).write(col, cell);
        s.advance_cursor(width);
    }

    /// REP: prints the last character again.
    pub(super) fn repeat(&mut self, n: usize) {
        let Some(c) = self.screen.last_printed else { return };
        let s = &*self.screen;
        // More than a screenful would look the same. An insertion moves the rest of the row for each character, so
        // there the limit is one row.
        let inserts = s.modes.has(Mode::Insert);
        let n = n.min(if inserts { s.cols } else { s.rows * s.cols });
        let is_plain = c.is_ascii() && s.charsets.is_plain() && !inserts && !s.has_echo();
        self.screen.add_work(n);
        if is_plain {
            return self.print_ascii(&vec![c as u8; n]);
        }
        for _ in 0..n {
            self.print_glyph(Glyph::char(c), char_width(c).max(1));
        }
    }

    /// Prepares the start of a run, or its continuation in another row.
    fn start_run(&mut self) {
        if self.wrap_if_pending() || self.screen.last_printed.is_none() {
            self.before_run();
        }
    }

    /// Resolves a pending wrap: moves to the next row, or without DECAWM stays to overwrite the last column. Returns
    /// whether a wrap was pending.
    fn wrap_if_pending(&mut self) -> bool {
        if !self.screen.position.pending_wrap {
            return false;
        }
        if self.screen.modes.has(Mode::AutoWrap) {
            self.wrap();
        } else {
            self.screen.position.pending_wrap = false;
        }
        true
    }

    fn wrap(&mut self) {
        let s = &*self.screen;
        let before = s.position.row;
        let whole_row = s.margins.cols == (0..s.cols);
        self.index();
        let s = &mut *self.screen;
        s.position.col = s.margins.cols.start.min(s.position.col);
        let row = s.position.row;
        // With side margins the rest of the row is other text. In a region of one row or below the region, the cursor
        // does not move and the row above is not the one that wrapped.
        let moved = row > before || s.margins.rows.len() > 1 && row + 1 == s.margins.rows.end;
        if whole_row && moved && row > 0 {
            // A blank at the end is the place where a wide character did not fit. A row of one column has no such
            // place.
            let cols = s.cols;
            let above = s.grid_mut().row_mut(row - 1);
            above.set_wrapped(cols > 1 || !above.cells()[0].glyph.is_blank());
            s.grid_mut().row_mut(row).set_continued(true);
        }
    }

    fn erase_at_cursor(&mut self, n: usize) {
        let Position { row, col, .. } = self.screen.position;
        self.before_loss(&Area { rows: row..row + 1, cols: col..col + n });
        let blank = self.screen.erased_cell();
        self.screen.grid_mut().row_mut(row).erase(col..col + n, blank);
    }

    /// Adds `c` to the cluster before the cursor in grapheme cluster mode. Returns false if it starts another cluster.
    fn join_cluster(&mut self, c: char) -> bool {
        // An ASCII character is taken to start a cluster, so that runs of ASCII need not examine the cell before them.
        // The only exception in Unicode are digits after an Arabic number sign.
        if c.is_ascii() || self.screen.last_printed.is_none() {
            return false;
        }
        let Some((row, col)) = self.screen.cell_before() else { return false };
        let s = &mut *self.screen;
        let before = s.grid().cell(row, col);
        if before.glyph.is_blank() {
            return false;
        }
        let mut text = s.glyph_text(before.glyph);
        text.push(c);
        if text.graphemes(true).nth(1).is_some() {
            return false;
        }
        if text.len() > CLUSTER_MAX {
            return true;
        }
        if cluster_width(&text) == 1 || before.glyph.is_wide() {
            s.combine(c);
        } else if (s.position.row, s.position.col) == (row, col + 1) {
            // The emoji form of a narrow character takes a second column.
            if !s.combine(c) {
                return true;
            }
            self.before_loss(&Area { rows: row..row + 1, cols: col + 1..col + 2 });
            let s = &mut *self.screen;
            let cell = s.grid().cell(row, col);
            let cell = Cell { glyph: cell.glyph.wide(), tick: s.tick, ..cell };
            s.grid_mut().row_mut(row).write(col, cell);
            s.advance_cursor(1);
        } else if s.position.pending_wrap && s.modes.has(Mode::AutoWrap) && s.cols > 1 {
            // There is no second column, so the character wraps like any wide one.
            s.position.pending_wrap = false;
            self.erase_at_cursor(1);
            self.wrap();
            let glyph = match self.screen.clusters.number(&text) {
                Some(number) => Glyph::cluster(number),
                None => before.glyph,
            };
            self.print_glyph(glyph, 2);
        }
        true
    }
}

impl Screen {
    /// Returns a blank cell in the pen's style, drawn now.
    pub(super) fn drawn_cell(&self) -> Cell {
        Cell { glyph: Glyph::BLANK, style: self.pen.number, tick: self.tick }
    }

    /// Moves the cursor right past printed text.
    fn advance_cursor(&mut self, width: usize) {
        let end = self.right_end();
        let col = self.position.col + width;
        self.position.pending_wrap = col >= end;
        self.position.col = col.min(end - 1);
    }

    /// Returns the position of the character before the cursor.
    fn cell_before(&self) -> Option<(usize, usize)> {
        let Position { row, col, pending_wrap } = self.position;
        let (row, col) = if pending_wrap {
            (row, col)
        } else if col > 0 {
            (row, col - 1)
        } else if row > 0 && self.grid().row(row - 1).is_wrapped() {
            (row - 1, self.grid().row(row - 1).line_end() - 1)
        } else {
            return None;
        };
        let spacer = self.grid().cell(row, col).glyph.is_spacer();
        Some((row, col - usize::from(spacer)))
    }

    pub(super) fn glyph_text(&self, glyph: Glyph) -> String {
        match (glyph.as_cluster(), glyph.as_char()) {
            (Some(number), _) => self.clusters.text(number).to_owned(),
            (None, Some(c)) => c.to_string(),
            (None, None) => String::new(),
        }
    }

    /// Adds a combining character to the cell before the cursor. Returns whether there was room for it.
    fn combine(&mut self, c: char) -> bool {
        let Some((row, col)) = self.cell_before() else { return false };
        let cell = self.grid().cell(row, col);
        let mut text = self.glyph_text(cell.glyph);
        if text.len() + c.len_utf8() > CLUSTER_MAX {
            return false;
        }
        text.push(c);
        self.sweep_tables();
        // The sweep may have renumbered the cell.
        let cell = self.grid().cell(row, col);
        let Some(number) = self.clusters.number(&text) else { return false };
        let (glyph, tick) = (cell.glyph.with_cluster(number), self.tick);
        let grid_row = self.grid_mut().row_mut(row);
        grid_row.update(col, Cell { glyph, tick, ..cell });
        if glyph.is_wide() {
            let spacer = grid_row.cells()[col + 1];
            grid_row.update(col + 1, Cell { tick, ..spacer });
        }
        true
    }
}
