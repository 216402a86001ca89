//! Draws a terminal as escape sequences for the terminal of a page.
//!
//! The sequences are generated from the parsed screen. So program output reaches a page as text only, the page shows
//! the same as an agent sees, and a slow page is painted in its current state.

use std::fmt::Write;
use std::sync::Arc;

use awaitty_core::{
    Attrs, Color, Cursor, CursorShape, Frame, Line, MouseEncoding, MouseTracking, Row, Screen,
    Session, Style, Underline,
};

use crate::{render, text};
use awaitty_terminal::terminal::key_modes;

/// Scrolled-off lines that are sent to a page at once; older ones are available by `read_output`.
pub(super) const LINES_MAX: u64 = 2_000;

/// The state of a terminal to paint.
#[derive(Debug)]
pub(super) struct ScreenView {
    frame: Arc<Frame>,
    cursor: Cursor,
    /// Scrolled-off lines that the page does not have yet, oldest first.
    scrolled_off: Vec<Row>,
    /// The scrollback is not empty.
    has_scrollback: bool,
    /// Escape sequences that set the input modes.
    modes: String,
}

impl ScreenView {
    /// Returns the current state, with the lines that scrolled off since `progress`. With control it includes the input
    /// modes.
    pub(super) fn of(
        session: &Session,
        progress: Option<PaintProgress>,
        has_control: bool,
    ) -> ScreenView {
        let screen = session.screen();
        let frame = Arc::clone(session.frame());
        // After a resize all lines are different.
        let progress =
            progress.filter(|progress| progress.size == (frame.cols(), frame.rows().len()));
        let since = progress.and_then(|progress| progress.next);
        let mut scrolled_off = Vec::new();
        if !frame.is_alternate() {
            let top = frame.line(0);
            let first = Line(top.0.saturating_sub(LINES_MAX)).max(since.unwrap_or(Line(0)));
            let lines = screen.scrollback();
            let all = (lines.position(first)..lines.len()).filter_map(|i| lines.get(i));
            scrolled_off.extend(all.take_while(|(line, _)| *line < top).map(|(_, row)| row));
        }
        let modes = if has_control { input_modes(screen) } else { String::new() };
        let has_scrollback = !screen.scrollback().is_empty();
        ScreenView { frame, cursor: screen.cursor(), scrolled_off, has_scrollback, modes }
    }

    /// Returns the seq of the frame.
    pub(super) fn seq(&self) -> u64 {
        self.frame.seq().0
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        (self.frame.cols(), self.frame.rows().len())
    }
}

/// How much of the scrollback a page has.
#[derive(Clone, Copy, Debug)]
pub(super) struct PaintProgress {
    size: (usize, usize),
    /// The first scrolled-off line that the page does not have.
    next: Option<Line>,
}

/// Paints a page, and remembers its state.
#[derive(Debug, Default)]
pub(super) struct Painter {
    last: Option<ScreenView>,
    /// The first scrolled-off line that the page does not have.
    next: Option<Line>,
    /// The page has scrolled-off lines.
    has_scrollback: bool,
}

/// An update for a page: escape sequences, before which the page resets its terminal if `reset` is set.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PageUpdate {
    pub(super) reset: bool,
    pub(super) data: String,
}

impl Painter {
    /// Returns how much of the scrollback the page has; `None` before the first update.
    pub(super) fn progress(&self) -> Option<PaintProgress> {
        let last = self.last.as_ref()?;
        Some(PaintProgress { size: last.size(), next: self.next })
    }

