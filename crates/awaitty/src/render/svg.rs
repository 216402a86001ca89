//! Draws a scene as SVG. Text is stretched to its columns; characters that must join are shapes.

use std::fmt::Write;

use super::colors::hex;
use super::shapes::Shape;
use super::{Glyph, Item, Scene, TextStyle};
use crate::text;

/// Draws a scene.
pub(super) fn draw(scene: &Scene) -> String {
    let Scene { width, height, background, .. } = scene;
    let font_size = scene.metrics.font_size;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"'DejaVu Sans Mono',Menlo,Consolas,monospace\" \
         font-size=\"{font_size}\" xml:space=\"preserve\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"{}\"/>\n",
        hex(*background)
    );
    for item in &scene.items {
        push(&mut svg, item, scene);
    }
    svg + "</svg>\n"
}

fn push(svg: &mut String, item: &Item, scene: &Scene) {
    // Writing to a string cannot fail.
    let _ = match item {
        Item::Shape(Shape::Rect { x, y, width, height, coverage }, color) => {
            let color = hex(*color);
            let opacity = match coverage {
                1.0 => String::new(),
                part => format!(" fill-opacity=\"{part}\""),
            };
            writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{color}\"{opacity}/>"
            )
        }
        Item::Shape(Shape::Polygon(corners), color) => {
            let corners: Vec<String> =
                corners.iter().map(|[x, y]| format!("{x:.2},{y:.2}")).collect();
            let color = hex(*color);
            writeln!(svg, "<polygon points=\"{}\" fill=\"{color}\"/>", corners.join(" "))
        }
        Item::Text { x, y, cells, style } => {
            let y = y + scene.metrics.baseline;
            let mut left = *x;
            // Wide and narrow characters separately: `textLength` spreads characters evenly.
            for part in cells.chunk_by(|a, b| a.columns == b.columns) {
                let columns: usize = part.iter().map(|cell| cell.columns).sum();
                let width = columns as f32 * scene.metrics.cell.0;
                text_of(svg, part, *style, left, y, width);
                left += width;
            }
            Ok(())
        }
    };
}

/// Returns the text of cells for an element. XML forbids two characters that programs may print.
pub(super) fn escaped(cells: &[Glyph]) -> String {
    let escaped = cells.iter().map(|cell| text::escaped(&text::visible(&cell.text)));
    escaped.collect::<String>().replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn text_of(svg: &mut String, cells: &[Glyph], style: TextStyle, x: f32, y: f32, width: f32) {
    let shown = escaped(cells);
    let bold = if style.is_bold { " font-weight=\"bold\"" } else { "" };
    let italic = if style.is_italic { " font-style=\"italic\"" } else { "" };
    let color = hex(style.color);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" fill=\"{color}\"{bold}{italic} textLength=\"{width}\" \
         lengthAdjust=\"spacingAndGlyphs\">{shown}</text>"
    );
}
