//! Writes a GIF: one palette, and of each frame only the rectangle that changed.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use gif::{DisposalMethod, Encoder, Frame, Repeat};

use super::look::BUTTONS;
use super::palette::{Histogram, Palette};
use super::strips::Drawer;
use super::timeline::{Screen, Step, StripKey};

/// Pixels of strips that are kept, one byte each: the rows of 40 screens of 120x40 cells.
const STRIP_PIXELS_MAX: usize = 32 << 20;

/// Hundredths of a second that a frame is shown at most. The format has 16 bits; the rest after it is never so short
/// that a browser makes it longer.
const DELAY_MAX: u64 = 65_000;

/// Writes the steps, the last of which lasts until `end`.
pub(super) fn write(
    drawer: &mut Drawer<'_>,
    steps: &[Step<'_>],
    end: Duration,
    target: impl Write,
) -> io::Result<()> {
    let (width, height) = (drawer.layout.width, drawer.layout.height);
    let palette = choose_palette(drawer, steps);
    let mut encoder =
        Encoder::new(target, width as u16, height as u16, &palette.bytes()).map_err(failed)?;
    encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
    let mut picture = Picture {
        pixels: vec![0; width * height],
        shown: None,
        strips: Strips::new(palette, STRIP_PIXELS_MAX),
    };
    let mut pending: Option<(u64, Patch)> = None;
    for step in steps {
        let Some(patch) = picture.update(drawer, step) else { continue };
        let at = hundredths(step.at);
        if let Some((since, patch)) = pending.replace((at, patch)) {
            write_frame(&mut encoder, patch, at - since, picture.strips.palette.unchanged())?;
        }
    }
    if let Some((since, patch)) = pending {
        let delay = hundredths(end) - since;
        write_frame(&mut encoder, patch, delay, picture.strips.palette.unchanged())?;
    }
    encoder.into_inner().map_err(failed)?.flush()
}

fn failed(error: gif::EncodingError) -> io::Error {
    match error {
        gif::EncodingError::Io(error) => error,
        other => io::Error::other(other),
    }
}

/// Rounds a time to the unit of the format. Delays are differences of rounded times, so errors do not add up.
fn hundredths(at: Duration) -> u64 {
    ((at.as_millis() + 5) / 10) as u64
}

/// Draws each distinct row once, and chooses the colours of all.
fn choose_palette(drawer: &mut Drawer<'_>, steps: &[Step<'_>]) -> Palette {
    let (mut counted, mut windows) = (HashSet::new(), HashSet::new());
    let mut histogram = Histogram::default();
    for step in steps {
        if windows.insert(step.screen.colors) {
            histogram.add(&drawer.window(step.screen.colors).pixels);
        }
        for row in 0..drawer.layout.rows {
            let key = step.screen.strip(row, step.has_cursor);
            if counted.insert(key) {
                histogram.add(&drawer.strip(key).pixels);
            }
        }
    }
    let theme = drawer.look.theme.colors();
    let mut exact = vec![theme.foreground, theme.background, theme.cursor, drawer.look.margin_fill];
    exact.extend(theme.basic);
    exact.extend(BUTTONS);
    Palette::new(histogram, &exact)
}

/// A changed rectangle.
struct Patch {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

fn write_frame(
    encoder: &mut Encoder<impl Write>,
    patch: Patch,
    delay: u64,
    unchanged: u8,
) -> io::Result<()> {
    let mut frame = Frame {
        delay: delay.min(DELAY_MAX) as u16,
        dispose: DisposalMethod::Keep,
        transparent: Some(unchanged),
        left: patch.left as u16,
        top: patch.top as u16,
        width: patch.width as u16,
        height: patch.height as u16,
        buffer: Cow::Owned(patch.pixels),
        ..Frame::default()
    };
    encoder.write_frame(&frame).map_err(failed)?;
    let mut rest = delay.saturating_sub(DELAY_MAX);
    // A longer time is more frames, of one pixel that does not change.
    while rest > 0 {
        frame.delay = rest.min(DELAY_MAX) as u16;
        (frame.left, frame.top, frame.width, frame.height) = (0, 0, 1, 1);
        frame.buffer = Cow::Owned(vec![unchanged]);
        encoder.write_frame(&frame).map_err(failed)?;
        rest = rest.saturating_sub(DELAY_MAX);
    }
    Ok(())
}

/// The strips that were drawn last, as indices of colours.
struct Strips {
    palette: Palette,
    kept: HashMap<StripKey, Arc<[u8]>>,
    pixels: usize,
    pixels_max: usize,
}

impl Strips {
    fn new(palette: Palette, pixels_max: usize) -> Strips {
        Strips { palette, kept: HashMap::new(), pixels: 0, pixels_max }
    }

