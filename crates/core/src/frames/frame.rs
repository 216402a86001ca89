//! A frame: the screen at one moment at which it was complete. A frame is never edited.

use std::hash::Hasher;
use std::sync::Arc;

use super::annotate;
use crate::intern::FastHasher;
use crate::lines::LineNumbers;
use crate::row::Row;
use crate::screen::{CursorShape, Screen};
use crate::style::{Attrs, Color, Style};
use crate::{Line, Seq, Tick, Time};

/// The place and the look of the cursor. Rows and columns count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The row.
    pub row: usize,
    /// The column.
    pub col: usize,
    /// Whether it is shown.
    pub visible: bool,
    /// Its shape.
    pub shape: CursorShape,
    /// Whether it blinks.
    pub blinking: bool,
}

/// A span of a row that is highlighted, such as the selected entry of a menu, or concealed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The row, from 0.
    pub row: usize,
    /// The first column, from 0.
    pub from: usize,
    /// The column after the last.
    pub to: usize,
    /// The text, without blanks around it.
    pub text: String,
}

/// The screen at one moment.
#[derive(Clone, Debug)]
pub struct Frame {
    pub(crate) seq: Seq,
    pub(crate) time: Time,
    cols: usize,
    rows: Box<[Arc<Row>]>,
    lines: LineNumbers,
    cursor: Cursor,
    alternate: bool,
    reverse: bool,
    tick: Tick,
    hash: u64,
}

impl Frame {
    /// Takes a snapshot of the screen. Frames share the rows that did not change.
    pub(crate) fn new(seq: Seq, time: Time, screen: &Screen) -> Frame {
        let rows: Box<[Arc<Row>]> = (0..screen.rows()).map(|row| screen.row(row)).collect();
        let mut hasher = FastHasher::default();
        hasher.write_usize(screen.cols());
        hasher.write_u8(u8::from(screen.is_reverse()));
        rows.iter().for_each(|row| hasher.write_u64(row.hash()));
        Frame {
            seq,
            time,
            cols: screen.cols(),
            rows,
            lines: screen.line_numbers().clone(),
            cursor: screen.cursor(),
            alternate: screen.is_alternate(),
            reverse: screen.is_reverse(),
            tick: screen.tick(),
            hash: hasher.finish(),
        }
    }

    /// Returns the bytes of the rows that the next frame does not share.
    pub(crate) fn bytes_without(&self, next: &Frame) -> usize {
        let mut shared: Vec<*const Row> = next.rows.iter().map(Arc::as_ptr).collect();
        shared.sort_unstable();
        let is_left = |row: &&Arc<Row>| shared.binary_search(&Arc::as_ptr(row)).is_err();
        self.rows.iter().filter(is_left).map(|row| row.bytes()).sum()
    }

    /// Returns its number.
    pub fn seq(&self) -> Seq {
        self.seq
    }

    /// Returns the time since which the screen has looked like this.
    pub fn time(&self) -> Time {
        self.time
    }

    /// Returns the number of columns.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns the rows, from the top.
    pub fn rows(&self) -> &[Arc<Row>] {
        &self.rows
    }

    /// Returns the absolute number of a row.
    pub fn line(&self, row: usize) -> Line {
        self.lines.number(row)
    }

    /// Returns the cursor.
    pub fn cursor(&self) -> Cursor {
        self.cursor
    }

    /// Returns whether it shows the alternate screen.
    pub fn is_alternate(&self) -> bool {
        self.alternate
    }

    /// Returns whether the whole screen is inverted.
    pub fn is_reverse(&self) -> bool {
        self.reverse
    }

    /// Returns the tick at which it was taken: cells that are drawn later have a later one.
    pub fn tick(&self) -> Tick {
        self.tick
    }

    /// Returns a hash of the visible content, styles included.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// Returns whether both frames look the same, apart from the cursor.
    pub fn looks_like(&self, other: &Frame) -> bool {
        self.hash == other.hash
            && self.cols == other.cols
            && self.reverse == other.reverse
            && self.rows.len() == other.rows.len()
            && self.rows.iter().zip(&other.rows).all(|(a, b)| Arc::ptr_eq(a, b) || a.looks_like(b))
    }

