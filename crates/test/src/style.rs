//! Styles that a test expects, and styles in words.

use std::fmt;

use awaitty_terminal::core::{Attrs, Color, Style as CellStyle, Underline};

/// The sixteen named colours of terminals.
pub mod color {
    use super::Color;

    /// Black.
    pub const BLACK: Color = Color::Indexed(0);
    /// Red.
    pub const RED: Color = Color::Indexed(1);
    /// Green.
    pub const GREEN: Color = Color::Indexed(2);
    /// Yellow.
    pub const YELLOW: Color = Color::Indexed(3);
    /// Blue.
    pub const BLUE: Color = Color::Indexed(4);
    /// Magenta.
    pub const MAGENTA: Color = Color::Indexed(5);
    /// Cyan.
    pub const CYAN: Color = Color::Indexed(6);
    /// White, which most themes show as light grey.
    pub const WHITE: Color = Color::Indexed(7);
    /// Bright black, which most themes show as dark grey.
    pub const BRIGHT_BLACK: Color = Color::Indexed(8);
    /// Bright red.
    pub const BRIGHT_RED: Color = Color::Indexed(9);
    /// Bright green.
    pub const BRIGHT_GREEN: Color = Color::Indexed(10);
    /// Bright yellow.
    pub const BRIGHT_YELLOW: Color = Color::Indexed(11);
    /// Bright blue.
    pub const BRIGHT_BLUE: Color = Color::Indexed(12);
    /// Bright magenta.
    pub const BRIGHT_MAGENTA: Color = Color::Indexed(13);
    /// Bright cyan.
    pub const BRIGHT_CYAN: Color = Color::Indexed(14);
    /// Bright white.
    pub const BRIGHT_WHITE: Color = Color::Indexed(15);
}

/// The names of the first eight colours of the palette.
const NAMES: [&str; 8] = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/// The attributes with their names.
const ATTRIBUTES: [(Attrs, &str); 8] = [
    (Attrs::BOLD, "bold"),
    (Attrs::DIM, "dim"),
    (Attrs::ITALIC, "italic"),
    (Attrs::BLINK, "blink"),
    (Attrs::INVERSE, "inverse"),
    (Attrs::CONCEALED, "concealed"),
    (Attrs::STRIKE, "strike"),
    (Attrs::OVERLINE, "overline"),
];

/// The properties of a style that a test expects. Properties that are not set are not compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    fg: Option<Color>,
    bg: Option<Color>,
    attrs: Attrs,
    is_underlined: bool,
    is_plain: bool,
}

impl Style {
    /// Returns a style with which every style agrees.
    pub fn new() -> Style {
        Style::default()
    }

    /// Returns the style of text without colours and attributes.
    pub fn plain() -> Style {
        Style { is_plain: true, ..Style::default() }
    }

    /// Expects a foreground, as the program set it: inverse text keeps the colours that it had.
    #[must_use]
    pub fn fg(self, color: Color) -> Style {
        Style { fg: Some(color), ..self }
    }

    /// Expects a background, as the program set it.
    #[must_use]
    pub fn bg(self, color: Color) -> Style {
        Style { bg: Some(color), ..self }
    }

    fn with(mut self, attribute: Attrs) -> Style {
        self.attrs.set(attribute, true);
        self
    }

    /// Expects bold text.
    #[must_use]
    pub fn bold(self) -> Style {
        self.with(Attrs::BOLD)
    }

    /// Expects dim text.
    #[must_use]
    pub fn dim(self) -> Style {
        self.with(Attrs::DIM)
    }

    /// Expects italic text.
    #[must_use]
    pub fn italic(self) -> Style {
        self.with(Attrs::ITALIC)
    }

    /// Expects blinking text.
    #[must_use]
    pub fn blink(self) -> Style {
        self.with(Attrs::BLINK)
    }

    /// Expects foreground and background swapped.
    #[must_use]
    pub fn inverse(self) -> Style {
        self.with(Attrs::INVERSE)
    }

    /// Expects invisible text.
    #[must_use]
    pub fn concealed(self) -> Style {
        self.with(Attrs::CONCEALED)
    }

    /// Expects text that is struck through.
    #[must_use]
    pub fn strike(self) -> Style {
        self.with(Attrs::STRIKE)
    }

    /// Expects text with a line above it.
    #[must_use]
    pub fn overline(self) -> Style {
        self.with(Attrs::OVERLINE)
    }

    /// Expects text with an underline of any kind.
    #[must_use]
    pub fn underline(self) -> Style {
        Style { is_underlined: true, ..self }
    }

