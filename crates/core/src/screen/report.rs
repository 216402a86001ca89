//! Replies to queries. Each reply is created when its query is executed, so that a cursor report reflects exactly the
//! bytes before it.
//!
//! A reply is sent to the program's input, where a shell may read it as typed text. Therefore no reply contains text
//! from the program: numbers are formatted here, names come from our own tables, and titles, the clipboard and an
//! answerback are never reported. A checksum of the screen (DECRQCRA) lets a program read text that another program
//! printed, so it is reported only if the embedder enables it.

use super::modes::{CursorShape, Mode};
use super::palette::Rgb;
use super::sequence::Sequence;
use super::{REPLIES_MAX, Screen};
use crate::style::{Attrs, Color, Style, Underline};

/// The reported size of a cell in pixels.
const CELL_PIXELS: (usize, usize) = (8, 16);

/// The maximum number of names in one XTGETTCAP. Programs ask for one to five.
const TERMCAP_NAMES_MAX: usize = 64;

/// The terminfo names that XTGETTCAP can query, with their values.
const TERMCAP: [(&str, &str); 12] = [
    ("TN", "xterm-256color"),
    ("name", "xterm-256color"),
    ("Co", "256"),
    ("colors", "256"),
    ("RGB", "8/8/8"),
    ("Tc", ""),
    ("Su", ""),
    ("bce", ""),
    ("Ms", ""),
    ("Smulx", "\x1b[4:%p1%dm"),
    ("Setulc", "\x1b[58:2::%p1%{65536}%/%d:%p1%{256}%/%{255}%&%d:%p1%{255}%&%dm"),
    ("Ss", "\x1b[%p1%d q"),
];

impl Screen {
    /// Queues a reply. Drops it if there is no room for all of it.
    fn reply(&mut self, text: &str) {
        if self.replies.len() + text.len() > REPLIES_MAX {
            return;
        }
        if !self.eight_bit {
            self.replies.extend_from_slice(text.as_bytes());
            return;
        }
        let mut bytes = text.bytes().peekable();
        while let Some(byte) = bytes.next() {
            match bytes.peek() {
                Some(&next @ 0x40..=0x5f) if byte == 0x1b => {
                    self.replies.push(next + 0x40);
                    bytes.next();
                }
                _ => self.replies.push(byte),
            }
        }
    }

    /// DA1: a VT420 with selective erase, horizontal scrolling, colour and rectangles.
    pub(super) fn report_device_attributes(&mut self) {
        self.reply("\x1b[?64;6;21;22;28c");
    }

    /// DA2: the reply of xterm, whose sequences are supported.
    pub(super) fn report_secondary_attributes(&mut self) {
        self.reply("\x1b[>41;390;0c");
    }

    /// DA3.
    pub(super) fn report_tertiary_attributes(&mut self) {
        self.reply("\x1bP!|00000000\x1b\\");
    }

    /// XTVERSION.
    pub(super) fn report_version(&mut self) {
        self.reply(concat!("\x1bP>|awaitty(", env!("CARGO_PKG_VERSION"), ")\x1b\\"));
    }

    /// DSR.
    pub(super) fn report_status(&mut self, which: u16) {
        match which {
            5 => self.reply("\x1b[0n"),
            6 => {
                let (row, col) = self.address();
                self.reply(&format!("\x1b[{};{}R", row + 1, col + 1));
            }
            _ => self.count_unknown(format!("CSI {which} n")),
        }
    }

    /// DSR, private.
    pub(super) fn report_private_status(&mut self, which: u16) {
        match which {
            6 => {
                let (row, col) = self.address();
                self.reply(&format!("\x1b[?{};{}R", row + 1, col + 1));
            }
            // No printer, no user-defined keys, a keyboard, no locator, no macros, no sessions.
            15 => self.reply("\x1b[?13n"),
            25 => self.reply("\x1b[?21n"),
            26 => self.reply("\x1b[?27;1;0;0n"),
            53 | 55 => self.reply("\x1b[?50n"),
            56 => self.reply("\x1b[?57;0n"),
            62 => self.reply("\x1b[0*{"),
            75 => self.reply("\x1b[?70n"),
            85 => self.reply("\x1b[?83n"),
            // A dark colour scheme.
            996 => self.reply("\x1b[?997;1n"),
            _ => self.count_unknown(format!("CSI ?{which} n")),
        }
    }

