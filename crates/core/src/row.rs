//! An immutable snapshot of a row: its text, and the styles and ticks of its cells, in a compact form.
//!
//! Frames share rows by [`Arc`](std::sync::Arc), and the scrollback returns its lines as rows. Columns count from 0
//! here and from 1 in the tools.

use std::hash::{Hash, Hasher};

use crate::Tick;
use crate::intern::FastHasher;
use crate::style::Style;

/// A run of columns with the same `value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span<T> {
    /// The first column.
    pub from: u16,
    /// The column after the last.
    pub to: u16,
    /// The common value.
    pub value: T,
}

/// A run of cells whose text has the same length and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) cells: u16,
    /// The length of each cell's text in bytes.
    pub(crate) bytes: u8,
    pub(crate) wide: bool,
}

/// An immutable snapshot of a row.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub(crate) text: Box<str>,
    /// The division of the text into cells. Empty if each byte is one cell.
    pub(crate) shapes: Box<[Shape]>,
    pub(crate) styles: Box<[Span<Style>]>,
    pub(crate) ticks: Box<[Span<Tick>]>,
    pub(crate) end: u16,
    /// The number of columns up to the last cell that the program wrote, including spaces.
    pub(crate) written: u16,
    pub(crate) wrapped: bool,
    hash: u64,
}

impl Row {
    /// Creates a row from its parts. `style` looks up styles by number.
    pub(crate) fn new(parts: &RowParts, style: impl Fn(u32) -> Style) -> Row {
        let styles = parts
            .styles
            .iter()
            .map(|span| Span { from: span.from, to: span.to, value: style(span.value) })
            .collect();
        let mut row = Row {
            text: parts.text.as_str().into(),
            shapes: parts.shapes.as_slice().into(),
            styles,
            ticks: parts.ticks.as_slice().into(),
            end: parts.end,
            written: parts.written,
            wrapped: parts.wrapped,
            hash: 0,
        };
        row.compute_hash();
        row
    }

    /// Returns the size of the row in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Row>()
            + self.text.len()
            + size_of_val(&*self.shapes)
            + size_of_val(&*self.styles)
            + size_of_val(&*self.ticks)
    }

    /// Computes the hash after all other fields are set. The hash of a blank row is 0, as in a default row.
    pub(crate) fn compute_hash(&mut self) {
        if self.is_blank() {
            return;
        }
        let mut hasher = FastHasher::default();
        self.text.hash(&mut hasher);
        self.styles.hash(&mut hasher);
        self.hash = hasher.finish();
    }

    /// Returns the text without trailing blanks.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the runs of columns with a style other than the default, in order.
    pub fn styles(&self) -> &[Span<Style>] {
        &self.styles
    }

    /// Returns the runs of drawn columns with their ticks, in order.
    pub fn ticks(&self) -> &[Span<Tick>] {
        &self.ticks
    }

    /// Returns whether the text continues in the next row because it did not fit.
    pub fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    /// Returns the number of columns that belong to the row's line. In a wrapped row these are all columns, except for
    /// a last one that was left blank because a wide character did not fit. Otherwise they are the columns of the text.
    pub fn end(&self) -> usize {
        usize::from(self.end)
    }

    /// Returns the number of columns that the program wrote, including trailing spaces. Erased cells do not count.
    pub fn written(&self) -> usize {
        usize::from(self.written)
    }

    /// Returns a hash of the visible content.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns whether the row has no visible content.
    pub fn is_blank(&self) -> bool {
        self.text.is_empty() && self.styles.is_empty()
    }

    /// Returns whether both rows have the same visible content. Ticks are ignored.
    pub fn looks_like(&self, other: &Row) -> bool {
        self.hash == other.hash && self.text == other.text && self.styles == other.styles
    }

    /// Returns the style of a column.
    pub fn style_at(&self, col: usize) -> Style {
        value_at(&self.styles, col).unwrap_or_default()
    }

    /// Returns the tick at which a column was last drawn, or [`Tick::NEVER`].
    pub fn tick_at(&self, col: usize) -> Tick {
        value_at(&self.ticks, col).unwrap_or(Tick::NEVER)
    }

    /// Returns the newest tick of the columns in a range.
    pub fn newest_tick(&self, from: usize, to: usize) -> Tick {
        let within =
            |span: &&Span<Tick>| usize::from(span.from) < to && from < usize::from(span.to);
        self.ticks.iter().filter(within).map(|span| span.value).max().unwrap_or(Tick::NEVER)
    }

    /// Returns the column that shows the byte `at` of the text.
    pub fn col_of(&self, at: usize) -> usize {
        let (mut byte, mut col) = (0, 0);
        for shape in &self.shapes {
            let (bytes, width) = (usize::from(shape.bytes), 1 + usize::from(shape.wide));
            let cells = usize::from(shape.cells);
            if at < byte + cells * bytes {
                return col + (at - byte) / bytes * width;
            }
            byte += cells * bytes;
            col += cells * width;
        }
        col + (at - byte)
    }

    /// Returns the byte of the text at which the column `at` starts, or the length of the text for a column past its
    /// end. The second column of a wide character gives the start of that character.
    pub fn byte_of(&self, at: usize) -> usize {
        let (mut byte, mut col) = (0, 0);
        for shape in &self.shapes {
            let (bytes, width) = (usize::from(shape.bytes), 1 + usize::from(shape.wide));
            let cells = usize::from(shape.cells);
            if at < col + cells * width {
                return byte + (at - col) / width * bytes;
            }
            byte += cells * bytes;
            col += cells * width;
        }
        byte.saturating_add(at - col).min(self.text.len())
    }

    /// Returns the length in bytes of each cell's text, and whether the cell is wide.
    pub(crate) fn cell_sizes(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let ascii = if self.shapes.is_empty() { self.text.len() } else { 0 };
        let shaped = self.shapes.iter().flat_map(|shape| {
            std::iter::repeat_n((usize::from(shape.bytes), shape.wide), usize::from(shape.cells))
        });
        std::iter::repeat_n((1, false), ascii).chain(shaped)
    }

    /// Returns the text of a range of columns.
    pub fn slice(&self, from: usize, to: usize) -> &str {
        let (from, to) = (self.byte_of(from), self.byte_of(to));
        &self.text[from..to.max(from)]
    }

    /// Returns the width of the text in columns.
    pub fn width(&self) -> usize {
        self.col_of(self.text.len())
    }
}

