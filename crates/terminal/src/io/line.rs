//! A model of the kernel's line discipline: which bytes end a line, erase it, send a signal, and stop or resume the
//! output. It follows `n_tty.c` of Linux 6 and does no I/O.

use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, SpecialCodes, Termios};

/// The line discipline of a terminal: its modes and control characters.
#[derive(Clone, Copy, Debug)]
pub struct Discipline {
    input: InputModes,
    local: LocalModes,
    codes: Codes,
}

/// The control characters of a terminal. A disabled one is 0.
#[derive(Clone, Copy, Debug, Default)]
struct Codes {
    start: u8,
    stop: u8,
    signals: [u8; 3],
    kill: u8,
    erase: u8,
    word_erase: u8,
    reprint: u8,
    literal: u8,
    ends: [u8; 3],
}

/// The state of the line discipline after the input so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Typed {
    /// Bytes of the unfinished line. The count may be too high: an erased word is still counted, and of an erased
    /// multi-byte character only one byte is subtracted.
    pub line: usize,
    /// The next byte is literal (VLNEXT).
    is_literal: bool,
    /// Flow control (VSTOP) has stopped the output.
    is_stopped: bool,
}

impl Default for Discipline {
    /// Returns the line discipline of a terminal with unknown modes: it passes all bytes on unchanged.
    fn default() -> Discipline {
        let (input, local) = (InputModes::empty(), LocalModes::empty());
        Discipline { input, local, codes: Codes::default() }
    }
}

impl From<&Termios> for Discipline {
    fn from(termios: &Termios) -> Discipline {
        use SpecialCodeIndex as At;
        let codes: &SpecialCodes = &termios.special_codes;
        let codes = Codes {
            start: codes[At::VSTART],
            stop: codes[At::VSTOP],
            signals: [codes[At::VINTR], codes[At::VQUIT], codes[At::VSUSP]],
            kill: codes[At::VKILL],
            erase: codes[At::VERASE],
            word_erase: codes[At::VWERASE],
            reprint: codes[At::VREPRINT],
            literal: codes[At::VLNEXT],
            ends: [codes[At::VEOF], codes[At::VEOL], codes[At::VEOL2]],
        };
        Discipline { input: termios.input_modes, local: termios.local_modes, codes }
    }
}

impl Discipline {
    /// Returns the state after more input, and the length of the longest line on the way, in bytes.
    pub fn take(&self, mut typed: Typed, bytes: &[u8]) -> (Typed, usize) {
        let mut longest = 0;
        for &byte in bytes {
            self.take_byte(&mut typed, byte);
            longest = longest.max(typed.line);
        }
        (typed, longest)
    }

    /// Returns whether the line discipline handles a key itself, by a signal or by flow control. The program does not
    /// read such a key.
    pub fn is_control(&self, key: &[u8]) -> bool {
        let &[byte] = key else { return false };
        let is = |code: u8| code != 0 && code == byte;
        let has_flow = self.input.contains(InputModes::IXON);
        self.local.contains(LocalModes::ISIG) && self.codes.signals.into_iter().any(is)
            || has_flow && (is(self.codes.start) || is(self.codes.stop))
    }

    /// Returns whether flow control has stopped the output. The kernel resumes the output when a program resets IXON.
    pub fn is_stopped(&self, typed: Typed) -> bool {
        typed.is_stopped && self.input.contains(InputModes::IXON)
    }

    fn take_byte(&self, typed: &mut Typed, byte: u8) {
        let (reads_lines, has_flow) =
            (self.local.contains(LocalModes::ICANON), self.input.contains(InputModes::IXON));
        let is = |code: u8| code != 0 && code == byte;
        if !reads_lines {
            *typed = Typed { line: 0, is_literal: false, ..*typed };
        }
        if std::mem::take(&mut typed.is_literal) {
            typed.line += 1;
        } else if has_flow && (is(self.codes.start) || is(self.codes.stop)) {
            typed.is_stopped = is(self.codes.stop);
        } else if self.local.contains(LocalModes::ISIG) && self.codes.signals.into_iter().any(is) {
            if !self.local.contains(LocalModes::NOFLSH) {
                typed.line = 0;
            }
            typed.is_stopped &= !has_flow;
        } else {
            typed.is_stopped &= !(has_flow && self.input.contains(InputModes::IXANY));
            if reads_lines {
                self.take_into_line(typed, byte);
            }
        }
    }