    fn get(&mut self, drawer: &mut Drawer<'_>, key: StripKey) -> Arc<[u8]> {
        if let Some(strip) = self.kept.get(&key) {
            return Arc::clone(strip);
        }
        let strip: Arc<[u8]> = self.palette.indices(&drawer.strip(key).pixels).into();
        if self.pixels + strip.len() > self.pixels_max {
            self.kept.clear();
            self.pixels = 0;
        }
        self.pixels += strip.len();
        self.kept.insert(key, Arc::clone(&strip));
        strip
    }
}

/// The picture that a player shows.
struct Picture<'t> {
    pixels: Vec<u8>,
    shown: Option<(&'t Screen, bool)>,
    strips: Strips,
}

impl<'t> Picture<'t> {
    /// Draws a step, and returns what it changed.
    fn update(&mut self, drawer: &mut Drawer<'_>, step: &Step<'t>) -> Option<Patch> {
        let layout = drawer.layout;
        let key = |(screen, has_cursor): (&Screen, bool), row| screen.strip(row, has_cursor);
        let before = self.shown.replace((step.screen, step.has_cursor));
        let Some(before) = before.filter(|(screen, _)| screen.colors == step.screen.colors) else {
            let was_blank = before.is_none();
            return self.redraw(drawer, step, was_blank);
        };
        // The changed columns of each row of pixels.
        let mut changes = vec![Vec::new(); layout.height];
        for row in 0..layout.rows {
            let (new, old) = (step.screen.strip(row, step.has_cursor), key(before, row));
            if new == old {
                continue;
            }
            let strip = self.strips.get(drawer, new);
            for (target, source) in layout.lines(row) {
                let (y, x) = (target.start / layout.width, target.start % layout.width);
                let line = &mut self.pixels[target];
                changes[y] = differences(line, &strip[source.clone()], x);
                line.copy_from_slice(&strip[source]);
            }
        }
        self.patch(layout.width, &changes)
    }

    /// Draws the window and all rows.
    fn redraw(
        &mut self,
        drawer: &mut Drawer<'_>,
        step: &Step<'_>,
        was_blank: bool,
    ) -> Option<Patch> {
        let layout = drawer.layout;
        let window = drawer.window(step.screen.colors);
        let mut pixels = self.strips.palette.indices(&window.pixels);
        for row in 0..layout.rows {
            let strip = self.strips.get(drawer, step.screen.strip(row, step.has_cursor));
            for (target, source) in layout.lines(row) {
                pixels[target].copy_from_slice(&strip[source]);
            }
        }
        let before = std::mem::replace(&mut self.pixels, pixels);
        let lines = before.chunks(layout.width).zip(self.pixels.chunks(layout.width));
        let changes: Vec<Vec<Range<usize>>> = lines
            .map(|(old, new)| match was_blank {
                true => std::iter::once(0..layout.width).collect(),
                false => differences(old, new, 0),
            })
            .collect();
        self.patch(layout.width, &changes)
    }

    /// Returns the smallest rectangle around the changes. What did not change in it is left out.
    fn patch(&self, width: usize, changes: &[Vec<Range<usize>>]) -> Option<Patch> {
        let top = changes.iter().position(|line| !line.is_empty())?;
        let bottom = changes.iter().rposition(|line| !line.is_empty())? + 1;
        let left = changes.iter().flatten().map(|range| range.start).min()?;
        let right = changes.iter().flatten().map(|range| range.end).max()?;
        let mut pixels = vec![self.strips.palette.unchanged(); (right - left) * (bottom - top)];
        let lines = pixels.chunks_mut(right - left).zip(&changes[top..bottom]).enumerate();
        for (i, (line, change)) in lines {
            for Range { start, end } in change {
                let from = (top + i) * width;
                line[start - left..end - left]
                    .copy_from_slice(&self.pixels[from + start..from + end]);
            }
        }
        Some(Patch { left, top, width: right - left, height: bottom - top, pixels })
    }
}

/// Unchanged pixels between two changes of a line that are written again. More are left out: a long run of one index
/// compresses better than text, and short runs do not.
const UNCHANGED_MAX: usize = 32;

/// Returns the ranges in which two lines of the same length differ, counted from `first`.
fn differences(old: &[u8], new: &[u8], first: usize) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut at = 0;
    while let Some(next) = old[at..].iter().zip(&new[at..]).position(|(a, b)| a != b) {
        let from = at + next;
        let length = old[from..].iter().zip(&new[from..]).position(|(a, b)| a == b);
        at = length.map_or(old.len(), |length| from + length);
        match ranges.last_mut() {
            Some(last) if first + from - last.end <= UNCHANGED_MAX => last.end = first + at,
            _ => ranges.push(first + from..first + at),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::animation::look::{Layout, Look};
    use crate::render::animation::timeline::Timeline;

    #[test]
    fn kept_strips_have_a_limit() {
        let (look, mut timeline) = (Look::default(), Timeline::new());
        let layout = Layout::new(&look, look.cell(), (10, 1)).unwrap();
        let faces = look.font.faces();
        let colors = timeline.add_default_colors();
        let mut drawer = Drawer::new(&timeline, &look, &layout, &faces);
        let of_cursor = |col| StripKey { colors, row: 0, cursor: Some((col, Default::default())) };
        let length = layout.window.width * layout.cell.1;
        let palette = Palette::new(Histogram::default(), &[]);
        let mut strips = Strips::new(palette, 2 * length);
        let mut kept = |col| {
            strips.get(&mut drawer, of_cursor(col));
            (strips.kept.len(), strips.pixels)
        };
        assert_eq!([0, 1, 0, 2].map(&mut kept).map(|(count, _)| count), [1, 2, 2, 1]);
        assert_eq!(kept(2), (1, length));
    }

    #[test]
    fn differences_are_ranges_with_few_unchanged_pixels_between() {
        let old = [0; 100];
        let mut new = old;
        new[3] = 1;
        new[4 + UNCHANGED_MAX] = 1;
        let joined = 13..15 + UNCHANGED_MAX;
        assert_eq!(differences(&old, &new, 10), std::slice::from_ref(&joined));
        (new[4 + UNCHANGED_MAX], new[5 + UNCHANGED_MAX], new[99]) = (0, 1, 1);
        let expected = [13..14, 15 + UNCHANGED_MAX..16 + UNCHANGED_MAX, 109..110];
        assert_eq!(differences(&old, &new, 10), expected);
        assert!(differences(&old, &old, 0).is_empty());
    }
}
