//! Program output for readers: no control characters, nothing invisible.

use std::fmt::Write;

/// Characters of one line of output, where a result lists several.
pub const LINE_CHARS: usize = 200;

/// Shows what a reader could not see: bidi controls, zero-width characters, variation selectors and tags as
/// `<U+XXXX>`. A joiner or a variation selector stays where it is part of an emoji. Patterns see what was printed.
pub fn visible(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) {
        return text.to_owned();
    }
    let mut shown = String::with_capacity(text.len());
    for (c, is_hidden) in hidden(text) {
        if is_hidden && c != '\n' {
            let _ = write!(shown, "<U+{:04X}>", c as u32);
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Text without what a reader could not see, for where each cell has its place.
pub fn without_hidden(text: &str) -> String {
    hidden(text).filter(|(_, is_hidden)| !is_hidden).map(|(c, _)| c).collect()
}

/// What may follow a character unseen, because together they are one picture.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// A character that can be an emoji: a variation selector, a joiner.
    Emoji,
    /// A digit or a sign that a keycap can be made of: a variation selector, if the keycap follows it.
    Key,
    /// An emoji with its variation selector: a joiner.
    Chosen,
    /// Anything else: nothing. So there is never a run of what cannot be seen, in which a text could hide.
    Other,
}

/// The characters, and whether each is one that a reader could not see.
fn hidden(text: &str) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut before = Before::Other;
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let next = rest.clone().next();
        let is_selector = matches!(c, '\u{fe0e}' | '\u{fe0f}');
        let (belongs, now) = match before {
            Before::Emoji if is_selector => (true, Before::Chosen),
            Before::Key if is_selector && next == Some('\u{20e3}') => (true, Before::Other),
            Before::Emoji | Before::Chosen if c == '\u{200d}' => (true, Before::Other),
            _ if is_emoji(c) => (true, Before::Emoji),
            _ if matches!(c, '0'..='9' | '#' | '*') => (true, Before::Key),
            _ => (false, Before::Other),
        };
        before = now;
        Some((c, c.is_control() || !belongs && is_ignorable(c)))
    })
}

/// The characters that nothing is drawn for, as Unicode has them (`Default_Ignorable_Code_Point`), the marks of
/// annotations, and what some take for the end of a line.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// The characters that a variation selector can make an emoji, by blocks: those of them that cannot be are drawn
/// all the same.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '↔'..='↙' | '↩' | '↪' | '\u{231a}'..='\u{23ff}' | 'Ⓜ'
        | '\u{25a0}'..='\u{27bf}' | '⤴' | '⤵' | '\u{2b00}'..='\u{2bff}' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{1f000}'..='\u{1faff}')
}

/// Cuts a text in the middle if it has more than `max` characters, and says what is missing.
pub fn cut(text: String, max: usize, how: &str) -> String {
    let count = text.chars().count();
    if count <= max {
        return text;
    }
    let note = |missing: usize| format!("\n… {missing} characters left out: {how} …\n");
    let room = max.saturating_sub(note(count).chars().count());
    let (head, tail) = (room - room / 2, room / 2);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(count - tail).collect();
    start + &note(count - head - tail) + &end
}

/// A line of output as one of several in a result.
pub fn line(line: &str) -> String {
    cut(visible(line), LINE_CHARS, "read_output")
}
