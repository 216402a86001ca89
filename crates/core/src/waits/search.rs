//! The search for a pattern in rows, with the tick at which each match was drawn.

use std::sync::Arc;

use super::Pattern;
use crate::frames::{Cursor, Frame, Selection};
use crate::row::Row;
use crate::screen::Screen;
use crate::{Line, Tick};

/// A match of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The text that matched.
    pub text: String,
    /// The line in which it starts.
    pub line: Line,
    /// The row in which it starts, from 0, if it is on the screen.
    pub row: Option<usize>,
    /// The text of the capture groups of the pattern.
    pub groups: Vec<Option<String>>,
    /// The newest tick at which a cell of it was drawn.
    pub tick: Tick,
}

/// A row to search, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) row: Arc<Row>,
    pub(crate) line: Line,
    pub(crate) index: Option<usize>,
    /// The number of blanks after the text that count as part of it: those that the program wrote, and on the cursor's
    /// row those up to the cursor.
    blanks: usize,
}

impl Place {
    fn new(row: Arc<Row>, line: Line, index: Option<usize>, cursor: Option<Cursor>) -> Place {
        let before_cursor =
            cursor.filter(|cursor| Some(cursor.row) == index).map_or(0, |at| at.col);
        let blanks = row.written().max(before_cursor).saturating_sub(row.width());
        Place { row, line, index, blanks }
    }
}

/// The matches of a pattern in some rows, in order. Only their positions and ticks are kept until a match is requested.
pub(crate) struct Matches<'p> {
    pattern: &'p Pattern,
    haystacks: Vec<Haystack<'p>>,
    found: Vec<Found>,
}

struct Found {
    haystack: usize,
    from: usize,
    tick: Tick,
}

impl<'p> Matches<'p> {
    /// Searches the rows in up to four forms: as displayed, joined by line feeds; with wrapped rows joined to the rows
    /// that continue them; then both again with the blanks at the ends of rows, for patterns such as `">>> $"`.
    pub(crate) fn new(pattern: &'p Pattern, places: &'p [Place]) -> Matches<'p> {
        let is_wrapped = places.iter().any(|place| place.row.is_wrapped());
        let has_blanks = pattern.matches_blanks() && places.iter().any(|place| place.blanks > 0);
        let forms = [(false, false), (true, false), (false, true), (true, true)];
        let haystacks: Vec<Haystack> = forms
            .into_iter()
            .filter(|&(unwrapped, padded)| (is_wrapped || !unwrapped) && (has_blanks || !padded))
            .map(|(unwrapped, padded)| Haystack::new(places, unwrapped, padded))
            .collect();
        let mut found = Vec::new();
        for (index, haystack) in haystacks.iter().enumerate() {
            found.extend(pattern.regex().find_iter(&haystack.text).map(|one| Found {
                haystack: index,
                from: one.start(),
                tick: haystack.newest_tick(one.start(), one.end()),
            }));
        }
        Matches { pattern, haystacks, found }
    }

    /// Returns the newest tick of any match; `None` if there is none.
    pub(crate) fn newest_tick(&self) -> Option<Tick> {
        self.found.iter().map(|found| found.tick).max()
    }

    /// Returns the first match that has a cell drawn after `since`.
    pub(crate) fn first_since(&self, since: Tick) -> Option<Match> {
        let found = self.found.iter().find(|found| found.tick > since)?;
        self.describe(found)
    }

    /// Returns the first match, whenever it was drawn.
    pub(crate) fn first(&self) -> Option<Match> {
        self.describe(self.found.first()?)
    }

    /// Returns the match with that text, in that line if there are several.
    pub(crate) fn with_text(&self, text: &str, line: Line) -> Option<Match> {
        let mut same =
            self.found.iter().filter_map(|found| self.describe(found)).filter(|m| m.text == text);
        let first = same.next()?;
        if first.line == line { Some(first) } else { same.find(|m| m.line == line).or(Some(first)) }
    }

    fn describe(&self, found: &Found) -> Option<Match> {
        let haystack = &self.haystacks[found.haystack];
        let captures = self.pattern.regex().captures_at(&haystack.text, found.from)?;
        let groups = captures.iter().skip(1).map(|group| Some(group?.as_str().to_owned()));
        let place = &haystack.places[haystack.place_of(found.from)];
        Some(Match {
            text: captures.get(0)?.as_str().to_owned(),
            line: place.line,
            row: place.index,
            groups: groups.collect(),
            tick: found.tick,
        })
    }
}

/// Rows joined to one text.
struct Haystack<'p> {
    places: &'p [Place],
    text: String,
    /// The byte at which the text of each row starts.
    starts: Vec<usize>,
}

