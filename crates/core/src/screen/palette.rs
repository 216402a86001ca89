//! The colours behind the numbers, as far as programs can set and ask for them.
//!
//! A query is answered with numbers that we format ourselves, never with the program's own text.

use std::collections::BTreeMap;

use crate::style::{Attrs, Color, Style};

/// A colour by its parts.
pub(crate) type Rgb = (u8, u8, u8);

/// Colours whose parts differ by no more than this are one to the eye: a step of the palette's greys is 10, and
/// two neighbours among them can hardly be told apart.
pub(crate) const NEAR: u8 = 10;

/// Which of the colours that have no palette number; the value is the number of its OSC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Special {
    Foreground = 10,
    Background = 11,
    Cursor = 12,
}

impl Special {
    pub(crate) fn from_osc(number: u32) -> Option<Special> {
        match number {
            10 => Some(Special::Foreground),
            11 => Some(Special::Background),
            12 => Some(Special::Cursor),
            _ => None,
        }
    }

    fn default_rgb(self) -> Rgb {
        match self {
            Special::Foreground | Special::Cursor => (0xff, 0xff, 0xff),
            Special::Background => (0, 0, 0),
        }
    }
}

/// The colours that differ from the defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Palette {
    pub(crate) indexed: BTreeMap<u8, Rgb>,
    pub(crate) special: BTreeMap<Special, Rgb>,
}

impl Palette {
    pub(crate) fn color(&self, index: u8) -> Rgb {
        self.indexed.get(&index).copied().unwrap_or_else(|| default_rgb(index))
    }

    pub(crate) fn special(&self, which: Special) -> Rgb {
        self.special.get(&which).copied().unwrap_or_else(|| which.default_rgb())
    }

    /// The shade of a colour, where the terminal's own is `default`.
    fn shade(&self, color: Color, default: Special) -> Rgb {
        match color {
            Color::Default => self.special(default),
            Color::Indexed(index) => self.color(index),
            Color::Rgb(r, g, b) => (r, g, b),
        }
    }

    /// Tells whether text of that style cannot be told from what is behind it. Which of the two colours is in
    /// front makes no difference, so inverted text needs no care.
    pub(crate) fn conceals(&self, style: &Style) -> bool {
        let text = self.shade(style.fg, Special::Foreground);
        let behind = self.shade(style.bg, Special::Background);
        let is_near = |a: u8, b: u8| a.abs_diff(b) <= NEAR;
        style.attrs.has(Attrs::CONCEALED)
            || is_near(text.0, behind.0) && is_near(text.1, behind.1) && is_near(text.2, behind.2)
    }
}

/// xterm's first sixteen colours.
const BASIC: [Rgb; 16] = [
    (0, 0, 0),
    (0xcd, 0, 0),
    (0, 0xcd, 0),
    (0xcd, 0xcd, 0),
    (0, 0, 0xee),
    (0xcd, 0, 0xcd),
    (0, 0xcd, 0xcd),
    (0xe5, 0xe5, 0xe5),
    (0x7f, 0x7f, 0x7f),
    (0xff, 0, 0),
    (0, 0xff, 0),
    (0xff, 0xff, 0),
    (0x5c, 0x5c, 0xff),
    (0xff, 0, 0xff),
    (0, 0xff, 0xff),
    (0xff, 0xff, 0xff),
];

/// xterm's palette: sixteen colours, a cube of 6x6x6, and 24 greys.
pub(crate) fn default_rgb(index: u8) -> Rgb {
    let level = |n: u8| if n == 0 { 0 } else { 55 + 40 * n };
    match index {
        0..16 => BASIC[usize::from(index)],
        16..232 => {
            let n = index - 16;
            (level(n / 36), level(n / 6 % 6), level(n % 6))
        }
        232.. => {
            let grey = 8 + 10 * (index - 232);
            (grey, grey, grey)
        }
    }
}

