//! Draws the rows of an animation as strips of pixels, each as wide as the window.

use awaitty_core::{Cursor, Style};

use super::look::{Layout, Look};
use super::timeline::{Screen, StripKey, Timeline};
use crate::render::fonts::FontFaces;
use crate::render::png::{Canvas, GlyphCache};
use crate::render::{Metrics, Painter, Rgb, Scene};

/// Draws strips and windows.
pub(super) struct Drawer<'a> {
    pub(super) timeline: &'a Timeline,
    pub(super) look: &'a Look,
    pub(super) layout: &'a Layout,
    pub(super) metrics: Metrics,
    glyphs: GlyphCache<'a>,
}

impl<'a> Drawer<'a> {
    pub(super) fn new(
        timeline: &'a Timeline,
        look: &'a Look,
        layout: &'a Layout,
        faces: &'a FontFaces<'a>,
    ) -> Drawer<'a> {
        let metrics = look.metrics();
        Drawer { timeline, look, layout, metrics, glyphs: GlyphCache::new(faces, metrics) }
    }

    /// Returns the colours of plain text and of the background.
    pub(super) fn plain(&self, colors: usize) -> (Rgb, Rgb) {
        let (colors, is_reverse) = self.timeline.colors(colors);
        colors.of(&Style::default(), is_reverse)
    }

    /// Returns the elements of a row that starts `left` pixels from the edge, without its cursor.
    pub(super) fn row(&self, key: StripKey, left: f32) -> Scene {
        let mut scene = self.scene(key);
        let painter = self.painter(key, left);
        painter.row(&mut scene, 0, self.timeline.row(key.row), self.timeline.size.0);
        scene
    }

    /// Returns the elements of the cursor in a row; none if it is elsewhere.
    pub(super) fn cursor(&self, key: StripKey, left: f32) -> Scene {
        let mut scene = self.scene(key);
        if let Some((col, shape)) = key.cursor {
            let cursor = Cursor { row: 0, col, visible: true, shape, blinking: false };
            let row = self.timeline.row(key.row);
            self.painter(key, left).cursor(&mut scene, cursor, row, self.timeline.size.0);
        }
        scene
    }

    fn scene(&self, key: StripKey) -> Scene {
        Scene {
            width: self.layout.window.width,
            height: self.layout.cell.1,
            background: self.plain(key.colors).1,
            metrics: self.metrics,
            items: Vec::new(),
        }
    }

    fn painter(&self, key: StripKey, left: f32) -> Painter<'a> {
        let (colors, is_reverse) = self.timeline.colors(key.colors);
        Painter { colors, is_reverse, origin: (left, 0.0) }
    }

    /// Draws a row.
    pub(super) fn strip(&mut self, key: StripKey) -> Canvas {
        let left = self.layout.padding as f32;
        let scene = self.row(key, left);
        let mut canvas = Canvas::new(scene.width, scene.height, scene.background);
        canvas.draw(&scene.items, &mut self.glyphs);
        canvas.draw(&self.cursor(key, left).items, &mut self.glyphs);
        canvas
    }

    /// Draws the window without rows.
    pub(super) fn window(&mut self, colors: usize) -> Canvas {
        let plain = self.plain(colors);
        self.layout.draw_window(self.look, plain, &mut self.glyphs)
    }

    /// Draws a screen in its window.
    pub(super) fn picture(&mut self, screen: &Screen, has_cursor: bool) -> Canvas {
        let mut canvas = self.window(screen.colors);
        for row in 0..self.layout.rows {
            let strip = self.strip(screen.strip(row, has_cursor));
            for (target, source) in self.layout.lines(row) {
                let bytes = |range: std::ops::Range<usize>| range.start * 3..range.end * 3;
                canvas.pixels[bytes(target)].copy_from_slice(&strip.pixels[bytes(source)]);
            }
        }
        canvas
    }
}

impl Layout {
    /// Returns the pixels of a row: their ranges in the picture, and in the strip.
    pub(super) fn lines(
        &self,
        row: usize,
    ) -> impl Iterator<Item = (std::ops::Range<usize>, std::ops::Range<usize>)> {
        let top = self.top + row * self.cell.1;
        (0..self.cell.1).map(move |line| {
            let columns = self.columns(top + line);
            let in_picture = |col: usize| (top + line) * self.width + col;
            let in_strip = |col: usize| line * self.window.width + col - self.window.x;
            let (from, to) = (columns.start, columns.end);
            (in_picture(from)..in_picture(to), in_strip(from)..in_strip(to))
        })
    }
}
