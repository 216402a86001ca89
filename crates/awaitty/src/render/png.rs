//! Draws a scene as PNG.

use std::collections::HashMap;
use std::ops::Range;

use ab_glyph_rasterizer::{Point, Rasterizer, point};

use super::colors::{Rgb, mix};
use super::fonts::{FontFaces, Outline, Segment};
use super::shapes::Shape;
use super::{Glyph, Item, Metrics, Scene, TextStyle};

/// Draws a scene.
pub(super) fn draw(scene: &Scene, faces: &FontFaces<'_>) -> Vec<u8> {
    let mut canvas = Canvas::new(scene.width, scene.height, scene.background);
    canvas.draw(&scene.items, &mut GlyphCache::new(faces, scene.metrics));
    canvas.encode()
}

/// The coverage of each pixel in a rectangle.
#[derive(Debug, Default)]
struct Mask {
    left: f32,
    top: f32,
    width: usize,
    coverage: Vec<f32>,
}

impl Mask {
    fn new(steps: &[Segment]) -> Mask {
        let points = || {
            steps.iter().flat_map(|step| match *step {
                Segment::Line(a, b) => vec![a, b],
                Segment::Quad(a, b, c) => vec![a, b, c],
                Segment::Cubic(a, b, c, d) => vec![a, b, c, d],
            })
        };
        let least = |axis: usize| points().map(|at| at[axis]).fold(f32::INFINITY, f32::min).floor();
        let most =
            |axis: usize| points().map(|at| at[axis]).fold(f32::NEG_INFINITY, f32::max).ceil();
        if steps.is_empty() {
            return Mask::default();
        }
        // A margin of one pixel, since the rasterizer must not draw outside.
        let (left, top) = (least(0) - 1.0, least(1) - 1.0);
        let (width, height) = ((most(0) - left) as usize + 2, (most(1) - top) as usize + 2);
        let mut raster = Rasterizer::new(width, height);
        let at = |[x, y]: [f32; 2]| -> Point { point(x - left, y - top) };
        for step in steps {
            match *step {
                Segment::Line(a, b) => raster.draw_line(at(a), at(b)),
                Segment::Quad(a, b, c) => raster.draw_quad(at(a), at(b), at(c)),
                Segment::Cubic(a, b, c, d) => raster.draw_cubic(at(a), at(b), at(c), at(d)),
            }
        }
        let mut coverage = vec![0.0; width * height];
        raster.for_each_pixel(|i, part| coverage[i] = part.min(1.0));
        Mask { left, top, width, coverage }
    }
}

/// Cached pixels of glyphs, in 16 MB: all glyphs of most programs at any scale.
const GLYPH_PIXELS_MAX: usize = 4 << 20;

/// Cache of rasterized glyphs.
pub(super) struct GlyphCache<'f> {
    faces: &'f FontFaces<'f>,
    metrics: Metrics,
    /// Glyphs by text, for each width and style.
    drawn: [HashMap<String, Mask>; 8],
    pixels: usize,
    pixels_max: usize,
}

impl<'f> GlyphCache<'f> {
    pub(super) fn new(faces: &'f FontFaces<'f>, metrics: Metrics) -> GlyphCache<'f> {
        let drawn = Default::default();
        GlyphCache { faces, metrics, drawn, pixels: 0, pixels_max: GLYPH_PIXELS_MAX }
    }

    fn mask(&mut self, cell: &Glyph, style: TextStyle) -> &Mask {
        let style_bits = usize::from(style.is_bold) | usize::from(style.is_italic) << 1;
        let set = (cell.columns - 1) << 2 | style_bits;
        if !self.drawn[set].contains_key(&cell.text) {
            let mask = Mask::new(&outlines(self.faces, &self.metrics, cell, style));
            if self.pixels + mask.coverage.len() > self.pixels_max {
                self.drawn = Default::default();
                self.pixels = 0;
            }
            self.pixels += mask.coverage.len();
            self.drawn[set].insert(cell.text.clone(), mask);
        }
        &self.drawn[set][&cell.text]
    }
}

/// Returns the outlines of a cell: a character with its combining marks, but an emoji without its modifiers.
fn outlines(
    faces: &FontFaces<'_>,
    metrics: &Metrics,
    cell: &Glyph,
    style: TextStyle,
) -> Vec<Segment> {
    const JOINER: char = '\u{200d}';
    let room = cell.columns as f32 * metrics.cell.0;
    let mut steps = Vec::new();
    let shown = cell.text.chars().take_while(|&character| character != JOINER).enumerate();
    for (i, character) in shown.filter(|(i, character)| *i == 0 || !is_selector(*character)) {
        let outline = faces.outline(character, style.is_bold, style.is_italic, metrics.font_size);
        match outline {
            Some(outline) => steps.extend(fitted(outline, room, i > 0)),
            // A missing mark is skipped; a missing character becomes a box.
            None if i == 0 => steps.extend(missing_glyph(room, metrics)),
            None => {}
        }
    }
    steps
}

fn is_selector(character: char) -> bool {
    matches!(character, '\u{fe00}'..='\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}' | '\u{e0000}'..='\u{e007f}')
}

/// Centres a glyph in its cells, and shrinks it to fit. A combining mark keeps its position.
fn fitted(outline: Outline, room: f32, is_mark: bool) -> Vec<Segment> {
    let scale = if outline.advance > room { room / outline.advance } else { 1.0 };
    let spare = (room - outline.advance * scale) / 2.0;
    let shift = if is_mark && outline.advance == 0.0 { room } else { spare.max(0.0) };
    let at = |[x, y]: [f32; 2]| [x * scale + shift, y * scale];
    let moved = |step: Segment| match step {
        Segment::Line(a, b) => Segment::Line(at(a), at(b)),
        Segment::Quad(a, b, c) => Segment::Quad(at(a), at(b), at(c)),
        Segment::Cubic(a, b, c, d) => Segment::Cubic(at(a), at(b), at(c), at(d)),
    };
    outline.steps.into_iter().map(moved).collect()
}

