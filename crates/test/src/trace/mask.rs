//! Finds the values of secrets in texts, on screens and in output, and masks them.
//!
//! A value counts as found also if blanks, line breaks, borders or invisible characters divide it, because it may be
//! wrapped on the screen or in a report.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{Range, RangeInclusive};

use aho_corasick::AhoCorasick;
use awaitty_terminal::core::{Frame, Row};

/// The text that replaces a value.
pub(crate) const MASK: &str = "•••";

/// The minimum number of characters of a partly visible value that are masked. Fewer reveal little, and other text
/// would match them.
const PART_MIN: usize = 3;

/// The maximum number of places of values on the screen that are kept, against a program that prints a value without
/// end. A partly visible value is masked at these places.
const PLACES_MAX: usize = 1_000;

/// The size of the blocks by which parts of a value are found, in bytes. Shorter values are found as a whole only.
const BLOCK: usize = 8;

/// The maximum size of a value in bytes that has a block at each byte. Longer ones have blocks beside each other, to
/// keep the table of blocks small.
const DENSE_MAX: usize = 4096;

/// The number of bytes of a long value that count as a part of it in any case.
const LONG_PART: usize = 24;

/// The values of secrets.
#[derive(Debug, Default)]
pub(crate) struct Mask {
    /// The values without ignored characters, as they are and as quoted text shows them.
    needles: Vec<String>,
    /// The blocks of the values, and for each its value and where in it the block starts.
    blocks: Option<(AhoCorasick, Vec<(usize, usize)>)>,
}

impl Mask {
    pub(crate) fn new(secrets: &[String]) -> Mask {
        let forms = |value: &String| {
            [value.clone(), value.escape_debug().to_string(), value.escape_default().to_string()]
        };
        let squeezed = secrets
            .iter()
            .flat_map(forms)
            .map(|form| form.chars().filter(|&c| !is_ignored(c)).collect::<String>());
        let unique: BTreeSet<String> = squeezed.filter(|needle| !needle.is_empty()).collect();
        let needles: Vec<String> = unique.into_iter().collect();
        let (mut blocks, mut origins) = (Vec::new(), Vec::new());
        for (number, needle) in needles.iter().enumerate() {
            let last = needle.len().saturating_sub(BLOCK);
            let step = if needle.len() <= DENSE_MAX { 1 } else { BLOCK };
            for start in (0..last).step_by(step).chain([last]) {
                let end = needle.len().min(start + BLOCK);
                blocks.push(&needle.as_bytes()[start..end]);
                origins.push((number, start));
            }
        }
        let automaton = AhoCorasick::new(blocks);
        // It fails only for more patterns than fit into memory.
        let blocks = automaton.ok().filter(|_| !needles.is_empty()).map(|found| (found, origins));
        Mask { needles, blocks }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    /// Returns the byte ranges of all values and of long parts of them in a text, in order and without overlaps.
    /// `is_skipped` marks bytes that do not count, such as those of escape sequences.
    pub(super) fn find(&self, text: &str, is_skipped: impl Fn(usize) -> bool) -> Vec<Range<usize>> {
        let Some((automaton, origins)) = &self.blocks else { return Vec::new() };
        let mut squeezed = String::with_capacity(text.len());
        let mut places = Vec::with_capacity(text.len());
        for (at, c) in text.char_indices() {
            if !is_ignored(c) && !is_skipped(at) {
                squeezed.push(c);
                places.resize(squeezed.len(), at..at + c.len_utf8());
            }
        }
        let bytes = squeezed.as_bytes();
        let mut found: Vec<Range<usize>> = Vec::new();
        // The value that was found last, and where.
        let mut last = (usize::MAX, 0..0);
        for block in automaton.find_overlapping_iter(bytes) {
            let (number, offset) = origins[block.pattern().as_usize()];
            if last.0 == number && last.1.start <= block.start() && block.end() <= last.1.end {
                continue;
            }
            let needle = self.needles[number].as_bytes();
            let (before, after) = (&needle[..offset], &needle[offset + block.len()..]);
            let left = bytes[..block.start()].iter().rev().zip(before.iter().rev());
            let right = bytes[block.end()..].iter().zip(after);
            let start = block.start() - left.take_while(|(a, b)| a == b).count();
            let end = block.end() + right.take_while(|(a, b)| a == b).count();
            if end - start >= part_min(needle.len()) {
                found.push(places[start].start..places[end - 1].end);
                last = (number, start..end);
            }
        }
        merged(found)
    }

    /// Returns a text with all values masked.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut found = self.find(text, |_| false);
        let gutters = if self.is_empty() { Vec::new() } else { gutters(text) };
        found.extend(self.find(text, |at| contains(&gutters, at)));
        replaced(text, &merged(found))
    }

