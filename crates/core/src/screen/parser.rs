//! Bytes into actions: the state machine of DEC's and ECMA-48's escape sequences.
//!
//! It knows the grammar and nothing of what a sequence means. It is pulled: [`Parser::next`] takes
//! one action off the front of the input, so whoever executes them may look at the screen between
//! any two. Every buffer is bounded, and how the input is cut into pieces makes no difference: an
//! incomplete character or sequence at the end of the input is kept until the rest arrives.
//!
//! ```text
//!            ┌── printable ──► Ascii / Text / Char
//!  Ground ───┤── C0 ─────────► Control
//!            └── ESC ► Escape ─┬─ final ───────────────────────────────► Escape
//!                              ├─ [ ► Csi params, intermediates, final ► Csi
//!                              ├─ P ► Dcs params … final ► data ─ ST ──► Dcs
//!                              ├─ ] ► data ─ BEL or ST ────────────────► Osc
//!                              └─ X ^ _ ► swallowed up to ST
//!  CAN and SUB abandon whatever is open; ESC abandons it and begins anew.
//! ```

use super::sequence::Sequence;

/// Bytes kept of an OSC or DCS string. A longer one is swallowed whole and not acted upon, so that
/// a program that never ends one cannot make us grow. 1 MiB lets an OSC 52 copy through.
pub(crate) const STRING_MAX: usize = 1 << 20;

/// Bytes of text that are looked at before some of them are used up. Without it, each invalid byte of
/// a long run would cost a look at all of the run.
const TEXT_WINDOW: usize = 256;

/// A string buffer larger than this is given back after use, so one long title costs nothing later.
const STRING_KEPT: usize = 4096;

