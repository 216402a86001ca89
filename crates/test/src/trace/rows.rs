//! Encodes rows and styles for the page. Equal rows and equal styles are stored once per block.

use std::collections::{BTreeSet, HashMap};

use awaitty_terminal::core::{Attrs, Color, Row, Style, Underline};
use awaitty_terminal::text::without_hidden;
use serde_json::json;

use super::mask::MASK;
use crate::replay::ChosenColors;

/// The numbers that describe a style: foreground, background and underline colour, attributes, kind of underline.
type StyleCode = [i64; 5];

/// The number of the default colour.
const DEFAULT_COLOR: i64 = -1;

/// The offset of RGB colours, above the numbers of the palette.
const RGB_OFFSET: i64 = 256;

/// The distinct rows and styles of a block.
#[derive(Debug, Default)]
pub(super) struct Tables {
    /// The code of each style, as JSON.
    pub(super) styles: Vec<String>,
    style_numbers: HashMap<StyleCode, usize>,
    /// The runs of each row, as JSON.
    pub(super) rows: Vec<String>,
    row_numbers: HashMap<String, usize>,
    /// The size of both tables in bytes.
    pub(super) bytes: usize,
}

impl Tables {
    /// Returns the number of a row with some columns masked.
    pub(super) fn row(
        &mut self,
        row: &Row,
        masked: Option<&BTreeSet<usize>>,
        colors: &ChosenColors,
    ) -> usize {
        let code = self.encode(row, masked, colors);
        if let Some(&number) = self.row_numbers.get(&code) {
            return number;
        }
        let number = self.rows.len();
        self.bytes += code.len() + 1;
        self.rows.push(code.clone());
        self.row_numbers.insert(code, number);
        number
    }

    /// Returns a row as a JSON array: text, style and number of columns of each run. The number is 0 if each character
    /// is one column.
    fn encode(
        &mut self,
        row: &Row,
        masked: Option<&BTreeSet<usize>>,
        colors: &ChosenColors,
    ) -> String {
        let mut code = String::from("[");
        for (from, to, style) in runs(row) {
            let number = self.style(style, colors);
            let mut push = |text: &str, cols: usize| {
                let comma = if code.len() > 1 { "," } else { "" };
                code += &format!("{comma}{},{number},{cols}", json!(text));
            };
            let is_masked = masked.is_some_and(|cols| cols.range(from..to).next().is_some());
            match masked.filter(|_| is_masked) {
                Some(masked) => push(&masked_text(row, from, to, masked), to - from),
                None => pieces(row, from, to, &mut push),
            }
        }
        code + "]"
    }

    fn style(&mut self, style: Style, colors: &ChosenColors) -> usize {
        let code = code_of(style, colors);
        let next = self.styles.len();
        let number = *self.style_numbers.entry(code).or_insert(next);
        if number == next {
            let text = json!(code).to_string();
            self.bytes += text.len() + 1;
            self.styles.push(text);
        }
        number
    }
}

/// Returns the runs of a row of one style, up to the last visible column.
fn runs(row: &Row) -> Vec<(usize, usize, Style)> {
    let (mut runs, mut col) = (Vec::new(), 0);
    let mut push = |from: usize, to: usize, style: Style| {
        if from < to {
            runs.push((from, to, style));
        }
    };
    for span in row.styles() {
        let (from, to) = (usize::from(span.from), usize::from(span.to));
        push(col, from, Style::default());
        push(from, to, span.value);
        col = to;
    }
    push(col, row.width(), Style::default());
    runs
}

/// Calls `push` with the pieces of a run: ASCII, other narrow characters, and each wide character by itself. Fonts give
/// the last two other widths than cells have, so the page sets the width of each piece.
fn pieces(row: &Row, from: usize, to: usize, push: &mut impl FnMut(&str, usize)) {
    let text = row.slice(from, to);
    if text.is_ascii() {
        // A style may be visible behind the end of the text.
        let missing = to.saturating_sub(from.max(row.width()));
        return push(&format!("{text}{}", " ".repeat(missing)), 0);
    }
    let is_wide = |col: usize| row.byte_of(col) == row.byte_of(col + 1) && col < row.width();
    let width = |col: usize| 1 + usize::from(is_wide(col));
    let mut start = from;
    while start < to {
        let first = width(start);
        let mut end = start + first;
        while first == 1 && end < to && width(end) == first {
            end += 1;
        }
        let end = end.min(to);
        let missing = end.saturating_sub(start.max(row.width()));
        push(&(without_hidden(row.slice(start, end)) + &" ".repeat(missing)), end - start);
        start = end;
    }
}

