//! The text of a row of cells: its characters, its runs of one style, and the blanks behind it.

use super::cell::{Cell, Glyph};
use super::clusters::{Clusters, base_of};
use super::grid::GridRow;
use crate::Tick;
use crate::row::{RowParts, extend_spans};

/// Bytes of combining marks in the text of a row, for each of its columns. A cell may have up to 64, but rows full of such
/// cells make frames and the scrollback ten times as large as any real text. Text with a mark or two on every
/// character has 2 to 6, as in Hindi, Thai and decomposed Vietnamese; four marks on each character are 8.
pub const COL_MARKS_MAX: usize = 8;

/// Bytes of combining marks that the text of any row may have: 27 families of emoji with skin tones.
pub const ROW_MARKS_MIN: usize = 1024;

impl GridRow {
    /// Takes the row apart into text and runs.
    pub(crate) fn render(&self, clusters: &Clusters, parts: &mut RowParts) {
        parts.clear();
        parts.wrapped = self.is_wrapped();
        let cells = self.used_cells();
        let shown = self.text_cells();
        let text_end = shown.len();
        if is_ascii(shown) {
            push_ascii(shown, &mut parts.text);
        } else {
            let mut marks_left = marks_max(self.cells().len());
            for cell in shown {
                let bytes = push_glyph(cell.glyph, clusters, &mut marks_left, &mut parts.text);
                if bytes > 0 {
                    parts.push_shape(bytes, cell.glyph.is_wide());
                }
            }
        }
        let mut from = 0;
        while let Some(&Cell { style, tick, .. }) = cells.get(from) {
            let same = |cell: &Cell| cell.style == style && cell.tick == tick;
            let len = cells[from..].iter().position(|cell| !same(cell));
            let to = len.map_or(cells.len(), |len| from + len);
            if style != 0 {
                extend_spans(&mut parts.styles, from as u16, to as u16, style);
            }
            if tick != Tick(0) {
                extend_spans(&mut parts.ticks, from as u16, to as u16, tick);
            }
            from = to;
        }
        parts.end = if self.is_wrapped() { self.line_end() } else { text_end } as u16;
        parts.written = self.written() as u16;
    }

    /// Appends the row's text to `text` and returns how many blanks follow it. A look at drawn rows needs no more of them.
    pub(crate) fn push_text(&self, clusters: &Clusters, text: &mut String) -> Blanks {
        let shown = self.text_cells();
        if is_ascii(shown) {
            push_ascii(shown, text);
        } else {
            let mut marks_left = marks_max(self.cells().len());
            for cell in shown {
                push_glyph(cell.glyph, clusters, &mut marks_left, text);
            }
        }
        Blanks {
            of_line: if self.is_wrapped() {
                self.line_end().saturating_sub(shown.len())
            } else {
                0
            },
            written: self.written().saturating_sub(shown.len()),
        }
    }

    /// Returns how many columns the program wrote, spaces at the end included.
    fn written(&self) -> usize {
        let written = |cell: &Cell| !cell.glyph.is_blank();
        self.used_cells().iter().rposition(written).map_or(0, |last| last + 1)
    }

    /// The cells up to the last that shows anything.
    fn text_cells(&self) -> &[Cell] {
        let cells = self.used_cells();
        let shown = |cell: &Cell| cell.glyph.as_ascii() != Some(b' ');
        &cells[..cells.iter().rposition(shown).map_or(0, |last| last + 1)]
    }

    /// How many cells of a wrapped row belong to its line: not a last one that was left empty.
    pub(crate) fn line_end(&self) -> usize {
        let cells = self.cells();
        let cols = cells.len();
        cols - usize::from(cols > 1 && cells[cols - 1].glyph.is_blank())
    }
}

/// Blanks that follow the text of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blanks {
    /// Those that belong to the line that goes on in the next row.
    pub(crate) of_line: usize,
    /// Those that the program wrote.
    pub(crate) written: usize,
}

fn is_ascii(cells: &[Cell]) -> bool {
    Glyph::are_ascii(cells.iter().map(|cell| cell.glyph))
}

fn push_ascii(cells: &[Cell], text: &mut String) {
    // A string takes bytes only one by one, each with a check; so some are put together, and checked at once.
    let mut bytes = [0; 128];
    for cells in cells.chunks(bytes.len()) {
        let bytes = &mut bytes[..cells.len()];
        for (byte, cell) in bytes.iter_mut().zip(cells) {
            *byte = cell.glyph.as_ascii().unwrap_or(b' ');
        }
        text.push_str(std::str::from_utf8(bytes).unwrap_or_default());
    }
}

/// Returns how many bytes of marks the text of a row of so many columns has at most.
fn marks_max(cols: usize) -> usize {
    (cols * COL_MARKS_MAX).max(ROW_MARKS_MIN)
}

/// Adds what a cell shows, and returns how many bytes that are. A cluster with more marks than are left is shown without them.
fn push_glyph(
    glyph: Glyph,
    clusters: &Clusters,
    marks_left: &mut usize,
    text: &mut String,
) -> usize {
    let before = text.len();
    if let Some(number) = glyph.as_cluster() {
        let cluster = clusters.text(number);
        let base = base_of(cluster);
        match marks_left.checked_sub(cluster.len().saturating_sub(base.len_utf8())) {
            Some(left) => {
                *marks_left = left;
                text.push_str(cluster);
            }
            None => text.push(base),
        }
    } else if let Some(c) = glyph.as_char() {
        text.push(c);
    }
    text.len() - before
}
