//! The output of a command, as it looks on a screen: all of it, or its start and its end.
//!
//! A command may print more than the scrollback keeps, and its start matters as much as its end. So while a command
//! runs, the lines that the scrollback drops are added to a [`Clip`], which keeps a bounded number of characters of
//! both ends and counts the rest.

use std::borrow::Cow;

use crate::row::Row;
use crate::screen::Screen;
use crate::{Line, Tick};

/// The output of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// All of it, or its start: rows joined by line feeds, wrapped rows joined to one line, without blanks at the ends
    /// of rows and without blank rows at the end.
    pub head: String,
    /// Its end, if characters are missing between the two.
    pub tail: String,
    /// The number of missing characters.
    pub missing: usize,
}

/// The start of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) line: Line,
    pub(crate) col: usize,
    /// Cells that were drawn later are output.
    pub(crate) tick: Tick,
    /// The alternate screen was shown, left on by a program that was killed. The output is on it then.
    pub(crate) is_alternate: bool,
}

/// The end of a command's output, if more was printed since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) line: Line,
    pub(crate) col: usize,
}

impl End {
    /// The end of all that was printed.
    pub(crate) const NEWEST: End = End { line: Line(u64::MAX), col: 0 };
}

/// A text under construction whose middle may be left out.
#[derive(Clone, Debug)]
pub(crate) struct Clip {
    max: usize,
    head: String,
    head_chars: usize,
    tail: String,
    tail_chars: usize,
    missing: usize,
    /// Line feeds that are written once text follows them.
    line_ends: usize,
    /// The next row continues the line.
    is_continued: bool,
    is_empty: bool,
}

impl Clip {
    /// Returns an empty text of which at most `max` characters are kept.
    pub(crate) fn new(max: usize) -> Clip {
        Clip {
            max,
            head: String::new(),
            head_chars: 0,
            tail: String::new(),
            tail_chars: 0,
            missing: 0,
            line_ends: 0,
            is_continued: false,
            is_empty: true,
        }
    }

    /// Removes all text.
    pub(crate) fn clear(&mut self) {
        *self = Clip::new(self.max);
    }

    /// Adds a row; `blanks` follow its text if the next row continues its line.
    pub(crate) fn push_row(&mut self, text: &str, blanks: usize, wrapped: bool) {
        if !self.is_empty && !self.is_continued {
            self.line_ends += 1;
        }
        self.is_empty = false;
        self.is_continued = wrapped;
        if text.is_empty() && !wrapped {
            return;
        }
        for _ in 0..std::mem::take(&mut self.line_ends) {
            self.push("\n");
        }
        self.push(text);
        if wrapped && blanks > 0 {
            self.push(&" ".repeat(blanks));
        }
    }

    fn push(&mut self, text: &str) {
        let count = text.chars().count();
        let room = self.max - self.head_chars;
        if count <= room {
            self.head.push_str(text);
            self.head_chars += count;
            return;
        }
        let split = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
        self.head.push_str(&text[..split]);
        self.head_chars = self.max;
        self.tail.push_str(&text[split..]);
        self.tail_chars += count - room;
        // The tail is cut only at twice its size, so that a line costs little.
        if self.tail_chars > 2 * self.max {
            let surplus = self.tail_chars - self.max;
            let at = self.tail.char_indices().nth(surplus).map_or(self.tail.len(), |(at, _)| at);
            self.tail.drain(..at);
            self.tail_chars = self.max;
            self.missing += surplus;
        }
    }

    /// Returns the kept text.
    pub(crate) fn finish(self) -> Output {
        if self.tail.is_empty() {
            return Output { head: self.head, tail: String::new(), missing: 0 };
        }
        let (for_tail, total) = (self.max / 2, self.head_chars + self.tail_chars + self.missing);
        let for_head = self.max - for_tail;
        let head: String = self.head.chars().take(for_head).collect();
        let rest = self.head[head.len()..].chars().chain(self.tail.chars());
        let rest_chars = self.head_chars - for_head + self.tail_chars;
        let tail = rest.skip(rest_chars - for_tail).collect();
        Output { head, tail, missing: total - self.max }
    }
}

impl Output {
    /// Joins this output and the next by a line feed.
    pub(crate) fn join(self, next: Output) -> Output {
        if self.head.is_empty() && self.missing == 0 {
            return next;
        }
        if next.head.is_empty() && next.missing == 0 {
            return self;
        }
        if self.missing == 0 {
            let head = format!("{}\n{}", self.head, next.head);
            return Output { head, ..next };
        }
        let missing = self.missing + next.missing;
        if next.missing == 0 {
            return Output { tail: format!("{}\n{}", self.tail, next.head), missing, ..self };
        }
        let left_out = self.tail.chars().count() + next.head.chars().count();
        Output { head: self.head, tail: next.tail, missing: missing + left_out }
    }
}

