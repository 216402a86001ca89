//! Rows as runs of text in one style, for clients that draw them. Colours are palette indices or `#rrggbb`, so no
//! escape sequence of a program gets through.

use awaitty_core::{Attrs, Color, Frame, Row, Style, Underline};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use crate::render;

/// Cells of one style.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Run {
    text: String,
    /// The foreground: a palette index, or `#rrggbb`.
    #[serde(skip_serializing_if = "Option::is_none")]
    fg: Option<Value>,
    /// The background, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    bg: Option<Value>,
    /// Any of bold, dim, italic, underline, blink, inverse, conceal, strike.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attrs: Vec<&'static str>,
}

/// Returns the runs of all rows of a frame.
pub(super) fn rows(frame: &Frame) -> Vec<Vec<Run>> {
    frame.rows().iter().map(|shown| row(shown)).collect()
}

/// Returns the runs of a row.
pub(crate) fn row(row: &Row) -> Vec<Run> {
    let runs = render::runs(row, row.width()).into_iter();
    runs.map(|shown| run(shown.text(row), &shown.style)).collect()
}

fn run(text: String, style: &Style) -> Run {
    let color = |color: Color| match color {
        Color::Default => None,
        Color::Indexed(number) => Some(json!(number)),
        Color::Rgb(r, g, b) => Some(json!(render::hex([r, g, b]))),
    };
    let attrs = [
        (Attrs::BOLD, "bold"),
        (Attrs::DIM, "dim"),
        (Attrs::ITALIC, "italic"),
        (Attrs::BLINK, "blink"),
        (Attrs::INVERSE, "inverse"),
        (Attrs::CONCEALED, "conceal"),
        (Attrs::STRIKE, "strike"),
    ];
    let attrs = attrs.into_iter().filter(|(attr, _)| style.attrs.has(*attr)).map(|(_, name)| name);
    let underline = (style.underline != Underline::None).then_some("underline");
    Run { text, fg: color(style.fg), bg: color(style.bg), attrs: attrs.chain(underline).collect() }
}
