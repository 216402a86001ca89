//! The modes that a program can set, reset, query, save and restore, with their numbers.

/// A mode that is either set or reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Mode {
    /// IRM: text is inserted instead of overwriting.
    Insert,
    /// LNM: a line feed includes a carriage return.
    LineFeedNewLine,
    /// KAM: the keyboard is locked. Stored without effect.
    KeyboardLocked,
    /// SRM: the terminal does not echo input. Stored without effect.
    SendReceive,
    /// DECCKM: cursor keys send application sequences.
    CursorKeys,
    /// DECCOLM: 132 columns. Only its side effects happen, because the caller controls the size.
    Columns,
    /// DECSCNM: the whole screen is inverted.
    ReverseScreen,
    /// DECOM: addresses are relative to the margins.
    Origin,
    /// DECAWM: text wraps at the end of the row.
    AutoWrap,
    /// DECARM: keys repeat. Stored without effect.
    AutoRepeat,
    /// The cursor blinks.
    CursorBlink,
    /// DECTCEM: the cursor is visible.
    CursorVisible,
    /// DECCOLM is allowed.
    AllowColumns,
    /// Backspace wraps to the row above if that row was wrapped.
    ReverseWrap,
    /// Backspace wraps to the row above even if that row was not wrapped.
    ReverseWrapExtended,
    /// DECNKM: the keypad sends application sequences.
    ApplicationKeypad,
    /// DECBKM: the backspace key sends BS.
    BackspaceSendsBs,
    /// DECLRMM: left and right margins are enabled.
    LeftRightMargins,
    /// DECNCSM: DECCOLM does not clear the screen.
    ColumnsKeepScreen,
    /// Focus changes are reported.
    Focus,
    /// The wheel sends cursor keys on the alternate screen.
    AlternateScroll,
    /// The meta key sends an ESC prefix.
    MetaSendsEscape,
    /// Pastes are bracketed.
    BracketedPaste,
    /// A synchronized update is in progress: the screen must not be shown before it ends.
    SynchronizedUpdate,
    /// Cells hold grapheme clusters.
    GraphemeClusters,
    /// The program requests notifications of colour scheme changes.
    ThemeUpdates,
    /// The program requests in-band size reports.
    InBandResize,
}

impl Mode {
    const DEC: [(u16, Mode); 23] = [
        (1, Mode::CursorKeys),
        (3, Mode::Columns),
        (5, Mode::ReverseScreen),
        (6, Mode::Origin),
        (7, Mode::AutoWrap),
        (8, Mode::AutoRepeat),
        (12, Mode::CursorBlink),
        (25, Mode::CursorVisible),
        (40, Mode::AllowColumns),
        (45, Mode::ReverseWrap),
        (66, Mode::ApplicationKeypad),
        (67, Mode::BackspaceSendsBs),
        (69, Mode::LeftRightMargins),
        (95, Mode::ColumnsKeepScreen),
        (1004, Mode::Focus),
        (1007, Mode::AlternateScroll),
        (1036, Mode::MetaSendsEscape),
        (1045, Mode::ReverseWrapExtended),
        (2004, Mode::BracketedPaste),
        (2026, Mode::SynchronizedUpdate),
        (2027, Mode::GraphemeClusters),
        (2031, Mode::ThemeUpdates),
        (2048, Mode::InBandResize),
    ];
    const ANSI: [(u16, Mode); 4] = [
        (2, Mode::KeyboardLocked),
        (4, Mode::Insert),
        (12, Mode::SendReceive),
        (20, Mode::LineFeedNewLine),
    ];

    /// Returns the private mode with that number.
    pub(crate) fn dec(number: u16) -> Option<Mode> {
        Self::DEC.iter().find(|(n, _)| *n == number).map(|&(_, mode)| mode)
    }

    /// Returns the ANSI mode with that number.
    pub(crate) fn ansi(number: u16) -> Option<Mode> {
        Self::ANSI.iter().find(|(n, _)| *n == number).map(|&(_, mode)| mode)
    }

    /// Returns all private modes with their numbers.
    pub(crate) fn all_dec() -> impl Iterator<Item = (u16, Mode)> {
        Self::DEC.into_iter()
    }

    /// Returns all ANSI modes with their numbers.
    pub(crate) fn all_ansi() -> impl Iterator<Item = (u16, Mode)> {
        Self::ANSI.into_iter()
    }
}

/// A set of modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes(u32);

impl Default for Modes {
    fn default() -> Modes {
        let mut modes = Modes(0);
        for mode in [
            Mode::AutoWrap,
            Mode::AutoRepeat,
            Mode::CursorVisible,
            Mode::SendReceive,
            Mode::AlternateScroll,
            Mode::MetaSendsEscape,
        ] {
            modes.set(mode, true);
        }
        modes
    }
}

impl Modes {
    pub(crate) fn has(self, mode: Mode) -> bool {
        self.0 >> mode as u8 & 1 == 1
    }

    pub(crate) fn set(&mut self, mode: Mode, on: bool) {
        self.0 = self.0 & !(1 << mode as u8) | u32::from(on) << mode as u8;
    }
}

/// The mouse events that the program requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseTracking {
    /// None.
    #[default]
    Off,
    /// Presses only (mode 9).
    Press,
    /// Presses and releases (mode 1000).
    Buttons,
    /// Presses, releases, and motion while a button is held (mode 1002).
    Drag,
    /// Presses, releases, and all motion (mode 1003).
    Motion,
}

impl MouseTracking {
    const NUMBERS: [(u16, MouseTracking); 4] = [
        (9, MouseTracking::Press),
        (1000, MouseTracking::Buttons),
        (1002, MouseTracking::Drag),
        (1003, MouseTracking::Motion),
    ];

    pub(crate) fn from_number(number: u16) -> Option<MouseTracking> {
        Self::NUMBERS.iter().find(|(n, _)| *n == number).map(|&(_, tracking)| tracking)
    }

    pub(crate) fn number(self) -> Option<u16> {
        Self::NUMBERS.iter().find(|(_, t)| *t == self).map(|&(n, _)| n)
    }
}

/// The encoding of mouse events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseEncoding {
    /// Three bytes, up to column 223.
    #[default]
    Bytes,
    /// Three UTF-8 characters (mode 1005).
    Utf8,
    /// Decimal numbers, with different final bytes for press and release (mode 1006).
    Sgr,
    /// Decimal numbers, as in urxvt (mode 1015).
    Urxvt,
}

impl MouseEncoding {
    /// Mode 1016 is missing because it counts in pixels, which a terminal without a window does not have. Programs that
    /// query it get the reply that it is unknown, and use mode 1006.
    const NUMBERS: [(u16, MouseEncoding); 3] =
        [(1005, MouseEncoding::Utf8), (1006, MouseEncoding::Sgr), (1015, MouseEncoding::Urxvt)];

    pub(crate) fn from_number(number: u16) -> Option<MouseEncoding> {
        Self::NUMBERS.iter().find(|(n, _)| *n == number).map(|&(_, encoding)| encoding)
    }

    pub(crate) fn number(self) -> Option<u16> {
        Self::NUMBERS.iter().find(|(_, e)| *e == self).map(|&(n, _)| n)
    }
}

/// The shape of the cursor, as set by DECSCUSR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum CursorShape {
    /// A block over the cell.
    #[default]
    Block,
    /// A line under the cell.
    Underline,
    /// A line left of the cell.
    Bar,
}