    fn take_into_line(&self, typed: &mut Typed, byte: u8) {
        let byte = match byte {
            b'\r' if self.input.contains(InputModes::IGNCR) => return,
            b'\r' if self.input.contains(InputModes::ICRNL) => b'\n',
            b'\n' if self.input.contains(InputModes::INLCR) => b'\r',
            byte => byte,
        };
        let is = |code: u8| code != 0 && code == byte;
        let has_more = self.local.contains(LocalModes::IEXTEN);
        let codes = &self.codes;
        if byte == b'\n' || codes.ends.into_iter().any(is) || is(codes.kill) {
            typed.line = 0;
        } else if is(codes.erase) {
            typed.line = typed.line.saturating_sub(1);
        } else if has_more && is(codes.literal) {
            typed.is_literal = true;
        } else if !(has_more && (is(codes.word_erase) || is(codes.reprint))) {
            typed.line += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the line discipline of a new terminal.
    fn usual() -> Discipline {
        Discipline {
            input: InputModes::ICRNL | InputModes::IXON,
            local: LocalModes::ICANON | LocalModes::ISIG | LocalModes::IEXTEN,
            codes: Codes {
                start: 0x11,
                stop: 0x13,
                signals: [0x03, 0x1c, 0x1a],
                kill: 0x15,
                erase: 0x7f,
                word_erase: 0x17,
                reprint: 0x12,
                literal: 0x16,
                ends: [0x04, 0, 0],
            },
        }
    }

    #[test]
    fn lines_grow_and_end() {
        let usual = usual();
        for (bytes, line, longest) in [
            ("abc", 3, 3),
            ("abc\rd", 1, 3),
            ("abc\nde", 2, 3),
            ("abc\x04", 0, 3),
            ("abc\x15d", 1, 3),
            ("abc\x7f", 2, 3),
            ("\x7fa", 1, 1),
            ("abc\x03d", 1, 3),
            ("ab\x16\rc", 4, 4),
            ("ab\x16\x03c", 4, 4),
            ("ab\x13\x11c", 3, 3),
            ("ab \x17", 3, 3),
            ("ab\0", 3, 3),
        ] {
            let (typed, most) = usual.take(Typed::default(), bytes.as_bytes());
            assert_eq!((typed.line, most), (line, longest), "{bytes:?}");
        }
        let (typed, _) = usual.take(Typed::default(), b"abc");
        assert_eq!(usual.take(typed, b"de\r").1, 5);
        // A program in raw mode reads each byte at once.
        let raw = Discipline { local: LocalModes::ISIG, ..usual };
        assert_eq!(raw.take(typed, b"defgh"), (Typed::default(), 0));
        // Without ICRNL, Enter does not end the line.
        let plain = Discipline { input: InputModes::empty(), ..usual };
        assert_eq!(plain.take(Typed::default(), b"ab\rc").1, 4);
    }

    #[test]
    fn flow_control_stops_and_resumes_output() {
        let usual = usual();
        let any = Discipline { input: usual.input | InputModes::IXANY, ..usual };
        let none = Discipline { input: InputModes::empty(), ..usual };
        let keys = Discipline { local: LocalModes::empty(), ..usual };
        for (discipline, bytes, is_stopped) in [
            (usual, "\x13", true),
            (usual, "\x13x\r", true),
            (usual, "\x13\x11", false),
            (usual, "\x11\x13", true),
            (usual, "\x13\x03", false),
            (usual, "\x16\x13", false),
            (any, "\x13x", false),
            (none, "\x13", false),
            (keys, "\x13x", true),
        ] {
            let (typed, _) = discipline.take(Typed::default(), bytes.as_bytes());
            assert_eq!(discipline.is_stopped(typed), is_stopped, "{bytes:?}");
        }
        // A program that resets IXON resumes the output.
        let (typed, _) = usual.take(Typed::default(), b"\x13");
        assert!(!none.is_stopped(typed));
    }
}