impl<'p> Haystack<'p> {
    fn new(places: &'p [Place], unwrapped: bool, padded: bool) -> Haystack<'p> {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(places.len());
        for (i, place) in places.iter().enumerate() {
            starts.push(text.len());
            text.push_str(place.row.text());
            let goes_on = unwrapped && place.row.is_wrapped();
            if goes_on {
                // Blanks at the end of a wrapped row are part of its line.
                push_blanks(&mut text, place.row.end().saturating_sub(place.row.width()));
            } else if padded {
                push_blanks(&mut text, place.blanks);
            }
            if !goes_on && i + 1 < places.len() {
                text.push('\n');
            }
        }
        Haystack { places, text, starts }
    }

    fn place_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start <= byte).saturating_sub(1)
    }

    /// Returns the newest tick of the cells from byte `from` to byte `to`; that of the whole row for an empty match,
    /// such as of `^$`.
    fn newest_tick(&self, from: usize, to: usize) -> Tick {
        let first = self.place_of(from);
        if from == to {
            return self.places[first].row.newest_tick(0, usize::MAX);
        }
        let rows = self.places.iter().zip(&self.starts).skip(first);
        let rows = rows.take_while(|&(_, &start)| start < to);
        let ticks = rows.map(|(Place { row, .. }, &start)| {
            // Columns past the text are blanks, one a byte.
            let from = row.col_of(from.saturating_sub(start));
            row.newest_tick(from, row.col_of(to - start - 1) + 1)
        });
        ticks.max().unwrap_or_default()
    }
}

fn push_blanks(text: &mut String, count: usize) {
    text.extend(std::iter::repeat_n(' ', count));
}

/// Returns the matches of a pattern in the rows of a screen, each within one row.
pub fn spans_on_screen(pattern: &Pattern, screen: &Screen) -> Vec<Selection> {
    let in_row = |index: usize| {
        let row = screen.row(index);
        let span = |found: regex::Match<'_>| Selection {
            row: index,
            from: row.col_of(found.start()),
            to: row.col_of(found.end()),
            text: found.as_str().to_owned(),
        };
        let found = pattern.regex().find_iter(row.text()).filter(|found| !found.is_empty());
        found.map(span).collect::<Vec<_>>()
    };
    (0..screen.rows()).flat_map(in_row).collect()
}

fn screen_place(screen: &Screen, row: usize) -> Place {
    Place::new(screen.row(row), screen.line(row), Some(row), Some(screen.cursor()))
}

/// Returns the rows of a screen.
pub(crate) fn screen_places(screen: &Screen) -> Vec<Place> {
    (0..screen.rows()).map(|row| screen_place(screen, row)).collect()
}

/// Returns the rows that were drawn since the last search, with the rest of the lines that they belong to.
pub(crate) fn drawn_places(screen: &Screen) -> Vec<Place> {
    drawn_rows(screen).map(|row| screen_place(screen, row)).collect()
}

fn drawn_rows(screen: &Screen) -> impl Iterator<Item = usize> + '_ {
    let drawn = |row: usize| screen.row_tick(row) >= screen.tick();
    let mut next = 0;
    let lines = std::iter::from_fn(move || {
        let first = next;
        while next + 1 < screen.rows() && screen.is_row_wrapped(next) {
            next += 1;
        }
        next += 1;
        (first < screen.rows()).then_some(first..next)
    });
    lines.filter(move |rows| rows.clone().any(drawn)).flatten()
}

/// The text of the rows that were drawn since the last search, in the forms that [`Matches`] searches. Most searches
/// find nothing and need no more of the rows than this.
#[derive(Clone, Debug, Default)]
pub(crate) struct DrawnText {
    plain: Forms,
    /// With the blanks at the ends of rows, where there are any and a pattern can match them.
    padded: Forms,
    is_wrapped: bool,
    has_blanks: bool,
    rows: usize,
}

/// Rows as displayed, and with wrapped rows joined.
#[derive(Clone, Debug, Default)]
struct Forms {
    displayed: String,
    unwrapped: String,
}

impl Forms {
    fn clear(&mut self) {
        self.displayed.clear();
        self.unwrapped.clear();
    }

    /// Starts a row, which may continue the row before.
    fn start_row(&mut self, is_first: bool, continues: bool) {
        if !is_first {
            self.displayed.push('\n');
        }
        if !continues {
            self.unwrapped.push('\n');
        }
    }

    fn has(&self, pattern: &Pattern, is_wrapped: bool) -> bool {
        pattern.is_match(&self.displayed) || is_wrapped && pattern.is_match(&self.unwrapped)
    }
}

