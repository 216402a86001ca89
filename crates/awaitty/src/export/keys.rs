//! Converts typed text to texts and keys: what a terminal sends for a key becomes the name of the key.

use super::act::{Place, Pointer};

/// A part of typed text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TypedPart {
    /// Text without control characters.
    Text(String),
    /// A key, by its name.
    Key(String),
    /// A bracketed paste.
    Paste(String),
    /// A mouse report.
    Mouse(Pointer),
}

/// The marks around a bracketed paste.
const PASTE: (&str, &str) = ("\x1b[200~", "\x1b[201~");

/// Reports of the focus, which are no input of a person.
const FOCUS: [&str; 2] = ["\x1b[I", "\x1b[O"];

/// Returns the names of keys, if the text consists of their escape sequences.
pub(crate) fn key_names(typed: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    let mut rest = typed;
    while !rest.is_empty() {
        let (name, after) = sequence(rest)?;
        names.push(name);
        rest = after;
    }
    Some(names).filter(|names| !names.is_empty())
}

/// Splits typed text into its parts.
pub(super) fn parts(typed: &str) -> Vec<TypedPart> {
    let mut parts = Vec::new();
    let mut rest = typed;
    while !rest.is_empty() {
        rest = take(rest, &mut parts);
    }
    parts
}

/// Adds the first part of a text. Returns the rest.
fn take<'t>(text: &'t str, parts: &mut Vec<TypedPart>) -> &'t str {
    let end = text.find(|c: char| c.is_ascii_control()).unwrap_or(text.len());
    if end > 0 {
        parts.push(TypedPart::Text(text[..end].to_owned()));
        return &text[end..];
    }
    if let Some(rest) = FOCUS.iter().find_map(|focus| text.strip_prefix(focus)) {
        return rest;
    }
    if let Some((paste, rest)) =
        text.strip_prefix(PASTE.0).and_then(|pasted| pasted.split_once(PASTE.1))
    {
        parts.push(TypedPart::Paste(paste.replace('\r', "\n")));
        return rest;
    }
    if let Some((pointer, rest)) = mouse_report(text) {
        add_pointer(pointer, parts);
        return rest;
    }
    if let Some((key, rest)) = sequence(text) {
        parts.push(TypedPart::Key(key));
        return rest;
    }
    if let Some(rest) = text.strip_prefix("\r\n") {
        parts.push(TypedPart::Key("enter".to_owned()));
        return rest;
    }
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let rest = chars.as_str();
    // Alt is a prefix.
    if let ('\x1b', Some(next)) = (first, rest.chars().next().filter(|&c| c != '\x1b')) {
        let (name, is_text) = name_of(next);
        if !(is_text && ['[', 'O'].contains(&next)) {
            parts.push(TypedPart::Key(format!("alt+{name}")));
            return &rest[next.len_utf8()..];
        }
    }
    parts.push(TypedPart::Key(name_of(first).0));
    rest
}

/// Returns the name of the key that sends a character, and whether that is the character itself.
fn name_of(c: char) -> (String, bool) {
    let name = match c {
        '\r' | '\n' => "enter",
        '\t' => "tab",
        '\x1b' => "esc",
        '\x7f' => "backspace",
        '\0' => "ctrl+space",
        '\x01'..='\x1a' => return (format!("ctrl+{}", (b'a' + c as u8 - 1) as char), false),
        '\x1c'..='\x1f' => return (format!("ctrl+{}", (b'\\' + c as u8 - 0x1c) as char), false),
        other => return (other.to_string(), true),
    };
    (name.to_owned(), false)
}

/// Returns the key of an escape sequence at the start of a text, and the rest.
fn sequence(text: &str) -> Option<(String, &str)> {
    if let Some(rest) = text.strip_prefix("\x1bO") {
        let letter = rest.chars().next()?;
        return Some((named_by_letter(letter)?, &rest[letter.len_utf8()..]));
    }
    let rest = text.strip_prefix("\x1b[")?;
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let (parameters, last) = (&rest[..end], rest[end..].chars().next()?);
    let rest = &rest[end + last.len_utf8()..];
    let mut numbers = parameters.split(';').map(|number| number.parse::<u8>().unwrap_or(1));
    let (first, second) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1));
    let key = match last {
        '~' => named_by_number(first)?,
        'Z' => "shift+tab".to_owned(),
        letter => named_by_letter(letter)?,
    };
    Some((modifiers(second) + &key, rest))
}

/// Returns the names of modifiers for the parameter of a sequence.
fn modifiers(parameter: u8) -> String {
    let bits = parameter.saturating_sub(1);
    let names = [(4, "ctrl+"), (2, "alt+"), (1, "shift+"), (8, "meta+")];
    names.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect()
}

fn named_by_letter(letter: char) -> Option<String> {
    let name = match letter {
        'A' => "up",
        'B' => "down",
        'C' => "right",
        'D' => "left",
        'H' => "home",
        'F' => "end",
        'M' => "enter",
        'P'..='S' => return Some(format!("f{}", letter as u8 - b'P' + 1)),
        _ => return None,
    };
    Some(name.to_owned())
}

