//! Encodes input items as parts for the terminal's task, and as the text that may be echoed.

use awaitty_core::{Key, Screen};

use crate::terminal::{Part, PartKind};

/// An item of input: text or a keystroke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputItem {
    /// Text, which is written at once. A line feed is Enter.
    Text(String),
    /// A keystroke.
    Key(Key),
}

/// Converts line ends to carriage returns, which Enter sends. The line discipline translates them for the program.
pub fn typed(text: &str) -> String {
    text.replace("\r\n", "\r").replace('\n', "\r")
}

/// Returns the bytes that a key sends in the modes of a screen, and the text that may be echoed.
pub fn key_part(key: &Key, screen: &Screen) -> (Part, String) {
    let bytes = key.encode(screen);
    let text = std::str::from_utf8(&bytes).unwrap_or_default();
    // Other keys are not echoed as text and may move the cursor, so a control character ends the line of the echo.
    let is_typed = text == "\r" || !text.contains(char::is_control);
    let echo = if is_typed { text.to_owned() } else { "\x1b".to_owned() };
    let kind = if bytes == b"\x1b" { PartKind::Escape } else { PartKind::Key };
    (Part { bytes, kind }, echo)
}

/// Returns the parts of input in the modes of a screen, and the text that may be echoed.
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