/// The one of the sixteen that is nearest to a colour.
pub(crate) fn nearest_basic((r, g, b): Rgb) -> u8 {
    let distance = |&(r2, g2, b2): &Rgb| {
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        // The eye sees green best and blue least.
        3 * square(r, r2) + 4 * square(g, g2) + 2 * square(b, b2)
    };
    let nearest = BASIC.iter().enumerate().min_by_key(|(_, rgb)| distance(rgb));
    nearest.map_or(7, |(index, _)| index as u8)
}

/// The names that programs use; the rest of X11's hundreds are not known here.
const NAMES: [(&str, Rgb); 12] = [
    ("black", (0, 0, 0)),
    ("red", (0xff, 0, 0)),
    ("green", (0, 0xff, 0)),
    ("yellow", (0xff, 0xff, 0)),
    ("blue", (0, 0, 0xff)),
    ("magenta", (0xff, 0, 0xff)),
    ("cyan", (0, 0xff, 0xff)),
    ("white", (0xff, 0xff, 0xff)),
    ("gray", (0xbe, 0xbe, 0xbe)),
    ("grey", (0xbe, 0xbe, 0xbe)),
    ("orange", (0xff, 0xa5, 0)),
    ("purple", (0xa0, 0x20, 0xf0)),
];

/// Reads `rgb:r/g/b` and `#rgb`, with 1 to 4 digits a part, and a few names.
pub(crate) fn parse_color(text: &str) -> Option<Rgb> {
    if let Some(parts) = text.strip_prefix("rgb:") {
        let mut parts = parts.split('/').map(|part| {
            let value = u32::from_str_radix(part, 16).ok()?;
            let digits = part.len() as u32;
            let valid = (1..=4).contains(&digits) && !part.starts_with('+');
            valid.then(|| (value * 255 / (16u32.pow(digits) - 1)) as u8)
        });
        let rgb = (parts.next()??, parts.next()??, parts.next()??);
        return parts.next().is_none().then_some(rgb);
    }
    if let Some(digits) = text.strip_prefix('#') {
        let each = digits.len() / 3;
        if !digits.is_ascii() || digits.len() % 3 != 0 || !(1..=4).contains(&each) {
            return None;
        }
        // X11: `#fff` is f0f0f0; the digits given are the highest.
        let part = |i: usize| {
            let value = u32::from_str_radix(&digits[i * each..(i + 1) * each], 16).ok()?;
            Some((value << (16 - 4 * each) >> 8) as u8)
        };
        return Some((part(0)?, part(1)?, part(2)?));
    }
    let name = |(name, _): &&(&str, Rgb)| name.eq_ignore_ascii_case(text);
    NAMES.iter().find(name).map(|&(_, rgb)| rgb)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read_in_all_their_forms() {
        assert_eq!(parse_color("rgb:ff/00/80"), Some((255, 0, 128)));
        assert_eq!(parse_color("rgb:ffff/0000/8080"), Some((255, 0, 128)));
        assert_eq!(parse_color("rgb:f/0/f"), Some((255, 0, 255)));
        assert_eq!(parse_color("#123456"), Some((0x12, 0x34, 0x56)));
        assert_eq!(parse_color("#fff"), Some((0xf0, 0xf0, 0xf0)));
        assert_eq!(parse_color("Red"), Some((255, 0, 0)));
        for bad in ["", "#", "#ff", "#äöü", "rgb:", "rgb:1/2", "rgb:1/2/3/4", "rgb:fffff/0/0", "no"]
        {
            assert_eq!(parse_color(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_palette_is_xterms() {
        assert_eq!(default_rgb(16), (0, 0, 0));
        assert_eq!(default_rgb(231), (255, 255, 255));
        assert_eq!(default_rgb(196), (255, 0, 0));
        assert_eq!(default_rgb(255), (238, 238, 238));
        assert_eq!(nearest_basic(default_rgb(196)), 9);
    }
}
