//! Writes an animated SVG: text, shapes and CSS, without scripts.
//!
//! Each row of the screen is a strip of its distinct contents, laid out beside each other outside the window. An
//! animation in steps moves the strip so that the right content is visible. Only rows that change are animated, and a
//! content that occurs again is a reference.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::time::Duration;

use super::look::{Area, ring_color};
use super::strips::Drawer;
use super::timeline::{Step, StripKey};
use crate::render::shapes::Shape;
use crate::render::svg::escaped;
use crate::render::{Glyph, Item, Rgb, TextStyle, hex};

/// Contents of a row beside each other. The next ones are below, so that coordinates stay small: browsers use 32-bit
/// floats.
const CONTENTS_PER_LINE: usize = 32;

/// Writes the steps, the last of which lasts until `end`.
pub(super) fn write(
    drawer: &Drawer<'_>,
    steps: &[Step<'_>],
    end: Duration,
    target: &mut impl Write,
) -> io::Result<()> {
    let layout = drawer.layout;
    let (width, height) = (layout.width, layout.height);
    let Area { x, y, width: window_width, height: window_height } = layout.window;
    let radius = layout.radius;
    let mut sheet = Sheet { clock: Clock::new(end), css: String::new(), styles: HashMap::new() };
    let fill = sheet.background(drawer, steps);
    let window = format!(
        "x=\"{x}\" y=\"{y}\" width=\"{window_width}\" height=\"{window_height}\" rx=\"{radius}\""
    );
    write!(
        target,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" \
         font-size=\"{}\">\n\
         <clipPath id=\"w\"><rect {window}/></clipPath>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n<rect {window} {fill}/>\n",
        drawer.metrics.font_size,
        hex(drawer.look.margin_fill),
    )?;
    let plain = steps.first().map(|step| drawer.plain(step.screen.colors)).unwrap_or_default();
    writeln!(target, "{}<g clip-path=\"url(#w)\">", buttons(drawer, plain))?;
    let mut rows = Rows::new(drawer, steps);
    for row in 0..layout.rows {
        let drawn = rows.strip(row, steps, &mut sheet);
        target.write_all(drawn.as_bytes())?;
    }
    write!(target, "</g>\n<style>\n{}</style>\n</svg>\n", sheet.css)?;
    target.flush()
}

fn buttons(drawer: &Drawer<'_>, (foreground, background): (Rgb, Rgb)) -> String {
    let mut svg = String::new();
    for button in drawer.look.buttons(drawer.layout) {
        let (x, y) = button.centre;
        let thick = button.thick();
        // Writing to a string cannot fail.
        let _ = match button.color {
            Some(color) => writeln!(
                svg,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"{}\"/>",
                button.radius,
                hex(color)
            ),
            None => writeln!(
                svg,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{thick}\"/>",
                button.radius - thick / 2.0,
                hex(ring_color(foreground, background))
            ),
        };
    }
    svg
}

/// Formats times as parts of the duration.
struct Clock {
    end: Duration,
    decimals: usize,
}

impl Clock {
    /// Milliseconds are distinguishable.
    fn new(end: Duration) -> Clock {
        let digits = end.as_millis().max(1).ilog10() as usize + 1;
        Clock { end, decimals: digits.saturating_sub(2).max(1) }
    }

    fn percent(&self, at: Duration) -> String {
        let part = at.as_secs_f64() / self.end.as_secs_f64() * 100.0;
        let text = format!("{part:.*}", self.decimals);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

/// The style sheet.
struct Sheet {
    clock: Clock,
    css: String,
    /// Classes of text.
    styles: HashMap<(Rgb, bool, bool), usize>,
}

impl Sheet {
    /// Adds an animation in steps; `values` are declarations with the time at which they begin to apply.
    fn animate(&mut self, class: &str, values: &[(Duration, String)]) {
        let seconds = self.clock.end.as_secs_f64();
        let _ = write!(
            self.css,
            ".{class}{{animation:{class} {seconds:.3}s steps(1,end) infinite}}\n@keyframes {class}{{"
        );
        for (at, value) in values {
            let _ = write!(self.css, "{}%{{{value}}}", self.clock.percent(*at));
        }
        self.css.push_str("}\n");
    }

    /// Returns the attribute for the background of the window.
    fn background(&mut self, drawer: &Drawer<'_>, steps: &[Step<'_>]) -> String {
        let fills = steps.iter().map(|step| (step.at, hex(drawer.plain(step.screen.colors).1)));
        let mut fills: Vec<(Duration, String)> = fills.collect();
        fills.dedup_by(|next, last| next.1 == last.1);
        match fills.as_slice() {
            [(_, fill)] => format!("fill=\"{fill}\""),
            _ => {
                fills.iter_mut().for_each(|(_, fill)| *fill = format!("fill:{fill}"));
                self.animate("b", &fills);
                "class=\"b\"".to_owned()
            }
        }
    }

    /// Returns the class of a style of text.
    fn class_of(&mut self, style: TextStyle) -> String {
        let number = self.styles.len();
        let key = (style.color, style.is_bold, style.is_italic);
        let number = *self.styles.entry(key).or_insert_with(|| {
            let bold = if style.is_bold { ";font-weight:bold" } else { "" };
            let italic = if style.is_italic { ";font-style:italic" } else { "" };
            let _ = writeln!(self.css, ".s{number}{{fill:{}{bold}{italic}}}", hex(style.color));
            number
        });
        format!("s{number}")
    }
}

/// Draws the rows of the screen.
struct Rows<'d> {
    drawer: &'d Drawer<'d>,
    /// Contents without a cursor that are drawn more than once.
    repeated: HashSet<StripKey>,
    /// Those that were drawn already, with their number.
    drawn: HashMap<StripKey, usize>,
}

/// Returns the content without its cursor.
fn bare(key: StripKey) -> StripKey {
    StripKey { cursor: None, ..key }
}

impl<'d> Rows<'d> {
    fn new(drawer: &'d Drawer<'d>, steps: &[Step<'_>]) -> Rows<'d> {
        let (mut seen, mut repeated) = (HashSet::new(), HashSet::new());
        for row in 0..drawer.layout.rows {
            let mut contents = HashSet::new();
            for key in steps.iter().map(|step| step.screen.strip(row, step.has_cursor)) {
                if contents.insert(key) && !seen.insert(bare(key)) {
                    repeated.insert(bare(key));
                }
            }
        }
        Rows { drawer, repeated, drawn: HashMap::new() }
    }

    /// Draws all contents of a row, and adds the animation that selects one.
    fn strip(&mut self, row: usize, steps: &[Step<'_>], sheet: &mut Sheet) -> String {
        let layout = self.drawer.layout;
        let mut places: HashMap<StripKey, usize> = HashMap::new();
        let mut moves: Vec<(Duration, usize)> = Vec::new();
        let mut contents = String::new();
        for step in steps {
            let key = step.screen.strip(row, step.has_cursor);
            let next = places.len();
            let place = *places.entry(key).or_insert(next);
            if place == next {
                let content = self.content(key, sheet);
                let (x, y) = self.offset(place);
                contents += &match (content.is_empty(), place) {
                    (true, _) => String::new(),
                    (_, 0) => content,
                    _ => format!("<g transform=\"translate({x},{y})\">\n{content}</g>\n"),
                };
            }
            if moves.last().is_none_or(|(_, last)| *last != place) {
                moves.push((step.at, place));
            }
        }
        if contents.is_empty() {
            return contents;
        }
        let (x, y) = (layout.window.x + layout.padding, layout.top + row * layout.cell.1);
        let place = format!("transform=\"translate({x},{y})\"");
        if moves.len() == 1 {
            return format!("<g {place}>\n{contents}</g>\n");
        }
        let transform = |&(at, place): &(Duration, usize)| {
            let (x, y) = self.offset(place);
            (at, format!("transform:translate({},{})", negative(x), negative(y)))
        };
        let class = format!("r{row}");
        sheet.animate(&class, &moves.iter().map(transform).collect::<Vec<_>>());
        format!("<g {place}><g class=\"{class}\">\n{contents}</g></g>\n")
    }

    /// Returns the distance of a content from the first one.
    fn offset(&self, place: usize) -> (usize, usize) {
        let layout = self.drawer.layout;
        let (line, col) = (place / CONTENTS_PER_LINE, place % CONTENTS_PER_LINE);
        (col * layout.window.width, line * layout.height)
    }

    fn content(&mut self, key: StripKey, sheet: &mut Sheet) -> String {
        let bare = bare(key);
        let mut svg = String::new();
        if let Some(number) = self.drawn.get(&bare) {
            let _ = writeln!(svg, "<use href=\"#c{number}\"/>");
        } else {
            let mut drawn = String::new();
            push_items(&mut drawn, self.drawer.row(bare, 0.0).items, self.drawer, sheet);
            if self.repeated.contains(&bare) && !drawn.is_empty() {
                let number = self.drawn.len();
                self.drawn.insert(bare, number);
                drawn = format!("<g id=\"c{number}\">\n{drawn}</g>\n");
            }
            svg += &drawn;
        }
        push_items(&mut svg, self.drawer.cursor(key, 0.0).items, self.drawer, sheet);
        svg
    }
}

fn negative(length: usize) -> String {
    if length == 0 { "0".to_owned() } else { format!("-{length}px") }
}

fn push_items(svg: &mut String, items: Vec<Item>, drawer: &Drawer<'_>, sheet: &mut Sheet) {
    for item in joined(items, drawer.metrics.cell.0) {
        let _ = match item {
            Item::Shape(Shape::Rect { x, y, width, height, coverage }, color) => {
                let opacity = match coverage {
                    1.0 => String::new(),
                    part => format!(" fill-opacity=\"{part}\""),
                };
                let color = hex(color);
                writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{color}\"{opacity}/>"
                )
            }
            Item::Shape(Shape::Polygon(corners), color) => {
                let corners: Vec<String> =
                    corners.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
                writeln!(svg, "<polygon points=\"{}\" fill=\"{}\"/>", corners.join(" "), hex(color))
            }
            Item::Text { x, cells, style, .. } => {
                let class = sheet.class_of(style);
                let mut left = x;
                for part in cells.chunk_by(|a, b| is_plain(a) && is_plain(b)) {
                    push_text(svg, part, left, drawer, &class);
                    left += width_of(part, drawer.metrics.cell.0);
                }
                Ok(())
            }
        };
    }
}

fn width_of(cells: &[Glyph], cell_width: f32) -> f32 {
    cells.iter().map(|cell| cell.columns).sum::<usize>() as f32 * cell_width
}

/// Returns whether every monospaced font has the character, so that its width is that of a cell.
fn is_plain(cell: &Glyph) -> bool {
    let is_common = |c| matches!(c, ' '..='~' | '\u{a0}'..='\u{ac}' | '\u{ae}'..='\u{17f}');
    cell.columns == 1 && cell.text.chars().all(is_common)
}

/// Adds text of one style. The width makes columns fit, whatever the font of the reader is. Blanks around the text are
/// left out: browsers ignore them, but not in the width.
fn push_text(svg: &mut String, cells: &[Glyph], x: f32, drawer: &Drawer<'_>, class: &str) {
    let is_blank = |cell: &&Glyph| cell.text == " ";
    let leading = cells.iter().take_while(is_blank).count();
    let trailing = cells[leading..].iter().rev().take_while(is_blank).count();
    let shown = &cells[leading..cells.len() - trailing];
    if shown.is_empty() {
        return;
    }
    let escaped = escaped(shown);
    let cell_width = drawer.metrics.cell.0;
    let (x, y) = (x + leading as f32 * cell_width, drawer.metrics.baseline);
    let width = width_of(shown, cell_width);
    let stretched = match shown {
        [cell] if !is_plain(cell) => " lengthAdjust=\"spacingAndGlyphs\"",
        _ => "",
    };
    let _ = writeln!(
        svg,
        "<text class=\"{class}\" x=\"{x}\" y=\"{y}\" textLength=\"{width}\"{stretched}>{escaped}</text>"
    );
}

/// Joins words of the same style, and rectangles of the same colour that touch.
fn joined(items: Vec<Item>, cell_width: f32) -> Vec<Item> {
    let mut all: Vec<Item> = Vec::new();
    for item in items {
        let mut item = item;
        while let Some(last) = all.pop() {
            match join(last, item, cell_width) {
                Ok(both) => item = both,
                Err(two) => {
                    all.push(two.0);
                    item = two.1;
                    break;
                }
            }
        }
        all.push(item);
    }
    all
}

/// Joins two items; returns them if that would change the picture.
fn join(first: Item, second: Item, cell_width: f32) -> Result<Item, Box<(Item, Item)>> {
    match (first, second) {
        (
            Item::Shape(Shape::Rect { x, y, width, height, coverage: 1.0 }, color),
            Item::Shape(
                Shape::Rect { x: x2, y: y2, width: width2, height: height2, coverage: 1.0 },
                color2,
            ),
        ) if (y, height, color) == (y2, height2, color2) && x2 <= x + width && x <= x2 + width2 => {
            let (left, right) = (x.min(x2), (x + width).max(x2 + width2));
            let rect = Shape::Rect { x: left, y, width: right - left, height, coverage: 1.0 };
            Ok(Item::Shape(rect, color))
        }
        (
            Item::Text { x, y, mut cells, style },
            Item::Text { x: x2, cells: cells2, style: style2, .. },
        ) if style == style2 && x2 <= x + width_of(&cells, cell_width) + cell_width => {
            // Browsers keep one blank between words, but not more.
            if x2 > x + width_of(&cells, cell_width) {
                cells.push(Glyph { text: " ".to_owned(), columns: 1 });
            }
            cells.extend(cells2);
            Ok(Item::Text { x, y, cells, style })
        }
        (first, second) => Err(Box::new((first, second))),
    }
}
