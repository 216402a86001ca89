//! What surrounds the screens of an animation, how text is set, and how time passes.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::render::png::{Canvas, GlyphCache};
use crate::render::{Font, Item, Metrics, PIXELS_MAX, Rgb, Theme, colors, polygon};

/// Allowed font sizes in pixels.
pub const FONT_SIZES: RangeInclusive<f32> = 4.0..=200.0;

/// Allowed letter spacings in pixels.
pub const LETTER_SPACINGS: RangeInclusive<f32> = -20.0..=200.0;

/// Allowed line heights, as factors.
pub const LINE_HEIGHTS: RangeInclusive<f32> = 0.5..=5.0;

/// Allowed playback speeds.
pub const SPEEDS: RangeInclusive<f32> = 0.01..=100.0;

/// Pixels of a padding, a margin, a bar or a radius: more than the width of a large screen is a mistake.
pub const EDGE_MAX: usize = 4096;

/// Frames per second. Browsers show frames of a GIF that are shorter than 1/50 s for 1/10 s.
pub const FRAMERATE_MAX: f32 = 50.0;

/// Frames per second of the slowest animation.
pub const FRAMERATE_MIN: f32 = 0.1;

/// Width and height of a GIF.
const SIDE_MAX: usize = 65_535;

/// The look of an animation. Lengths are pixels.
#[derive(Clone, Debug)]
pub struct Look {
    /// Colours of the screens. They replace the theme of [`Shot::colors`](super::Shot::colors).
    pub theme: Theme,
    /// The font.
    pub font: Font,
    /// Size of the font.
    pub font_size: f32,
    /// Space between characters.
    pub letter_spacing: f32,
    /// Factor of the height of rows.
    pub line_height: f32,
    /// Space between the cells and the edge of the window.
    pub padding: usize,
    /// Space around the window.
    pub margin: usize,
    /// Colour of the margin, and of the corners outside a rounded window.
    pub margin_fill: Rgb,
    /// Radius of the corners of the window.
    pub border_radius: usize,
    /// Bar above the cells.
    pub bar: Option<WindowBar>,
    /// Height of the bar.
    pub bar_size: usize,
    /// Width and height of the whole picture. The window grows to fill it; a larger window enlarges the picture.
    pub size: Option<(usize, usize)>,
    /// Maximum frames per second. A faster change of the screen is delayed or left out.
    pub framerate: f32,
    /// Factor of the speed.
    pub playback_speed: f32,
    /// The part of the duration after which the loop starts, from 0 to 1.
    pub loop_offset: f32,
    /// Whether the cursor blinks while the screen does not change.
    pub cursor_blink: bool,
}

impl Default for Look {
    fn default() -> Look {
        Look {
            theme: Theme::default(),
            font: Font::default(),
            font_size: 15.0,
            letter_spacing: 0.0,
            line_height: 1.0,
            padding: 12,
            margin: 0,
            margin_fill: [0; 3],
            border_radius: 0,
            bar: None,
            bar_size: 30,
            size: None,
            framerate: FRAMERATE_MAX,
            playback_speed: 1.0,
            loop_offset: 0.0,
            cursor_blink: false,
        }
    }
}

/// The bar above a terminal: three buttons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowBar {
    /// Red, yellow and green discs on the left.
    Colorful,
    /// Red, yellow and green discs on the right.
    ColorfulRight,
    /// Rings on the left.
    Rings,
    /// Rings on the right.
    RingsRight,
}

/// Colours of the buttons.
pub(super) const BUTTONS: [Rgb; 3] = [[0xff, 0x5f, 0x57], [0xfe, 0xbc, 0x2e], [0x28, 0xc8, 0x40]];

/// Line segments of a circle.
const CIRCLE_STEPS: usize = 48;

impl Look {
    /// Returns the width and height of a cell.
    pub fn cell(&self) -> (usize, usize) {
        let (width, height) = self.metrics().cell;
        (width as usize, height as usize)
    }

