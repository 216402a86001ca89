//! A terminal as bytes for another terminal: what a page writes into its own.
//!
//! They are made of what our screen shows, so nothing that a program printed reaches a page but as text, a page shows
//! what an agent sees, and one that was slow is simply painted as it is now.

use std::fmt::Write;
use std::sync::Arc;

use awaitty_core::{
    Attrs, Color, Cursor, CursorShape, Frame, Line, MouseEncoding, MouseTracking, Row, Screen,
    Session, Style, Underline,
};

use crate::{render, text};
use awaitty_terminal::terminal::key_modes;

/// Lines that have left the screen which a page is told at once; older ones are in `read_output`.
pub(super) const LINES_MAX: u64 = 2_000;

/// What there is to be painted.
#[derive(Debug)]
pub(super) struct View {
    frame: Arc<Frame>,
    cursor: Cursor,
    /// What has left the screen since a line, oldest first.
    left: Vec<Row>,
    /// There are lines that have left.
    has_lines: bool,
    /// How keys are to be told.
    modes: String,
}

impl View {
    /// What a terminal shows, and what left it since it was painted. Who types is told how.
    pub(super) fn of(session: &Session, painted: Option<Painted>, types: bool) -> View {
        let screen = session.screen();
        let frame = Arc::clone(session.frame());
        // In another size all lines are others.
        let painted = painted.filter(|painted| painted.size == (frame.cols(), frame.rows().len()));
        let since = painted.and_then(|painted| painted.next);
        let mut left = Vec::new();
        if !frame.is_alternate() {
            let top = frame.line(0);
            let first = Line(top.0.saturating_sub(LINES_MAX)).max(since.unwrap_or(Line(0)));
            let lines = screen.scrollback();
            let all = (lines.position(first)..lines.len()).filter_map(|i| lines.get(i));
            left.extend(all.take_while(|(line, _)| *line < top).map(|(_, row)| row));
        }
        let modes = if types { modes(screen) } else { String::new() };
        let has_lines = !screen.scrollback().is_empty();
        View { frame, cursor: screen.cursor(), left, has_lines, modes }
    }

    /// The frame's number.
    pub(super) fn seq(&self) -> u64 {
        self.frame.seq().0
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.frame.cols(), self.frame.rows().len())
    }
}

/// How far a page has been told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Painted {
    size: (usize, usize),
    /// The line after the last that was told of those that have left.
    next: Option<Line>,
}

/// What a page has been told so far.
#[derive(Debug, Default)]
pub(super) struct Painter {
    last: Option<View>,
    /// The line after the last that was told of those that have left.
    next: Option<Line>,
    /// Some were told.
    has_lines: bool,
}

/// What a page is to write; first of all it forgets everything, if that is said.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Paint {
    pub(super) reset: bool,
    pub(super) data: String,
}

impl Painter {
    /// How far the page has been told, if it has.
    pub(super) fn painted(&self) -> Option<Painted> {
        let last = self.last.as_ref()?;
        Some(Painted { size: last.size(), next: self.next })
    }

