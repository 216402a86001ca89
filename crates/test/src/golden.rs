//! Golden screens: a screen as text that is compared with a file, an insta snapshot.
//!
//! ```text
//! screen 40x10
//! │Main menu
//! │> One
//! styles
//! 2:1-5 "> One" inverse
//! cursor 2:1
//! ```
//!
//! Rows and columns count from 1. Blanks at the ends of rows and blank rows at the end are left out. Columns of style
//! runs count after masking, so that a masked text of any length gives the same golden.

use std::fmt::Write;

use awaitty_terminal::core::{Cursor, CursorShape, Frame, Row, Style};

use crate::judge::{Problem, Spans};
use crate::style::words;

/// The cell that replaces each cell of a masked region.
const MASKED_CELL: &str = "▒";

/// The cells that replace a masked match. The count is the same for matches of any length.
const MASKED_MATCH: [&str; 3] = [MASKED_CELL; 3];

/// How a screen is written for a comparison.
#[derive(Clone, Debug)]
pub struct Golden {
    masks: Vec<String>,
    regions: Vec<(usize, usize, usize, usize)>,
    styles: bool,
}

impl Default for Golden {
    fn default() -> Golden {
        Golden { masks: Vec::new(), regions: Vec::new(), styles: true }
    }
}

/// A cell of a screen. The first half of a wide character has no text.
#[derive(Clone, Debug)]
struct Cell {
    text: String,
    style: Style,
}

impl Golden {
    /// Returns a golden without masks, with styles.
    pub fn new() -> Golden {
        Golden::default()
    }

    /// Masks the matches of regular expressions within rows: each is replaced by `▒▒▒`.
    #[must_use]
    pub fn mask<R: Into<String>>(mut self, regexes: impl IntoIterator<Item = R>) -> Golden {
        self.masks.extend(regexes.into_iter().map(Into::into));
        self
    }

    /// Masks regions, each given by its first row and column, from 1, and its number of rows and columns. Each cell is
    /// replaced by `▒`.
    #[must_use]
    pub fn regions(
        mut self,
        regions: impl IntoIterator<Item = (usize, usize, usize, usize)>,
    ) -> Golden {
        self.regions.extend(regions);
        self
    }

    /// Sets whether the styles and the cursor are part of the golden. Default: true.
    #[must_use]
    pub fn styles(self, styles: bool) -> Golden {
        Golden { styles, ..self }
    }

    /// Writes a screen.
    ///
    /// # Errors
    /// If a mask is not a regular expression. The error names the position.
    pub fn render(&self, frame: &Frame) -> Result<String, String> {
        self.write(frame).map_err(|problem| problem.why)
    }

    pub(crate) fn write(&self, frame: &Frame) -> Result<String, Problem> {
        let masks: Vec<Spans> =
            self.masks.iter().map(|mask| Spans::new(mask)).collect::<Result<_, _>>()?;
        let mut cursor = frame.cursor();
        let mut rows = Vec::new();
        for (index, row) in frame.rows().iter().enumerate() {
            let of_row = (cursor.row == index).then_some(&mut cursor.col);
            rows.push(self.masked(index, row, frame.cols(), &masks, of_row));
        }
        let mut text = format!("screen {}x{}\n", frame.cols(), frame.rows().len());
        let lines: Vec<String> = rows.iter().map(|cells| text_of(cells)).collect();
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        for line in &lines[..end] {
            let _ = writeln!(text, "│{line}");
        }
        if self.styles {
            text += &style_layer(&rows);
            text += &cursor_line(&cursor);
        }
        Ok(text)
    }