    /// Returns the number of columns and rows that fit into a picture of a size, at least 1 of each.
    pub fn cells_within(&self, width: usize, height: usize) -> (usize, usize) {
        let ((cell_width, cell_height), edge) = (self.cell(), 2 * (self.padding + self.margin));
        let cols = width.saturating_sub(edge) / cell_width;
        let rows = height.saturating_sub(edge + self.bar_height()) / cell_height;
        (cols.max(1), rows.max(1))
    }

    /// Checks all values.
    ///
    /// # Errors
    /// If a value is out of range. The message contains the range.
    pub fn check(&self) -> Result<(), String> {
        let within = |name: &str, value: f32, range: RangeInclusive<f32>| match value {
            value if range.contains(&value) => Ok(()),
            value => {
                let (least, most) = (range.start(), range.end());
                Err(format!("{name}: {value} is not between {least} and {most}"))
            }
        };
        within("font_size", self.font_size, FONT_SIZES)?;
        within("letter_spacing", self.letter_spacing, LETTER_SPACINGS)?;
        within("line_height", self.line_height, LINE_HEIGHTS)?;
        within("framerate", self.framerate, FRAMERATE_MIN..=f32::MAX)?;
        within("playback_speed", self.playback_speed, SPEEDS)?;
        within("loop_offset", self.loop_offset, 0.0..=1.0)?;
        let edges = [
            ("padding", self.padding),
            ("margin", self.margin),
            ("border_radius", self.border_radius),
            ("bar_size", self.bar_size),
        ];
        match edges.iter().find(|(_, value)| *value > EDGE_MAX) {
            Some((name, value)) => Err(format!("{name}: {value} is more than {EDGE_MAX} pixels")),
            None => Ok(()),
        }
    }

    pub(super) fn metrics(&self) -> Metrics {
        let faces = self.font.faces();
        Metrics::new(&faces, self.font_size, self.letter_spacing, self.line_height)
    }

    /// Returns the shortest time that a frame is shown.
    pub(super) fn interval(&self) -> Duration {
        Duration::from_secs_f64(1.0 / f64::from(self.framerate.min(FRAMERATE_MAX)))
    }

    fn bar_height(&self) -> usize {
        self.bar.map_or(0, |_| self.bar_size)
    }

    /// Returns the places of the buttons, from left to right, and their radius.
    pub(super) fn buttons(&self, layout: &Layout) -> Vec<Button> {
        let Some(bar) = self.bar else { return Vec::new() };
        let size = self.bar_size as f32;
        let is_right = matches!(bar, WindowBar::ColorfulRight | WindowBar::RingsRight);
        let is_ring = matches!(bar, WindowBar::Rings | WindowBar::RingsRight);
        let radius = size / 6.0;
        let place = |i: usize| {
            let from_edge = size / 2.0 + i as f32 * radius * 3.2;
            let window = &layout.window;
            let x = if is_right { window.width as f32 - from_edge } else { from_edge };
            (window.x as f32 + x, window.y as f32 + size / 2.0)
        };
        let button =
            |i: usize| Button { centre: place(i), radius, color: (!is_ring).then_some(BUTTONS[i]) };
        (0..BUTTONS.len()).map(button).collect()
    }
}

/// A button of the bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Button {
    pub(super) centre: (f32, f32),
    pub(super) radius: f32,
    /// `None` for a ring.
    pub(super) color: Option<Rgb>,
}

impl Button {
    /// Returns the thickness of a ring.
    pub(super) fn thick(&self) -> f32 {
        (self.radius / 4.0).max(1.0)
    }

    fn circle(&self, radius: f32) -> impl DoubleEndedIterator<Item = [f32; 2]> + use<> {
        let (x, y) = self.centre;
        (0..=CIRCLE_STEPS).map(move |i| {
            let (sin, cos) = (std::f32::consts::TAU * i as f32 / CIRCLE_STEPS as f32).sin_cos();
            [x + radius * cos, y + radius * sin]
        })
    }

    fn item(&self, ring: Rgb) -> Item {
        let outer = self.circle(self.radius);
        match self.color {
            Some(color) => Item::Shape(polygon(outer.collect()), color),
            None => {
                let inner = self.circle(self.radius - self.thick()).rev();
                Item::Shape(polygon(outer.chain(inner).collect()), ring)
            }
        }
    }
}

