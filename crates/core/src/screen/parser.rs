//! Splits bytes into actions: the state machine of DEC's and ECMA-48's escape sequences.
//!
//! It implements the grammar and must not know the meaning of sequences. [`Parser::next`] takes one action at a time
//! off the front of the input, so the caller can examine the screen between any two. Every buffer is bounded. The
//! boundaries between inputs make no difference: an incomplete character or sequence at the end of an input is kept
//! until the rest arrives.
//!
//! ```text
//!            ┌── printable ──► Ascii / Text / Char
//!  Ground ───┤── C0 ─────────► Control
//!            └── ESC ► Escape ─┬─ final ───────────────────────────────► Escape
//!                              ├─ [ ► Csi params, intermediates, final ► Csi
//!                              ├─ P ► Dcs params … final ► data ─ ST ──► Dcs
//!                              ├─ ] ► data ─ BEL or ST ────────────────► Osc
//!                              └─ X ^ _ ► swallowed up to ST
//!  CAN and SUB abandon any open sequence; ESC abandons it and starts another.
//! ```

use super::sequence::Sequence;

/// The maximum length of an OSC or DCS string in bytes. A longer string is discarded up to its end, which bounds the
/// memory for a string that never ends. 1 MiB has room for a copy with OSC 52.
pub(crate) const STRING_MAX: usize = 1 << 20;

/// The number of bytes of text examined at a time. Without this limit, each invalid byte in a long run would cost a
/// scan of the whole run.
const TEXT_WINDOW: usize = 256;

/// A string buffer with a larger capacity is freed after use.
const STRING_CAPACITY_MAX: usize = 4096;