    /// What makes a page show the view; nothing if it does already.
    pub(super) fn paint(&mut self, view: View) -> Option<Paint> {
        let top = view.frame.line(0);
        let is_missing = self.next.is_some_and(|next| next.0 + LINES_MAX < top.0);
        let last = self.last.take().filter(|last| {
            last.size() == view.size() && (view.frame.is_alternate() || !is_missing)
        });
        let mut data = String::new();
        let reset = last.is_none();
        if reset {
            self.next = None;
            self.has_lines = false;
            // A character that the page thinks is wider than we do must not push the others.
            data += "\x1b[?7l";
        }
        let was_alternate = last.as_ref().is_some_and(|last| last.frame.is_alternate());
        if view.frame.is_alternate() != was_alternate {
            data += if view.frame.is_alternate() { "\x1b[?1049h" } else { "\x1b[?1049l" };
        }
        if self.has_lines && !view.has_lines {
            // What was cleared is to be seen nowhere.
            data += "\x1b[3J";
            self.has_lines = false;
        }
        self.has_lines |= !view.left.is_empty();
        let height = view.frame.rows().len();
        for row in &view.left {
            paint_row(&mut data, 0, row, row.width(), false);
            // It goes where the page keeps what has left.
            let _ = writeln!(data, "\x1b[{height};1H");
        }
        let is_same = |i: usize, row: &Arc<Row>| {
            last.as_ref().is_some_and(|last| {
                let is_steady = last.frame.is_alternate() == view.frame.is_alternate()
                    && last.frame.is_reverse() == view.frame.is_reverse();
                is_steady && view.left.is_empty() && last.frame.rows()[i].looks_like(row)
            })
        };
        for (i, row) in view.frame.rows().iter().enumerate() {
            if !is_same(i, row) {
                let is_reverse = view.frame.is_reverse();
                let width = if is_reverse { view.frame.cols() } else { row.width() };
                paint_row(&mut data, i, row, width, is_reverse);
            }
        }
        if last.as_ref().map(|last| &last.modes) != Some(&view.modes) {
            data += NO_MODES;
            data += &view.modes;
        }
        if !data.is_empty() || last.as_ref().is_some_and(|last| last.cursor != view.cursor) {
            paint_cursor(&mut data, &view.cursor);
        }
        if !view.frame.is_alternate() {
            self.next = Some(top);
        }
        self.last = Some(view);
        (!data.is_empty()).then(|| Paint { reset, data: format!("\x1b[?2026h{data}\x1b[?2026l") })
    }
}

/// Keys and the mouse as if nobody had asked for anything.
const NO_MODES: &str =
    "\x1b[?1l\x1b>\x1b[?2004l\x1b[?1004l\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";

/// What makes a page's terminal tell of keys and of the mouse as the program wants it.
fn modes(screen: &Screen) -> String {
    let (switches, tracking, encoding) = key_modes(screen);
    let switches = switches.into_iter().zip(["\x1b[?1h", "\x1b=", "\x1b[?2004h", "\x1b[?1004h"]);
    let mut modes: String = switches.filter(|(is_set, _)| *is_set).map(|(_, mode)| mode).collect();
    modes += match tracking {
        MouseTracking::Off => "",
        MouseTracking::Press => "\x1b[?9h",
        MouseTracking::Buttons => "\x1b[?1000h",
        MouseTracking::Drag => "\x1b[?1002h",
        MouseTracking::Motion => "\x1b[?1003h",
    };
    modes += match encoding {
        MouseEncoding::Sgr => "\x1b[?1006h",
        // The page's terminal has no other.
        MouseEncoding::Bytes | MouseEncoding::Utf8 | MouseEncoding::Urxvt => "",
    };
    modes
}

fn paint_row(data: &mut String, at: usize, row: &Row, width: usize, is_reverse: bool) {
    let _ = write!(data, "\x1b[{};1H\x1b[m\x1b[2K", at + 1);
    for run in render::runs(row, width) {
        let missing = run.to.saturating_sub(run.from.max(row.width()));
        // Each run has its column, so that what the page thinks wider or narrower than we do moves nothing else.
        let _ = write!(data, "\x1b[{}G\x1b[0", run.from + 1);
        sgr(data, &run.style, is_reverse);
        let text = text::without_hidden(row.slice(run.from, run.to));
        let _ = write!(data, "m{text}{}", " ".repeat(missing));
    }
    data.push_str("\x1b[m");
}