    /// Returns a text with each visible character of all values masked, so that its lines and columns stay.
    pub(crate) fn chars(&self, text: &str) -> String {
        let found = self.find(text, |_| false);
        let is_hidden = |at: usize| {
            let after = found.partition_point(|range| range.end <= at);
            found.get(after).is_some_and(|range| range.contains(&at))
        };
        let chars = text.char_indices();
        chars.map(|(at, c)| if is_hidden(at) && !is_ignored(c) { '•' } else { c }).collect()
    }

    /// Returns the ranges of all values in output: with their escape sequences, and without.
    pub(super) fn find_in_output(&self, output: &str) -> Vec<Range<usize>> {
        if self.is_empty() {
            return Vec::new();
        }
        let mut found = self.find(output, |_| false);
        let sequences = sequences(output);
        found.extend(self.find(output, |at| contains(&sequences, at)));
        merged(found)
    }

    /// Returns the cells of all values that are completely visible.
    fn find_on_screen(&self, frame: &Frame) -> Vec<Vec<Cell>> {
        let (mut text, mut starts) = (String::new(), Vec::new());
        for row in frame.rows() {
            starts.push(text.len());
            text.push_str(row.text());
        }
        let cells = |range: Range<usize>| {
            let shown = text[range.clone()].char_indices().filter(|(_, c)| !is_ignored(*c));
            let cell = |(at, c): (usize, char)| {
                let at = range.start + at;
                // Blank rows start where the next one does.
                let row = starts.partition_point(|&start| start <= at) - 1;
                let col = frame.rows()[row].col_of(at - starts[row]);
                Cell { line: frame.line(row).0, row, col, c }
            };
            shown.map(cell).collect()
        };
        self.find(&text, |_| false).into_iter().map(cells).collect()
    }
}

/// A character of a value on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    line: u64,
    /// The row at the time at which it was found.
    row: usize,
    col: usize,
    c: char,
}

/// The places at which values were visible at any time.
///
/// A value appears character by character while a person or a program types it, and leaves the screen row by row. So
/// its start and its end are masked there too when they are visible alone.
#[derive(Debug, Default)]
pub(super) struct Places {
    /// By the absolute line and the column of the first character.
    by_start: BTreeMap<(u64, usize), Vec<Vec<Cell>>>,
    /// The ticks at which characters of values were drawn.
    ticks: BTreeSet<u64>,
}

impl Places {
    /// Adds the values that a frame shows, and long parts of them.
    pub(super) fn add(&mut self, mask: &Mask, frame: &Frame) {
        for cells in mask.find_on_screen(frame) {
            let ticks = cells.iter().map(|cell| frame.rows()[cell.row].tick_at(cell.col).0);
            self.ticks.extend(ticks);
            let Some(first) = cells.first() else { continue };
            let known = self.by_start.entry((first.line, first.col)).or_default();
            let is_start = |a: &[Cell], b: &[Cell]| {
                let same = |(a, b): (&Cell, &Cell)| (a.line, a.col, a.c) == (b.line, b.col, b.c);
                a.len() <= b.len() && a.iter().zip(b).all(same)
            };
            known.retain(|other| !is_start(other, &cells) || other.len() == cells.len());
            if !known.iter().any(|other| is_start(&cells, other)) {
                known.push(cells);
            }
            if self.by_start.len() > PLACES_MAX {
                self.by_start.pop_first();
            }
        }
    }

    /// Returns whether characters of values were drawn in a range of ticks.
    pub(super) fn were_drawn(&self, ticks: RangeInclusive<u64>) -> bool {
        self.ticks.range(ticks).next().is_some()
    }

