//! The screens of an animation over time. Rows and colours that are equal are stored once.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{CursorShape, Row};

use super::look::Look;
use super::{Limits, Shot};
use crate::render::Colors;

/// How long a blinking cursor stays on, and off: the rate of xterm.
const BLINK: Duration = Duration::from_millis(530);

/// The longest recording. It keeps the arithmetic of times far from its limits.
pub(super) const LENGTH_MAX: Duration = Duration::from_secs(30 * 24 * 3600);

/// What makes the pixels of a row: numbers of its colours and content, and the cursor in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct StripKey {
    pub(super) colors: usize,
    pub(super) row: usize,
    /// Column and shape of the cursor.
    pub(super) cursor: Option<(usize, CursorShape)>,
}

/// A screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Screen {
    /// The number of its colours.
    pub(super) colors: usize,
    cols: usize,
    /// The numbers of its rows.
    rows: Box<[u32]>,
    /// Row, column and shape.
    cursor: Option<(usize, usize, CursorShape)>,
}

impl Screen {
    /// Returns the key of a row; the rows below the last are blank.
    pub(super) fn strip(&self, row: usize, has_cursor: bool) -> StripKey {
        let cursor = self.cursor.filter(|(at, ..)| has_cursor && *at == row);
        StripKey {
            colors: self.colors,
            row: self.rows.get(row).map_or(BLANK, |&row| row as usize),
            cursor: cursor.map(|(_, col, shape)| (col, shape)),
        }
    }

    /// Returns the memory that it takes.
    fn bytes(&self) -> usize {
        size_of::<(Duration, Screen)>() + size_of_val(&*self.rows)
    }

    /// Returns the number of cells of the rows that differ from another screen.
    fn changed_cells(&self, before: Option<&Screen>) -> usize {
        let all = self.cols * self.rows.len();
        let Some(before) = before.filter(|before| before.colors == self.colors) else { return all };
        let rows = self.rows.len().max(before.rows.len());
        let differs = |row: &usize| self.strip(*row, true) != before.strip(*row, true);
        (0..rows).filter(differs).count() * self.cols.max(before.cols)
    }
}

/// A screen from a time until the next step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Step<'t> {
    pub(super) at: Duration,
    pub(super) screen: &'t Screen,
    pub(super) has_cursor: bool,
}

/// Number of the blank row.
const BLANK: usize = 0;

/// The screens over time.
#[derive(Debug)]
pub(super) struct Timeline {
    rows: Vec<Arc<Row>>,
    /// Numbers of rows by their hash.
    row_numbers: HashMap<u64, Vec<usize>>,
    colors: Vec<(Colors, bool)>,
    shown: Vec<(Duration, Screen)>,
    end: Duration,
    /// The largest number of columns and rows.
    pub(super) size: (usize, usize),
    /// Cells of changed rows in all screens, and in the last one.
    cells: (usize, usize),
    bytes: usize,
}

impl Timeline {
    pub(super) fn new() -> Timeline {
        Timeline {
            rows: vec![Arc::default()],
            row_numbers: HashMap::from([(Row::default().hash(), vec![BLANK])]),
            colors: Vec::new(),
            shown: Vec::new(),
            end: Duration::ZERO,
            size: (1, 1),
            cells: (0, 0),
            bytes: 0,
        }
    }

    /// Returns the content of a row.
    pub(super) fn row(&self, number: usize) -> &Row {
        &self.rows[number]
    }

    /// Returns colours, and whether they are inverted.
    pub(super) fn colors(&self, number: usize) -> (&Colors, bool) {
        let (colors, is_reverse) = &self.colors[number];
        (colors, *is_reverse)
    }

    /// Adds the colours of the theme, for tests that have no shot. Returns their number.
    #[cfg(test)]
    pub(super) fn add_default_colors(&mut self) -> usize {
        self.colors.push((Colors::default(), false));
        self.colors.len() - 1
    }

    /// Returns the memory that it takes.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// Returns the last screen.
    pub(super) fn last(&self) -> Option<&Screen> {
        self.shown.last().map(|(_, screen)| screen)
    }

    /// Adds a screen. Within a frame interval the last one counts, and it is shown when the interval has passed.
    ///
    /// # Errors
    /// If a limit is exceeded.
    pub(super) fn push(
        &mut self,
        shot: Shot,
        look: &Look,
        cell: (usize, usize),
        limits: &Limits,
    ) -> Result<(), String> {
        if shot.at > LENGTH_MAX {
            let (at, most) = (shot.at.as_secs(), LENGTH_MAX.as_secs());
            return Err(format!("at: {at} s is later than {most} s: record less"));
        }
        let at = shot.at.div_f64(f64::from(look.playback_speed)).max(self.end);
        self.end = at;
        let (cols, rows) = (shot.frame.cols(), shot.frame.rows().len());
        self.size = (self.size.0.max(cols), self.size.1.max(rows));
        let screen = self.screen(shot, look);
        if self.last() == Some(&screen) {
            return Ok(());
        }
        self.bytes += screen.bytes();
        let at = match self.shown.last() {
            None => Duration::ZERO,
            Some((shown, replaced)) if *shown >= at => {
                self.cells.0 -= self.cells.1;
                self.bytes -= replaced.bytes();
                let shown = *shown;
                self.shown.pop();
                shown
            }
            Some((shown, _)) => at.max(*shown + look.interval()),
        };
        self.shown.push((at, screen));
        let mut latest = self.shown.iter().rev().map(|(_, screen)| screen);
        let (new, before) = (latest.next(), latest.next());
        self.cells.1 = new.map_or(0, |new| new.changed_cells(before));
        self.cells.0 += self.cells.1;
        self.check(cell, limits, look)
    }

