//! The character sets that a program can designate and shift in.

/// A set of 94 or 96 characters in place of ASCII.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Charset {
    #[default]
    Ascii,
    /// DEC special graphics: lines and corners.
    Graphics,
    /// ASCII with a pound sign.
    British,
}

/// What DEC special graphics shows for the bytes from `_` to `~`.
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

impl Charset {
    /// The set that an escape sequence designates by its last byte. Sets that we do not draw are
    /// ASCII: what a UTF-8 terminal shows of them is the same but for a few signs.
    pub(crate) fn designated(last: u8) -> Charset {
        match last {
            b'0' | b'2' => Charset::Graphics,
            b'A' => Charset::British,
            _ => Charset::Ascii,
        }
    }

    /// The byte that designates the set.
    pub(crate) fn designator(self) -> u8 {
        match self {
            Charset::Ascii => b'B',
            Charset::Graphics => b'0',
            Charset::British => b'A',
        }
    }

    pub(crate) fn map(self, c: char) -> char {
        match (self, c) {
            (Charset::Graphics, '_'..='~') => GRAPHICS[c as usize - '_' as usize],
            (Charset::British, '#') => '£',
            _ => c,
        }
    }
}

/// The four designated sets and which of them is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charsets {
    pub(crate) sets: [Charset; 4],
    /// The set that is shifted in.
    pub(crate) active: usize,
    /// A set for the next character only.
    pub(crate) single: Option<usize>,
}

impl Charsets {
    /// Tells whether characters mean themselves.
    pub(crate) fn is_plain(&self) -> bool {
        self.single.is_none() && self.sets[self.active] == Charset::Ascii
    }

    /// What `c` means now; uses up a single shift.
    pub(crate) fn map(&mut self, c: char) -> char {
        let set = self.single.take().unwrap_or(self.active);
        self.sets[set].map(c)
    }
}