impl Screen {
    /// Returns the text on the main screen from a line on, at most `max` characters of it.
    pub(crate) fn output_below(&self, line: Line, max: usize) -> Output {
        let mut clip = Clip::new(max);
        for row in (0..self.rows()).filter(|&row| self.line(row) >= line) {
            let row = self.main_row(row);
            let blanks = row.end().saturating_sub(row.width());
            clip.push_row(row.text().trim_end(), blanks, row.is_wrapped());
        }
        clip.finish()
    }

    /// Returns the text that was drawn between the start and the end of a command's output, at most `max` characters of
    /// it. It is read from the main screen, or from the alternate screen if that was shown at the start.
    pub(crate) fn output_between(&self, start: Start, end: End, max: usize) -> Output {
        if start.is_alternate && self.is_alternate() {
            let mut clip = Clip::new(max);
            let drawn = |row: &Row| (0..row.width()).any(|col| row.tick_at(col) > start.tick);
            let rows = (0..self.rows()).map(|row| self.row(row)).skip_while(|row| !drawn(row));
            for row in rows {
                push_drawn(&mut clip, &row, Line(u64::MAX - 1), start, End::NEWEST);
            }
            return clip.finish();
        }
        let mut clip =
            self.scrollback().recorded_text(start.line).unwrap_or_else(|| Clip::new(max));
        let scrollback = self.scrollback();
        let off =
            (scrollback.position(start.line)..scrollback.len()).filter_map(|i| scrollback.get(i));
        for (line, row) in off {
            push_drawn(&mut clip, &row, line, start, end);
        }
        // After the screen was cleared, the output continues above its start.
        let is_above = |row: &usize| {
            let row = self.main_row(*row);
            // All cells of such a row are new. Older text has an older cell.
            !row.text().is_empty() && (0..row.width()).all(|col| row.tick_at(col) > start.tick)
        };
        let first = (0..self.rows())
            .take_while(|&row| self.line(row) < start.line)
            .find(is_above)
            .unwrap_or_else(|| {
                (0..self.rows()).find(|&row| self.line(row) >= start.line).unwrap_or(self.rows())
            });
        for row in first..self.rows() {
            push_drawn(&mut clip, &self.main_row(row), self.line(row), start, end);
        }
        clip.finish()
    }
}

/// Adds the text of a row that was drawn between the start and the end.
fn push_drawn(clip: &mut Clip, row: &Row, line: Line, start: Start, end: End) {
    if line > end.line {
        return;
    }
    let from = if line == start.line { start.col } else { 0 };
    let to = if line == end.line { end.col } else { usize::MAX };
    let text = drawn_since(row, from, to, start.tick).unwrap_or_default();
    let blanks = row.end().saturating_sub(row.width());
    clip.push_row(&text, blanks, row.is_wrapped() && !text.is_empty());
}

