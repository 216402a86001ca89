//! The lines of a terminal, on the screen and in the scrollback, for tools that read and search them.

use awaitty_core::{Pattern, Row, Screen};

/// A line, or one row of a wrapped line.
#[derive(Clone, Debug)]
pub(super) struct TextLine {
    pub(super) line: u64,
    /// Its row on the screen, from 1.
    pub(super) row: Option<usize>,
    pub(super) text: String,
    /// The number of blanks at its end, if it wraps into the next row.
    wrap_blanks: Option<usize>,
}

impl TextLine {
    fn new(line: u64, row: Option<usize>, from: &Row) -> TextLine {
        let blanks = from.end().saturating_sub(from.width());
        let wrap_blanks = from.is_wrapped().then_some(blanks);
        TextLine { line, row, text: from.text().to_owned(), wrap_blanks }
    }

    /// Returns the text with the blanks at the end of a wrapped row.
    fn padded(&self) -> String {
        self.text.clone() + &" ".repeat(self.wrap_blanks.unwrap_or_default())
    }
}

/// Returns the lines on the screen, and those above it if `scrollback`.
pub(super) fn all_lines(screen: &Screen, scrollback: bool) -> Vec<TextLine> {
    let kept = screen.scrollback();
    let first = if scrollback { 0 } else { kept.len() };
    let off = (first..kept.len()).filter_map(|i| kept.get(i));
    let off = off.map(|(line, row)| TextLine::new(line.0, None, &row));
    let on = (0..screen.rows())
        .map(|row| TextLine::new(screen.line(row).0, Some(row + 1), &screen.row(row)));
    off.chain(on).collect()
}

/// Returns the oldest line that is kept.
pub(super) fn first_line(screen: &Screen) -> u64 {
    screen.scrollback().first().unwrap_or(screen.line(0)).0
}

/// Returns the indices of the lines that match. A wrapped line that matches only as a whole is returned at the row
/// where the match starts, together with its full text.
pub(super) fn matching(lines: &[TextLine], pattern: &Pattern) -> Vec<(usize, Option<String>)> {
    let mut found = Vec::new();
    let mut first = 0;
    while first < lines.len() {
        let wrapped = lines[first..].iter().take_while(|line| line.wrap_blanks.is_some()).count();
        let end = (first + wrapped + 1).min(lines.len());
        let rows = first..end;
        let before = found.len();
        found.extend(rows.clone().filter(|&i| pattern.is_match(&lines[i].text)).map(|i| (i, None)));
        if found.len() == before && rows.len() > 1 {
            let parts: Vec<String> = lines[rows].iter().map(TextLine::padded).collect();
            let whole = parts.concat();
            if let Some(at) = pattern.find(&whole) {
                let mut begin = 0;
                let ends = parts.iter().map(|part| {
                    begin += part.len();
                    begin
                });
                let index = first + ends.take_while(|&end| end <= at).count();
                found.push((index.min(end - 1), Some(whole)));
            }
        }
        first = end;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_across_a_soft_wrap_is_found_at_its_start() {
        let mut screen = Screen::new(10, 4, 100);
        screen.feed(b"short\r\nlong line that wraps\r\nlast");
        let found = |text: &str| {
            let lines = all_lines(&screen, true);
            let pattern = Pattern::new(text, "").unwrap();
            matching(&lines, &pattern).into_iter().map(|(i, _)| lines[i].line).collect::<Vec<_>>()
        };
        assert_eq!(found("line that"), [2], "it starts in the first row of its line");
        assert_eq!(found("wraps"), [3], "a row of it matches");
        assert_eq!(found("last|short"), [1, 4]);
        assert!(found("short.long").is_empty(), "these are two lines");
    }
}