fn value_at<T: Copy>(spans: &[Span<T>], col: usize) -> Option<T> {
    let after = spans.partition_point(|span| usize::from(span.to) <= col);
    spans.get(after).filter(|span| usize::from(span.from) <= col).map(|span| span.value)
}

/// The parts of a row under construction. The buffer is reused from row to row.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowParts {
    pub(crate) text: String,
    pub(crate) shapes: Vec<Shape>,
    /// Runs of style numbers.
    pub(crate) styles: Vec<Span<u32>>,
    pub(crate) ticks: Vec<Span<Tick>>,
    pub(crate) end: u16,
    pub(crate) written: u16,
    pub(crate) wrapped: bool,
}

impl RowParts {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.shapes.clear();
        self.styles.clear();
        self.ticks.clear();
        self.end = 0;
        self.written = 0;
        self.wrapped = false;
    }

    /// Records that the text added last is one cell of `bytes` bytes.
    pub(crate) fn push_shape(&mut self, bytes: usize, wide: bool) {
        let bytes = bytes as u8;
        match self.shapes.last_mut() {
            Some(shape) if shape.bytes == bytes && shape.wide == wide => shape.cells += 1,
            _ => self.shapes.push(Shape { cells: 1, bytes, wide }),
        }
    }
}

/// Appends a run of columns, extending the last run if it has the same value.
pub(crate) fn extend_spans<T: PartialEq>(spans: &mut Vec<Span<T>>, from: u16, to: u16, value: T) {
    match spans.last_mut() {
        Some(last) if last.to == from && last.value == value => last.to = to,
        _ => spans.push(Span { from, to, value }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Screen;

    fn row(bytes: &str) -> Row {
        let mut screen = Screen::new(20, 2, 0);
        screen.feed(bytes.as_bytes());
        (*screen.row(0)).clone()
    }

    #[test]
    fn columns_and_bytes_of_ascii_are_equal() {
        let row = row("abc def");
        assert_eq!(row.col_of(4), 4);
        assert_eq!(row.byte_of(4), 4);
        assert_eq!(row.byte_of(19), 7);
        assert_eq!(row.slice(4, 20), "def");
    }

    #[test]
    fn wide_and_combining_characters_are_found_by_column() {
        let row = row("a世界e\u{301}x");
        assert_eq!(row.text(), "a世界e\u{301}x");
        assert_eq!(row.width(), 7);
        assert_eq!(row.col_of("a世".len()), 3);
        assert_eq!(row.byte_of(3), "a世".len());
        assert_eq!(row.byte_of(4), "a世".len(), "the second half of a wide character");
        assert_eq!(row.slice(5, 6), "e\u{301}");
        assert_eq!(row.slice(6, 7), "x");
    }

    #[test]
    fn styles_are_runs_of_columns() {
        let row = row("ab\x1b[1mcd\x1b[0m ef");
        assert_eq!(row.styles().len(), 1);
        assert_eq!((row.styles()[0].from, row.styles()[0].to), (2, 4));
        assert_eq!(row.style_at(1), Style::default());
        assert_ne!(row.style_at(2), Style::default());
    }
}
