//! The resets RIS and DECSTR.

use super::charset::Charsets;
use super::modes::{CursorShape, Mode, Modes, MouseEncoding, MouseTracking};
use super::palette::Palette;
use super::perform::Performer;
use super::{SavedCursor, Screen, default_tabs};
use crate::style::Style;

impl Performer<'_, '_> {
    /// RIS: restores the initial state, except for ticks, line numbers and the scrollback, which running waits depend
    /// on.
    pub(super) fn reset(&mut self) {
        let all = self.screen.whole_area();
        self.before_loss(&all);
        let s = &mut *self.screen;
        s.is_alternate = false;
        s.alternate = None;
        s.soft_reset();
        s.modes = Modes::default();
        s.saved_modes.clear();
        s.saved = [SavedCursor::default(); 2];
        s.tabs = default_tabs(s.cols);
        s.cursor_shape = CursorShape::default();
        s.mouse_tracking = MouseTracking::default();
        s.mouse_encoding = MouseEncoding::default();
        s.reset_keyboard();
        s.eight_bit = false;
        s.rectangular_attrs = false;
        s.title.clear();
        s.title_stack.clear();
        s.palette = Palette::default();
        s.move_to(0, 0);
        self.erase(&all, false);
    }
}

impl Screen {
    /// DECSTR.
    pub(super) fn soft_reset(&mut self) {
        for mode in [Mode::Insert, Mode::Origin, Mode::CursorKeys, Mode::ApplicationKeypad] {
            self.modes.set(mode, false);
        }
        for mode in [Mode::ReverseWrap, Mode::LeftRightMargins, Mode::KeyboardLocked] {
            self.modes.set(mode, false);
        }
        self.modes.set(Mode::AutoWrap, true);
        self.modes.set(Mode::CursorVisible, true);
        self.reset_margins();
        self.charsets = Charsets::default();
        self.set_pen(Style::default());
        self.pen.protected = false;
        self.saved[self.screen_index()] = SavedCursor::default();
        self.position.pending_wrap = false;
    }
}