fn named_by_number(number: u8) -> Option<String> {
    let name = match number {
        1 | 7 => "home",
        2 => "insert",
        3 => "delete",
        4 | 8 => "end",
        5 => "pageup",
        6 => "pagedown",
        11..=15 => return Some(format!("f{}", number - 10)),
        17..=21 => return Some(format!("f{}", number - 11)),
        23..=26 => return Some(format!("f{}", number - 12)),
        28 | 29 => return Some(format!("f{}", number - 13)),
        31..=34 => return Some(format!("f{}", number - 14)),
        _ => return None,
    };
    Some(name.to_owned())
}

/// Returns the use of the mouse that a report in SGR encoding describes, and the rest.
fn mouse_report(text: &str) -> Option<(Pointer, &str)> {
    let rest = text.strip_prefix("\x1b[<")?;
    let end = rest.find(['M', 'm'])?;
    let mut numbers = rest[..end].split(';').map(|number| number.parse::<usize>().ok());
    let (code, col, row) = (numbers.next()??, numbers.next()??, numbers.next()??);
    let button = match code & !0x3c {
        0 => "left",
        1 => "middle",
        2 => "right",
        64 => "wheel_up",
        65 => "wheel_down",
        _ => "none",
    };
    let action = match (code & 32 != 0, &rest[end..=end]) {
        (true, _) => "move",
        (false, "M") => "press",
        (false, _) => "release",
    };
    let place = Place::Cell { row, col, pattern: None };
    Some((Pointer { place, button, action }, &rest[end + 1..]))
}

/// Adds a use of the mouse. A press and a release at one place are a click.
fn add_pointer(pointer: Pointer, parts: &mut Vec<TypedPart>) {
    if let Some(TypedPart::Mouse(last)) = parts.last_mut()
        && (last.action, pointer.action) == ("press", "release")
        && (last.button, &last.place) == (pointer.button, &pointer.place)
    {
        last.action = "click";
        return;
    }
    parts.push(TypedPart::Mouse(pointer));
}

#[cfg(test)]
mod tests {
    use awaitty_core::{Key, Screen};

    use super::*;

    fn key(name: &str) -> TypedPart {
        TypedPart::Key(name.to_owned())
    }

    fn text(text: &str) -> TypedPart {
        TypedPart::Text(text.to_owned())
    }

    #[test]
    fn text_is_split_at_keys() {
        assert_eq!(parts("ls -l\n"), [text("ls -l"), key("enter")]);
        assert_eq!(parts("a\r\nb"), [text("a"), key("enter"), text("b")]);
        assert_eq!(parts("\x1b[A\x1bOBx"), [key("up"), key("down"), text("x")]);
        assert_eq!(parts("\x1b:q"), [key("alt+:"), text("q")]);
        assert_eq!(parts("\x1b\x1b"), [key("esc"), key("esc")]);
        assert_eq!(parts("\x1b"), [key("esc")]);
        assert_eq!(parts("\x1b[9z"), [key("esc"), text("[9z")], "an unknown sequence");
        assert_eq!(parts("\x1b[I\x1b[O"), [], "the focus");
        let paste = TypedPart::Paste("a\nb".to_owned());
        assert_eq!(parts("\x1b[200~a\rb\x1b[201~\r"), [paste, key("enter")]);
    }

    #[test]
    fn a_press_and_a_release_are_a_click() {
        let pointer = |button, action, col| {
            let place = Place::Cell { row: 3, col, pattern: None };
            TypedPart::Mouse(Pointer { place, button, action })
        };
        assert_eq!(parts("\x1b[<0;5;3M\x1b[<0;5;3m"), [pointer("left", "click", 5)]);
        let drag = [
            pointer("left", "press", 5),
            pointer("left", "move", 6),
            pointer("left", "release", 6),
        ];
        assert_eq!(parts("\x1b[<0;5;3M\x1b[<32;6;3M\x1b[<0;6;3m"), drag);
        assert_eq!(parts("\x1b[<65;5;3M"), [pointer("wheel_down", "press", 5)]);
    }

    #[test]
    fn the_bytes_of_every_key_give_its_name() {
        let named =
            "enter tab esc backspace delete insert up down left right home end pageup pagedown";
        let plain = named.split(' ').map(str::to_owned).chain((1..=20).map(|n| format!("f{n}")));
        let modified = ["ctrl+up", "ctrl+alt+left", "shift+tab", "alt+x", "alt+enter", "shift+f5"];
        let controls = ('a'..='z').filter(|c| !"hijm".contains(*c)).map(|c| format!("ctrl+{c}"));
        let more = ["ctrl+\\", "ctrl+]", "ctrl+space", "ctrl+shift+f2"];
        let names = plain.chain(modified.map(str::to_owned)).chain(controls);
        for name in names.chain(more.map(str::to_owned)) {
            let parsed = Key::parse(&name).unwrap();
            let bytes = parsed.encode(&Screen::new(80, 24, 0));
            assert_eq!(parts(&String::from_utf8(bytes).unwrap()), [key(&name)]);
            assert_eq!(parsed.to_string(), name);
        }
    }
}