    /// Returns the text: rows joined by line feeds, without blanks at the end of a row and without blank rows at the
    /// end.
    pub fn text(&self) -> String {
        join_rows(self.rows.iter().map(|row| row.text()))
    }

    /// Returns the text with its styles marked, rows joined as in [`text`](Self::text). A run is written
    /// `[r+]error[/]`: the letter of the colour (`k r g y b m c w`, capitals for the bright ones, the nearest of the
    /// sixteen for others), then `+ _ ~ ^ / -` for bold, underline, dim, inverse, italic and strike, then `:` and the
    /// letter of the background. A `[` of the text is doubled.
    pub fn annotated(&self) -> String {
        let rows: Vec<String> = self.rows.iter().map(|row| annotate::row(row)).collect();
        join_rows(rows.iter().map(String::as_str))
    }

    /// Returns the highlighted spans: text that is inverted or has its own background, unlike the rows above and below.
    pub fn selection(&self) -> Vec<Selection> {
        let mut found = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            for (from, to) in backgrounds(row) {
                let text = row.slice(from, to).trim();
                let shade = shade(row.style_at(from));
                let differs = |other: Option<&Arc<Row>>| {
                    other.is_none_or(|other| {
                        (from..to).all(|c| self::shade(other.style_at(c)) != shade)
                    })
                };
                let above = index.checked_sub(1).and_then(|above| self.rows.get(above));
                if !text.is_empty() && differs(above) && differs(self.rows.get(index + 1)) {
                    found.push(Selection { row: index, from, to, text: text.to_owned() });
                }
            }
        }
        found
    }

    /// Returns the spans of text that are not visible in the current colours of the screen: concealed, or nearly of the
    /// colour behind them. The text alone does not show that.
    pub fn concealed(&self, screen: &Screen) -> Vec<Selection> {
        let all = screen.conceals(&Style::default());
        let mut found = Vec::new();
        for (index, row) in self.rows.iter().enumerate() {
            if row.styles().is_empty() && !all {
                continue;
            }
            let width = row.width();
            let is_hidden = |col: usize| col < width && screen.conceals(&row.style_at(col));
            let mut from = 0;
            while let Some(first) = (from..width).find(|&col| is_hidden(col)) {
                from = (first..=width).find(|&col| !is_hidden(col)).unwrap_or(width);
                let text = row.slice(first, from).trim();
                // A border in the colour behind it is decoration.
                if text.contains(char::is_alphanumeric) {
                    found.push(Selection {
                        row: index,
                        from: first,
                        to: from,
                        text: text.to_owned(),
                    });
                }
            }
        }
        found
    }
}

/// Returns the colour behind the text of a style, and whether the style is inverse.
fn shade(style: Style) -> (bool, Color) {
    let inverse = style.attrs.has(Attrs::INVERSE);
    (inverse, if inverse { style.fg } else { style.bg })
}

/// Returns the runs of columns of one background other than the default.
fn backgrounds(row: &Row) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    let mut last = None;
    for span in row.styles() {
        let (from, to) = (usize::from(span.from), usize::from(span.to));
        let shade = shade(span.value);
        let highlighted = shade != (false, Color::Default);
        match runs.last_mut() {
            Some(run) if highlighted && last == Some(shade) && run.1 == from => run.1 = to,
            _ if highlighted => runs.push((from, to)),
            _ => {}
        }
        last = highlighted.then_some(shade);
    }
    runs
}

/// Joins rows by line feeds, leaving out the blank ones at the end.
pub(crate) fn join_rows<'r>(rows: impl Iterator<Item = &'r str>) -> String {
    let mut text = String::new();
    let mut blank = 0;
    for (i, row) in rows.enumerate() {
        blank += usize::from(i > 0);
        if !row.is_empty() {
            text.extend(std::iter::repeat_n('\n', blank));
            text.push_str(row);
            blank = 0;
        }
    }
    text
}