    fn check(&self, cell: (usize, usize), limits: &Limits, look: &Look) -> Result<(), String> {
        let pixels = self.cells.0.saturating_mul(cell.0 * cell.1);
        let (count, at) = (self.shown.len(), self.end.as_secs_f64());
        let advice = format!(
            "lower the framerate (now {}), the font_size (now {}) or the size of the terminal, or record less",
            look.framerate, look.font_size
        );
        if pixels > limits.pixels {
            let most = limits.pixels;
            return Err(format!(
                "the first {at:.1} s draw {pixels} pixels in {count} frames, but the limit is {most}: {advice}"
            ));
        }
        if self.bytes > limits.bytes {
            let bytes = self.bytes;
            let (distinct, most) = (self.rows.len(), limits.bytes);
            return Err(format!(
                "the first {at:.1} s take {bytes} bytes for {count} frames of {distinct} different rows, but the limit \
                 is {most}: {advice}"
            ));
        }
        Ok(())
    }

    /// Extends the last screen up to a time.
    pub(super) fn extend(&mut self, end: Duration, look: &Look) {
        let end = end.min(LENGTH_MAX);
        self.end = self.end.max(end.div_f64(f64::from(look.playback_speed)));
    }

    fn screen(&mut self, shot: Shot, look: &Look) -> Screen {
        let (cols, count) = (shot.frame.cols(), shot.frame.rows().len());
        let rows: Box<[u32]> =
            shot.frame.rows().iter().map(|row| self.number_of(row) as u32).collect();
        let colors = (shot.colors.with_theme(look.theme), shot.frame.is_reverse());
        let known = self.colors.iter().rposition(|known| *known == colors);
        let colors = known.unwrap_or_else(|| {
            self.bytes += COLORS_BYTES;
            self.colors.push(colors);
            self.colors.len() - 1
        });
        let cursor = shot.cursor.filter(|cursor| cursor.visible && cursor.row < count);
        let cursor = cursor.map(|cursor| (cursor.row, cursor.col.min(cols - 1), cursor.shape));
        Screen { colors, cols, rows, cursor }
    }

    /// Returns the number of a row; adds it if it is new.
    fn number_of(&mut self, row: &Arc<Row>) -> usize {
        let known = self.row_numbers.entry(row.hash()).or_default();
        let equal = known.iter().find(|&&number| {
            Arc::ptr_eq(&self.rows[number], row) || self.rows[number].looks_like(row)
        });
        if let Some(number) = equal {
            return *number;
        }
        known.push(self.rows.len());
        self.bytes += size_of::<Row>() + row.text().len();
        self.bytes += size_of_val(row.styles());
        self.bytes += size_of_val(row.ticks());
        self.rows.push(Arc::clone(row));
        self.rows.len() - 1
    }

    /// Returns the steps, rotated to the start of the loop, and the duration.
    ///
    /// # Errors
    /// If there are no screens, or too many steps.
    pub(super) fn steps(
        &self,
        look: &Look,
        limits: &Limits,
    ) -> Result<(Vec<Step<'_>>, Duration), String> {
        let Some((last, _)) = self.shown.last() else {
            return Err("the animation has no screen: add one before it is written".to_owned());
        };
        let end = self.end.max(*last + look.interval());
        let mut steps = Vec::new();
        for (i, (at, screen)) in self.shown.iter().enumerate() {
            let until = self.shown.get(i + 1).map_or(end, |(next, _)| *next);
            let (mut at, mut has_cursor) = (*at, true);
            steps.push(Step { at, screen, has_cursor });
            while look.cursor_blink
                && screen.cursor.is_some()
                && at + BLINK + look.interval() <= until
            {
                at += BLINK;
                has_cursor = !has_cursor;
                steps.push(Step { at, screen, has_cursor });
                if steps.len() > limits.steps {
                    return Err(too_many_steps(look, limits));
                }
            }
        }
        if steps.len() > limits.steps {
            return Err(too_many_steps(look, limits));
        }
        let offset = end.mul_f64(f64::from(look.loop_offset));
        let first = steps.iter().rposition(|step| step.at <= offset).unwrap_or(0);
        let start = steps[first].at;
        let shift = |step: &mut Step<'_>| {
            step.at = if step.at >= start { step.at - start } else { step.at + end - start };
        };
        steps.iter_mut().for_each(shift);
        steps.rotate_left(first);
        Ok((steps, end))
    }
}

/// Bytes that one set of colours takes at most: a theme and a palette of 256 entries.
const COLORS_BYTES: usize = 4096;

fn too_many_steps(look: &Look, limits: &Limits) -> String {
    let blinking = if look.cursor_blink { ", cursor_blink" } else { "" };
    format!(
        "the animation has more than {} frames: lower the framerate (now {}){blinking}, or record less",
        limits.steps, look.framerate
    )
}
