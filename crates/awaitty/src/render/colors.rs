//! Maps terminal colours to RGB.

use std::collections::BTreeMap;

use awaitty_core::{Attrs, Color, Screen, Style};

/// Red, green and blue.
pub type Rgb = [u8; 3];

/// Default colours of a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Light on dark.
    #[default]
    Dark,
    /// Dark on light.
    Light,
    /// Other colours.
    Custom(ThemeColors),
}

/// Foreground, background, cursor, and the first 16 palette colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThemeColors {
    /// The colour of text.
    pub foreground: Rgb,
    /// The colour behind text.
    pub background: Rgb,
    /// The colour of the cursor.
    pub cursor: Rgb,
    /// Black, red, green, yellow, blue, magenta, cyan and white, then their bright variants.
    pub basic: [Rgb; 16],
}

const DARK: ThemeColors = ThemeColors {
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

const LIGHT: ThemeColors = ThemeColors {
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
    /// Returns the colours.
    pub fn colors(&self) -> &ThemeColors {
        match self {
            Theme::Dark => &DARK,
            Theme::Light => &LIGHT,
            Theme::Custom(colors) => colors,
        }
    }
}

/// Colours of an image: those of the theme, overridden by those that the program has set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Colors {
    theme: Theme,
    overrides: BTreeMap<u8, Rgb>,
    foreground: Option<Rgb>,
    background: Option<Rgb>,
    cursor: Option<Rgb>,
}

impl Colors {
    /// Returns the colours of a screen.
    pub fn new(theme: Theme, screen: &Screen) -> Colors {
        let rgb = |(r, g, b): (u8, u8, u8)| [r, g, b];
        let [foreground, background, cursor] = screen.chosen_colors().map(|color| color.map(rgb));
        let overrides = screen.chosen_palette().map(|(index, color)| (index, rgb(color))).collect();
        Colors { theme, overrides, foreground, background, cursor }
    }

    /// Replaces the theme; keeps the colours that the program has set.
    #[must_use]
    pub fn with_theme(self, theme: Theme) -> Colors {
        Colors { theme, ..self }
    }

    fn foreground(&self) -> Rgb {
        self.foreground.unwrap_or(self.theme.colors().foreground)
    }

    /// Returns the colour of the background.
    pub(crate) fn background(&self, is_reverse: bool) -> Rgb {
        match is_reverse {
            true => self.foreground(),
            false => self.background.unwrap_or(self.theme.colors().background),
        }
    }

    pub(super) fn cursor(&self) -> Rgb {
        self.cursor.unwrap_or(self.theme.colors().cursor)
    }

    fn indexed(&self, index: u8) -> Rgb {
        let default = || match index {
            0..16 => self.theme.colors().basic[usize::from(index)],
            _ => {
                let (r, g, b) = awaitty_core::palette_color(index);
                [r, g, b]
            }
        };
        self.overrides.get(&index).copied().unwrap_or_else(default)
    }

    fn rgb(&self, color: Color, default: Rgb) -> Rgb {
        match color {
            Color::Default => default,
            Color::Indexed(index) => self.indexed(index),
            Color::Rgb(r, g, b) => [r, g, b],
        }
    }

    /// Returns the colours of text and of its background in a style.
    pub(crate) fn of(&self, style: &Style, is_reverse: bool) -> (Rgb, Rgb) {
        let foreground = if is_reverse { self.background(false) } else { self.foreground() };
        // As in xterm, bold selects the bright variant of the first eight colours.
        let color = match style.fg {
            Color::Indexed(index @ 0..8) if style.attrs.has(Attrs::BOLD) => {
                Color::Indexed(index + 8)
            }
            color => color,
        };
        let text = self.rgb(color, foreground);
        let behind = self.rgb(style.bg, self.background(is_reverse));
        let (text, behind) =
            if style.attrs.has(Attrs::INVERSE) { (behind, text) } else { (text, behind) };
        let text = match style.attrs {
            attrs if attrs.has(Attrs::CONCEALED) => behind,
            attrs if attrs.has(Attrs::DIM) => mix(text, behind, 0.55),
            _ => text,
        };
        (text, behind)
    }

    /// Returns the colour of an underline, if it differs from the text.
    pub(super) fn underline(&self, style: &Style) -> Option<Rgb> {
        let own = style.underline_color;
        (own != Color::Default).then(|| self.rgb(own, self.foreground()))
    }
}

/// Formats a colour for CSS.
pub(crate) fn hex([r, g, b]: Rgb) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Mixes two colours; `part` is the weight of the first.
pub(super) fn mix(color: Rgb, other: Rgb, part: f32) -> Rgb {
    std::array::from_fn(|i| {
        (f32::from(color[i]) * part + f32::from(other[i]) * (1.0 - part)).round() as u8
    })
}
