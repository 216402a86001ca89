//! One cell: what it shows, how, and when it was last drawn.

use crate::Tick;

/// What a cell shows, in 4 bytes: a code point or the number of a cluster, and a few flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glyph(u32);

impl Glyph {
    const VALUE: u32 = 0x00ff_ffff;
    const CLUSTER: u32 = 1 << 24;
    const WIDE: u32 = 1 << 25;
    const SPACER: u32 = 1 << 26;
    const PROTECTED: u32 = 1 << 27;

    /// Nothing was ever written here, or it was erased. Shown as a space, in a background at most:
    /// a cell with more style than that holds a [space](Self::SPACE).
    pub(crate) const BLANK: Glyph = Glyph(0);

    /// A space that was written.
    pub(crate) const SPACE: Glyph = Glyph(b' ' as u32);

    pub(crate) fn ascii(byte: u8) -> Glyph {
        Glyph(u32::from(byte))
    }

    pub(crate) fn char(c: char) -> Glyph {
        Glyph(u32::from(c))
    }

    /// A base character with what combines with it, by its number in the table of clusters.
    pub(crate) fn cluster(number: u32) -> Glyph {
        debug_assert!(number <= Self::VALUE);
        Glyph(number | Self::CLUSTER)
    }

    /// The same glyph taking two columns; a [spacer](Self::spacer) follows it.
    #[must_use]
    pub(crate) fn wide(self) -> Glyph {
        Glyph(self.0 | Self::WIDE)
    }

    /// The second column of a wide glyph.
    pub(crate) fn spacer() -> Glyph {
        Glyph(Self::SPACER)
    }

    /// The same glyph, kept by a selective erase if `on`.
    #[must_use]
    pub(crate) fn protected(self, on: bool) -> Glyph {
        if on { Glyph(self.0 | Self::PROTECTED) } else { self }
    }

    /// The same flags on another cluster number.
    #[must_use]
    pub(crate) fn with_cluster(self, number: u32) -> Glyph {
        Glyph(self.0 & !Self::VALUE | number | Self::CLUSTER)
    }

    /// Returns the same flags on a single character.
    #[must_use]
    pub(crate) fn with_char(self, c: char) -> Glyph {
        Glyph(self.0 & !(Self::VALUE | Self::CLUSTER) | u32::from(c))
    }

    pub(crate) fn is_blank(self) -> bool {
        self.0 & (Self::VALUE | Self::CLUSTER | Self::SPACER) == 0
    }

    pub(crate) fn is_wide(self) -> bool {
        self.0 & Self::WIDE != 0
    }

    pub(crate) fn is_spacer(self) -> bool {
        self.0 & Self::SPACER != 0
    }

    pub(crate) fn is_protected(self) -> bool {
        self.0 & Self::PROTECTED != 0
    }

    /// The byte, if the glyph is ASCII or blank (then a space), and takes one column.
    pub(crate) fn as_ascii(self) -> Option<u8> {
        match self.0 & !Self::PROTECTED {
            0 => Some(b' '),
            value @ 1..0x80 => Some(value as u8),
            _ => None,
        }
    }

    /// Tells whether all of them are ASCII or blank, and take one column.
    pub(crate) fn are_ascii(glyphs: impl Iterator<Item = Glyph>) -> bool {
        // Without an early exit, the compiler turns this into vector code.
        glyphs.fold(0, |all, glyph| all | glyph.0) & !Self::PROTECTED < 0x80
    }

    /// The cluster's number, if it is one.
    pub(crate) fn as_cluster(self) -> Option<u32> {
        (self.0 & Self::CLUSTER != 0).then_some(self.0 & Self::VALUE)
    }

    /// The character, if it is a single one; a blank is a space.
    pub(crate) fn as_char(self) -> Option<char> {
        if self.0 & (Self::CLUSTER | Self::SPACER) != 0 {
            return None;
        }
        match self.0 & Self::VALUE {
            0 => Some(' '),
            value => char::from_u32(value),
        }
    }
}

/// A cell of the grid. 16 bytes, so that a 120x40 screen is 75 KB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) glyph: Glyph,
    /// The style's number in the screen's table.
    pub(crate) style: u32,
    /// When the program last wrote or erased it; 0 if never.
    pub(crate) tick: Tick,
}

impl Cell {
    /// Nothing there and nothing drawn.
    pub(crate) const PRISTINE: Cell = Cell { glyph: Glyph::BLANK, style: 0, tick: Tick(0) };

    /// Nothing to see: no glyph and no colour.
    pub(crate) fn is_invisible(&self) -> bool {
        self.glyph.is_blank() && self.style == 0
    }
}

const _: () = assert!(size_of::<Cell>() == 16);
