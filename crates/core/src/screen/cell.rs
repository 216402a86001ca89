//! One cell: its glyph, its style, and when it was last drawn.

use crate::Tick;

/// The content of a cell in 4 bytes: a code point or a cluster number, and flags.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Glyph(u32);

impl Glyph {
    const VALUE: u32 = 0x00ff_ffff;
    const CLUSTER: u32 = 1 << 24;
    const WIDE: u32 = 1 << 25;
    const SPACER: u32 = 1 << 26;
    const PROTECTED: u32 = 1 << 27;

    /// An erased or never written cell. It is shown as a space and has no style but a background: a cell with more
    /// style holds a [space](Self::SPACE).
    pub(crate) const BLANK: Glyph = Glyph(0);

    /// A written space.
    pub(crate) const SPACE: Glyph = Glyph(b' ' as u32);

    pub(crate) fn ascii(byte: u8) -> Glyph {
        Glyph(u32::from(byte))
    }

    pub(crate) fn char(c: char) -> Glyph {
        Glyph(u32::from(c))
    }

    /// Returns the glyph of a cluster with the given number in the table of clusters.
    pub(crate) fn cluster(number: u32) -> Glyph {
        debug_assert!(number <= Self::VALUE);
        Glyph(number | Self::CLUSTER)
    }

    /// Returns the same glyph at a width of two columns. A [spacer](Self::spacer) must follow it.
    #[must_use]
    pub(crate) fn wide(self) -> Glyph {
        Glyph(self.0 | Self::WIDE)
    }

    /// Returns the second column of a wide glyph.
    pub(crate) fn spacer() -> Glyph {
        Glyph(Self::SPACER)
    }

    /// Returns the same glyph, protected from selective erase if `on`.
    #[must_use]
    pub(crate) fn protected(self, on: bool) -> Glyph {
        if on { Glyph(self.0 | Self::PROTECTED) } else { self }
    }

    /// Returns a glyph with the same flags and another cluster number.
    #[must_use]
    pub(crate) fn with_cluster(self, number: u32) -> Glyph {
        Glyph(self.0 & !Self::VALUE | number | Self::CLUSTER)
    }

    /// Returns a glyph with the same flags and a single character.
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

    /// Returns the byte of a narrow ASCII glyph, or a space for a blank.
    pub(crate) fn as_ascii(self) -> Option<u8> {
        match self.0 & !Self::PROTECTED {
            0 => Some(b' '),
            value @ 1..0x80 => Some(value as u8),
            _ => None,
        }
    }

    /// Returns whether all glyphs are narrow and ASCII or blank.
    pub(crate) fn are_ascii(glyphs: impl Iterator<Item = Glyph>) -> bool {
        // Without an early exit, the compiler vectorizes this.
        glyphs.fold(0, |all, glyph| all | glyph.0) & !Self::PROTECTED < 0x80
    }

    /// Returns the cluster number if the glyph is a cluster.
    pub(crate) fn as_cluster(self) -> Option<u32> {
        (self.0 & Self::CLUSTER != 0).then_some(self.0 & Self::VALUE)
    }

    /// Returns the character if the glyph is a single one, or a space for a blank.
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

/// A cell of the grid. It takes 16 bytes, so a 120x40 screen takes 75 KB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    pub(crate) glyph: Glyph,
    /// The number of the style in the screen's table.
    pub(crate) style: u32,
    /// The tick at which the program last wrote or erased the cell.
    pub(crate) tick: Tick,
}

impl Cell {
    /// A cell that was never drawn.
    pub(crate) const PRISTINE: Cell = Cell { glyph: Glyph::BLANK, style: 0, tick: Tick::NEVER };

    /// Returns whether the cell shows neither a glyph nor a colour.
    pub(crate) fn is_invisible(&self) -> bool {
        self.glyph.is_blank() && self.style == 0
    }
}

const _: () = assert!(size_of::<Cell>() == 16);