    /// DECREQTPARM.
    pub(super) fn report_parameters(&mut self, which: u16) {
        if which < 2 {
            self.reply(&format!("\x1b[{};1;1;128;128;1;0x", which + 2));
        }
    }

    /// DECRQM of an ANSI mode.
    pub(super) fn report_ansi_mode(&mut self, number: u16) {
        let state = Mode::ansi(number).map_or(0, |mode| if self.modes.has(mode) { 1 } else { 2 });
        self.reply(&format!("\x1b[{number};{state}$y"));
    }

    /// DECRQM of a private mode.
    pub(super) fn report_private_mode(&mut self, number: u16) {
        let state = self.private_mode(number).map_or(0, |on| if on { 1 } else { 2 });
        self.reply(&format!("\x1b[?{number};{state}$y"));
    }

    /// Reports kitty's keyboard flags.
    pub(super) fn report_keyboard_flags(&mut self) {
        let flags = self.keyboard_flags();
        self.reply(&format!("\x1b[?{flags}u"));
    }

    /// XTQMODKEYS.
    pub(super) fn report_modify_other_keys(&mut self) {
        let level = self.modify_other_keys;
        self.reply(&format!("\x1b[>4;{level}m"));
    }

    /// XTWINOPS: reports sizes. The title is never reported.
    pub(super) fn report_window(&mut self, operation: u16) {
        let (cols, rows) = (self.cols, self.rows);
        let (width, height) = CELL_PIXELS;
        match operation {
            11 => self.reply("\x1b[1t"),
            13 => self.reply("\x1b[3;0;0t"),
            14 => self.reply(&format!("\x1b[4;{};{}t", rows * height, cols * width)),
            15 => self.reply(&format!("\x1b[5;{};{}t", rows * height, cols * width)),
            16 => self.reply(&format!("\x1b[6;{height};{width}t")),
            18 => self.reply(&format!("\x1b[8;{rows};{cols}t")),
            19 => self.reply(&format!("\x1b[9;{rows};{cols}t")),
            _ => {}
        }
    }

    /// Reports the size to a program that set mode 2048.
    pub(super) fn report_in_band_size(&mut self) {
        let (cols, rows) = (self.cols, self.rows);
        let (width, height) = CELL_PIXELS;
        self.reply(&format!("\x1b[48;{rows};{cols};{};{}t", rows * height, cols * width));
    }

    /// Answers a colour query of OSC 4, 10, 11 or 12.
    pub(super) fn report_color(&mut self, which: &str, (r, g, b): Rgb, bel: bool) {
        let end = if bel { "\x07" } else { "\x1b\\" };
        self.reply(&format!("\x1b]{which};rgb:{r:02x}{r:02x}/{g:02x}{g:02x}/{b:02x}{b:02x}{end}"));
    }

    /// Enables replies to DECRQCRA, which are disabled by default. The checksum of one cell reveals its character, so a
    /// reply lets a program read what another program printed on the same screen.
    pub fn set_answers_checksums(&mut self, answers: bool) {
        self.answers_checksums = answers;
    }

    /// DECRQCRA, if enabled.
    pub(super) fn report_checksum(&mut self, sequence: &Sequence) {
        let checksum = self.rectangle(sequence, 2).map_or(0, |area| self.checksum(&area));
        let id = sequence.value(0);
        self.reply(&format!("\x1bP{id}!~{checksum:04X}\x1b\\"));
    }

    /// DCS: DECRQSS and XTGETTCAP. Images, user-defined keys and all others are discarded.
    pub(super) fn dcs(&mut self, sequence: &Sequence, data: &[u8]) {
        match (sequence.private_marker, sequence.intermediates(), sequence.final_byte) {
            (0, [b'$'], b'q') => self.report_setting(data),
            (0, [b'+'], b'q') => self.report_termcap(data),
            (0, [], b'q') => {}
            (_, intermediates, last) => {
                let name = [b"DCS " as &[u8], intermediates, &[last]].concat();
                self.count_unknown(String::from_utf8_lossy(&name).into_owned());
            }
        }
    }