fn sgr(data: &mut String, style: &Style, is_reverse: bool) {
    let is_inverse = style.attrs.has(Attrs::INVERSE) != is_reverse;
    let attrs = [
        (style.attrs.has(Attrs::BOLD), ";1"),
        (style.attrs.has(Attrs::DIM), ";2"),
        (style.attrs.has(Attrs::ITALIC), ";3"),
        (style.attrs.has(Attrs::BLINK), ";5"),
        (is_inverse, ";7"),
        (style.attrs.has(Attrs::CONCEALED), ";8"),
        (style.attrs.has(Attrs::STRIKE), ";9"),
        (style.attrs.has(Attrs::OVERLINE), ";53"),
        (style.underline == Underline::Single, ";4"),
        (style.underline == Underline::Double, ";4:2"),
        (style.underline == Underline::Curly, ";4:3"),
        (style.underline == Underline::Dotted, ";4:4"),
        (style.underline == Underline::Dashed, ";4:5"),
    ];
    attrs.iter().filter(|(is_set, _)| *is_set).for_each(|(_, code)| data.push_str(code));
    for (code, color) in [(38, style.fg), (48, style.bg), (58, style.underline_color)] {
        let _ = match color {
            Color::Default => Ok(()),
            Color::Indexed(number) => write!(data, ";{code};5;{number}"),
            Color::Rgb(r, g, b) => write!(data, ";{code};2;{r};{g};{b}"),
        };
    }
}

fn paint_cursor(data: &mut String, cursor: &Cursor) {
    let shape = match cursor.shape {
        CursorShape::Block => 2,
        CursorShape::Underline => 4,
        CursorShape::Bar => 6,
    };
    let _ = write!(data, "\x1b[{} q", shape - usize::from(cursor.blinking));
    let _ = write!(data, "\x1b[{};{}H", cursor.row + 1, cursor.col + 1);
    data.push_str(if cursor.visible { "\x1b[?25h" } else { "\x1b[?25l" });
}

#[cfg(test)]
mod tests {
    use awaitty_core::Time;

    use super::*;

    const SIZE: (usize, usize) = (20, 5);

    fn terminal() -> Session {
        Session::new(Time::from_ms(0), SIZE.0, SIZE.1, 10_000)
    }

    fn print(session: &mut Session, at: u64, text: &str) {
        session.handle_output(Time::from_ms(at), text.as_bytes());
        session.handle_drained(Time::from_ms(at));
        session.handle_time(Time::from_ms(at + 20));
    }

    fn lines(session: &Session) -> Vec<String> {
        let lines = session.screen().scrollback();
        let text = |i: usize| lines.text(i).map(|(_, text)| text.trim_end().to_owned());
        (0..lines.len()).filter_map(text).collect()
    }

    /// All that is seen; where a link leads is not.
    fn cells(session: &Session) -> Vec<(String, Vec<Style>)> {
        let frame = session.frame();
        let style = |row: &Row, col: usize| {
            let mut style = Style { link: None, ..row.style_at(col) };
            let is_inverse = style.attrs.has(Attrs::INVERSE) != frame.is_reverse();
            style.attrs.set(Attrs::INVERSE, is_inverse);
            style
        };
        let cells = |row: &Row| (0..SIZE.0).map(|col| style(row, col)).collect();
        frame.rows().iter().map(|row| (row.text().trim_end().to_owned(), cells(row))).collect()
    }

    /// Paints each step, and looks whether a terminal that is painted shows the same.
    fn follow(steps: &[&str]) -> (Session, Session, Vec<Paint>) {
        let (mut shown, mut page) = (terminal(), terminal());
        let (mut painter, mut paints) = (Painter::default(), Vec::new());
        for (i, step) in steps.iter().enumerate() {
            let at = 100 * (i as u64 + 1);
            match step.strip_prefix("RESIZE ").map(|cols| cols.parse().unwrap()) {
                Some(cols) => {
                    shown.resize(Time::from_ms(at), cols, SIZE.1);
                    print(&mut shown, at, "");
                }
                None => print(&mut shown, at, step),
            }
            let view = View::of(&shown, painter.painted(), true);
            if let Some(paint) = painter.paint(view) {
                if paint.reset {
                    let (cols, rows) = (shown.frame().cols(), shown.frame().rows().len());
                    page = Session::new(Time::from_ms(0), cols, rows, 10_000);
                }
                print(&mut page, at, &paint.data);
                paints.push(paint);
            }
            assert_eq!(cells(&shown), cells(&page), "step {i}");
            assert_eq!(shown.screen().cursor(), page.screen().cursor(), "step {i}");
            assert_eq!(shown.screen().is_alternate(), page.screen().is_alternate());
        }
        assert_eq!(modes(shown.screen()), modes(page.screen()));
        (shown, page, paints)
    }

