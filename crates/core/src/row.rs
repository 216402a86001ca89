//! A row as it was seen: text, styles and the ticks of its cells, compact and never edited.
//!
//! Frames share rows by [`Arc`](std::sync::Arc), and the scrollback gives its lines out as rows.
//! Columns are counted from 0 here; the tools count from 1.

use std::hash::{Hash, Hasher};

use crate::Tick;
use crate::intern::FastHasher;
use crate::style::Style;

/// A run of columns that have `value` in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span<T> {
    /// The first column.
    pub from: u16,
    /// The column after the last.
    pub to: u16,
    /// What they have in common.
    pub value: T,
}

/// A run of cells whose text has the same length and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) cells: u16,
    /// The length of each cell's text.
    pub(crate) bytes: u8,
    pub(crate) wide: bool,
}

/// A row as it was seen.
#[derive(Clone, Debug, Default)]
pub struct Row {
    pub(crate) text: Box<str>,
    /// How the text falls into cells; empty if each byte is one.
    pub(crate) shapes: Box<[Shape]>,
    pub(crate) styles: Box<[Span<Style>]>,
    pub(crate) ticks: Box<[Span<Tick>]>,
    pub(crate) end: u16,
    /// Columns up to the last cell that the program wrote, spaces included.
    pub(crate) written: u16,
    pub(crate) wrapped: bool,
    hash: u64,
}

impl Row {
    /// Makes a row of its parts, whose spans' styles are looked up by `style`.
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
        row.seal();
        row
    }

    /// Returns the bytes that the row takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Row>()
            + self.text.len()
            + size_of_val(&*self.shapes)
            + size_of_val(&*self.styles)
            + size_of_val(&*self.ticks)
    }

    /// Computes the hash once the rest is in place. A blank row's is 0, as a default row's is.
    pub(crate) fn seal(&mut self) {
        if self.is_blank() {
            return;
        }
        let mut hasher = FastHasher::default();
        self.text.hash(&mut hasher);
        self.styles.hash(&mut hasher);
        self.hash = hasher.finish();
    }

    /// The text, without the blanks at its end.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The columns that do not have the default style, in order.
    pub fn styles(&self) -> &[Span<Style>] {
        &self.styles
    }

    /// When which columns were drawn, in order; columns that never were are left out.
    pub fn ticks(&self) -> &[Span<Tick>] {
        &self.ticks
    }

    /// Tells whether the text goes on in the next row because it did not fit.
    pub fn is_wrapped(&self) -> bool {
        self.wrapped
    }

    /// How many columns of the row belong to its line: all of them where the text is wrapped, but
    /// for one that was left empty because a wide character did not fit; else those of the text.
    pub fn end(&self) -> usize {
        usize::from(self.end)
    }

    /// Returns how many columns the program wrote, spaces at the end included. Erased cells are not written.
    pub fn written(&self) -> usize {
        usize::from(self.written)
    }

    /// A hash of what is visible.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Tells whether there is nothing to see.
    pub fn is_blank(&self) -> bool {
        self.text.is_empty() && self.styles.is_empty()
    }

    /// Tells whether the two look the same, whenever they were drawn.
    pub fn looks_like(&self, other: &Row) -> bool {
        self.hash == other.hash && self.text == other.text && self.styles == other.styles
    }

    /// The style of a column.
    pub fn style_at(&self, col: usize) -> Style {
        value_at(&self.styles, col).unwrap_or_default()
    }

    /// When a column was last drawn; tick 0 if it never was.
    pub fn tick_at(&self, col: usize) -> Tick {
        value_at(&self.ticks, col).unwrap_or_default()
    }

    /// The newest tick of any column in a range.
    pub fn newest_tick(&self, from: usize, to: usize) -> Tick {
        let within =
            |span: &&Span<Tick>| usize::from(span.from) < to && from < usize::from(span.to);
        self.ticks.iter().filter(within).map(|span| span.value).max().unwrap_or_default()
    }

    /// The column in which the byte `at` of the text is shown.
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

    /// The byte of the text at which the column `at` begins, or the text's length past its end.
    /// The second column of a wide character is where that character begins.
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

    /// For each cell of the text: its bytes, and whether it is wide.
    pub(crate) fn cell_sizes(&self) -> impl Iterator<Item = (usize, bool)> + '_ {
        let ascii = if self.shapes.is_empty() { self.text.len() } else { 0 };
        let shaped = self.shapes.iter().flat_map(|shape| {
            std::iter::repeat_n((usize::from(shape.bytes), shape.wide), usize::from(shape.cells))
        });
        std::iter::repeat_n((1, false), ascii).chain(shaped)
    }

    /// The text of some columns.
    pub fn slice(&self, from: usize, to: usize) -> &str {
        let (from, to) = (self.byte_of(from), self.byte_of(to));
        &self.text[from..to.max(from)]
    }

    /// The width of the text in columns.
    pub fn width(&self) -> usize {
        self.col_of(self.text.len())
    }
}

fn value_at<T: Copy>(spans: &[Span<T>], col: usize) -> Option<T> {
    let after = spans.partition_point(|span| usize::from(span.to) <= col);
    spans.get(after).filter(|span| usize::from(span.from) <= col).map(|span| span.value)
}

/// The parts of a row while it is made; one is kept and used again for each.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowParts {
    pub(crate) text: String,
    pub(crate) shapes: Vec<Shape>,
    /// Spans of style numbers.
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

    /// Notes that the text added last is one cell of that many bytes.
    pub(crate) fn push_shape(&mut self, bytes: usize, wide: bool) {
        let bytes = bytes as u8;
        match self.shapes.last_mut() {
            Some(shape) if shape.bytes == bytes && shape.wide == wide => shape.cells += 1,
            _ => self.shapes.push(Shape { cells: 1, bytes, wide }),
        }
    }
}

/// Adds some columns to the spans, making the last one longer if it has the same value.
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
    fn columns_and_bytes_of_ascii_are_the_same() {
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
    fn styles_are_spans_of_columns() {
        let row = row("ab\x1b[1mcd\x1b[0m ef");
        assert_eq!(row.styles().len(), 1);
        assert_eq!((row.styles()[0].from, row.styles()[0].to), (2, 4));
        assert_eq!(row.style_at(1), Style::default());
        assert_ne!(row.style_at(2), Style::default());
    }
}
