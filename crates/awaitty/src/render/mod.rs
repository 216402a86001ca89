//! Renders a screen as PNG or SVG. The same frame always gives the same bytes.
//!
//! A frame becomes a scene of rectangles, polygons and text, which is drawn in one of the formats.

pub mod animation;
mod boxes;
mod colors;
mod fonts;
mod png;
mod shapes;
mod svg;
pub mod themes;

use awaitty_core::{Attrs, Cursor, CursorShape, Frame, Row, Style, Underline};

pub(crate) use colors::hex;
pub use colors::{Colors, Rgb, Theme, ThemeColors};
pub use fonts::Font;

use fonts::FontFaces;
use shapes::{Pen, Shape, polygon, rect};

use crate::text;

/// Font size in pixels at scale 1. A cell of DejaVu Sans Mono is 9 pixels wide then, and 120 columns fit into the
/// images that models accept without downscaling.
const FONT_SIZE: f32 = 15.0;

/// Allowed scale factors.
pub const SCALES: std::ops::RangeInclusive<f32> = 0.5..=8.0;

/// Pixels of an image: 1000 columns and 500 rows at scale 0.5 fit, in 96 MB.
pub const PIXELS_MAX: usize = 32 << 20;

/// Rendering options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Scale factor.
    pub scale: f32,
    /// The cursor to draw, if any.
    pub cursor: Option<Cursor>,
    /// The colours.
    pub colors: Colors,
    /// The font.
    pub font: Font,
}

/// A rendered image.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Width in pixels.
    pub width: usize,
    /// Height in pixels.
    pub height: usize,
    /// PNG or SVG data.
    pub bytes: Vec<u8>,
}

/// Renders a PNG.
///
/// # Errors
/// If the image is too large. The message contains the maximum scale.
pub fn png(frame: &Frame, options: &Options) -> Result<Picture, String> {
    let faces = options.font.faces();
    let scene = Scene::new(frame, options, &faces)?;
    Ok(Picture { width: scene.width, height: scene.height, bytes: png::draw(&scene, &faces) })
}

/// Renders an SVG with searchable text.
///
/// # Errors
/// If the image is too large. The message contains the maximum scale.
pub fn svg(frame: &Frame, options: &Options) -> Result<Picture, String> {
    let scene = Scene::new(frame, options, &options.font.faces())?;
    let bytes = svg::draw(&scene).into_bytes();
    Ok(Picture { width: scene.width, height: scene.height, bytes })
}

/// An element of a scene.
#[derive(Clone, Debug)]
enum Item {
    /// A shape in pixels from the upper left corner of the image.
    Shape(Shape, Rgb),
    /// Consecutive cells of text.
    Text { x: f32, y: f32, cells: Vec<Glyph>, style: TextStyle },
}

/// The text of a cell and its width in columns.
#[derive(Clone, Debug)]
struct Glyph {
    text: String,
    columns: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TextStyle {
    color: Rgb,
    is_bold: bool,
    is_italic: bool,
}

/// The elements of an image, from back to front.
#[derive(Debug)]
struct Scene {
    width: usize,
    height: usize,
    background: Rgb,
    metrics: Metrics,
    items: Vec<Item>,
}

/// The size of a cell, in whole pixels, and of the text in it.
#[derive(Clone, Copy, Debug)]
struct Metrics {
    cell: (f32, f32),
    font_size: f32,
    /// Offset of the baseline from the top of a row.
    baseline: f32,
}

impl Metrics {
    /// Returns the metrics of a font. `spacing` widens a cell by pixels, `line_height` is a factor of its height.
    fn new(faces: &FontFaces<'_>, font_size: f32, spacing: f32, line_height: f32) -> Metrics {
        let (em_width, above, below) = faces.cell();
        let width = (em_width * font_size).round().max(1.0);
        // The cell has whole pixels, so the font size is adjusted to it.
        let font_size = width / em_width;
        let text_height = (above + below) * font_size;
        let height = (text_height * line_height).ceil().max(1.0);
        Metrics {
            cell: ((width + spacing).round().max(1.0), height),
            font_size,
            baseline: (above * font_size + (height - text_height) / 2.0).round(),
        }
    }