    /// Returns the cells of a row with its masked parts replaced. Moves the cursor's column accordingly.
    fn masked(
        &self,
        index: usize,
        row: &Row,
        cols: usize,
        masks: &[Spans],
        cursor: Option<&mut usize>,
    ) -> Vec<Cell> {
        let is_in_region = |col: usize| {
            self.regions.iter().any(|&(top, left, rows, width)| {
                (top..top + rows).contains(&(index + 1))
                    && (left..left + width).contains(&(col + 1))
            })
        };
        let mut spans: Vec<(usize, usize)> =
            masks.iter().flat_map(|mask| mask.in_row(row)).collect();
        spans.sort_unstable();
        let (mut cells, mut col) = (Vec::new(), 0);
        let mut moved = None;
        let at_cursor = cursor.as_ref().map(|col| **col);
        while col < cols {
            let span = spans.iter().find(|(from, to)| (*from..*to).contains(&col));
            let next = span.map_or(col + 1, |(_, to)| *to);
            if at_cursor.is_some_and(|at| (col..next).contains(&at)) {
                moved = Some(cells.len());
            }
            match span {
                Some(_) => cells.extend(MASKED_MATCH.map(masked_cell)),
                None if is_in_region(col) => cells.push(masked_cell(MASKED_CELL)),
                None => cells.push(cell(row, col)),
            }
            col = next;
        }
        if let (Some(cursor), Some(moved)) = (cursor, moved) {
            *cursor = moved;
        }
        cells
    }
}

fn masked_cell(text: &str) -> Cell {
    Cell { text: text.to_owned(), style: Style::default() }
}

fn cell(row: &Row, col: usize) -> Cell {
    let text = if col < row.width() { row.slice(col, col + 1) } else { " " };
    Cell { text: text.to_owned(), style: Style { link: None, ..row.style_at(col) } }
}

fn text_of(cells: &[Cell]) -> String {
    let text: String = cells.iter().map(|cell| cell.text.as_str()).collect();
    text.trim_end().to_owned()
}

/// Writes the runs of cells with a style other than the default.
fn style_layer(rows: &[Vec<Cell>]) -> String {
    let mut text = String::new();
    for (index, cells) in rows.iter().enumerate() {
        let mut from = 0;
        for run in cells.chunk_by(|a, b| a.style == b.style) {
            let to = from + run.len();
            let style = words(&run[0].style);
            if run[0].style != Style::default() {
                let shown = text_of(run);
                let shown = if shown.is_empty() { String::new() } else { format!(" {shown:?}") };
                let _ = writeln!(text, "{}:{}-{to}{shown} {style}", index + 1, from + 1);
            }
            from = to;
        }
    }
    if text.is_empty() { text } else { format!("styles\n{text}") }
}

fn cursor_line(cursor: &Cursor) -> String {
    if !cursor.visible {
        return "cursor hidden\n".to_owned();
    }
    let shape = match cursor.shape {
        CursorShape::Block => "",
        CursorShape::Underline => " underline",
        CursorShape::Bar => " bar",
    };
    format!("cursor {}:{}{shape}\n", cursor.row + 1, cursor.col + 1)
}

/// Compares the screen with a golden, once the screen has settled and the program is at rest.
///
/// The golden is an [insta](https://insta.rs) snapshot beside the test, `snapshots/MODULE__NAME.snap`, so that
/// `cargo insta review` shows the differences and accepts them.
///
/// ```ignore
/// assert_screen!(t, "menu");
/// assert_screen!(t, "clock", mask = [r"\d\d:\d\d"]);
/// assert_screen!(t, "status", regions = [(24, 1, 1, 80)], styles = false);
/// ```
///
/// # Panics
/// If the screen differs, or has not settled within the timeout of the [`Builder`](crate::Builder).
#[macro_export]
macro_rules! assert_screen {
    ($terminal:expr, $name:expr $(, $option:ident = $value:expr)* $(,)?) => {{
        let golden = $crate::Golden::new()$(.$option($value))*;
        let name: &str = ::std::convert::AsRef::<str>::as_ref(&$name);
        // The snapshot is named after the module of the test, so insta's macro must be expanded here.
        let compare = |screen: &str| $crate::insta::assert_snapshot!(name, screen, name);
        $terminal.compare_golden(name, &golden, &compare);
    }};
}
