//! The character sets that a program can designate and invoke.

/// A set of 94 or 96 characters that replaces ASCII.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Charset {
    #[default]
    Ascii,
    /// DEC special graphics: line drawing characters.
    Graphics,
    /// ASCII with a pound sign in place of `#`.
    British,
}

/// The DEC special graphics characters for the bytes from `_` to `~`.
const GRAPHICS: [char; 32] = [
    ' ', '◆', '▒', '␉', '␌', '␍', '␊', '°', '±', '␤', '␋', '┘', '┐', '┌', '└', '┼', '⎺', '⎻', '─',
    '⎼', '⎽', '├', '┤', '┴', '┬', '│', '≤', '≥', 'π', '≠', '£', '·',
];

impl Charset {
    /// Returns the set that an escape sequence with this final byte designates. Unsupported sets map to ASCII: most of
    /// their characters are the same.
    pub(crate) fn from_final_byte(byte: u8) -> Charset {
        match byte {
            b'0' | b'2' => Charset::Graphics,
            b'A' => Charset::British,
            _ => Charset::Ascii,
        }
    }

    /// Returns the final byte of the sequence that designates the set.
    pub(crate) fn final_byte(self) -> u8 {
        match self {
            Charset::Ascii => b'B',
            Charset::Graphics => b'0',
            Charset::British => b'A',
        }
    }

    pub(crate) fn map(self, c: char) -> char {
        match self {
            Charset::Graphics if ('_'..='~').contains(&c) => GRAPHICS[c as usize - '_' as usize],
            Charset::British if c == '#' => '£',
            Charset::Ascii | Charset::Graphics | Charset::British => c,
        }
    }
}

/// The four designated sets and the active one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Charsets {
    pub(crate) sets: [Charset; 4],
    /// The index of the set that is invoked by a locking shift.
    pub(crate) active: usize,
    /// The index of the set that a single shift invokes for the next character.
    pub(crate) single: Option<usize>,
}

impl Charsets {
    /// Returns whether characters are printed without mapping.
    pub(crate) fn is_plain(&self) -> bool {
        self.single.is_none() && self.sets[self.active] == Charset::Ascii
    }

    /// Maps a character and consumes a pending single shift.
    pub(crate) fn map(&mut self, c: char) -> char {
        let set = self.single.take().unwrap_or(self.active);
        self.sets[set].map(c)
    }
}
