//! A page that plays a recording: what was on the screen when, drawn already, so that the page needs no terminal.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Attrs, Row, Session, Style, Time, Underline};
use serde_json::{Value, json};

use super::cast::{Cast, Event};
use crate::render::{self, Colors, Theme, hex};
use crate::text;

/// Between two pictures that a person tells apart.
const STEP_SECONDS: f64 = 1.0 / 30.0;

/// Bytes of a page: beyond, browsers are no fun.
const PAGE_MAX: usize = 64 << 20;

const PAGE: &str = include_str!("player.html");

/// The page.
///
/// # Errors
/// If it would be too large.
pub(super) fn page(cast: &Cast) -> Result<String, String> {
    let mut player = Player::new(cast);
    let mut events = cast.events.iter().peekable();
    let mut marks = Vec::new();
    while let Some(event) = events.next() {
        player.take(event);
        if matches!(event.kind, 'm' | 'x') {
            let label = if event.kind == 'x' { "exit " } else { "" };
            marks.push(json!([event.at, text::visible(&format!("{label}{}", event.data))]));
        }
        if events.peek().is_none_or(|next| next.at - player.begun >= STEP_SECONDS) {
            player.step(event.at)?;
        }
    }
    let data = json!({"cols": cast.cols, "rows": cast.rows, "seconds": cast.seconds(),
        "command": text::visible(&cast.command), "marks": marks, "steps": player.steps});
    // Nothing in it ends the element that it is in.
    let data = data.to_string().replace('<', "\\u003c");
    Ok(PAGE
        .replace("{{title}}", &text::escaped(&text::visible(&cast.command)))
        .replace("{{data}}", &data))
}

struct Player {
    session: Session,
    shown: Vec<Arc<Row>>,
    size: (usize, usize),
    colors: Colors,
    /// When the step began that is under way.
    begun: f64,
    steps: Vec<Value>,
    bytes: usize,
}

impl Player {
    fn new(cast: &Cast) -> Player {
        let session = Session::new(Time::default(), cast.cols, cast.rows, 0);
        let colors = Colors::new(Theme::Dark, session.screen());
        let blank = Arc::new(Row::default());
        let shown = vec![blank; cast.rows];
        let size = (cast.cols, cast.rows);
        Player { session, shown, size, colors, begun: f64::MIN, steps: Vec::new(), bytes: 0 }
    }

    fn take(&mut self, event: &Event) {
        if self.begun == f64::MIN {
            self.begun = event.at;
        }
        let now = Time(Duration::from_secs_f64(event.at.max(0.0)));
        if event.kind == 'o' {
            self.session.handle_output(now, event.data.as_bytes());
        } else if let Some((cols, rows)) = Cast::size(event) {
            self.session.resize(now, cols, rows);
        }
    }

    /// Takes down what has changed on the screen.
    fn step(&mut self, at: f64) -> Result<(), String> {
        self.session.handle_drained(Time(Duration::from_secs_f64(at.max(0.0))));
        self.begun = f64::MIN;
        self.colors = Colors::new(Theme::Dark, self.session.screen());
        let frame = Arc::clone(self.session.frame());
        let size = (frame.cols(), frame.rows().len());
        let is_resized = size != self.size;
        self.size = size;
        self.shown.resize(size.1, Arc::new(Row::default()));
        let mut rows = Vec::new();
        for (i, row) in frame.rows().iter().enumerate() {
            if is_resized || !self.shown[i].looks_like(row) {
                let drawn = self.row(row);
                self.bytes += drawn.len();
                rows.push(json!([i, drawn]));
                self.shown[i] = Arc::clone(row);
            }
        }
        if self.bytes > PAGE_MAX {
            return Err(format!(
                "format: the page would have more than {} MiB: save it as asciicast",
                PAGE_MAX >> 20
            ));
        }
        let cursor = self.session.screen().cursor();
        let cursor = if cursor.visible { json!([cursor.row, cursor.col]) } else { Value::Null };
        let size = if is_resized { json!([size.0, size.1]) } else { Value::Null };
        self.steps.push(json!([at, rows, cursor, size]));
        Ok(())
    }

    fn row(&self, row: &Row) -> String {
        let drawn = render::runs(row, row.width()).into_iter().map(|run| {
            let shown = text::escaped(&run.text(row));
            match run.style {
                style if style == Style::default() => shown,
                style => format!("<span style=\"{}\">{shown}</span>", self.css(&style)),
            }
        });
        drawn.collect()
    }

    fn css(&self, style: &Style) -> String {
        let (color, behind) = self.colors.of(style, false);
        let mut css = format!("color:{}", hex(color));
        if behind != self.colors.background(false) {
            css += &format!(";background:{}", hex(behind));
        }
        let lines = [
            (style.underline != Underline::None, "underline"),
            (style.attrs.has(Attrs::STRIKE), "line-through"),
            (style.attrs.has(Attrs::OVERLINE), "overline"),
        ];
        let lines: Vec<&str> = lines.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        if !lines.is_empty() {
            css += &format!(";text-decoration:{}", lines.join(" "));
        }
        if style.attrs.has(Attrs::BOLD) {
            css += ";font-weight:bold";
        }
        if style.attrs.has(Attrs::ITALIC) {
            css += ";font-style:italic";
        }
        css
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_limit() {
        let cast = Cast { cols: 10, rows: 1, ..Cast::default() };
        let printed = Event { at: 0.0, kind: 'o', data: "abc".to_owned() };
        for (bytes, is_fit) in [(PAGE_MAX - 3, true), (PAGE_MAX - 2, false)] {
            let mut player = Player::new(&cast);
            player.bytes = bytes;
            player.take(&printed);
            assert_eq!(player.step(0.0).is_ok(), is_fit, "{bytes}");
        }
    }
}