    /// Returns the cells of a frame to mask, as columns by row.
    pub(super) fn masked(&self, mask: &Mask, frame: &Frame) -> HashMap<usize, BTreeSet<usize>> {
        let mut masked: HashMap<usize, BTreeSet<usize>> = HashMap::new();
        let mut add = |cells: &[Cell], row_of: &dyn Fn(&Cell) -> usize| {
            let mut last: Option<(usize, usize)> = None;
            for cell in cells {
                let (row, shown) = (row_of(cell), &frame.rows()[row_of(cell)]);
                // Blanks and quotation marks within the value are masked too.
                let from = last.filter(|last| last.0 == row).map_or(cell.col, |last| last.1);
                let is_wide = shown.byte_of(cell.col) == shown.byte_of(cell.col + 1);
                let to = cell.col + 1 + usize::from(is_wide);
                masked.entry(row).or_default().extend(from..to);
                last = Some((row, to));
            }
        };
        for cells in mask.find_on_screen(frame) {
            add(&cells, &|cell| cell.row);
        }
        if self.by_start.is_empty() {
            return masked;
        }
        let rows: HashMap<u64, usize> =
            (0..frame.rows().len()).map(|row| (frame.line(row).0, row)).collect();
        let lines = rows.keys().min().zip(rows.keys().max());
        let Some((first, last)) = lines else { return masked };
        // A value of several rows may start above the screen.
        let from = first.saturating_sub(frame.rows().len() as u64);
        for cells in self.by_start.range((from, 0)..=(*last, usize::MAX)).flat_map(|(_, all)| all) {
            let is_visible = |cell: &&Cell| {
                let row = rows.get(&cell.line).map(|&row| &*frame.rows()[row]);
                row.is_some_and(|row| shows(row, cell))
            };
            let start = cells.iter().take_while(is_visible).count();
            let end = cells.iter().rev().take_while(is_visible).count();
            let least = PART_MIN.min(cells.len());
            let parts = [&cells[..start], &cells[cells.len() - end..]];
            for part in parts.into_iter().filter(|part| part.len() >= least) {
                add(part, &|cell| rows[&cell.line]);
            }
        }
        masked
    }
}

fn shows(row: &Row, cell: &Cell) -> bool {
    row.slice(cell.col, cell.col + 1).starts_with(cell.c)
}

/// Returns the number of bytes of a value that are masked also without the rest of it, because the rest is cut off.
fn part_min(bytes: usize) -> usize {
    if bytes <= BLOCK { bytes } else { (bytes / 3).clamp(BLOCK, LONG_PART) }
}

/// Returns whether one of the ranges, which are in order, contains a position.
fn contains(ranges: &[Range<usize>], at: usize) -> bool {
    let after = ranges.partition_point(|range| range.end <= at);
    ranges.get(after).is_some_and(|range| range.start <= at)
}

/// Returns the byte ranges of row numbers at the start of lines, as in `row 4: ` and ` 4 │`.
fn gutters(text: &str) -> Vec<Range<usize>> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').filter_map(|line| {
        let from = start;
        start += line.len();
        let rest = line.trim_start();
        let rest = rest.strip_prefix("row ").unwrap_or(rest);
        let after = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let has_number = after.len() < rest.len();
        let after = after.trim_start().strip_prefix(['│', '|', ':']).filter(|_| has_number)?;
        Some(from..from + line.len() - after.len())
    });
    lines.collect()
}

/// Returns whether a character may divide a value: blanks, borders, quotation marks, and what is not visible.
fn is_ignored(c: char) -> bool {
    c.is_whitespace()
        || matches!(c, '|' | '"')
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2500}'..='\u{259f}' | '\u{feff}')
}

fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

fn replaced(text: &str, ranges: &[Range<usize>]) -> String {
    let (mut masked, mut end) = (String::with_capacity(text.len()), 0);
    for range in ranges {
        masked += &text[end..range.start];
        masked += MASK;
        end = range.end;
    }
    masked + &text[end..]
}

/// Returns the byte ranges of the escape sequences in output.
pub(super) fn sequences(output: &str) -> Vec<Range<usize>> {
    let bytes = output.as_bytes();
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = bytes[at..].iter().position(|&byte| byte == 0x1b).map(|n| n + at) {
        let end = end_of_sequence(bytes, start);
        found.push(start..end);
        at = end;
    }
    found
}

/// Returns the end of the sequence whose ESC is at `start`. An incomplete sequence ends with the output.
fn end_of_sequence(bytes: &[u8], start: usize) -> usize {
    let find = |from: usize, is_end: &dyn Fn(u8) -> bool| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().position(|&byte| is_end(byte)).map_or(bytes.len(), |n| from + n)
    };
    match bytes.get(start + 1) {
        Some(b'[') => {
            let end = find(start + 2, &|byte| !(0x20..0x40).contains(&byte));
            (end + usize::from(bytes.get(end).is_some_and(|byte| (0x40..0x7f).contains(byte))))
                .min(bytes.len())
        }
        // Strings end with BEL or ESC \.
        Some(b']' | b'P' | b'_' | b'^' | b'X') => {
            let end = find(start + 2, &|byte| matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b));
            match bytes.get(end..end + 2) {
                Some(b"\x1b\\") => end + 2,
                _ if bytes.get(end) == Some(&0x1b) => end,
                _ => (end + 1).min(bytes.len()),
            }
        }
        _ => {
            let end = find(start + 1, &|byte| !(0x20..0x30).contains(&byte));
            (end + usize::from(bytes.get(end).is_some_and(|byte| (0x30..0x7f).contains(byte))))
                .min(bytes.len())
        }
    }
}

#[cfg(test)]
mod tests {
    use awaitty_terminal::core::{Session, Time};