    #[test]
    fn a_page_shows_what_the_screen_shows() {
        let (shown, page, paints) = follow(&[
            "hello",
            "\x1b[1;31mred\x1b[4:3;58;5;9m wave\x1b[m\r\n\u{4f60}\u{597d} \x1b[48;2;1;2;3mbg\x1b[K\x1b[m",
            "\x1b[3D",
            "\x1b[?25l\x1b[5 q",
            &(1..=12).map(|i| format!("\r\nline {i}")).collect::<String>(),
            "\x1b[?1049h\x1b[Hfull\x1b[?1h\x1b[?1002h\x1b[?1006h\x1b[?2004h",
            "\x1b[5;20Hx",
            "\x1b[?1049l\x1b[?1002l",
            "\x1b[?5h",
            "more\r\n\r\n\r\n\r\n\r\n",
        ]);
        assert_eq!(lines(&shown), lines(&page));
        assert!(paints[0].reset && paints[1..].iter().all(|paint| !paint.reset));
        // A cursor that moved is no reason to paint a row.
        assert!(!paints[2].data.contains("\x1b[2K"), "{:?}", paints[2]);
    }

    #[test]
    fn what_has_left_is_there_in_another_size_and_gone_when_it_is_cleared() {
        let many: String = (0..30).map(|i| format!("line {i}\r\n")).collect();
        let (shown, page, _) = follow(&[&many, "RESIZE 30", "more\r\nmore\r\n"]);
        assert!(lines(&shown).len() > 25);
        assert_eq!(lines(&shown), lines(&page));
        let (shown, page, _) = follow(&[&many, "\x1b[?1049hfull", "RESIZE 30", "\x1b[?1049l"]);
        assert!(lines(&shown).len() > 25);
        assert_eq!(lines(&shown), lines(&page));
        let (_, page, _) = follow(&[&many, "\x1b[H\x1b[2J\x1b[3Jclean"]);
        assert_eq!(lines(&page), [""; 0]);
    }

    #[test]
    fn what_was_missed_for_too_long_is_painted_anew() {
        let many = |count: u64| (0..count).map(|i| format!("{i}\r\n")).collect::<String>();
        let (_, page, paints) = follow(&["a", &many(LINES_MAX - 1), &many(LINES_MAX + 10)]);
        let resets: Vec<bool> = paints.iter().map(|paint| paint.reset).collect();
        assert_eq!(resets, [true, false, true]);
        assert_eq!(lines(&page).len() as u64, LINES_MAX);
    }

    #[test]
    fn nothing_that_a_program_printed_is_a_control_on_a_page() {
        let all: String = (0..=255u8).map(char::from).collect();
        let hostile = "\x1b]0;title\x07\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07\x1b]52;c;aGk=\x07\x1bPq#0\x1b\\";
        let (_, _, paints) = follow(&[hostile, &all, "\x1bc", &hostile.repeat(3)]);
        for paint in paints {
            let rest = paint.data.replace("\x1b[", "").replace(['\n'], "").replace("\x1b>", "");
            let rest = rest.replace("\x1b=", "");
            assert!(!rest.contains(char::is_control), "{rest:?}");
            assert!(!rest.contains("javascript") && !rest.contains("aGk"), "{rest:?}");
        }
    }
}