    /// Returns whether a cell has the expected properties.
    pub(crate) fn agrees_with(&self, cell: &CellStyle) -> bool {
        if self.is_plain {
            return words(cell) == PLAIN;
        }
        self.fg.is_none_or(|fg| fg == cell.fg)
            && self.bg.is_none_or(|bg| bg == cell.bg)
            && cell.attrs.has(self.attrs)
            && (!self.is_underlined || cell.underline != Underline::None)
    }
}

impl fmt::Display for Style {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_plain { "Style::plain()" } else { "Style::new()" })?;
        for (name, color) in [("fg", self.fg), ("bg", self.bg)] {
            if let Some(color) = color {
                write!(f, ".{name}({})", color_name(color))?;
            }
        }
        for (_, name) in ATTRIBUTES.iter().filter(|(attribute, _)| self.attrs.has(*attribute)) {
            write!(f, ".{name}()")?;
        }
        if self.is_underlined {
            f.write_str(".underline()")?;
        }
        Ok(())
    }
}

/// The description of a style without colours and attributes.
const PLAIN: &str = "plain";

/// Describes the style of a cell, such as `fg=red bold`. Links are left out.
pub(crate) fn words(style: &CellStyle) -> String {
    let mut words = Vec::new();
    for (name, color) in [("fg", style.fg), ("bg", style.bg)] {
        if color != Color::Default {
            words.push(format!("{name}={}", color_name(color)));
        }
    }
    let set = ATTRIBUTES.iter().filter(|(attribute, _)| style.attrs.has(*attribute));
    words.extend(set.map(|(_, name)| (*name).to_owned()));
    match style.underline {
        Underline::None => {}
        Underline::Single => words.push("underline".to_owned()),
        Underline::Double => words.push("underline=double".to_owned()),
        Underline::Curly => words.push("underline=curly".to_owned()),
        Underline::Dotted => words.push("underline=dotted".to_owned()),
        Underline::Dashed => words.push("underline=dashed".to_owned()),
    }
    if style.underline_color != Color::Default {
        words.push(format!("underline-color={}", color_name(style.underline_color)));
    }
    if words.is_empty() { PLAIN.to_owned() } else { words.join(" ") }
}

/// Returns the name of a colour: `red`, `bright-red`, `color196`, `#ff8000` or `default`.
fn color_name(color: Color) -> String {
    match color {
        Color::Default => "default".to_owned(),
        Color::Indexed(index @ 0..=7) => NAMES[usize::from(index)].to_owned(),
        Color::Indexed(index @ 8..=15) => format!("bright-{}", NAMES[usize::from(index - 8)]),
        Color::Indexed(index) => format!("color{index}"),
        Color::Rgb(red, green, blue) => format!("#{red:02x}{green:02x}{blue:02x}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(fg: Color, attrs: &[Attrs]) -> CellStyle {
        let mut style = CellStyle { fg, ..CellStyle::default() };
        attrs.iter().for_each(|attribute| style.attrs.set(*attribute, true));
        style
    }

    #[test]
    fn only_the_properties_that_are_set_are_compared() {
        let bold_red = cell(color::RED, &[Attrs::BOLD]);
        for expected in [
            Style::new(),
            Style::new().bold(),
            Style::new().fg(color::RED),
            Style::new().fg(color::RED).bg(Color::Default).bold(),
        ] {
            assert!(expected.agrees_with(&bold_red), "{expected}");
        }
        for expected in [
            Style::new().fg(color::BLUE),
            Style::new().bold().italic(),
            Style::new().underline(),
            Style::plain(),
        ] {
            assert!(!expected.agrees_with(&bold_red), "{expected}");
        }
        assert!(Style::plain().agrees_with(&CellStyle::default()));
        let curly = CellStyle { underline: Underline::Curly, ..CellStyle::default() };
        assert!(Style::new().underline().agrees_with(&curly));
    }

    #[test]
    fn styles_are_described_in_words() {
        assert_eq!(words(&CellStyle::default()), "plain");
        assert_eq!(words(&cell(color::BRIGHT_RED, &[Attrs::DIM])), "fg=bright-red dim");
        assert_eq!(words(&cell(Color::Indexed(196), &[])), "fg=color196");
        assert_eq!(words(&cell(Color::Rgb(255, 128, 0), &[Attrs::STRIKE])), "fg=#ff8000 strike");
        let underlined = CellStyle {
            underline: Underline::Dotted,
            underline_color: color::BLUE,
            ..CellStyle::default()
        };
        assert_eq!(words(&underlined), "underline=dotted underline-color=blue");
        let expected = Style::new().fg(color::RED).bold().underline();
        assert_eq!(expected.to_string(), "Style::new().fg(red).bold().underline()");
    }
}