    fn pen(&self) -> Pen {
        Pen::new(self.cell.0, self.cell.1)
    }
}

impl Scene {
    fn new(frame: &Frame, options: &Options, faces: &FontFaces<'_>) -> Result<Scene, String> {
        let scale = options.scale;
        let metrics = Metrics::new(faces, FONT_SIZE * scale, 0.0, 1.0);
        let (cell_width, cell_height) = metrics.cell;
        let padding = (cell_width / 2.0).round();
        let (cols, rows) = (frame.cols(), frame.rows().len());
        let length = |cell: f32, count: usize| cell as usize * count + 2 * padding as usize;
        let (width, height) = (length(cell_width, cols), length(cell_height, rows));
        if width * height > PIXELS_MAX {
            let fits = scale * (PIXELS_MAX as f32 / (width * height) as f32).sqrt();
            return Err(format!(
                "scale: {scale} gives {width}x{height} pixels for {cols}x{rows} cells, but the limit is {PIXELS_MAX} \
                 pixels: give at most {:.1}, or resize the session",
                (fits * 10.0).floor() / 10.0
            ));
        }
        let mut scene = Scene {
            width,
            height,
            background: options.colors.background(frame.is_reverse()),
            metrics,
            items: Vec::new(),
        };
        let painter = Painter {
            colors: &options.colors,
            is_reverse: frame.is_reverse(),
            origin: (padding, padding),
        };
        for (at, row) in frame.rows().iter().enumerate() {
            painter.row(&mut scene, at, row, frame.cols());
        }
        if let Some(cursor) = options.cursor.filter(|cursor| cursor.visible) {
            let under = frame.rows().get(cursor.row).map(|row| &**row);
            painter.cursor(&mut scene, cursor, under.unwrap_or(&Row::default()), frame.cols());
        }
        Ok(scene)
    }

    fn pen(&self) -> Pen {
        self.metrics.pen()
    }
}

/// Consecutive cells of the same style.
pub(crate) struct Run {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) style: Style,
}

impl Run {
    /// Returns the text, with blanks up to the end of the run, where a style may be visible.
    pub(crate) fn text(&self, row: &Row) -> String {
        let missing = self.to.saturating_sub(self.from.max(row.width()));
        text::visible(row.slice(self.from, self.to)) + &" ".repeat(missing)
    }
}

/// Converts a frame to a scene.
struct Painter<'o> {
    colors: &'o Colors,
    is_reverse: bool,
    /// The upper left corner of the first cell.
    origin: (f32, f32),
}