/// The next part of the input.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<'b> {
    /// A run of printable ASCII.
    Ascii(&'b [u8]),
    /// A run of printable text with at least one non-ASCII character and no control.
    Text(&'b str),
    /// A single character: one that was split between two inputs, or a replacement character.
    Char(char),
    /// A C0 control.
    Control(u8),
    /// An escape sequence, stored in [`Parser::sequence`].
    Escape,
    /// A control sequence, stored in [`Parser::sequence`].
    Csi,
    /// An operating system command, stored in [`Parser::string`].
    Osc,
    /// A device control string: its head is in [`Parser::sequence`], its data in [`Parser::string`].
    Dcs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ParserState {
    #[default]
    Ground,
    Escape,
    Csi,
    Dcs,
    /// Inside a string.
    String(StringKind),
    /// Inside a string, after an ESC that may start its terminator.
    StringEscape(StringKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringKind {
    Osc,
    Dcs,
    /// SOS, PM and APC (including kitty graphics): discarded.
    Ignored,
}

/// The state machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parser {
    state: ParserState,
    sequence: Sequence,
    string: Vec<u8>,
    string_overflow: bool,
    /// The last byte of the string, even if the string is discarded.
    string_last: u8,
    /// BEL ended the string. Then BEL also ends the reply.
    string_bel: bool,
    /// The start of a multi-byte character whose rest has not arrived.
    partial: [u8; 4],
    partial_len: usize,
}

impl Parser {
    /// Returns the head of the last sequence.
    pub(crate) fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// Returns the data of the last string.
    pub(crate) fn string(&self) -> &[u8] {
        &self.string
    }

    /// Returns whether BEL ended the last string.
    pub(crate) fn is_string_bel(&self) -> bool {
        self.string_bel
    }

    /// Returns whether the input so far ends inside a sequence or a character.
    pub(crate) fn is_mid_sequence(&self) -> bool {
        self.state != ParserState::Ground || self.partial_len > 0
    }

    /// Takes the next action off the front of `input`. Returns `None` when the input is consumed.
    pub(crate) fn next<'b>(&mut self, input: &mut &'b [u8]) -> Option<Action<'b>> {
        while !input.is_empty() {
            let action = match self.state {
                ParserState::Ground => self.ground(input),
                // Not part of any sequence: the escape is abandoned and the text is printed.
                ParserState::Escape if input[0] >= 0x80 => {
                    self.state = ParserState::Ground;
                    None
                }
                ParserState::Escape => self.escape(take_byte(input)),
                ParserState::Csi => self.csi(input),
                ParserState::Dcs => self.dcs(take_byte(input)),
                ParserState::String(kind) => self.string_data(kind, input),
                ParserState::StringEscape(kind) => self.string_escape(kind, input),
            };
            if action.is_some() {
                return action;
            }
        }
        None
    }

    fn ground<'b>(&mut self, input: &mut &'b [u8]) -> Option<Action<'b>> {
        if self.partial_len > 0 {
            return self.complete_char(input);
        }
        let window = &input[..input.len().min(TEXT_WINDOW)];
        let run = printable_prefix(window);
        if run == 0 {
            return self.control(take_byte(input));
        }
        let (text, rest) = input.split_at(run);
        if text.is_ascii() {
            *input = rest;
            return Some(Action::Ascii(text));
        }
        let (valid, invalid) = match std::str::from_utf8(text) {
            Ok(all) => (all, None),
            Err(error) => {
                let (valid, _) = text.split_at(error.valid_up_to());
                // `from_utf8` has just validated this prefix.
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
            }
        };
        // In UTF-8, C1 controls are characters. They end the run and act like their ESC forms.
        if let Some(at) = c1_position(valid) {
            if at > 0 {
                *input = &input[at..];
                return Some(text_action(&valid[..at]));
            }
            let byte = input[1];
            *input = &input[2..];
            return self.c1(byte);
        }
        *input = &input[valid.len()..];
        if !valid.is_empty() {
            return Some(text_action(valid));
        }
        match invalid {
            Some(Some(len)) => {
                *input = &input[len..];
                Some(Action::Char(char::REPLACEMENT_CHARACTER))
            }
            // The character is cut off by the end of the run, so the run is shorter than the window. At the end of the
            // input the rest may still arrive; before a control it cannot.
            _ if rest.is_empty() => {
                self.partial_len = input.len().min(self.partial.len());
                self.partial[..self.partial_len].copy_from_slice(&input[..self.partial_len]);
                *input = &[];
                None
            }
            _ => {
                *input = rest;
                Some(Action::Char(char::REPLACEMENT_CHARACTER))
            }
        }
    }

    /// Completes the character that the last input ended in.
    fn complete_char<'b>(&mut self, input: &mut &'b [u8]) -> Option<Action<'b>> {
        let (&byte, rest) = input.split_first()?;
        let mut bytes = self.partial;
        bytes[self.partial_len] = byte;
        let len = self.partial_len + 1;
        match std::str::from_utf8(&bytes[..len]) {
            Ok(text) => {
                *input = rest;
                self.partial_len = 0;
                match text.chars().next() {
                    Some(c @ '\u{80}'..='\u{9f}') => self.c1(c as u32 as u8),
                    c => c.map(Action::Char),
                }
            }
            Err(error) if error.error_len().is_none() => {
                *input = rest;
                self.partial = bytes;
                self.partial_len = len;
                None
            }
            // This byte cannot continue the character, so it starts the next one.
            Err(_) => {
                self.partial_len = 0;
                Some(Action::Char(char::REPLACEMENT_CHARACTER))
            }
        }
    }

    /// Handles a control in the ground state, where DEL is ignored.
    fn control<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x1b => {
                self.begin(ParserState::Escape);
                None
            }
            0x7f => None,
            _ => Some(Action::Control(byte)),
        }
    }

    /// Handles a C1 control, which is short for ESC and the byte 0x40 below it.
    fn c1<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        self.begin(ParserState::Escape);
        self.escape(byte - 0x40)
    }

    fn begin(&mut self, state: ParserState) {
        self.sequence.clear();
        self.state = state;
    }

    /// Handles a control inside a sequence: it is executed at once or ends the sequence.
    fn embedded_control<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x18 | 0x1a => {
                self.state = ParserState::Ground;
                Some(Action::Control(byte))
            }
            0x1b => {
                self.begin(ParserState::Escape);
                None
            }
            _ => Some(Action::Control(byte)),
        }
    }

    fn escape<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x00..=0x1f => return self.embedded_control(byte),
            0x20..=0x2f => {
                self.sequence.intermediate(byte);
                self.state = ParserState::Escape;
                return None;
            }
            b'[' if self.sequence.intermediates().is_empty() => self.begin(ParserState::Csi),
            b'P' if self.sequence.intermediates().is_empty() => self.begin(ParserState::Dcs),
            b']' if self.sequence.intermediates().is_empty() => self.begin_string(StringKind::Osc),
            b'X' | b'^' | b'_' if self.sequence.intermediates().is_empty() => {
                self.begin_string(StringKind::Ignored);
            }
            0x30..=0x7e => {
                self.state = ParserState::Ground;
                self.sequence.final_byte = byte;
                return (!self.sequence.is_malformed()).then_some(Action::Escape);
            }
            0x7f..=0xff => {}
        }
        None
    }

    fn begin_string(&mut self, kind: StringKind) {
        if self.string.capacity() > STRING_CAPACITY_MAX {
            self.string = Vec::new();
        }
        self.string.clear();
        self.string_overflow = false;
        self.string_last = 0;
        self.string_bel = false;
        self.state = ParserState::String(kind);
    }

    fn csi<'b>(&mut self, input: &mut &'b [u8]) -> Option<Action<'b>> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            match byte {
                0x20..=0x3f => self.sequence.param(byte),
                0x40..=0x7e => {
                    self.state = ParserState::Ground;
                    self.sequence.final_byte = byte;
                    return (!self.sequence.is_malformed()).then_some(Action::Csi);
                }
                0x00..=0x1f => {
                    let action = self.embedded_control(byte);
                    if action.is_some() || self.state != ParserState::Csi {
                        return action;
                    }
                }
                0x7f => {}
                0x80..=0xff => self.sequence.mark_malformed(),
            }
        }
        None
    }

    fn dcs<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x40..=0x7e => {
                self.sequence.final_byte = byte;
                let kind = if self.sequence.is_malformed() {
                    StringKind::Ignored
                } else {
                    StringKind::Dcs
                };
                self.begin_string(kind);
                None
            }
            0x18 | 0x1a | 0x1b => self.embedded_control(byte),
            0x00..=0x1f | 0x7f => None,
            0x80..=0xff => {
                self.sequence.mark_malformed();
                None
            }
            0x20..=0x3f => {
                self.sequence.param(byte);
                None
            }
        }
    }

    fn string_data<'b>(&mut self, kind: StringKind, input: &mut &'b [u8]) -> Option<Action<'b>> {
        let end = input.iter().position(|&b| matches!(b, 0x07 | 0x18 | 0x1a | 0x1b | 0x9c));
        let (data, rest) = input.split_at(end.unwrap_or(input.len()));
        self.push_string(kind, data);
        *input = rest;
        let &byte = rest.first()?;
        *input = &rest[1..];
        match byte {
            0x07 if kind == StringKind::Osc => {
                self.string_bel = true;
                return self.end_string(kind);
            }
            0x18 | 0x1a => self.state = ParserState::Ground,
            0x1b => self.state = ParserState::StringEscape(kind),
            // In UTF-8 the C1 terminator is C2 9C. A lone 9C is part of another character.
            0x9c if self.string_last == 0xc2 => {
                self.string.pop();
                return self.end_string(kind);
            }
            _ => self.push_string(kind, &[byte]),
        }
        None
    }

    fn push_string(&mut self, kind: StringKind, data: &[u8]) {
        self.string_last = data.last().copied().unwrap_or(self.string_last);
        if kind == StringKind::Ignored || self.string_overflow {
            return;
        }
        if self.string.len() + data.len() > STRING_MAX {
            self.string_overflow = true;
            self.string = Vec::new();
            return;
        }
        self.string.extend_from_slice(data);
    }

    fn string_escape<'b>(&mut self, kind: StringKind, input: &mut &'b [u8]) -> Option<Action<'b>> {
        if input.first() == Some(&b'\\') {
            *input = &input[1..];
            return self.end_string(kind);
        }
        // The string is abandoned, and its ESC starts another sequence.
        self.begin(ParserState::Escape);
        None
    }

    fn end_string<'b>(&mut self, kind: StringKind) -> Option<Action<'b>> {
        self.state = ParserState::Ground;
        if self.string_overflow {
            return None;
        }
        match kind {
            StringKind::Osc => Some(Action::Osc),
            StringKind::Dcs => Some(Action::Dcs),
            StringKind::Ignored => None,
        }
    }
}

