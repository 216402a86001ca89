//! The VT420's rectangle operations: copy, fill, erase, change attributes, and checksum (disabled by default).

use super::Screen;
use super::cell::{Cell, Glyph};
use super::grid::Area;
use super::modes::Mode;
use super::perform::Performer;
use super::sequence::Sequence;
use super::sgr::apply_sgr;
use crate::style::{Attrs, Style, Underline};

impl Screen {
    /// Returns the rectangle in four parameters from `first` on: top, left, bottom, right. They are relative to the
    /// margins in origin mode. Returns `None` if it is empty or inverted.
    pub(super) fn rectangle(&self, sequence: &Sequence, first: usize) -> Option<Area> {
        let bounds =
            if self.modes.has(Mode::Origin) { self.margins.clone() } else { self.whole_area() };
        let top = sequence.value_or(first, 1) - 1 + bounds.rows.start;
        let left = sequence.value_or(first + 1, 1) - 1 + bounds.cols.start;
        let end = |i: usize, start: usize, end: usize| match sequence.value(i) {
            0 => end,
            value => (usize::from(value) + start).min(end),
        };
        let area = Area {
            rows: top..end(first + 2, bounds.rows.start, bounds.rows.end),
            cols: left..end(first + 3, bounds.cols.start, bounds.cols.end),
        };
        (!area.rows.is_empty() && !area.cols.is_empty()).then_some(area)
    }

    /// Returns the number of a style after DECCARA, or DECRARA if `reverse`.
    fn changed_style(&mut self, number: u32, sequence: &Sequence, reverse: bool) -> u32 {
        let mut style = *self.styles.value(number);
        if reverse {
            toggle_attributes(&mut style, sequence);
        } else {
            apply_sgr(&mut style, sequence, 4);
        }
        self.styles.number(&style)
    }

    /// Returns the DECRQCRA checksum as xterm computes it: the negated sum of characters and attributes.
    pub(super) fn checksum(&self, area: &Area) -> u16 {
        let mut sum = 0u32;
        for row in area.rows.clone() {
            for cell in &self.grid().row(row).cells()[area.cols.clone()] {
                let style = self.styles.value(cell.style);
                let text = self.glyph_text(cell.glyph);
                sum = text.chars().fold(sum, |sum, c| sum.wrapping_add(c as u32));
                let weights = [
                    (cell.glyph.is_protected(), 0x04),
                    (style.attrs.has(Attrs::CONCEALED), 0x08),
                    (style.underline != Underline::None, 0x10),
                    (style.attrs.has(Attrs::INVERSE), 0x20),
                    (style.attrs.has(Attrs::BLINK), 0x40),
                    (style.attrs.has(Attrs::BOLD), 0x80),
                ];
                let weights = weights.iter().filter(|(has, _)| *has).map(|(_, weight)| weight);
                sum = sum.wrapping_add(weights.sum());
            }
        }
        (sum as u16).wrapping_neg()
    }
}

impl Performer<'_, '_> {
    /// DECFRA.
    pub(super) fn fill_rectangle(&mut self, sequence: &Sequence) {
        let Some(c) = char::from_u32(u32::from(sequence.value(0))) else { return };
        let Some(area) = self.screen.rectangle(sequence, 1) else { return };
        if !matches!(c, ' '..='~' | '\u{a0}'..='\u{ff}') {
            return;
        }
        self.before_loss(&area);
        let s = &mut *self.screen;
        let glyph = Glyph::char(c).protected(s.pen.protected);
        let cell = Cell { glyph, ..s.drawn_cell() };
        for row in area.rows {
            s.grid_mut().row_mut(row).fill(area.cols.clone(), cell);
        }
    }

    /// DECERA, or DECSERA if `selective`, which keeps the styles.
    pub(super) fn erase_rectangle(&mut self, sequence: &Sequence, selective: bool) {
        let Some(area) = self.screen.rectangle(sequence, 0) else { return };
        self.before_loss(&area);
        let blank = self.screen.erased_cell();
        for row in area.rows {
            let row = self.screen.grid_mut().row_mut(row);
            if selective {
                // A blank can only have a background, so a cell with more style holds a space.
                let space = Cell { glyph: Glyph::SPACE, ..blank };
                row.replace_unprotected(area.cols.clone(), |old| Cell {
                    style: old.style,
                    ..space
                });
            } else {
                row.fill(area.cols.clone(), blank);
            }
        }
    }

