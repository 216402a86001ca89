//! Where a pattern is in some rows, and which of the matches were drawn since when.

use std::sync::Arc;

use crate::frame::Frame;
use crate::pattern::Pattern;
use crate::row::Row;
use crate::screen::Screen;
use crate::{Line, Tick};

/// A match of a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// The text that matched.
    pub text: String,
    /// The line in which it begins.
    pub line: Line,
    /// The row in which it begins, from 0, if it is on the screen.
    pub row: Option<usize>,
    /// What the groups of the pattern matched.
    pub groups: Vec<Option<String>>,
    /// The newest tick at which a cell of it was drawn.
    pub tick: Tick,
}

/// A row to search, and where it is.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) row: Arc<Row>,
    pub(crate) line: Line,
    pub(crate) index: Option<usize>,
}

/// The matches of a pattern in some rows, in order. Nothing but their places and ticks is kept until
/// one is asked for.
pub(crate) struct Matches<'p> {
    pattern: &'p Pattern,
    displayed: Haystack<'p>,
    unwrapped: Option<Haystack<'p>>,
    found: Vec<Found>,
}

struct Found {
    unwrapped: bool,
    from: usize,
    tick: Tick,
}

impl<'p> Matches<'p> {
    /// Searches rows as they are displayed, joined by line feeds, and then once more with the rows
    /// that are wrapped joined to what they go on in.
    pub(crate) fn new(pattern: &'p Pattern, places: &'p [Place]) -> Matches<'p> {
        let displayed = Haystack::new(places, false);
        let is_wrapped = places.iter().any(|place| place.row.is_wrapped());
        let unwrapped = is_wrapped.then(|| Haystack::new(places, true));
        let mut matches = Matches { pattern, displayed, unwrapped, found: Vec::new() };
        for (unwrapped, haystack) in
            [(false, Some(&matches.displayed)), (true, matches.unwrapped.as_ref())]
        {
            let Some(haystack) = haystack else { continue };
            for found in pattern.regex().find_iter(&haystack.text) {
                let tick = haystack.newest_tick(found.start(), found.end());
                matches.found.push(Found { unwrapped, from: found.start(), tick });
            }
        }
        matches
    }

    /// The newest tick of any match; `None` if there is none.
    pub(crate) fn newest_tick(&self) -> Option<Tick> {
        self.found.iter().map(|found| found.tick).max()
    }

    /// The first match that has a cell drawn after `since`.
    pub(crate) fn first_since(&self, since: Tick) -> Option<Match> {
        let found = self.found.iter().find(|found| found.tick > since)?;
        self.describe(found)
    }

    /// The first match, whenever it was drawn.
    pub(crate) fn first(&self) -> Option<Match> {
        self.describe(self.found.first()?)
    }

    /// The match with that text, in that line if there are several.
    pub(crate) fn with_text(&self, text: &str, line: Line) -> Option<Match> {
        let mut same =
            self.found.iter().filter_map(|found| self.describe(found)).filter(|m| m.text == text);
        let first = same.next()?;
        if first.line == line { Some(first) } else { same.find(|m| m.line == line).or(Some(first)) }
    }

    fn describe(&self, found: &Found) -> Option<Match> {
        let haystack = if found.unwrapped { self.unwrapped.as_ref()? } else { &self.displayed };
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

/// Rows as one text.
struct Haystack<'p> {
    places: &'p [Place],
    text: String,
    /// Where each row's text begins.
    starts: Vec<usize>,
}

impl<'p> Haystack<'p> {
    fn new(places: &'p [Place], unwrapped: bool) -> Haystack<'p> {
        let mut text = String::new();
        let mut starts = Vec::with_capacity(places.len());
        for (i, place) in places.iter().enumerate() {
            starts.push(text.len());
            text.push_str(place.row.text());
            if unwrapped && place.row.is_wrapped() {
                // Blanks at the end of a row are part of the line that goes on.
                let blanks = place.row.end().saturating_sub(place.row.width());
                text.extend(std::iter::repeat_n(' ', blanks));
            } else if i + 1 < places.len() {
                text.push('\n');
            }
        }
        Haystack { places, text, starts }
    }

    fn place_of(&self, byte: usize) -> usize {
        self.starts.partition_point(|&start| start <= byte).saturating_sub(1)
    }

    /// The newest tick of the cells from byte `from` to byte `to`; of the whole row for a match of
    /// nothing, such as `^$`.
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

fn screen_place(screen: &Screen, row: usize) -> Place {
    Place { row: screen.row(row), line: screen.line(row), index: Some(row) }
}

pub(crate) fn screen_places(screen: &Screen) -> Vec<Place> {
    (0..screen.rows()).map(|row| screen_place(screen, row)).collect()
}

/// The rows that were drawn since the last look, with the rest of the lines that they belong to.
pub(crate) fn drawn_places(screen: &Screen) -> Vec<Place> {
    let drawn = |row: usize| screen.row_tick(row) >= screen.tick();
    let mut places = Vec::new();
    let mut row = 0;
    while row < screen.rows() {
        let first = row;
        while row + 1 < screen.rows() && screen.row(row).is_wrapped() {
            row += 1;
        }
        row += 1;
        if (first..row).any(drawn) {
            places.extend((first..row).map(|row| screen_place(screen, row)));
        }
    }
    places
}

/// The lines that left the screen, from a number on, and the rows of the screen.
pub(crate) fn all_places(screen: &Screen, from: Line) -> Vec<Place> {
    let lines = screen.scrollback();
    let mut rows: Vec<(Line, Row)> =
        (lines.position(from)..lines.len()).filter_map(|i| lines.get(i)).collect();
    if let Some((_, last)) = rows.last_mut() {
        // What it went on in may have been erased or moved away since.
        last.wrapped &= screen.is_top_continued();
    }
    let off = rows.into_iter().map(|(line, row)| Place { row: Arc::new(row), line, index: None });
    off.chain(screen_places(screen)).collect()
}

pub(crate) fn frame_places(frame: &Frame) -> Vec<Place> {
    let rows = frame.rows().iter().enumerate();
    rows.map(|(i, row)| Place { row: Arc::clone(row), line: frame.line(i), index: Some(i) })
        .collect()
}