    use super::*;

    fn mask() -> Mask {
        Mask::new(&["hunter2-long".to_owned(), "a\"b\\c".to_owned(), " ".to_owned()])
    }

    #[test]
    fn values_are_found_in_texts_also_if_they_are_wrapped_or_quoted() {
        for (text, masked) in [
            ("x hunter2-long y", "x ••• y"),
            ("x hunter2-\n  long y", "x ••• y"),
            ("│hunter│\n│2-long│", "│•••│"),
            ("hun\u{200b}ter2-long", "•••"),
            (r#"type_text("a\"b\\c")"#, r#"type_text("•••")"#),
            (r#"a"b\c"#, "•••"),
            ("hunter2", "hunter2"),
            ("hunter2-", "•••"),
            ("x r2-long y", "x r2-long y"),
            ("x er2-long y", "x ••• y"),
            ("\"pw hunt\"\n\"er2-long\"", "\"pw •••\""),
            (" 4 │ pw hun\n 5 │ ter2-long\n", " 4 │ pw •••\n"),
            ("row 4: \"pw hun\"\nrow 5: \"ter2-long\"", "row 4: \"pw •••\""),
            ("hunter2-longhunter2-long", "••••••"),
        ] {
            assert_eq!(mask().text(text), masked, "{text:?}");
        }
        assert_eq!(Mask::new(&[String::new()]).text("x"), "x");
    }

    #[test]
    fn sequences_may_divide_a_value_or_contain_one() {
        for output in [
            "hunter\x1b[1;31m2\x1b(B-\x1b]8;;http://x\x07lo\x1b]2;t\x1b\\ng",
            "\x1b]2;hunter2-long\x07",
            "hunter2\x1b=-long",
        ] {
            let found = mask().find_in_output(output);
            assert_eq!(found.len(), 1, "{output:?}: {found:?}");
        }
        for output in
            ["\x1b", "\x1b[", "\x1b[1", "\x1b]", "\x1b]2;é", "\x1bé", "\x1b[é", "\x1b\x1b"]
        {
            let found = sequences(output);
            assert!(found.iter().all(|range| output.is_char_boundary(range.end)), "{output:?}");
        }
    }

    /// Returns the masked text of the rows after each output.
    fn screens(outputs: &[&str]) -> Vec<String> {
        let mut session = Session::new(Time::default(), 10, 3, 0);
        let mut frames = Vec::new();
        for (i, output) in outputs.iter().enumerate() {
            let now = Time::from_ms(i as u64 * 100);
            session.handle_output(now, output.as_bytes());
            session.handle_drained(now);
            frames.push(session.frame().clone());
        }
        let (mask, mut places) = (mask(), Places::default());
        frames.iter().for_each(|frame| places.add(&mask, frame));
        let masked = frames.iter().map(|frame| {
            let cells = places.masked(&mask, frame);
            let rows = frame.rows().iter().enumerate().map(|(row, shown)| {
                let is_masked =
                    |col: &usize| cells.get(&row).is_some_and(|cols| cols.contains(col));
                let chars = shown.text().chars().enumerate();
                chars.map(|(col, c)| if is_masked(&col) { '*' } else { c }).collect::<String>()
            });
            rows.collect::<Vec<String>>().join("/")
        });
        masked.collect()
    }

    #[test]
    fn a_value_on_the_screen_is_masked_while_it_is_typed_and_while_it_scrolls_away() {
        let outputs = ["> ", "hu", "n", "ter", "2-lo", "ng", "\r\na\r\nb", "\r\nc", "\r\nd"];
        let expected = [
            ">//",
            "> hu//",
            "> ***//",
            "> ******//",
            "> ********/**/",
            "> ********/****/",
            "****/a/b",
            "a/b/c",
            "b/c/d",
        ];
        assert_eq!(screens(&outputs), expected);
        assert_eq!(screens(&["hunt", "\x1b[2J\x1b[Hhunt"]), ["hunt//", "hunt//"]);
    }

    #[test]
    fn ticks_of_a_value_are_those_that_drew_it() {
        let mut session = Session::new(Time::default(), 20, 3, 0);
        let mut ticks = Vec::new();
        for (i, output) in ["x", "hunter", "2-long", "y"].iter().enumerate() {
            let now = Time::from_ms(i as u64 * 100);
            ticks.push(session.screen().tick().0);
            session.handle_output(now, output.as_bytes());
            session.handle_drained(now);
        }
        let mut places = Places::default();
        places.add(&mask(), session.frame());
        let drawn: Vec<bool> = ticks.iter().map(|&tick| places.were_drawn(tick..=tick)).collect();
        assert_eq!(drawn, [false, true, true, false]);
    }
}
