//! Animations of a session: GIF, animated SVG, and the last screen as PNG. The same screens always give the same bytes.
//!
//! [`Animation::push`] takes the screens one by one and stores each distinct row once. The writers draw each distinct
//! row once and write what changed from frame to frame, so a long session needs little memory.

mod gif;
mod look;
mod palette;
mod strips;
mod svg;
mod timeline;

#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Cursor, Frame};

pub use look::{
    EDGE_MAX, FONT_SIZES, FRAMERATE_MAX, FRAMERATE_MIN, LETTER_SPACINGS, LINE_HEIGHTS, Look,
    SPEEDS, WindowBar,
};

use super::Colors;
use look::Layout;
use strips::Drawer;
use timeline::Timeline;

/// Pixels of the changed rows of all frames: 2 700 screens of 120x40 cells that change completely. A GIF of that much
/// text has 400 MB, and takes half a minute to write.
pub const PIXELS_DRAWN_MAX: usize = 2 << 30;

/// Bytes that the distinct rows and the list of frames take.
pub const MEMORY_MAX: usize = 128 << 20;

/// Frames, with those of a blinking cursor: half an hour in which every frame differs.
pub const STEPS_MAX: usize = 100_000;

/// A screen from a time until the next shot.
#[derive(Clone, Debug)]
pub struct Shot {
    /// The time since the start. A time before the previous shot counts as the time of that shot.
    pub at: Duration,
    /// The screen.
    pub frame: Arc<Frame>,
    /// The cursor to draw, if any.
    pub cursor: Option<Cursor>,
    /// The colours that the program has set.
    pub colors: Colors,
}

/// The limits of an animation.
#[derive(Clone, Copy, Debug)]
struct Limits {
    pixels: usize,
    bytes: usize,
    steps: usize,
}

const LIMITS: Limits = Limits { pixels: PIXELS_DRAWN_MAX, bytes: MEMORY_MAX, steps: STEPS_MAX };

/// Screens over time, and how they look.
#[derive(Debug)]
pub struct Animation {
    look: Look,
    timeline: Timeline,
    layout: Layout,
    limits: Limits,
}

impl Animation {
    /// Creates an animation without screens.
    ///
    /// # Errors
    /// If a value of the look is out of range.
    pub fn new(look: Look) -> Result<Animation, String> {
        look.check()?;
        let layout = Layout::new(&look, look.cell(), (1, 1))?;
        Ok(Animation { look, timeline: Timeline::new(), layout, limits: LIMITS })
    }

    /// Adds a screen. The first one is shown from the start on; the picture is as large as the largest screen.
    ///
    /// # Errors
    /// If the picture is too large, or the animation too long. The message names the value and what to lower. The
    /// animation can still be written as it is.
    pub fn push(&mut self, shot: Shot) -> Result<(), String> {
        let (cols, rows) = self.timeline.size;
        let size = (cols.max(shot.frame.cols()), rows.max(shot.frame.rows().len()));
        let cell = self.layout.cell;
        self.layout = Layout::new(&self.look, cell, size)?;
        self.timeline.push(shot, &self.look, cell, &self.limits)
    }

    /// Sets the time at which the last screen ends. An earlier time than that of the last shot has no effect.
    pub fn set_end(&mut self, end: Duration) {
        self.timeline.extend(end, &self.look);
    }

    /// Returns whether it has no screens.
    pub fn is_empty(&self) -> bool {
        self.timeline.is_empty()
    }

    /// Returns the width and height of the picture in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.layout.width, self.layout.height)
    }

    /// Writes a GIF that repeats without end.
    ///
    /// # Errors
    /// If there are no screens or too many frames, or the target cannot be written.
    pub fn write_gif(&self, target: impl Write) -> io::Result<()> {
        let faces = self.look.font.faces();
        let (steps, end) = self.steps()?;
        gif::write(&mut self.drawer(&faces), &steps, end, target)
    }

    /// Writes an animated SVG without scripts, whose text can be searched.
    ///
    /// # Errors
    /// If there are no screens or too many frames, or the target cannot be written.
    pub fn write_svg(&self, mut target: impl Write) -> io::Result<()> {
        let faces = self.look.font.faces();
        let (steps, end) = self.steps()?;
        svg::write(&self.drawer(&faces), &steps, end, &mut target)
    }

    /// Writes the last screen as PNG.
    ///
    /// # Errors
    /// If there are no screens, or the target cannot be written.
    pub fn write_png(&self, mut target: impl Write) -> io::Result<()> {
        let faces = self.look.font.faces();
        let Some(screen) = self.timeline.last() else {
            return Err(io::Error::other("the animation has no screen: add one first"));
        };
        target.write_all(&self.drawer(&faces).picture(screen, true).encode())
    }

    fn steps(&self) -> io::Result<(Vec<timeline::Step<'_>>, Duration)> {
        self.timeline.steps(&self.look, &self.limits).map_err(io::Error::other)
    }

    fn drawer<'a>(&'a self, faces: &'a super::fonts::FontFaces<'a>) -> Drawer<'a> {
        Drawer::new(&self.timeline, &self.look, &self.layout, faces)
    }
}
