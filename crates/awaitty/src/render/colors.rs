//! Which shade a colour of a program is.

use std::collections::BTreeMap;

use awaitty_core::{Attrs, Color, Screen, Style};

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// The colours of a terminal that its program did not choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light on dark.
    #[default]
    Dark,
    /// Dark on light.
    Light,
}

/// Foreground, background, cursor, and the first sixteen of the palette.
struct Shades {
    foreground: Rgb,
    background: Rgb,
    cursor: Rgb,
    basic: [Rgb; 16],
}

const DARK: Shades = Shades {
    foreground: [0xd8, 0xda, 0xde],
    background: [0x16, 0x18, 0x1d],
    cursor: [0xf0, 0xf0, 0xf0],
    basic: [
        [0x2b, 0x2e, 0x36],
        [0xe0, 0x5a, 0x5a],
        [0x6c, 0xbf, 0x5f],
        [0xd9, 0xa9, 0x3f],
        [0x5c, 0x93, 0xe6],
        [0xbd, 0x79, 0xd1],
        [0x45, 0xb5, 0xbb],
        [0xc9, 0xcc, 0xd3],
        [0x6f, 0x75, 0x82],
        [0xff, 0x7b, 0x72],
        [0x8d, 0xdd, 0x7c],
        [0xf2, 0xcc, 0x60],
        [0x82, 0xb1, 0xff],
        [0xd9, 0x9c, 0xee],
        [0x6a, 0xd9, 0xde],
        [0xff, 0xff, 0xff],
    ],
};

const LIGHT: Shades = Shades {
    foreground: [0x23, 0x27, 0x2e],
    background: [0xff, 0xff, 0xff],
    cursor: [0x23, 0x27, 0x2e],
    basic: [
        [0x23, 0x27, 0x2e],
        [0xb8, 0x26, 0x26],
        [0x1f, 0x7a, 0x2e],
        [0x8a, 0x62, 0x00],
        [0x1d, 0x56, 0xb8],
        [0x8a, 0x2f, 0xa3],
        [0x0b, 0x73, 0x7a],
        [0xd5, 0xd8, 0xde],
        [0x6a, 0x71, 0x7d],
        [0xd8, 0x3b, 0x3b],
        [0x2e, 0x9a, 0x3f],
        [0xa8, 0x7a, 0x0c],
        [0x2f, 0x6f, 0xe0],
        [0xa8, 0x47, 0xc4],
        [0x12, 0x8f, 0x97],
        [0xf4, 0xf5, 0xf7],
    ],
};

impl Theme {
    fn shades(self) -> &'static Shades {
        match self {
            Theme::Dark => &DARK,
            Theme::Light => &LIGHT,
        }
    }
}

/// The colours of a picture: the theme's, and those that the program has set.
#[derive(Clone, Debug, Default)]
pub struct Colors {
    theme: Theme,
    set: BTreeMap<u8, Rgb>,
    foreground: Option<Rgb>,
    background: Option<Rgb>,
    cursor: Option<Rgb>,
}

impl Colors {
    /// The colours of a screen in a theme.
    pub fn new(theme: Theme, screen: &Screen) -> Colors {
        let rgb = |(r, g, b): (u8, u8, u8)| [r, g, b];
        let [foreground, background, cursor] = screen.chosen_colors().map(|color| color.map(rgb));
        let set = screen.chosen_palette().map(|(index, color)| (index, rgb(color))).collect();
        Colors { theme, set, foreground, background, cursor }
    }

    fn foreground(&self) -> Rgb {
        self.foreground.unwrap_or(self.theme.shades().foreground)
    }

    /// The colour behind everything.
    pub(crate) fn background(&self, is_reverse: bool) -> Rgb {
        match is_reverse {
            true => self.foreground(),
            false => self.background.unwrap_or(self.theme.shades().background),
        }
    }

    pub(super) fn cursor(&self) -> Rgb {
        self.cursor.unwrap_or(self.theme.shades().cursor)
    }

    fn indexed(&self, index: u8) -> Rgb {
        let usual = || match index {
            0..16 => self.theme.shades().basic[usize::from(index)],
            _ => {
                let (r, g, b) = awaitty_core::palette_color(index);
                [r, g, b]
            }
        };
        self.set.get(&index).copied().unwrap_or_else(usual)
    }

    fn shade(&self, color: Color, default: Rgb) -> Rgb {
        match color {
            Color::Default => default,
            Color::Indexed(index) => self.indexed(index),
            Color::Rgb(r, g, b) => [r, g, b],
        }
    }

    /// The colour of text in a style, and the one behind it.
    pub(crate) fn of(&self, style: &Style, is_reverse: bool) -> (Rgb, Rgb) {
        let foreground = if is_reverse { self.background(false) } else { self.foreground() };
        // As xterm has it: programs that know eight colours get the other eight by bold.
        let asked = match style.fg {
            Color::Indexed(index @ 0..8) if style.attrs.has(Attrs::BOLD) => {
                Color::Indexed(index + 8)
            }
            asked => asked,
        };
        let text = self.shade(asked, foreground);
        let behind = self.shade(style.bg, self.background(is_reverse));
        let (text, behind) =
            if style.attrs.has(Attrs::INVERSE) { (behind, text) } else { (text, behind) };
        let text = match style.attrs {
            attrs if attrs.has(Attrs::CONCEALED) => behind,
            attrs if attrs.has(Attrs::DIM) => mix(text, behind, 0.55),
            _ => text,
        };
        (text, behind)
    }

    /// The colour of an underline, if it has one of its own.
    pub(super) fn underline(&self, style: &Style) -> Option<Rgb> {
        let own = style.underline_color;
        (own != Color::Default).then(|| self.shade(own, self.foreground()))
    }
}

/// A colour as the web writes it.
pub(crate) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// So much of one colour, and the rest of another.
pub(super) fn mix(color: Rgb, other: Rgb, part: f32) -> Rgb {
    std::array::from_fn(|i| {
        (f32::from(color[i]) * part + f32::from(other[i]) * (1.0 - part)).round() as u8
    })
}