/// Returns a box for a character that no font has.
fn missing_glyph(room: f32, metrics: &Metrics) -> Vec<Segment> {
    let thick = metrics.pen().light;
    let (left, right) = (thick, room - thick);
    let (top, bottom) = (thick * 2.0 - metrics.baseline, 0.0);
    let ring = |left: f32, right: f32, top: f32, bottom: f32, is_hole: bool| {
        let mut corners = [[left, top], [right, top], [right, bottom], [left, bottom]];
        if is_hole {
            corners.reverse();
        }
        (0..4).map(move |i| Segment::Line(corners[i], corners[(i + 1) % 4]))
    };
    let hole = ring(left + thick, right - thick, top + thick, bottom - thick, true);
    ring(left, right, top, bottom, false).chain(hole).collect()
}

/// Pixels in RGB.
pub(super) struct Canvas {
    pub(super) width: usize,
    pub(super) height: usize,
    pub(super) pixels: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize, color: Rgb) -> Canvas {
        Canvas { width, height, pixels: color.repeat(width * height) }
    }

    /// Draws the items in order. Text does not extend into the rows above and below.
    pub(super) fn draw(&mut self, items: &[Item], glyphs: &mut GlyphCache<'_>) {
        let all_rows = 0..self.height;
        for item in items {
            match item {
                Item::Shape(Shape::Rect { x, y, width, height, coverage }, color) => {
                    self.fill((*x, *y), (*width, *height), *color, *coverage);
                }
                Item::Shape(Shape::Polygon(corners), color) => {
                    let ends = corners.iter().skip(1).chain(corners.first());
                    let steps = corners.iter().zip(ends).map(|(a, b)| Segment::Line(*a, *b));
                    let mask = Mask::new(&steps.collect::<Vec<_>>());
                    self.cover(&mask, (0.0, 0.0), &all_rows, *color);
                }
                Item::Text { x, y, cells, style } => {
                    let metrics = glyphs.metrics;
                    let rows = *y as usize..((y + metrics.cell.1) as usize).min(self.height);
                    let mut left = *x;
                    for cell in cells {
                        let mask = glyphs.mask(cell, *style);
                        self.cover(mask, (left, y + metrics.baseline), &rows, style.color);
                        left += cell.columns as f32 * metrics.cell.0;
                    }
                }
            }
        }
    }

    fn blend(&mut self, x: usize, y: usize, color: Rgb, part: f32) {
        let at = (y * self.width + x) * 3;
        if let Some(pixel) = self.pixels.get_mut(at..at + 3) {
            let below = [pixel[0], pixel[1], pixel[2]];
            pixel.copy_from_slice(&mix(color, below, part));
        }
    }

    fn fill(&mut self, (x, y): (f32, f32), (width, height): (f32, f32), color: Rgb, part: f32) {
        let within = |at: f32, most: usize| (at.round().max(0.0) as usize).min(most);
        for row in within(y, self.height)..within(y + height, self.height) {
            for col in within(x, self.width)..within(x + width, self.width) {
                self.blend(col, row, color, part);
            }
        }
    }

    fn cover(&mut self, mask: &Mask, (x, y): (f32, f32), rows: &Range<usize>, color: Rgb) {
        if mask.width == 0 {
            return;
        }
        let (left, top) = ((x + mask.left).round(), (y + mask.top).round());
        for (i, line) in mask.coverage.chunks(mask.width).enumerate() {
            let row = top + i as f32;
            if row < 0.0 || !rows.contains(&(row as usize)) {
                continue;
            }
            for (i, &part) in line.iter().enumerate().filter(|(_, part)| **part > 0.0) {
                let col = left + i as f32;
                if (0.0..self.width as f32).contains(&col) {
                    self.blend(col as usize, row as usize, color, part);
                }
            }
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        // Most pixel rows repeat the previous one or have one colour, which compresses well without a filter.
        encoder.set_compression(png::Compression::Balanced);
        encoder.set_filter(png::Filter::NoFilter);
        let written = encoder.write_header().and_then(|mut writer| {
            writer.write_image_data(&self.pixels)?;
            writer.finish()
        });
        written.expect("a vector takes all that is written, and the sizes agree");
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::Font;

    #[test]
    fn cached_glyphs_have_a_limit() {
        let font = Font::default();
        let faces = font.faces();
        let mut glyphs = GlyphCache::new(&faces, Metrics::new(&faces, 15.0, 0.0, 1.0));
        let style = TextStyle { color: [0; 3], is_bold: false, is_italic: false };
        let size = |glyphs: &mut GlyphCache<'_>, text: &str| {
            glyphs.mask(&Glyph { text: text.to_owned(), columns: 1 }, style).coverage.len()
        };
        let both = size(&mut glyphs, "a") + size(&mut glyphs, "W");
        assert_eq!(glyphs.pixels, both);
        for (pixels_max, kept) in [(both, 2), (both - 1, 1)] {
            (glyphs.drawn, glyphs.pixels, glyphs.pixels_max) = (Default::default(), 0, pixels_max);
            assert_eq!(size(&mut glyphs, "a") + size(&mut glyphs, "W"), both);
            assert_eq!(glyphs.drawn[0].len(), kept);
        }
    }
}
