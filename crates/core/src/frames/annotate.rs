//! The text of a row with its styles marked, for readers without colours.

use crate::row::Row;
use crate::screen::{default_rgb, nearest_basic};
use crate::style::{Attrs, Color, Style, Underline};

const LETTERS: &[u8; 8] = b"krgybmcw";

/// Returns the text of a row with its styles marked; see [`crate::Frame::annotated`].
pub(crate) fn row(row: &Row) -> String {
    let mut text = String::new();
    let end = row.width();
    let mut col = 0;
    for span in row.styles() {
        let (from, to) = (usize::from(span.from), usize::from(span.to));
        push_plain(&mut text, row.slice(col, from.max(col)));
        pad(&mut text, col.max(end), from);
        let marks = marks(&span.value);
        if marks.is_empty() {
            push_plain(&mut text, row.slice(from, to));
        } else {
            text.push_str(&format!("[{marks}]"));
            push_plain(&mut text, row.slice(from, to));
            pad(&mut text, from.max(end), to);
            text.push_str("[/]");
        }
        col = to;
    }
    push_plain(&mut text, row.slice(col, end.max(col)));
    text
}

/// Adds blanks for columns past the end of the text, where a style may be visible.
fn pad(text: &mut String, from: usize, to: usize) {
    text.extend(std::iter::repeat_n(' ', to.saturating_sub(from)));
}

fn push_plain(text: &mut String, plain: &str) {
    text.push_str(&plain.replace('[', "[["));
}

fn marks(style: &Style) -> String {
    let mut marks = String::new();
    marks.extend(letter(style.fg));
    let attrs = [
        (style.attrs.has(Attrs::BOLD), '+'),
        (style.underline != Underline::None, '_'),
        (style.attrs.has(Attrs::DIM), '~'),
        (style.attrs.has(Attrs::INVERSE), '^'),
        (style.attrs.has(Attrs::ITALIC), '/'),
        (style.attrs.has(Attrs::STRIKE), '-'),
    ];
    marks.extend(attrs.iter().filter(|(has, _)| *has).map(|(_, mark)| mark));
    if let Some(letter) = letter(style.bg) {
        marks.push(':');
        marks.push(letter);
    }
    marks
}

fn letter(color: Color) -> Option<char> {
    let index = match color {
        Color::Default => return None,
        Color::Indexed(index @ 0..16) => index,
        Color::Indexed(index) => nearest_basic(default_rgb(index)),
        Color::Rgb(r, g, b) => nearest_basic((r, g, b)),
    };
    let letter = char::from(LETTERS[usize::from(index % 8)]);
    Some(if index < 8 { letter } else { letter.to_ascii_uppercase() })
}

#[cfg(test)]
mod tests {
    use crate::Screen;

    fn check(bytes: &str, expected: &str) {
        let mut screen = Screen::new(20, 2, 0);
        screen.feed(bytes.as_bytes());
        assert_eq!(super::row(&screen.row(0)), expected, "{bytes:?}");
    }

    #[test]
    fn runs_are_marked() {
        check("plain", "plain");
        check("\x1b[1;31merror\x1b[m: x", "[r+]error[/]: x");
        check("\x1b[94;41mx\x1b[m", "[B:r]x[/]");
        check("\x1b[2;3;4;7;9mx", "[_~^/-]x[/]");
        check("\x1b[38;5;196mx\x1b[38;2;0;200;0my", "[R]x[/][g]y[/]");
        check("a[b]", "a[[b]");
    }

    #[test]
    fn a_coloured_bar_is_marked_past_the_end_of_the_text() {
        check("ab\x1b[44m\x1b[K\x1b[m", &format!("ab[:b]{}[/]", " ".repeat(18)));
        check("ab  \x1b[7m  \x1b[m", "ab  [^]  [/]");
    }

    #[test]
    fn wide_characters_are_cut_where_the_style_changes() {
        check("世\x1b[1m界\x1b[m!", "世[+]界[/]!");
    }
}