    /// Returns the update that makes a page show the view; `None` if it already does.
    pub(super) fn paint(&mut self, view: ScreenView) -> Option<PageUpdate> {
        let top = view.frame.line(0);
        let is_missing = self.next.is_some_and(|next| next.0 + LINES_MAX < top.0);
        let last = self.last.take().filter(|last| {
            last.size() == view.size() && (view.frame.is_alternate() || !is_missing)
        });
        let mut data = String::new();
        let reset = last.is_none();
        if reset {
            self.next = None;
            self.has_scrollback = false;
            // Without autowrap (DECAWM), a character that the page's terminal takes for wider does not shift the
            // others.
            data += "\x1b[?7l";
        }
        let was_alternate = last.as_ref().is_some_and(|last| last.frame.is_alternate());
        if view.frame.is_alternate() != was_alternate {
            data += if view.frame.is_alternate() { "\x1b[?1049h" } else { "\x1b[?1049l" };
        }
        if self.has_scrollback && !view.has_scrollback {
            // A cleared scrollback must be cleared in the page, too.
            data += "\x1b[3J";
            self.has_scrollback = false;
        }
        self.has_scrollback |= !view.scrolled_off.is_empty();
        let height = view.frame.rows().len();
        for row in &view.scrolled_off {
            paint_row(&mut data, 0, row, row.width(), false);
            // Scrolls the line into the scrollback of the page.
            let _ = writeln!(data, "\x1b[{height};1H");
        }
        let is_same = |i: usize, row: &Arc<Row>| {
            last.as_ref().is_some_and(|last| {
                let is_same_screen = last.frame.is_alternate() == view.frame.is_alternate()
                    && last.frame.is_reverse() == view.frame.is_reverse();
                is_same_screen
                    && view.scrolled_off.is_empty()
                    && last.frame.rows()[i].looks_like(row)
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
            data += RESET_MODES;
            data += &view.modes;
        }
        if !data.is_empty() || last.as_ref().is_some_and(|last| last.cursor != view.cursor) {
            paint_cursor(&mut data, &view.cursor);
        }
        if !view.frame.is_alternate() {
            self.next = Some(top);
        }
        self.last = Some(view);
        (!data.is_empty())
            .then(|| PageUpdate { reset, data: format!("\x1b[?2026h{data}\x1b[?2026l") })
    }
}

/// Resets the input modes: keyboard, paste and mouse.
const RESET_MODES: &str =
    "\x1b[?1l\x1b>\x1b[?2004l\x1b[?1004l\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l";

/// Returns escape sequences that set the input modes of a page's terminal as the program set them.
fn input_modes(screen: &Screen) -> String {
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
        // xterm.js supports no other.
        MouseEncoding::Bytes | MouseEncoding::Utf8 | MouseEncoding::Urxvt => "",
    };
    modes
}

fn paint_row(data: &mut String, at: usize, row: &Row, width: usize, is_reverse: bool) {
    let _ = write!(data, "\x1b[{};1H\x1b[m\x1b[2K", at + 1);
    for run in render::runs(row, width) {
        let missing = run.to.saturating_sub(run.from.max(row.width()));
        // Each run is placed by its column, so that a character of different width in the page's terminal shifts
        // nothing else.
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

    /// Returns the visible text and styles, without links.
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

    /// Paints each step, and checks that a painted terminal shows the same.
    fn follow(steps: &[&str]) -> (Session, Session, Vec<PageUpdate>) {
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
            let view = ScreenView::of(&shown, painter.progress(), true);
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
        assert_eq!(input_modes(shown.screen()), input_modes(page.screen()));
        (shown, page, paints)
    }

    #[test]
    fn a_page_shows_the_same_as_the_screen() {
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
        // A cursor movement repaints no row.
        assert!(!paints[2].data.contains("\x1b[2K"), "{:?}", paints[2]);
    }

    #[test]
    fn scrollback_survives_a_resize_and_is_cleared_on_request() {
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
    fn a_page_that_missed_too_many_lines_is_reset() {
        let many = |count: u64| (0..count).map(|i| format!("{i}\r\n")).collect::<String>();
        let (_, page, paints) = follow(&["a", &many(LINES_MAX - 1), &many(LINES_MAX + 10)]);
        let resets: Vec<bool> = paints.iter().map(|paint| paint.reset).collect();
        assert_eq!(resets, [true, false, true]);
        assert_eq!(lines(&page).len() as u64, LINES_MAX);
    }

    #[test]
    fn program_output_never_becomes_control_characters_on_a_page() {
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