fn take_byte(input: &mut &[u8]) -> u8 {
    let byte = input[0];
    *input = &input[1..];
    byte
}

/// Returns the length of the prefix without C0 controls and DEL.
fn printable_prefix(input: &[u8]) -> usize {
    // Eight bytes at a time: runs are short in coloured output and long in plain output.
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let mut at = 0;
    for chunk in input.chunks_exact(8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        // Sets the high bit of each byte that is less than 0x20 or equal to 0x7f. A borrow can set further bits, but
        // only above the first correct one.
        let controls = word.wrapping_sub(ONES * 0x20) & !word & HIGHS;
        let dels = (word ^ (ONES * 0x7f)).wrapping_sub(ONES) & !(word ^ (ONES * 0x7f)) & HIGHS;
        let found = controls | dels;
        if found != 0 {
            return at + found.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = input[at..].iter().position(|&byte| byte < 0x20 || byte == 0x7f);
    rest.map_or(input.len(), |rest| at + rest)
}

fn text_action(text: &str) -> Action<'_> {
    if text.is_ascii() { Action::Ascii(text.as_bytes()) } else { Action::Text(text) }
}

/// Returns the position of the first C1 control in `text`.
fn c1_position(text: &str) -> Option<usize> {
    // C1 controls are encoded as C2 and a byte from 80 to 9F. Most text contains no C2.
    let bytes = text.as_bytes();
    let mut from = 0;
    while let Some(at) = bytes[from..].iter().position(|&b| b == 0xc2) {
        let at = from + at;
        if bytes[at + 1] < 0xa0 {
            return Some(at);
        }
        from = at + 2;
    }
    None
}
