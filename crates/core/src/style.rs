//! The style of a cell: colours and attributes, as the program set them.
//!
//! Indexed colours are not resolved to RGB here; the renderers do that.

use std::hash::{Hash, Hasher};

/// A colour as the program set it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Color {
    /// The default foreground or background of the terminal.
    #[default]
    Default,
    /// A colour of the palette of 256.
    Indexed(u8),
    /// Red, green and blue.
    Rgb(u8, u8, u8),
}

/// The kind of an underline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Underline {
    /// No underline.
    #[default]
    None,
    /// A single line.
    Single,
    /// A double line.
    Double,
    /// A wavy line.
    Curly,
    /// A dotted line.
    Dotted,
    /// A dashed line.
    Dashed,
}

impl Underline {
    /// Returns the kind that `SGR 4:n` sets.
    pub(crate) fn from_sgr(n: u16) -> Option<Underline> {
        Some(match n {
            0 => Underline::None,
            1 => Underline::Single,
            2 => Underline::Double,
            3 => Underline::Curly,
            4 => Underline::Dotted,
            5 => Underline::Dashed,
            _ => return None,
        })
    }
}

/// A set of attributes, each either on or off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attrs(u8);

impl Attrs {
    /// Bold.
    pub const BOLD: Attrs = Attrs(1);
    /// Dim, also called faint.
    pub const DIM: Attrs = Attrs(1 << 1);
    /// Italic.
    pub const ITALIC: Attrs = Attrs(1 << 2);
    /// Blinking.
    pub const BLINK: Attrs = Attrs(1 << 3);
    /// Foreground and background swapped.
    pub const INVERSE: Attrs = Attrs(1 << 4);
    /// Invisible.
    pub const CONCEALED: Attrs = Attrs(1 << 5);
    /// Struck through.
    pub const STRIKE: Attrs = Attrs(1 << 6);
    /// With a line above.
    pub const OVERLINE: Attrs = Attrs(1 << 7);

    /// Returns whether all attributes of `other` are set.
    pub fn has(self, other: Attrs) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets or resets all attributes of `other`.
    pub fn set(&mut self, other: Attrs, on: bool) {
        if on { self.0 |= other.0 } else { self.0 &= !other.0 }
    }

    /// Toggles all attributes of `other`.
    pub(crate) fn toggle(&mut self, other: Attrs) {
        self.0 ^= other.0;
    }

    /// Returns the union of both sets.
    #[must_use]
    pub(crate) const fn and(self, other: Attrs) -> Attrs {
        Attrs(self.0 | other.0)
    }
}

/// The number of a hyperlink, see [`crate::Screen::link`]. Numbers are never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub(crate) u32);

/// The style of a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Style {
    /// The foreground.
    pub fg: Color,
    /// The background.
    pub bg: Color,
    /// The colour of the underline. `Default` means the foreground.
    pub underline_color: Color,
    /// The attributes.
    pub attrs: Attrs,
    /// The underline.
    pub underline: Underline,
    /// The hyperlink of the cell.
    pub link: Option<LinkId>,
}

/// Implemented by hand to hash three words instead of a dozen fields: every change of colour computes a hash.
impl Hash for Style {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let word = |color: Color| match color {
            Color::Default => 0,
            Color::Indexed(index) => 1 << 24 | u64::from(index),
            Color::Rgb(r, g, b) => u64::from(u32::from_be_bytes([2, r, g, b])),
        };
        let link = self.link.map_or(0, |link| u64::from(link.0) + 1);
        let attrs = u64::from(self.attrs.0) | (self.underline as u64) << 8;
        state.write_u64(word(self.fg) | word(self.bg) << 32);
        state.write_u64(word(self.underline_color) | attrs << 32);
        state.write_u64(link);
    }
}

impl Style {
    /// Returns the style of an erased cell: the background alone.
    pub(crate) fn erased(&self) -> Style {
        Style { bg: self.bg, ..Style::default() }
    }
}
