//! Formats the lines of an asciicast, version 3. The time of an event is relative to the previous event.

use std::fmt::Write;
use std::time::Duration;

use super::Head;

pub(super) fn header(head: &Head<'_>) -> String {
    let (cols, rows) = head.size;
    let (command, timestamp) = (json_string(head.command), head.timestamp);
    format!(
        "{{\"command\":{command},\"term\":{{\"cols\":{cols},\"rows\":{rows},\"type\":\"xterm-256color\"}},\
         \"timestamp\":{timestamp},\"version\":3}}\n"
    )
}

pub(super) fn event(after: Duration, kind: char, data: &str) -> String {
    format!("[{:.6}, \"{kind}\", {}]\n", after.as_secs_f64(), json_string(data))
}

/// Returns a text as a JSON string. Strings are the only values that need escapes, so the library needs no JSON crate.
fn json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{0}'..='\u{1f}' => {
                let _ = write!(json, "\\u{:04x}", c as u32);
            }
            _ => json.push(c),
        }
    }
    json.push('"');
    json
}
