//! The text of a row of cells: its characters, its runs of equal style, and the blanks after it.

use super::cell::{Cell, Glyph};
use super::clusters::{Clusters, base_of};
use super::grid::GridRow;
use crate::Tick;
use crate::row::{RowParts, extend_spans};

/// The maximum number of bytes of combining marks in the text of a row, per column. One cell can hold up to 64, but
/// rows full of such cells make frames and the scrollback ten times as large as any real text. Text with one or two
/// marks on every character needs 2 to 6, as in Hindi, Thai and decomposed Vietnamese; four marks on each character
/// need 8.
pub const COL_MARKS_MAX: usize = 8;

/// The number of bytes of combining marks allowed in a row of any width: room for 27 family emoji with skin tones.
pub const ROW_MARKS_MIN: usize = 1024;

impl GridRow {
    /// Renders the row to text and runs.
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
            if tick != Tick::NEVER {
                extend_spans(&mut parts.ticks, from as u16, to as u16, tick);
            }
            from = to;
        }
        parts.end = if self.is_wrapped() { self.line_end() } else { text_end } as u16;
        parts.written = self.written() as u16;
    }

    /// Appends the row's text to `text`. Returns the number of blanks after it.
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

    /// Returns the number of columns that the program wrote, including trailing spaces.
    fn written(&self) -> usize {
        let written = |cell: &Cell| !cell.glyph.is_blank();
        self.used_cells().iter().rposition(written).map_or(0, |last| last + 1)
    }

    /// Returns the cells up to the last visible one.
    fn text_cells(&self) -> &[Cell] {
        let cells = self.used_cells();
        let shown = |cell: &Cell| cell.glyph.as_ascii() != Some(b' ');
        &cells[..cells.iter().rposition(shown).map_or(0, |last| last + 1)]
    }

    /// Returns the number of cells of a wrapped row that belong to its line. A blank last cell does not: a wide
    /// character did not fit there.
    pub(crate) fn line_end(&self) -> usize {
        let cells = self.cells();
        let cols = cells.len();
        cols - usize::from(cols > 1 && cells[cols - 1].glyph.is_blank())
    }
}

/// The number of blanks after the text of a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blanks {
    /// Blanks that belong to the line that continues in the next row.
    pub(crate) of_line: usize,
    /// Blanks that the program wrote.
    pub(crate) written: usize,
}

fn is_ascii(cells: &[Cell]) -> bool {
    Glyph::are_ascii(cells.iter().map(|cell| cell.glyph))
}

fn push_ascii(cells: &[Cell], text: &mut String) {
    // `String` accepts single bytes only with a check for each, so the bytes are collected and checked together.
    let mut bytes = [0; 128];
    for cells in cells.chunks(bytes.len()) {
        let bytes = &mut bytes[..cells.len()];
        for (byte, cell) in bytes.iter_mut().zip(cells) {
            *byte = cell.glyph.as_ascii().unwrap_or(b' ');
        }
        text.push_str(std::str::from_utf8(bytes).unwrap_or_default());
    }
}

/// Returns the maximum number of bytes of marks in the text of a row of `cols` columns.
fn marks_max(cols: usize) -> usize {
    (cols * COL_MARKS_MAX).max(ROW_MARKS_MIN)
}

/// Appends the text of a glyph and returns its length in bytes. Leaves out the marks of a cluster that has more than
/// `marks_left` bytes of them.
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