impl Painter<'_> {
    fn place(&self, scene: &Scene, row: usize, col: usize) -> (f32, f32) {
        let (width, height) = scene.metrics.cell;
        (self.origin.0 + col as f32 * width, self.origin.1 + row as f32 * height)
    }

    fn row(&self, scene: &mut Scene, at: usize, row: &Row, cols: usize) {
        let runs = runs(row, cols);
        // All backgrounds first: a glyph may extend into the next cell.
        for run in &runs {
            let (_, background) = self.colors.of(&run.style, self.is_reverse);
            if background != scene.background {
                let (x, y) = self.place(scene, at, run.from);
                let width = (run.to - run.from) as f32 * scene.metrics.cell.0;
                scene.items.push(Item::Shape(rect(x, y, width, scene.metrics.cell.1), background));
            }
        }
        for run in &runs {
            let (color, _) = self.colors.of(&run.style, self.is_reverse);
            self.text(scene, at, row, run, color);
            self.lines(scene, at, run, color);
        }
    }

    /// Adds the text of a run. Characters drawn as shapes split it.
    fn text(&self, scene: &mut Scene, at: usize, row: &Row, run: &Run, color: Rgb) {
        let style = TextStyle {
            color,
            is_bold: run.style.attrs.has(Attrs::BOLD),
            is_italic: run.style.attrs.has(Attrs::ITALIC),
        };
        let mut pending: Option<(usize, Vec<Glyph>)> = None;
        let end = |scene: &mut Scene, pending: &mut Option<(usize, Vec<Glyph>)>| {
            if let Some((col, cells)) = pending.take() {
                let (x, y) = self.place(scene, at, col);
                scene.items.push(Item::Text { x, y, cells, style });
            }
        };
        let mut col = run.from;
        while col < run.to.min(row.width()) {
            let begins = row.byte_of(col);
            let columns = (1..=2).find(|n| row.byte_of(col + n) != begins).unwrap_or(1);
            let text = row.slice(col, col + columns);
            let first = text.chars().next().unwrap_or(' ');
            let is_blank = text.trim().is_empty();
            let drawn = shapes::shapes(first, &scene.pen());
            if is_blank || drawn.is_some() {
                end(scene, &mut pending);
            } else {
                let cells = &mut pending.get_or_insert((col, Vec::new())).1;
                cells.push(Glyph { text: text.to_owned(), columns });
            }
            if let Some(drawn) = drawn.filter(|_| !is_blank) {
                let place = self.place(scene, at, col);
                let placed =
                    drawn.into_iter().map(|shape| Item::Shape(placed(shape, place), color));
                scene.items.extend(placed);
            }
            col += columns;
        }
        end(scene, &mut pending);
    }

    /// Adds underlines, strike-through and overline.
    fn lines(&self, scene: &mut Scene, at: usize, run: &Run, color: Rgb) {
        let (x, y) = self.place(scene, at, run.from);
        let (cell_width, cell_height) = scene.metrics.cell;
        let width = (run.to - run.from) as f32 * cell_width;
        let thick = scene.pen().light;
        let under = (y + (scene.metrics.baseline + thick * 2.0).min(cell_height - thick)).floor();
        let mut add = |shape: Shape, color: Rgb| scene.items.push(Item::Shape(shape, color));
        let line = self.colors.underline(&run.style).unwrap_or(color);
        let dotted = |on: f32, step: f32| {
            let count = (width / step).ceil() as usize;
            (0..count)
                .map(move |i| i as f32 * step)
                .map(move |from| rect(x + from, under, on.min(width - from), thick))
        };
        match run.style.underline {
            Underline::None => {}
            Underline::Single => add(rect(x, under, width, thick), line),
            Underline::Double => {
                let second = (under + thick * 2.0).min(y + cell_height - thick);
                add(rect(x, second - thick * 2.0, width, thick), line);
                add(rect(x, second, width, thick), line);
            }
            Underline::Curly => {
                let bottom = y + cell_height;
                (run.from..run.to).for_each(|col| {
                    let left = x + (col - run.from) as f32 * cell_width;
                    add(wave(left, bottom, cell_width, thick), line);
                });
            }
            Underline::Dotted => dotted(thick, thick * 2.0).for_each(|dot| add(dot, line)),
            Underline::Dashed => {
                dotted((cell_width * 0.6).round(), cell_width).for_each(|dash| add(dash, line));
            }
        }
        if run.style.attrs.has(Attrs::STRIKE) {
            add(rect(x, (y + cell_height * 0.55).floor(), width, thick), color);
        }
        if run.style.attrs.has(Attrs::OVERLINE) {
            add(rect(x, y, width, thick), color);
        }
    }

    fn cursor(&self, scene: &mut Scene, cursor: Cursor, row: &Row, cols: usize) {
        let col = cursor.col.min(cols - 1);
        let is_wide = row.byte_of(col) == row.byte_of(col + 1) && col + 1 < row.width();
        let (x, y) = self.place(scene, cursor.row, col);
        let (cell_width, height) = scene.metrics.cell;
        let width = if is_wide { cell_width * 2.0 } else { cell_width };
        let thick = (scene.pen().light * 2.0).min(height);
        let color = self.colors.cursor();
        let shape = match cursor.shape {
            CursorShape::Block => rect(x, y, width, height),
            CursorShape::Underline => rect(x, y + height - thick, width, thick),
            CursorShape::Bar => rect(x, y, thick, height),
        };
        scene.items.push(Item::Shape(shape, color));
        if cursor.shape == CursorShape::Block && col < row.width() {
            // The character under a block cursor is drawn in the background colour.
            let to = if is_wide { col + 2 } else { col + 1 };
            let run = Run { from: col, to, style: row.style_at(col) };
            self.text(scene, cursor.row, row, &run, scene.background);
        }
    }
}

/// Moves a shape to its cell.
fn placed(shape: Shape, (left, top): (f32, f32)) -> Shape {
    match shape {
        Shape::Rect { x, y, width, height, coverage } => {
            Shape::Rect { x: left + x, y: top + y, width, height, coverage }
        }
        Shape::Polygon(corners) => {
            polygon(corners.into_iter().map(|[x, y]| [left + x, top + y]).collect())
        }
    }
}

/// Returns a wave of one cell with its lowest point at `bottom`.
fn wave(x: f32, bottom: f32, width: f32, thick: f32) -> Shape {
    let height = thick * 1.5;
    let edge = |below: f32| {
        (0..=12u8).map(move |i| {
            let part = f32::from(i) / 12.0;
            let rise = (part * std::f32::consts::TAU).sin() * height / 2.0;
            [x + part * width, bottom - thick - height / 2.0 + rise + below]
        })
    };
    let mut back: Vec<[f32; 2]> = edge(thick).collect();
    back.reverse();
    polygon(edge(0.0).chain(back).collect())
}

/// Returns the runs of a row, padded to `cols`.
pub(crate) fn runs(row: &Row, cols: usize) -> Vec<Run> {
    let (mut runs, mut col) = (Vec::new(), 0);
    let mut push = |from: usize, to: usize, style: Style| {
        if from < to {
            runs.push(Run { from, to, style });
        }
    };
    for span in row.styles() {
        let (from, to) = (usize::from(span.from), usize::from(span.to));
        push(col, from, Style::default());
        push(from, to, span.value);
        col = to;
    }
    push(col, cols, Style::default());
    runs
}