/// What the next piece of input means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Action<'b> {
    /// A run of printable ASCII.
    Ascii(&'b [u8]),
    /// A run of printable text with at least one non-ASCII character and no control.
    Text(&'b str),
    /// A single character: one that was cut by the end of an input, or a replacement character.
    Char(char),
    /// A C0 control.
    Control(u8),
    /// An escape sequence, now in [`Parser::sequence`].
    Escape,
    /// A control sequence, now in [`Parser::sequence`].
    Csi,
    /// An operating system command, now in [`Parser::string`].
    Osc,
    /// A device control string: its head in [`Parser::sequence`], its data in [`Parser::string`].
    Dcs,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Ground,
    Escape,
    Csi,
    Dcs,
    /// Inside a string; the kind says what becomes of it.
    String(StringKind),
    /// Inside a string, after an ESC that may be half of a string terminator.
    StringEscape(StringKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum StringKind {
    Osc,
    Dcs,
    /// SOS, PM and APC (kitty graphics among them): swallowed.
    Ignored,
}

/// The state machine. See the module's text for its life cycle.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parser {
    state: State,
    sequence: Sequence,
    string: Vec<u8>,
    string_overflow: bool,
    /// The last byte of the string, also of one that is not kept.
    string_last: u8,
    /// The string was ended by BEL, as its answer then is too.
    string_bel: bool,
    /// The beginning of a multi-byte character whose rest has not arrived.
    partial: [u8; 4],
    partial_len: usize,
}

impl Parser {
    /// The head of the sequence that was just returned.
    pub(crate) fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// The data of the string that was just returned.
    pub(crate) fn string(&self) -> &[u8] {
        &self.string
    }

    /// Tells whether the string that was just returned was ended by BEL.
    pub(crate) fn is_string_bel(&self) -> bool {
        self.string_bel
    }

    /// Tells whether the input so far ends inside a sequence or a character.
    pub(crate) fn is_midway(&self) -> bool {
        self.state != State::Ground || self.partial_len > 0
    }

    /// Takes the next action off the front of `input`; `None` when the input is used up.
    pub(crate) fn next<'b>(&mut self, input: &mut &'b [u8]) -> Option<Action<'b>> {
        while !input.is_empty() {
            let action = match self.state {
                State::Ground => self.ground(input),
                // Not part of any sequence: the escape is abandoned, the text is not.
                State::Escape if input[0] >= 0x80 => {
                    self.state = State::Ground;
                    None
                }
                State::Escape => self.escape(take(input)),
                State::Csi => self.csi(input),
                State::Dcs => self.dcs(take(input)),
                State::String(kind) => self.string_data(kind, input),
                State::StringEscape(kind) => self.string_escape(kind, input),
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
            return self.control(take(input));
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
                // The standard library has just vouched for this prefix.
                (std::str::from_utf8(valid).unwrap_or_default(), Some(error.error_len()))
            }
        };
        // C1 controls come as characters in UTF-8; they end the run and act as their ESC forms.
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
            // Cut short by the end of the run, which is shorter than the window then. If that is the
            // end of the input the rest may come; if a control follows it never will.
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

    /// Adds input to the character that the last input ended in.
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
            // This byte cannot continue the character, so it is not part of it.
            Err(_) => {
                self.partial_len = 0;
                Some(Action::Char(char::REPLACEMENT_CHARACTER))
            }
        }
    }

    /// A control in the ground state, where DEL is nothing.
    fn control<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x1b => {
                self.begin(State::Escape);
                None
            }
            0x7f => None,
            _ => Some(Action::Control(byte)),
        }
    }

    /// A C1 control, which is short for ESC and the byte 0x40 below it.
    fn c1<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        self.begin(State::Escape);
        self.escape(byte - 0x40)
    }

    fn begin(&mut self, state: State) {
        self.sequence.clear();
        self.state = state;
    }

    /// A control inside a sequence: executed at once, or the end of the sequence.
    fn embedded_control<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x18 | 0x1a => {
                self.state = State::Ground;
                Some(Action::Control(byte))
            }
            0x1b => {
                self.begin(State::Escape);
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
                self.state = State::Escape;
                return None;
            }
            b'[' if self.sequence.intermediates().is_empty() => self.begin(State::Csi),
            b'P' if self.sequence.intermediates().is_empty() => self.begin(State::Dcs),
            b']' if self.sequence.intermediates().is_empty() => self.begin_string(StringKind::Osc),
            b'X' | b'^' | b'_' if self.sequence.intermediates().is_empty() => {
                self.begin_string(StringKind::Ignored);
            }
            0x30..=0x7e => {
                self.state = State::Ground;
                self.sequence.last = byte;
                return (!self.sequence.is_malformed()).then_some(Action::Escape);
            }
            0x7f..=0xff => {}
        }
        None
    }

    fn begin_string(&mut self, kind: StringKind) {
        if self.string.capacity() > STRING_KEPT {
            self.string = Vec::new();
        }
        self.string.clear();
        self.string_overflow = false;
        self.string_last = 0;
        self.string_bel = false;
        self.state = State::String(kind);
    }

    fn csi<'b>(&mut self, input: &mut &'b [u8]) -> Option<Action<'b>> {
        while let Some((&byte, rest)) = input.split_first() {
            *input = rest;
            match byte {
                0x20..=0x3f => self.sequence.param(byte),
                0x40..=0x7e => {
                    self.state = State::Ground;
                    self.sequence.last = byte;
                    return (!self.sequence.is_malformed()).then_some(Action::Csi);
                }
                0x00..=0x1f => {
                    let action = self.embedded_control(byte);
                    if action.is_some() || self.state != State::Csi {
                        return action;
                    }
                }
                0x7f => {}
                0x80..=0xff => self.sequence.spoil(),
            }
        }
        None
    }

    fn dcs<'b>(&mut self, byte: u8) -> Option<Action<'b>> {
        match byte {
            0x40..=0x7e => {
                self.sequence.last = byte;
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
                self.sequence.spoil();
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
        self.keep(kind, data);
        *input = rest;
        let &byte = rest.first()?;
        *input = &rest[1..];
        match byte {
            0x07 if kind == StringKind::Osc => {
                self.string_bel = true;
                return self.end_string(kind);
            }
            0x18 | 0x1a => self.state = State::Ground,
            0x1b => self.state = State::StringEscape(kind),
            // The C1 terminator comes as a character, C2 9C; a lone 9C is part of some other one.
            0x9c if self.string_last == 0xc2 => {
                self.string.pop();
                return self.end_string(kind);
            }
            _ => self.keep(kind, &[byte]),
        }
        None
    }

    fn keep(&mut self, kind: StringKind, data: &[u8]) {
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
        // The string was abandoned, and its ESC begins something else.
        self.begin(State::Escape);
        None
    }

    fn end_string<'b>(&mut self, kind: StringKind) -> Option<Action<'b>> {
        self.state = State::Ground;
        match kind {
            _ if self.string_overflow => None,
            StringKind::Osc => Some(Action::Osc),
            StringKind::Dcs => Some(Action::Dcs),
            StringKind::Ignored => None,
        }
    }
}

fn take(input: &mut &[u8]) -> u8 {
    let byte = input[0];
    *input = &input[1..];
    byte
}

/// The length of the prefix that holds no C0 control and no DEL.
fn printable_prefix(input: &[u8]) -> usize {
    // Eight bytes at a time, because runs are short in coloured output and long in plain.
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGHS: u64 = ONES << 7;
    let mut at = 0;
    for chunk in input.chunks_exact(8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        // A byte's high bit is set below if the byte is less than 0x20, or equal to 0x7f. A borrow
        // can set it wrongly, but only above the first that is right.
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

/// Where the first C1 control of `text` is.
fn c1_position(text: &str) -> Option<usize> {
    // All of them are encoded as C2 and one of 80 to 9F; most text has no C2 at all.
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