/// Returns the text of a run with some columns masked. It has as many columns, so that the rest keeps its place, but
/// at most three marks, so that they do not show the length of the value.
fn masked_text(row: &Row, from: usize, to: usize, masked: &BTreeSet<usize>) -> String {
    let mut text = String::new();
    let (mut col, mut marks) = (from, 0);
    while col < to {
        if masked.contains(&col) {
            let mark = MASK.chars().nth(marks).unwrap_or(' ');
            marks += 1;
            text.push(mark);
            col += 1;
            continue;
        }
        marks = 0;
        let begins = row.byte_of(col);
        let is_wide = col + 1 < to && row.byte_of(col + 1) == begins && col < row.width();
        let cols = 1 + usize::from(is_wide);
        let cell = without_hidden(row.slice(col, col + cols));
        text += if cell.is_empty() { " " } else { &cell };
        col += cols;
    }
    text
}

fn code_of(style: Style, colors: &ChosenColors) -> StyleCode {
    let rgb = |(r, g, b): (u8, u8, u8)| RGB_OFFSET + i64::from(u32::from_be_bytes([0, r, g, b]));
    let color = |color: Color| match color {
        Color::Default => DEFAULT_COLOR,
        Color::Indexed(index) => colors.indexed.get(&index).map_or(i64::from(index), |c| rgb(*c)),
        Color::Rgb(r, g, b) => rgb((r, g, b)),
    };
    // As in xterm, bold selects the bright variant of the first eight colours.
    let fg = match style.fg {
        Color::Indexed(index @ 0..8) if style.attrs.has(Attrs::BOLD) => Color::Indexed(index + 8),
        fg => fg,
    };
    let attrs = [
        Attrs::BOLD,
        Attrs::DIM,
        Attrs::ITALIC,
        Attrs::INVERSE,
        Attrs::CONCEALED,
        Attrs::STRIKE,
        Attrs::OVERLINE,
    ];
    let bits = attrs.iter().enumerate().map(|(i, attr)| i64::from(style.attrs.has(*attr)) << i);
    let underline = match style.underline {
        Underline::None => 0,
        Underline::Single => 1,
        Underline::Double => 2,
        Underline::Curly => 3,
        Underline::Dotted => 4,
        Underline::Dashed => 5,
    };
    [color(fg), color(style.bg), color(style.underline_color), bits.sum(), underline]
}

#[cfg(test)]
mod tests {
    use awaitty_terminal::core::Screen;

    use super::*;

    fn encoded(output: &str, masked: &[usize]) -> (String, Vec<String>) {
        let mut screen = Screen::new(20, 2, 0);
        screen.feed(output.as_bytes());
        let (mut tables, colors) = (Tables::default(), ChosenColors::new(&screen));
        let masked = masked.iter().copied().collect();
        let number = tables.row(&screen.row(0), Some(&masked), &colors);
        (tables.rows[number].clone(), tables.styles)
    }

    #[test]
    fn a_row_is_its_runs_with_their_widths() {
        let (row, styles) = encoded("ab\x1b[1;31;4mcd\x1b[48;2;1;2;3m世界é\x1b[0m ─x", &[]);
        assert_eq!(row, r#"["ab",0,0,"cd",1,0,"世",2,2,"界",2,2,"é",2,1," ─x",0,3]"#);
        assert_eq!(styles, ["[-1,-1,-1,0,0]", "[9,-1,-1,1,1]", "[9,66307,-1,1,1]"]);
        assert_eq!(encoded("\x1b[7m\x1b[K", &[]).0, "[]");
        assert_eq!(encoded("\x1b[44m\x1b[K", &[]).0, format!("[\"{}\",0,0]", " ".repeat(20)));
        assert_eq!(encoded("", &[]).0, "[]");
    }

    #[test]
    fn colours_that_the_program_sets_are_resolved() {
        assert_eq!(encoded("\x1b]4;3;#010203\x07\x1b[33mx", &[]).1, ["[66307,-1,-1,0,0]"]);
    }

    #[test]
    fn masked_columns_keep_the_place_of_the_rest() {
        let (row, _) = encoded("a世hunter2z", &[3, 4, 5, 6, 7, 8, 9]);
        assert_eq!(row, r#"["a世•••    z",0,11]"#);
    }

    #[test]
    fn equal_rows_are_stored_once() {
        let mut screen = Screen::new(20, 3, 0);
        screen.feed(b"one\r\ntwo\r\none");
        let (mut tables, colors) = (Tables::default(), ChosenColors::default());
        let numbers: Vec<usize> =
            (0..3).map(|row| tables.row(&screen.row(row), None, &colors)).collect();
        assert_eq!((numbers, tables.rows.len()), (vec![0, 1, 0], 2));
    }
}