/// Returns the colour of rings and of their like on a background.
pub(super) fn ring_color(foreground: Rgb, background: Rgb) -> Rgb {
    colors::mix(foreground, background, 0.25)
}

/// A rectangle in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) x: usize,
    pub(super) y: usize,
    pub(super) width: usize,
    pub(super) height: usize,
}

/// The places of everything in a picture.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Layout {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) window: Area,
    pub(super) cell: (usize, usize),
    pub(super) rows: usize,
    /// Upper edge of the first row.
    pub(super) top: usize,
    pub(super) padding: usize,
    pub(super) radius: usize,
}

impl Layout {
    /// Returns the layout of a screen of a size.
    ///
    /// # Errors
    /// If the picture is too large.
    pub(super) fn new(
        look: &Look,
        cell: (usize, usize),
        (cols, rows): (usize, usize),
    ) -> Result<Layout, String> {
        let (edge, bar) = (2 * look.margin, look.bar_height());
        let (least_width, least_height) = look.size.unwrap_or_default();
        let width = (cols * cell.0 + 2 * look.padding + edge).max(least_width);
        let height = (rows * cell.1 + 2 * look.padding + bar + edge).max(least_height);
        if width > SIDE_MAX || height > SIDE_MAX || width * height > PIXELS_MAX {
            return Err(format!(
                "{cols}x{rows} cells with font_size {} give a picture of {width}x{height} pixels, but the limits are \
                 {SIDE_MAX} on a side and {PIXELS_MAX} pixels: lower the font size, the size of the picture, or the \
                 size of the terminal",
                look.font_size
            ));
        }
        let window =
            Area { x: look.margin, y: look.margin, width: width - edge, height: height - edge };
        let radius = look.border_radius.min(window.width / 2).min(window.height / 2);
        let top = window.y + bar + look.padding;
        let (width, height, padding) = (width, height, look.padding);
        Ok(Layout { width, height, window, cell, rows, top, padding, radius })
    }

    /// Returns the part of the pixel in column `i` and row `j` from a corner that is inside the window.
    fn corner(&self, i: usize, j: usize) -> f32 {
        let radius = self.radius as f32;
        let (x, y) = (radius - i as f32 - 0.5, radius - j as f32 - 0.5);
        (radius - (x * x + y * y).sqrt() + 0.5).clamp(0.0, 1.0)
    }

    /// Returns the columns of a pixel row that belong wholly to the window.
    pub(super) fn columns(&self, y: usize) -> std::ops::Range<usize> {
        let Area { x, width, .. } = self.window;
        let inset = match self.edge_distance(y) {
            j if j < self.radius => (0..self.radius).find(|&i| self.corner(i, j) >= 1.0),
            _ => Some(0),
        };
        let inset = inset.unwrap_or(self.radius);
        x + inset..x + width - inset
    }

    /// Returns the distance of a pixel row from the nearest horizontal edge of the window.
    fn edge_distance(&self, y: usize) -> usize {
        let inside = y - self.window.y;
        inside.min(self.window.height - 1 - inside)
    }

    /// Draws the window without its rows.
    pub(super) fn draw_window(
        &self,
        look: &Look,
        (foreground, background): (Rgb, Rgb),
        glyphs: &mut GlyphCache<'_>,
    ) -> Canvas {
        let mut canvas = Canvas::new(self.width, self.height, look.margin_fill);
        let Area { x, y, width, height } = self.window;
        for row in y..y + height {
            let at = |col: usize| (row * self.width + col) * 3;
            let inside = self.columns(row);
            for i in 0..inside.start - x {
                let part = self.corner(i, self.edge_distance(row));
                let color = colors::mix(background, look.margin_fill, part);
                for col in [x + i, x + width - 1 - i] {
                    canvas.pixels[at(col)..at(col) + 3].copy_from_slice(&color);
                }
            }
            let pixels = &mut canvas.pixels[at(inside.start)..at(inside.end)];
            pixels.chunks_exact_mut(3).for_each(|pixel| pixel.copy_from_slice(&background));
        }
        let ring = ring_color(foreground, background);
        let items: Vec<Item> = look.buttons(self).iter().map(|button| button.item(ring)).collect();
        canvas.draw(&items, glyphs);
        canvas
    }
}
