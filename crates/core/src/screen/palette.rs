//! The colour palette, as far as programs can set and query it.
//!
//! Replies contain only colours that are formatted here, never text from the program.

use std::collections::BTreeMap;

use crate::style::{Attrs, Color, Style};

/// A colour as red, green and blue.
pub(crate) type Rgb = (u8, u8, u8);

/// The maximum difference per channel at which two colours are considered indistinguishable. Neighbouring greys of the
/// palette differ by 10 and are hardly distinguishable.
pub(crate) const INDISTINGUISHABLE_MAX: u8 = 10;

/// The colours without a palette index. The value is the number of the OSC that sets the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SpecialColor {
    Foreground = 10,
    Background = 11,
    Cursor = 12,
}

impl SpecialColor {
    pub(crate) fn from_osc(number: u32) -> Option<SpecialColor> {
        match number {
            10 => Some(SpecialColor::Foreground),
            11 => Some(SpecialColor::Background),
            12 => Some(SpecialColor::Cursor),
            _ => None,
        }
    }

    fn default_rgb(self) -> Rgb {
        match self {
            SpecialColor::Foreground | SpecialColor::Cursor => (0xff, 0xff, 0xff),
            SpecialColor::Background => (0, 0, 0),
        }
    }
}

/// The colours that the program changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Palette {
    pub(crate) indexed: BTreeMap<u8, Rgb>,
    pub(crate) special: BTreeMap<SpecialColor, Rgb>,
}

impl Palette {
    pub(crate) fn color(&self, index: u8) -> Rgb {
        self.indexed.get(&index).copied().unwrap_or_else(|| default_rgb(index))
    }

    pub(crate) fn special(&self, which: SpecialColor) -> Rgb {
        self.special.get(&which).copied().unwrap_or_else(|| which.default_rgb())
    }

    /// Returns the RGB value of a colour; `default` is the meaning of the default colour.
    fn rgb_of(&self, color: Color, default: SpecialColor) -> Rgb {
        match color {
            Color::Default => self.special(default),
            Color::Indexed(index) => self.color(index),
            Color::Rgb(r, g, b) => (r, g, b),
        }
    }

    /// Returns whether text in that style cannot be distinguished from its background. The check is symmetric in
    /// foreground and background, so inverse text needs no special case.
    pub(crate) fn conceals(&self, style: &Style) -> bool {
        let text = self.rgb_of(style.fg, SpecialColor::Foreground);
        let behind = self.rgb_of(style.bg, SpecialColor::Background);
        let is_near = |a: u8, b: u8| a.abs_diff(b) <= INDISTINGUISHABLE_MAX;
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

/// Returns a colour of xterm's palette: sixteen colours, a 6x6x6 cube, and 24 greys.
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

/// Returns the index of the nearest one of the first sixteen colours.
pub(crate) fn nearest_basic((r, g, b): Rgb) -> u8 {
    let distance = |&(r2, g2, b2): &Rgb| {
        let square = |a: u8, b: u8| (i32::from(a) - i32::from(b)).pow(2);
        // The eye is most sensitive to green and least to blue.
        3 * square(r, r2) + 4 * square(g, g2) + 2 * square(b, b2)
    };
    let nearest = BASIC.iter().enumerate().min_by_key(|(_, rgb)| distance(rgb));
    nearest.map_or(7, |(index, _)| index as u8)
}

/// The colour names in common use. X11 defines hundreds more.
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

/// Parses `rgb:r/g/b` and `#rgb` with 1 to 4 digits per channel, and a few names.
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
        // In X11 the digits are the most significant ones: `#fff` is f0f0f0.
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
    fn colours_are_parsed_in_all_forms() {
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
    fn the_default_palette_matches_xterm() {
        assert_eq!(default_rgb(16), (0, 0, 0));
        assert_eq!(default_rgb(231), (255, 255, 255));
        assert_eq!(default_rgb(196), (255, 0, 0));
        assert_eq!(default_rgb(255), (238, 238, 238));
        assert_eq!(nearest_basic(default_rgb(196)), 9);
    }
}
