//! Encodes input items as parts for the terminal's task, and as the text that may be echoed.

use awaitty_core::{Key, Mouse, MouseAction, Screen, encode_mouse};

use crate::terminal::{Part, PartKind};

/// The mark at the start of a bracketed paste.
const PASTE: &str = "\x1b[200~";

/// The mark at the end of a bracketed paste.
pub const PASTE_END: &str = "\x1b[201~";

/// An item of input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputItem {
    /// Text, which is written at once. A line feed is Enter.
    Text(String),
    /// A keystroke.
    Key(Key),
    /// Text that is pasted, between marks if the program has requested them (bracketed paste).
    Paste(String),
    /// A click: the button is pressed and released. Rows and columns count from 0.
    Click {
        /// The row.
        row: usize,
        /// The column.
        col: usize,
    },
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
            InputItem::Paste(text) => {
                let text = typed(text);
                echo += &text;
                let bytes = match screen.has_bracketed_paste() {
                    true => format!("{PASTE}{text}{PASTE_END}"),
                    false => text,
                };
                parts.push(Part { bytes: bytes.into(), kind: PartKind::Key });
            }
            &InputItem::Click { row, col } => {
                let event = |action| Mouse { action, button: 0, row, col };
                let events = [MouseAction::Press, MouseAction::Release].map(event);
                let bytes = events.into_iter().flat_map(|event| encode_mouse(event, screen));
                parts.push(Part { bytes: bytes.collect(), kind: PartKind::Key });
            }
        }
    }
    (parts, echo)
}
