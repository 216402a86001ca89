//! SGR: colours and attributes.

use super::Screen;
use super::sequence::Sequence;
use crate::style::{Attrs, Color, Style, Underline};

impl Screen {
    /// SGR: changes the pen.
    pub(super) fn select_graphic_rendition(&mut self, sequence: &Sequence) {
        let mut style = self.pen.style;
        apply_sgr(&mut style, sequence, 0);
        self.set_pen(style);
    }
}

/// Applies the parameters from `first` on.
pub(super) fn apply_sgr(style: &mut Style, sequence: &Sequence, first: usize) {
    let mut i = first;
    // An empty parameter list is a reset.
    while i < sequence.len().max(first + 1) {
        i += apply_one(style, sequence, i);
        // Unused subparameters belong to an unknown attribute.
        while sequence.is_sub(i) {
            i += 1;
        }
    }
}

/// Applies parameter `i`. Returns the number of consumed parameters.
fn apply_one(style: &mut Style, sequence: &Sequence, i: usize) -> usize {
    let value = sequence.value(i);
    let attrs = &mut style.attrs;
    match value {
        // A link is not an attribute: a reset does not close it.
        0 => *style = Style { link: style.link, ..Style::default() },
        1 => attrs.set(Attrs::BOLD, true),
        2 => attrs.set(Attrs::DIM, true),
        3 => attrs.set(Attrs::ITALIC, true),
        4 if sequence.is_sub(i + 1) => {
            if let Some(underline) = Underline::from_sgr(sequence.value(i + 1)) {
                style.underline = underline;
            }
            return 2;
        }
        4 => style.underline = Underline::Single,
        5 | 6 => attrs.set(Attrs::BLINK, true),
        7 => attrs.set(Attrs::INVERSE, true),
        8 => attrs.set(Attrs::CONCEALED, true),
        9 => attrs.set(Attrs::STRIKE, true),
        21 => style.underline = Underline::Double,
        22 => attrs.set(Attrs::BOLD.and(Attrs::DIM), false),
        23 => attrs.set(Attrs::ITALIC, false),
        24 => style.underline = Underline::None,
        25 => attrs.set(Attrs::BLINK, false),
        27 => attrs.set(Attrs::INVERSE, false),
        28 => attrs.set(Attrs::CONCEALED, false),
        29 => attrs.set(Attrs::STRIKE, false),
        30..=37 => style.fg = Color::Indexed((value - 30) as u8),
        38 => return extended(sequence, i, &mut style.fg),
        39 => style.fg = Color::Default,
        40..=47 => style.bg = Color::Indexed((value - 40) as u8),
        48 => return extended(sequence, i, &mut style.bg),
        49 => style.bg = Color::Default,
        53 => attrs.set(Attrs::OVERLINE, true),
        55 => attrs.set(Attrs::OVERLINE, false),
        58 => return extended(sequence, i, &mut style.underline_color),
        59 => style.underline_color = Color::Default,
        90..=97 => style.fg = Color::Indexed((value - 90 + 8) as u8),
        100..=107 => style.bg = Color::Indexed((value - 100 + 8) as u8),
        _ => {}
    }
    1
}

/// Parses an indexed or RGB colour: `38;5;n`, `38;2;r;g;b`, `38:5:n`, `38:2:r:g:b` and `38:2:space:r:g:b`. Returns the
/// number of consumed parameters.
fn extended(sequence: &Sequence, i: usize, color: &mut Color) -> usize {
    let byte = |i: usize| u8::try_from(sequence.value(i)).ok();
    let rgb = |i: usize| Some(Color::Rgb(byte(i)?, byte(i + 1)?, byte(i + 2)?));
    let subs = (i + 1..sequence.len()).take_while(|&i| sequence.is_sub(i)).count();
    let (found, taken) = match (subs, sequence.value(i + 1)) {
        (0, 5) => (byte(i + 2).map(Color::Indexed), 3),
        (0, 2) => (rgb(i + 2), 5),
        (0, _) => (None, 2),
        (2.., 5) => (byte(i + 2).map(Color::Indexed), 1 + subs),
        (4, 2) => (rgb(i + 2), 1 + subs),
        // The colour space comes first and may be empty. Tolerances may follow.
        (5.., 2) => (rgb(i + 3), 1 + subs),
        (_, _) => (None, 1 + subs),
    };
    // An incomplete or invalid colour is ignored.
    if let Some(found) = found.filter(|_| i + taken <= sequence.len()) {
        *color = found;
    }
    taken
}