    /// DECCRA. Pages are ignored because there is only one.
    pub(super) fn copy_rectangle(&mut self, sequence: &Sequence) {
        let Some(source) = self.screen.rectangle(sequence, 0) else { return };
        let origin = self.screen.modes.has(Mode::Origin);
        let s = &*self.screen;
        let bounds = if origin { s.margins.clone() } else { s.whole_area() };
        let top = sequence.value_or(5, 1) - 1 + bounds.rows.start;
        let left = sequence.value_or(6, 1) - 1 + bounds.cols.start;
        let rows = top..(top + source.rows.len()).min(bounds.rows.end);
        let cols = left..(left + source.cols.len()).min(bounds.cols.end);
        if rows.is_empty() || cols.is_empty() {
            return;
        }
        let target = Area { rows, cols };
        self.before_loss(&target);
        let s = &mut *self.screen;
        let copied: Vec<Vec<Cell>> = source
            .rows
            .map(|row| s.grid().row(row).cells()[source.cols.clone()].to_vec())
            .collect();
        let tick = s.tick;
        for (row, cells) in target.rows.zip(copied) {
            let row = s.grid_mut().row_mut(row);
            let len = target.cols.len();
            for (i, (col, cell)) in target.cols.clone().zip(cells).enumerate() {
                // Halves of wide characters that the edges cut become spaces.
                let cell = Cell { tick, ..cell };
                let half = Cell { glyph: Glyph::SPACE, ..cell };
                if cell.glyph.is_wide() && i + 1 == len || cell.glyph.is_spacer() && i == 0 {
                    row.write(col, half);
                } else if !cell.glyph.is_spacer() {
                    row.write(col, cell);
                }
            }
        }
    }

    /// DECCARA, or DECRARA if `reverse`. The parameters from 4 on are attributes.
    pub(super) fn change_attributes(&mut self, sequence: &Sequence, reverse: bool) {
        let Some(area) = self.screen.rectangle(sequence, 0) else { return };
        self.before_loss(&area);
        let s = &mut *self.screen;
        let rows = area.rows.clone();
        // Adjacent cells usually have the same style.
        let mut last = None;
        for row in rows.clone() {
            let cols = if s.rectangular_attrs || rows.len() == 1 {
                area.cols.clone()
            } else {
                // The text between the corners: whole rows except for the first and the last.
                let from = if row == rows.start { area.cols.start } else { 0 };
                let to = if row + 1 == rows.end { area.cols.end } else { s.cols };
                from..to
            };
            for col in cols {
                let cell = s.grid().cell(row, col);
                let style = match last {
                    Some((old, new)) if old == cell.style => new,
                    _ => s.changed_style(cell.style, sequence, reverse),
                };
                last = Some((cell.style, style));
                let tick = s.tick;
                let glyph = if cell.glyph.is_blank() { Glyph::SPACE } else { cell.glyph };
                s.grid_mut().row_mut(row).update(col, Cell { glyph, style, tick });
            }
        }
        self.screen.sweep_tables();
    }
}

fn toggle_attributes(style: &mut Style, sequence: &Sequence) {
    for i in 4..sequence.len().max(5) {
        match sequence.value(i) {
            0 => {
                let all = Attrs::BOLD.and(Attrs::BLINK).and(Attrs::INVERSE);
                style.attrs.toggle(all);
                style.underline = toggled(style.underline);
            }
            1 => style.attrs.toggle(Attrs::BOLD),
            4 => style.underline = toggled(style.underline),
            5 => style.attrs.toggle(Attrs::BLINK),
            7 => style.attrs.toggle(Attrs::INVERSE),
            8 => style.attrs.toggle(Attrs::CONCEALED),
            _ => {}
        }
    }
}

fn toggled(underline: Underline) -> Underline {
    if underline == Underline::None { Underline::Single } else { Underline::None }
}
