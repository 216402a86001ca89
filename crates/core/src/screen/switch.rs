//! Setting and resetting modes, and switching to the alternate screen.

use super::grid::Grid;
use super::modes::{Mode, MouseEncoding, MouseTracking};
use super::perform::Performer;
use super::sequence::Sequence;
use super::{KeyboardFlags, Screen};

/// The modes that show the alternate screen.
const ALTERNATE: [u16; 3] = [47, 1047, 1049];

/// The mode that switches between 80 and 132 columns.
const DECCOLM: u16 = 3;

/// The mode that saves and restores the cursor like DECSC and DECRC.
const SAVE_CURSOR: u16 = 1048;

impl Performer<'_, '_> {
    /// DECSET and DECRST.
    pub(super) fn set_private_modes(&mut self, sequence: &Sequence, on: bool) {
        for number in sequence.values() {
            self.set_private_mode(number, on);
        }
    }

    /// XTRESTORE.
    pub(super) fn restore_modes(&mut self, sequence: &Sequence) {
        for number in sequence.values() {
            if let Some(&on) = self.screen.saved_modes.get(&number) {
                self.set_private_mode(number, on);
            }
        }
    }

    fn set_private_mode(&mut self, number: u16, on: bool) {
        let s = &mut *self.screen;
        if number == DECCOLM && !s.modes.has(Mode::AllowColumns) {
            // Ignored as in xterm: reset strings of terminals contain DECCOLM, and they must not clear the screen.
        } else if let Some(mode) = Mode::dec(number) {
            s.modes.set(mode, on);
            self.after_mode(mode, on);
        } else if let Some(tracking) = MouseTracking::from_number(number) {
            s.mouse_tracking = if on { tracking } else { MouseTracking::Off };
        } else if let Some(encoding) = MouseEncoding::from_number(number) {
            if on {
                s.mouse_encoding = encoding;
            } else if s.mouse_encoding == encoding {
                s.mouse_encoding = MouseEncoding::Bytes;
            }
        } else if ALTERNATE.contains(&number) {
            self.switch(number, on);
        } else if number == SAVE_CURSOR {
            if on { s.save_cursor() } else { s.restore_cursor() }
        } else {
            s.count_unknown(format!("mode ?{number}"));
        }
    }

    /// Executes the side effects of setting or resetting a mode.
    fn after_mode(&mut self, mode: Mode, on: bool) {
        let s = &mut *self.screen;
        match mode {
            Mode::Origin => s.move_to_address(0, 0),
            Mode::LeftRightMargins if !on => {
                s.margins.cols = 0..s.cols;
                s.clear_stale_wrap();
            }
            Mode::Columns => self.change_columns(),
            // Line editors set this mode when they start to read.
            Mode::BracketedPaste if on => s.note_line_editor(),
            Mode::InBandResize if on => s.report_in_band_size(),
            _ => {}
        }
    }

    /// DECCOLM without the change of size: clears the screen and resets the margins.
    fn change_columns(&mut self) {
        self.screen.reset_margins();
        self.screen.modes.set(Mode::LeftRightMargins, false);
        if !self.screen.modes.has(Mode::ColumnsKeepScreen) {
            self.erase_in_display(2, false);
        }
        self.screen.move_to(0, 0);
    }

    /// Switches to the alternate screen or to the main one.
    fn switch(&mut self, number: u16, on: bool) {
        let all = self.screen.whole_area();
        if on != self.screen.is_alternate {
            self.before_loss(&all);
        }
        let s = &mut *self.screen;
        if on {
            if number == 1049 {
                s.save_cursor();
            }
            if !s.is_alternate {
                s.main_position = s.position;
            }
            let (cols, rows) = (s.cols, s.rows);
            s.alternate.get_or_insert_with(|| Grid::new(cols, rows));
            s.is_alternate = true;
            if number == 1049 {
                self.erase_in_display(2, false);
            }
        } else {
            if s.is_alternate && number != 47 {
                // Its content will not be shown again: 1047 clears it here, 1049 at the next switch.
                s.alternate = None;
            }
            s.is_alternate = false;
            if number == 1049 {
                s.restore_cursor();
            }
        }
    }
}

impl Screen {
    /// SM and RM.
    pub(super) fn set_ansi_modes(&mut self, sequence: &Sequence, on: bool) {
        for number in sequence.values() {
            match Mode::ansi(number) {
                Some(mode) => self.modes.set(mode, on),
                None => self.count_unknown(format!("mode {number}")),
            }
        }
    }

    /// XTSAVE.
    pub(super) fn save_modes(&mut self, sequence: &Sequence) {
        for number in sequence.values() {
            if let Some(on) = self.private_mode(number) {
                self.saved_modes.insert(number, on);
            }
        }
    }

    /// Returns whether a private mode is set, or `None` if it is unknown.
    pub(super) fn private_mode(&self, number: u16) -> Option<bool> {
        if let Some(mode) = Mode::dec(number) {
            Some(self.modes.has(mode))
        } else if let Some(tracking) = MouseTracking::from_number(number) {
            Some(self.mouse_tracking == tracking)
        } else if let Some(encoding) = MouseEncoding::from_number(number) {
            Some(self.mouse_encoding == encoding)
        } else if ALTERNATE.contains(&number) {
            Some(self.is_alternate)
        } else {
            (number == SAVE_CURSOR).then_some(false)
        }
    }

    /// Resets the keyboard flags of both screens.
    pub(super) fn reset_keyboard(&mut self) {
        self.keyboard = [KeyboardFlags::default(), KeyboardFlags::default()];
        self.modify_other_keys = 0;
    }
}