/// Returns the text of a row between two columns, with blanks for the cells that are older than the tick; `None` if all
/// of them are.
fn drawn_since(row: &Row, from: usize, to: usize, since: Tick) -> Option<Cow<'_, str>> {
    // Cells that were never drawn are blank, or the echo of input.
    let is_old = |tick: Tick| tick.0 > 0 && tick <= since;
    if row.newest_tick(from, to) <= since && row.ticks().iter().any(|span| is_old(span.value)) {
        return None;
    }
    if !row.ticks().iter().any(|span| is_old(span.value)) {
        return Some(Cow::Borrowed(row.slice(from, to)));
    }
    let (mut text, mut byte, mut col) = (String::new(), 0, 0);
    for (bytes, wide) in row.cell_sizes() {
        let width = 1 + usize::from(wide);
        if (from..to).contains(&col) {
            match is_old(row.tick_at(col)) {
                true => text.extend(std::iter::repeat_n(' ', width)),
                false => text.push_str(&row.text()[byte..byte + bytes]),
            }
        }
        byte += bytes;
        col += width;
    }
    text.truncate(text.trim_end().len());
    Some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clip(max: usize, rows: &[&str]) -> Output {
        let mut clip = Clip::new(max);
        rows.iter().for_each(|row| clip.push_row(row, 0, false));
        clip.finish()
    }

    #[test]
    fn one_character_over_the_limit_drops_the_middle() {
        assert_eq!(clip(9, &["abcd", "efgh"]).head, "abcd\nefgh");
        let cut = clip(8, &["abcd", "efgh"]);
        assert_eq!((cut.head.as_str(), cut.tail.as_str(), cut.missing), ("abcd", "efgh", 1));
        let rows: Vec<String> = (0..1000).map(|i| i.to_string()).collect();
        let rows: Vec<&str> = rows.iter().map(String::as_str).collect();
        let cut = clip(10, &rows);
        assert_eq!((cut.head.as_str(), cut.tail.as_str()), ("0\n1\n2", "8\n999"));
        assert_eq!(cut.missing, rows.join("\n").len() - 10);
    }

    #[test]
    fn blank_rows_count_only_between_others() {
        assert_eq!(clip(99, &["", "a", "", "b", "", ""]).head, "\na\n\nb");
    }

    fn screen(before: &str) -> (Screen, Start) {
        let mut screen = Screen::new(20, 5, 3);
        screen.feed(before.as_bytes());
        let cursor = screen.cursor();
        let (line, col, tick) = (screen.line(cursor.row), cursor.col, screen.tick());
        let start = Start { line, col, tick, is_alternate: false };
        screen.advance_tick();
        screen.record_dropped(start.line, 1000);
        (screen, start)
    }

    #[test]
    fn output_is_what_was_drawn_since_its_start() {
        let (mut screen, start) = screen("old\r\n$ cmd\r\n");
        screen.feed(b"10%\r100%\r\na\x1b[31mb\x1b[0mc\r\n\r\nend");
        assert_eq!(screen.output_between(start, End::NEWEST, 1000).head, "100%\nabc\n\nend");
    }

    #[test]
    fn lines_dropped_by_the_scrollback_are_kept_and_wrapped_lines_joined() {
        let (mut screen, start) = screen("$ cmd\r\n");
        let long = "0123456789".repeat(7);
        let lines: Vec<String> = (0..50).map(|i| format!("line {i}")).collect();
        screen.feed(format!("{long}\r\n{}\r\n", lines.join("\r\n")).as_bytes());
        assert_eq!(
            screen.output_between(start, End::NEWEST, 1000).head,
            format!("{long}\n{}", lines.join("\n"))
        );
    }

    #[test]
    fn after_a_clear_only_later_output_is_kept() {
        let (mut screen, start) = screen("1\r\n2\r\n3\r\n$ cmd\r\n");
        screen.feed(b"before\x1b[H\x1b[2Jafter\r\n");
        assert_eq!(screen.output_between(start, End::NEWEST, 1000).head, "after");
    }

    #[test]
    fn old_text_below_the_cursor_is_not_output() {
        let (mut screen, start) = screen("1\r\n22222222\r\n3333\x1b[H");
        screen.feed(b"a\r\nb");
        assert_eq!(screen.output_between(start, End::NEWEST, 1000).head, "a\nb");
    }

    #[test]
    fn multibyte_characters_are_output() {
        let (mut screen, start) = screen("$ cmd\r\n");
        screen.feed("\u{e4}\r\n\u{20ac}\r\n\u{4e16}\u{754c}!".as_bytes());
        assert_eq!(
            screen.output_between(start, End::NEWEST, 1000).head,
            "\u{e4}\n\u{20ac}\n\u{4e16}\u{754c}!"
        );
    }

    #[test]
    fn the_alternate_screen_is_not_output() {
        let (mut screen, start) = screen("$ cmd\r\n");
        screen.feed(b"x\r\n\x1b[?1049h\x1b[Hsecret\x1b[?1049ly\r\n");
        assert_eq!(screen.output_between(start, End::NEWEST, 1000).head, "x\ny");
    }

    #[test]
    fn output_after_the_end_is_left_out() {
        let (mut screen, start) = screen("old\r\n$ cmd\r\n");
        screen.feed(b"one\r\ntwo");
        let cursor = screen.cursor();
        let end = End { line: screen.line(cursor.row), col: cursor.col };
        screen.feed(b" more\r\nprompt");
        assert_eq!(screen.output_between(start, end, 1000).head, "one\ntwo");
        screen.feed(b"\r\n1\r\n2\r\n3");
        assert_eq!(screen.output_between(start, end, 1000).head, "one\ntwo");
    }

    #[test]
    fn two_outputs_are_joined_by_a_line_feed() {
        let whole = |text: &str| Output { head: text.to_owned(), ..Output::default() };
        assert_eq!(whole("a").join(whole("b")).head, "a\nb");
        assert_eq!(whole("").join(whole("b")).head, "b");
        let cut = Output { head: "h".to_owned(), tail: "t".to_owned(), missing: 3 };
        let both = cut.clone().join(cut);
        assert_eq!((both.head.as_str(), both.tail.as_str(), both.missing), ("h", "t", 8));
    }
}
