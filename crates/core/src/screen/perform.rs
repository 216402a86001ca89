//! Executes actions. Controls and escape sequences are in this file, the rest in the files next to it.

use super::charset::Charset;
use super::grid::Area;
use super::modes::Mode;
use super::parser::{Action, Parser};
use super::sequence::Sequence;
use super::{Event, Position, Screen};
use crate::style::Style;

/// Executes actions on a screen and calls `observe` before drawn cells disappear.
///
/// It is separate from [`Screen`] so that the callback need not be stored there.
pub(super) struct Performer<'s, 'l> {
    pub(super) screen: &'s mut Screen,
    observe: Option<&'l mut dyn FnMut(&Screen)>,
}

impl<'s, 'l> Performer<'s, 'l> {
    pub(super) fn new(
        screen: &'s mut Screen,
        observe: Option<&'l mut dyn FnMut(&Screen)>,
    ) -> Performer<'s, 'l> {
        Performer { screen, observe }
    }

    pub(super) fn perform(&mut self, action: Action<'_>, parser: &Parser) {
        match action {
            Action::Ascii(text) => {
                self.screen.add_work(text.len());
                return self.print_ascii(text);
            }
            Action::Text(text) => {
                self.screen.add_work(text.len());
                return self.print_text(text);
            }
            Action::Char(c) => return self.print(c),
            Action::Control(byte) => self.control(byte),
            Action::Escape => self.escape(parser.sequence()),
            Action::Csi => self.csi(parser.sequence()),
            Action::Osc => self.screen.osc(parser.string(), parser.is_string_bel()),
            Action::Dcs => self.screen.dcs(parser.sequence(), parser.string()),
        }
        self.screen.last_printed = None;
    }

    /// Calls the observer if changing `area` would lose drawn content. Call it before cells of `area` are erased,
    /// overwritten or moved off the screen.
    #[inline]
    pub(super) fn before_loss(&mut self, area: &Area) {
        self.screen.add_work(area.rows.len() * area.cols.len());
        self.observe_before_loss(area);
    }

    #[inline]
    fn observe_before_loss(&mut self, area: &Area) {
        if let Some(observe) = &mut self.observe
            && self.screen.grid().would_lose(area, self.screen.tick)
        {
            observe(self.screen);
            self.screen.advance_tick();
            self.screen.add_work(self.screen.rows * self.screen.cols);
        }
    }

    /// Observes the row, unless overwriting it from the cursor to its end would lose nothing that was drawn since the
    /// last observation. Call it before a run of text starts, and before the run continues in another row: the end of
    /// the run may arrive with a later read. An observation never interrupts a run, because the result of a wait must
    /// not depend on how the bytes were split.
    #[inline]
    pub(super) fn before_run(&mut self) {
        if self.observe.is_some() {
            let Position { row, col, .. } = self.screen.position;
            let cols = col..self.screen.cols;
            self.observe_before_loss(&Area { rows: row..row + 1, cols });
        }
    }

    fn control(&mut self, byte: u8) {
        match byte {
            0x07 => self.screen.push_event(Event::Bell),
            0x08 => self.screen.backspace(),
            0x09 => self.screen.tab_forward(1),
            0x0a..=0x0c => {
                self.index();
                if self.screen.modes.has(Mode::LineFeedNewLine) {
                    self.screen.carriage_return();
                }
            }
            0x0d => self.screen.carriage_return(),
            0x0e => self.screen.charsets.active = 1,
            0x0f => self.screen.charsets.active = 0,
            // ENQ is ignored. On terminals where a program can set the answerback message, the reply would be text that
            // the program chose.
            _ => {}
        }
    }

    fn escape(&mut self, sequence: &Sequence) {
        let s = &mut *self.screen;
        match (sequence.intermediates(), sequence.final_byte) {
            ([], b'6') => self.back_index(),
            ([], b'7') => s.save_cursor(),
            ([], b'8') => s.restore_cursor(),
            ([], b'9') => self.forward_index(),
            ([], b'=') => s.modes.set(Mode::ApplicationKeypad, true),
            ([], b'>') => s.modes.set(Mode::ApplicationKeypad, false),
            ([], b'D') => self.index(),
            ([], b'E') => {
                self.index();
                self.screen.carriage_return();
            }
            ([], b'H') => s.set_tab(),
            ([], b'M') => self.reverse_index(),
            ([], b'N') => s.charsets.single = Some(2),
            ([], b'O') => s.charsets.single = Some(3),
            ([], b'V') => s.pen.protected = true,
            ([], b'W') => s.pen.protected = false,
            ([], b'Z') => s.report_device_attributes(),
            ([], b'c') => self.reset(),
            ([], b'n') => s.charsets.active = 2,
            ([], b'o') => s.charsets.active = 3,
            // A string terminator without a string, and LS1R, LS2R and LS3R: UTF-8 has no GR set.
            ([], b'\\' | b'|' | b'}' | b'~') => {}
            ([b'#'], b'8') => self.alignment_test(),
            // Double-width and double-height lines (DECDWL, DECDHL) are shown as ordinary ones.
            ([b'#'], b'3'..=b'6') => {}
            ([b' '], b'F') => s.eight_bit = false,
            ([b' '], b'G') => s.eight_bit = true,
            // Conformance levels, and the choice of UTF-8, which is the only encoding.
            ([b' '], b'L'..=b'N') | ([b'%'], _) => {}
            ([set @ b'(' | set @ b')' | set @ b'*' | set @ b'+'], last)
            | ([set @ b'(' | set @ b')' | set @ b'*' | set @ b'+', _], last) => {
                s.charsets.sets[usize::from(set - b'(')] = Charset::from_final_byte(last);
            }
            ([set @ b'-' | set @ b'.' | set @ b'/'], last) => {
                let charset =
                    if last == b'A' { Charset::Ascii } else { Charset::from_final_byte(last) };
                s.charsets.sets[usize::from(set - b'-') + 1] = charset;
            }
            (intermediates, last) => {
                let name = [b"ESC " as &[u8], intermediates, &[last]].concat();
                s.count_unknown(String::from_utf8_lossy(&name).into_owned());
            }
        }
    }

    /// DECALN: fills the screen with E.
    fn alignment_test(&mut self) {
        let area = self.screen.whole_area();
        self.before_loss(&area);
        let s = &mut *self.screen;
        s.reset_margins();
        s.move_to(0, 0);
        s.set_pen(Style::default());
        s.pen.protected = false;
        let (cell, line) = (s.drawn_cell(), vec![b'E'; s.cols]);
        for row in area.rows {
            let row = s.grid_mut().row_mut(row);
            row.set_wrapped(false);
            row.write_ascii(0, &line, cell, false);
        }
    }
}
