//! Makes text of programs readable: shows or removes invisible characters, and cuts long texts.

use std::fmt::Write;

/// The maximum length of a line in a result that lists several, in characters.
pub const LINE_CHARS: usize = 200;

/// Shows invisible characters (bidi controls, zero-width characters, variation selectors and tags) as `<U+XXXX>`.
/// Joiners and variation selectors in an emoji stay. Patterns match the original text.
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

/// Removes invisible characters, for output in which each cell has a fixed column.
pub fn without_hidden(text: &str) -> String {
    hidden(text).filter(|(_, is_hidden)| !is_hidden).map(|(c, _)| c).collect()
}

/// The class of the previous character, which decides on the invisible characters that may follow it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PreviousChar {
    /// A possible emoji: a variation selector or a joiner may follow.
    Emoji,
    /// The base of a keycap: a variation selector may follow if the keycap mark comes next.
    KeycapBase,
    /// An emoji with its variation selector: a joiner may follow.
    EmojiWithSelector,
    /// Any other character: none may follow. So there is never a run of invisible characters that could carry a hidden
    /// text.
    Other,
}

/// Returns the characters, and whether each is invisible.
fn hidden(text: &str) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut before = PreviousChar::Other;
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let c = rest.next()?;
        let next = rest.clone().next();
        let is_selector = matches!(c, '\u{fe0e}' | '\u{fe0f}');
        let (belongs, now) = match before {
            PreviousChar::Emoji if is_selector => (true, PreviousChar::EmojiWithSelector),
            PreviousChar::KeycapBase if is_selector && next == Some('\u{20e3}') => {
                (true, PreviousChar::Other)
            }
            PreviousChar::Emoji | PreviousChar::EmojiWithSelector if c == '\u{200d}' => {
                (true, PreviousChar::Other)
            }
            _ if is_emoji(c) => (true, PreviousChar::Emoji),
            _ if matches!(c, '0'..='9' | '#' | '*') => (true, PreviousChar::KeycapBase),
            _ => (false, PreviousChar::Other),
        };
        before = now;
        Some((c, c.is_control() || !belongs && is_ignorable(c)))
    })
}

/// Returns whether nothing is drawn for a character: Unicode's `Default_Ignorable_Code_Point`, annotation marks, and
/// characters that some readers take for line breaks.
fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character may be an emoji with a variation selector, by blocks. Characters of these blocks that
/// cannot be one are visible anyway.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '©' | '®' | '‼' | '⁉' | '™' | 'ℹ' | '↔'..='↙' | '↩' | '↪' | '\u{231a}'..='\u{23ff}' | 'Ⓜ'
        | '\u{25a0}'..='\u{27bf}' | '⤴' | '⤵' | '\u{2b00}'..='\u{2bff}' | '〰' | '〽' | '㊗' | '㊙'
        | '\u{1f000}'..='\u{1faff}')
}

/// Cuts a text in the middle if it has more than `max` characters. A note in the gap has the number of missing
/// characters and says `how` to read them.
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

/// Returns a line of output for a result that lists several.
pub fn line(line: &str) -> String {
    cut(visible(line), LINE_CHARS, "read_output")
}
