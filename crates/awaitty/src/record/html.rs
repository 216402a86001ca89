//! A page that plays a recording: what was on the screen when, drawn already, so that the page needs no terminal.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Attrs, Row, Session, Style, Time, Underline};
use serde_json::{Value, json};

use super::cast::{CastHead, CastReader, Event};
use crate::render::{self, Colors, Theme, hex};
use crate::text;

/// Between two pictures that a person tells apart.
const STEP_SECONDS: f64 = 1.0 / 30.0;

/// Bytes of a page: beyond, browsers are no fun.
const PAGE_MAX: usize = 64 << 20;

const PAGE: &str = include_str!("player.html");

/// Writes the page, step by step.
///
/// # Errors
/// If it cannot be written, or would be too large.
pub(super) fn write_page(
    cast: &mut CastReader<impl BufRead>,
    target: &mut impl Write,
) -> io::Result<()> {
    let (before, after) = PAGE.split_once("{{data}}").expect("the page has a place for its data");
    let command = text::visible(&cast.head.command);
    target.write_all(before.replace("{{title}}", &text::escaped(&command)).as_bytes())?;
    let mut player = Player::new(&cast.head);
    let mut marks = Vec::new();
    let mut next = cast.next()?;
    write!(target, "{{\"steps\":[")?;
    while let Some(event) = next {
        player.take(&event);
        if matches!(event.kind, 'm' | 'x') {
            let label = if event.kind == 'x' { "exit " } else { "" };
            let label = text::visible(&format!("{label}{}", event.data));
            player.count(label.len())?;
            marks.push(json!([event.at, label]));
        }
        next = cast.next()?;
        if next.as_ref().is_none_or(|next| next.at - player.begun >= STEP_SECONDS) {
            let comma = if player.steps == 0 { "" } else { "," };
            write!(target, "{comma}{}", in_element(&player.step(event.at)?))?;
        }
    }
    let (cols, rows) = (cast.head.cols, cast.head.rows);
    let rest = json!({"cols": cols, "rows": rows, "seconds": cast.seconds(), "command": command,
        "marks": marks});
    // The rest goes on in the same object.
    write!(target, "],{}", &in_element(&rest)[1..])?;
    target.write_all(after.as_bytes())
}

/// Returns JSON in which nothing ends the element that it is in.
fn in_element(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

struct Player {
    session: Session,
    shown: Vec<Arc<Row>>,
    size: (usize, usize),
    colors: Colors,
    /// When the step began that is under way.
    begun: f64,
    steps: usize,
    bytes: usize,
}

impl Player {
    fn new(head: &CastHead) -> Player {
        let session = Session::new(Time::default(), head.cols, head.rows, 0);
        let colors = Colors::new(Theme::Dark, session.screen());
        let blank = Arc::new(Row::default());
        let shown = vec![blank; head.rows];
        let size = (head.cols, head.rows);
        Player { session, shown, size, colors, begun: f64::MIN, steps: 0, bytes: 0 }
    }

    fn take(&mut self, event: &Event) {
        if self.begun == f64::MIN {
            self.begun = event.at;
        }
        let now = Time(Duration::from_secs_f64(event.at.max(0.0)));
        if event.kind == 'o' {
            self.session.handle_output(now, event.data.as_bytes());
        } else if let Some((cols, rows)) = event.size() {
            self.session.resize(now, cols, rows);
        }
    }

    /// Returns what has changed on the screen since the last step.
    fn step(&mut self, at: f64) -> io::Result<Value> {
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
                self.count(drawn.len())?;
                rows.push(json!([i, drawn]));
                self.shown[i] = Arc::clone(row);
            }
        }
        let cursor = self.session.screen().cursor();
        let cursor = if cursor.visible { json!([cursor.row, cursor.col]) } else { Value::Null };
        let size = if is_resized { json!([size.0, size.1]) } else { Value::Null };
        self.steps += 1;
        Ok(json!([at, rows, cursor, size]))
    }

    /// Counts bytes of the page, up to its limit.
    fn count(&mut self, bytes: usize) -> io::Result<()> {
        self.bytes += bytes;
        if self.bytes > PAGE_MAX {
            let most = PAGE_MAX >> 20;
            let message = format!("the page would have more than {most} MiB: save it as asciicast");
            return Err(io::Error::other(message));
        }
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
        let head = CastHead { cols: 10, rows: 1, ..CastHead::default() };
        let printed = Event { at: 0.0, kind: 'o', data: "abc".to_owned() };
        for (bytes, is_fit) in [(PAGE_MAX - 3, true), (PAGE_MAX - 2, false)] {
            let mut player = Player::new(&head);
            player.bytes = bytes;
            player.take(&printed);
            assert_eq!(player.step(0.0).is_ok(), is_fit, "{bytes}");
        }
    }
}
