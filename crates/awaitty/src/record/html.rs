//! An HTML player for a recording. The rows of each step are rendered in advance, so the page contains no terminal
//! emulator.

use std::io::{self, BufRead, Write};
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Attrs, Row, Session, Style, Time, Underline};
use serde_json::{Value, json};

use crate::render::{self, Colors, Theme, hex};
use crate::text;
use awaitty_test::cast::{CastHeader, CastReader, Event};

/// Minimum duration of a step: 30 frames per second.
const STEP_SECONDS: f64 = 1.0 / 30.0;

/// Bytes of a page: browsers become slow with larger ones.
const PAGE_MAX: usize = 64 << 20;

const PAGE: &str = include_str!("player.html");

/// Writes the page step by step.
///
/// # Errors
/// If it cannot be written, or becomes too large.
pub(super) fn write_page(
    cast: &mut CastReader<impl BufRead>,
    target: &mut impl Write,
) -> io::Result<()> {
    let (before, after) = PAGE.split_once("{{data}}").expect("the page has a place for its data");
    let command = text::visible(&cast.header.command);
    target.write_all(before.replace("{{title}}", &text::escaped(&command)).as_bytes())?;
    let mut player = Player::new(&cast.header);
    let mut marks = Vec::new();
    let mut next = cast.next_event()?;
    write!(target, "{{\"steps\":[")?;
    while let Some(event) = next {
        player.take(&event);
        if matches!(event.kind, 'm' | 'x') {
            let label = if event.kind == 'x' { "exit " } else { "" };
            let label = text::visible(&format!("{label}{}", event.data));
            player.count(label.len())?;
            marks.push(json!([event.at, label]));
        }
        next = cast.next_event()?;
        if next.as_ref().is_none_or(|next| next.at - player.step_start >= STEP_SECONDS) {
            let comma = if player.steps == 0 { "" } else { "," };
            write!(target, "{comma}{}", for_script_element(&player.step(event.at)?))?;
        }
    }
    let (cols, rows) = (cast.header.cols, cast.header.rows);
    let rest = json!({"cols": cols, "rows": rows, "seconds": cast.seconds(), "command": command,
        "marks": marks});
    // Continues the JSON object that was started above.
    write!(target, "],{}", &for_script_element(&rest)[1..])?;
    target.write_all(after.as_bytes())
}

/// Returns JSON that cannot close the element that contains it.
fn for_script_element(data: &Value) -> String {
    data.to_string().replace('<', "\\u003c")
}

struct Player {
    session: Session,
    rows: Vec<Arc<Row>>,
    size: (usize, usize),
    colors: Colors,
    /// Start of the current step in seconds.
    step_start: f64,
    steps: usize,
    bytes: usize,
}

impl Player {
    fn new(head: &CastHeader) -> Player {
        let session = Session::new(Time::default(), head.cols, head.rows, 0);
        let colors = Colors::new(Theme::Dark, session.screen());
        let blank = Arc::new(Row::default());
        let size = (head.cols, head.rows);
        Player {
            session,
            rows: vec![blank; head.rows],
            size,
            colors,
            step_start: f64::MIN,
            steps: 0,
            bytes: 0,
        }
    }

    fn take(&mut self, event: &Event) {
        if self.step_start == f64::MIN {
            self.step_start = event.at;
        }
        let now = Time(Duration::from_secs_f64(event.at.max(0.0)));
        if event.kind == 'o' {
            self.session.handle_output(now, event.data.as_bytes());
        } else if let Some((cols, rows)) = event.size() {
            self.session.resize(now, cols, rows);
        }
    }

    /// Ends a step, and returns the changes since the last one.
    fn step(&mut self, at: f64) -> io::Result<Value> {
        self.session.handle_drained(Time(Duration::from_secs_f64(at.max(0.0))));
        self.step_start = f64::MIN;
        self.colors = Colors::new(Theme::Dark, self.session.screen());
        let frame = Arc::clone(self.session.frame());
        let size = (frame.cols(), frame.rows().len());
        let is_resized = size != self.size;
        self.size = size;
        self.rows.resize(size.1, Arc::new(Row::default()));
        let mut rows = Vec::new();
        for (i, row) in frame.rows().iter().enumerate() {
            if is_resized || !self.rows[i].looks_like(row) {
                let drawn = self.row(row);
                self.count(drawn.len())?;
                rows.push(json!([i, drawn]));
                self.rows[i] = Arc::clone(row);
            }
        }
        let cursor = self.session.screen().cursor();
        let cursor = if cursor.visible { json!([cursor.row, cursor.col]) } else { Value::Null };
        let size = if is_resized { json!([size.0, size.1]) } else { Value::Null };
        self.steps += 1;
        Ok(json!([at, rows, cursor, size]))
    }

    /// Adds to the size of the page, and checks the limit.
    fn count(&mut self, bytes: usize) -> io::Result<()> {
        self.bytes += bytes;
        if self.bytes > PAGE_MAX {
            let most = PAGE_MAX >> 20;
            let message =
                format!("the page would be larger than {most} MiB: save it as asciicast instead");
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
    fn a_page_has_a_size_limit() {
        let head = CastHeader { cols: 10, rows: 1, ..CastHeader::default() };
        let printed = Event { at: 0.0, kind: 'o', data: "abc".to_owned() };
        for (bytes, is_within) in [(PAGE_MAX - 3, true), (PAGE_MAX - 2, false)] {
            let mut player = Player::new(&head);
            player.bytes = bytes;
            player.take(&printed);
            assert_eq!(player.step(0.0).is_ok(), is_within, "{bytes}");
        }
    }
}