impl DrawnText {
    /// Reads the drawn rows of a screen, with the blanks at the ends of rows if `wants_blanks`.
    pub(crate) fn read(&mut self, screen: &Screen, wants_blanks: bool) {
        self.plain.clear();
        self.padded.clear();
        (self.is_wrapped, self.has_blanks, self.rows) = (false, false, 0);
        let cursor = screen.cursor();
        let mut goes_on = true;
        for row in drawn_rows(screen) {
            self.plain.start_row(self.rows == 0, goes_on);
            let from = self.plain.displayed.len();
            let blanks = screen.push_text(row, &mut self.plain.displayed);
            let text = &self.plain.displayed[from..];
            self.plain.unwrapped.push_str(text);
            push_blanks(&mut self.plain.unwrapped, blanks.of_line);
            let continues = std::mem::replace(&mut goes_on, screen.is_row_wrapped(row));
            if wants_blanks {
                let mut trailing = blanks.written;
                if row == cursor.row {
                    trailing = trailing.max(cursor.col.saturating_sub(screen.row(row).width()));
                }
                self.has_blanks |= trailing > 0;
                self.padded.start_row(self.rows == 0, continues);
                self.padded.displayed.push_str(text);
                push_blanks(&mut self.padded.displayed, trailing);
                self.padded.unwrapped.push_str(text);
                let trailing = if goes_on { blanks.of_line } else { trailing };
                push_blanks(&mut self.padded.unwrapped, trailing);
            }
            self.is_wrapped |= goes_on;
            self.rows += 1;
        }
    }

    /// Returns whether nothing was drawn.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Returns whether a pattern matches anywhere in it.
    pub(crate) fn has(&self, pattern: &Pattern) -> bool {
        let is_padded = self.has_blanks && pattern.matches_blanks();
        self.plain.has(pattern, self.is_wrapped)
            || is_padded && self.padded.has(pattern, self.is_wrapped)
    }
}

/// Returns the lines in the scrollback, from a number on, and the rows of the screen.
pub(crate) fn all_places(screen: &Screen, from: Line) -> Vec<Place> {
    let lines = screen.scrollback();
    let mut rows: Vec<(Line, Row)> =
        (lines.position(from)..lines.len()).filter_map(|i| lines.get(i)).collect();
    if let Some((_, last)) = rows.last_mut() {
        // The row that continued it may have been erased or moved since.
        last.wrapped &= screen.is_top_continued();
    }
    let off = rows.into_iter().map(|(line, row)| Place::new(Arc::new(row), line, None, None));
    off.chain(screen_places(screen)).collect()
}

/// Returns the first match of a pattern in a frame, whenever it was drawn. The forms of the text are those that a wait
/// for text searches.
pub fn match_in_frame(pattern: &Pattern, frame: &Frame) -> Option<Match> {
    Matches::new(pattern, &frame_places(frame)).first()
}

/// Returns the rows of a frame.
pub(crate) fn frame_places(frame: &Frame) -> Vec<Place> {
    let rows = frame.rows().iter().enumerate();
    rows.map(|(i, row)| Place::new(Arc::clone(row), frame.line(i), Some(i), Some(frame.cursor())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_text_equals_the_text_that_is_searched() {
        for bytes in [
            "",
            "plain  \r\n\r\n  two",
            "wrapped over the end of a row of twenty columns, and over another",
            "0123456789012345678世 a wide one that does not fit",
            "e\u{301} and 世界\r\n\x1b[1mbold\x1b[m\x1b[3;5Hx\x1b[1K",
            "0123456789              \x1b[5Gx",
            "name:  \r\npadded with blanks   \r\nerased   \x1b[8G\x1b[K\r\nprompt>\x1b[12G",
            "a long prompt that is wrapped, and then some more: ",
        ] {
            let mut screen = Screen::new(20, 5, 10);
            screen.feed(b"before\r\n");
            screen.advance_tick();
            screen.feed(bytes.as_bytes());
            let mut drawn = DrawnText::default();
            drawn.read(&screen, true);
            let places = drawn_places(&screen);
            assert_eq!(drawn.rows, places.len(), "{bytes:?}");
            for (forms, padded) in [(&drawn.plain, false), (&drawn.padded, true)] {
                let text = |unwrapped: bool| Haystack::new(&places, unwrapped, padded).text;
                assert_eq!(forms.displayed, text(false), "{bytes:?}");
                assert_eq!(forms.unwrapped, text(true), "{bytes:?}");
            }
        }
    }
}
