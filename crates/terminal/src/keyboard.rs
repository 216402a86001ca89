//! Input as parts for the terminal's task: what each keystroke sends, and which of it the terminal may echo.

use awaitty_core::{Key, Screen};

use crate::terminal::{Part, PartKind};

/// Input for a terminal, item by item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputItem {
    /// Text, which goes in one write. A line feed is Enter.
    Text(String),
    /// A keystroke.
    Key(Key),
}

/// Returns text as it is typed: Enter is a carriage return, of which the line discipline makes what the program wants.
pub fn typed(text: &str) -> String {
    text.replace("\r\n", "\r").replace('\n', "\r")
}

/// Returns what a key sends in the modes of a screen, and its echo.
pub fn key_part(key: &Key, screen: &Screen) -> (Part, String) {
    let bytes = key.encode(screen);
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    // Other keys are not echoed as themselves, and what follows them may be elsewhere on the screen.
    let is_typed = text == "\r" || !text.contains(char::is_control);
    let echo = if is_typed { text.to_owned() } else { "\x1b".to_owned() };
    let kind = if bytes == b"\x1b" { PartKind::Escape } else { PartKind::Key };
    (Part { bytes, kind }, echo)
}

/// Returns the parts of input in the modes of a screen, and the text of them that can be echoed.
pub fn encode(items: &[InputItem], screen: &Screen) -> (Vec<Part>, String) {
    let (mut parts, mut echo) = (Vec::new(), String::new());
    for item in items {
        match item {
            InputItem::Text(text) => {
                let text = typed(text);
                echo += &text;
                parts.push(Part::text(text));
            }
            InputItem::Key(key) => {
                let (part, text) = key_part(key, screen);
                echo += &text;
                parts.push(part);
            }
        }
    }
    (parts, echo)
}