    /// DECRQSS.
    fn report_setting(&mut self, which: &[u8]) {
        let rows = &self.margins.rows;
        let cols = &self.margins.cols;
        let setting = match which {
            b"m" => format!("{}m", sgr_text(&self.pen.style)),
            b"r" => format!("{};{}r", rows.start + 1, rows.end),
            b"s" => format!("{};{}s", cols.start + 1, cols.end),
            b" q" => format!("{} q", self.cursor_style()),
            b"\"q" => format!("{}\"q", if self.pen.protected { 1 } else { 0 }),
            b"\"p" => format!("64;{}\"p", if self.eight_bit { 0 } else { 1 }),
            b"t" => format!("{}t", self.rows),
            b"*|" => format!("{}*|", self.rows),
            b"$|" => format!("{}$|", self.cols),
            b"*x" => format!("{}*x", if self.rectangular_attrs { 2 } else { 1 }),
            _ => return self.reply("\x1bP0$r\x1b\\"),
        };
        self.reply(&format!("\x1bP1$r{setting}\x1b\\"));
    }

    /// Returns the DECSCUSR number of the cursor's shape.
    pub(super) fn cursor_style(&self) -> u8 {
        let steady = match self.cursor_shape {
            CursorShape::Block => 2,
            CursorShape::Underline => 4,
            CursorShape::Bar => 6,
        };
        steady - u8::from(self.modes.has(Mode::CursorBlink))
    }

    /// XTGETTCAP: names in hexadecimal, one reply each.
    fn report_termcap(&mut self, names: &[u8]) {
        let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02X}")).collect::<String>();
        for name in names.split(|&byte| byte == b';').take(TERMCAP_NAMES_MAX) {
            let known =
                TERMCAP.iter().find(|(known, _)| hex(known).as_bytes().eq_ignore_ascii_case(name));
            match known {
                Some((name, "")) => self.reply(&format!("\x1bP1+r{}\x1b\\", hex(name))),
                Some((name, value)) => {
                    self.reply(&format!("\x1bP1+r{}={}\x1b\\", hex(name), hex(value)));
                }
                None => self.reply("\x1bP0+r\x1b\\"),
            }
        }
    }
}

/// Returns the SGR parameters that set a style, starting with a reset.
pub(super) fn sgr_text(style: &Style) -> String {
    let mut params = vec!["0".to_owned()];
    let attrs = [
        (Attrs::BOLD, "1"),
        (Attrs::DIM, "2"),
        (Attrs::ITALIC, "3"),
        (Attrs::BLINK, "5"),
        (Attrs::INVERSE, "7"),
        (Attrs::CONCEALED, "8"),
        (Attrs::STRIKE, "9"),
        (Attrs::OVERLINE, "53"),
    ];
    params.extend(
        attrs.iter().filter(|(attr, _)| style.attrs.has(*attr)).map(|(_, n)| n.to_string()),
    );
    match style.underline {
        Underline::None => {}
        Underline::Single => params.push("4".to_owned()),
        underline @ (Underline::Double
        | Underline::Curly
        | Underline::Dotted
        | Underline::Dashed) => params.push(format!("4:{}", underline as u8)),
    }
    let colors = [(style.fg, 30), (style.bg, 40), (style.underline_color, 50)];
    params.extend(colors.iter().filter_map(|&(color, base)| color_text(color, base)));
    params.join(";")
}

fn color_text(color: Color, base: u8) -> Option<String> {
    let extended = base + 8;
    Some(match color {
        Color::Default => return None,
        // Underline colours have no short forms.
        Color::Indexed(n) if base == 50 || n >= 16 => format!("{extended}:5:{n}"),
        Color::Indexed(n @ 0..8) => (base + n).to_string(),
        Color::Indexed(n) => (base + 60 + n - 8).to_string(),
        Color::Rgb(r, g, b) => format!("{extended}:2::{r}:{g}:{b}"),
    })
}
