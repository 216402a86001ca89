//! Program output for readers: no control characters, nothing invisible, bounded, in a frame that the
//! program cannot forge.

use std::fmt::{Display, Write};

use awaitty_core::{ChangeKind, Diff, Frame};

use crate::policy;

/// Shows what a reader could not see: bidi controls, zero-width characters and tags as `<U+XXXX>`. A
/// joiner or a variation selector stays where it is part of an emoji.
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

/// The characters, and whether each is one that a reader could not see.
fn hidden(text: &str) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut before: Option<char> = None;
    text.chars().map(move |c| {
        let joins = matches!(c, '\u{200d}' | '\u{fe0f}' | '\u{fe0e}')
            && before.is_some_and(|before| before >= '\u{2000}' || "0123456789#*".contains(before));
        let hidden = matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}');
        before = Some(c);
        (c, hidden && !joins || c.is_control())
    })
}

/// Text that is no markup, in an element or an attribute.
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
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

/// The screen as `N<TAB>line`, a run of blank rows shown once.
pub fn numbered<N: Display>(rows: &[(N, String)]) -> String {
    let mut text = String::new();
    let mut blank = false;
    for (number, row) in rows {
        if row.is_empty() {
            blank = true;
            continue;
        }
        if std::mem::take(&mut blank) && !text.is_empty() {
            text.push_str("…\n");
        }
        let _ = writeln!(text, "{number}\t{row}");
    }
    text
}

/// The rows of a frame with their numbers from 1.
pub fn frame_rows(frame: &Frame) -> Vec<(usize, String)> {
    frame.rows().iter().enumerate().map(|(i, row)| (i + 1, visible(row.text()))).collect()
}

/// What changed, for a reader.
pub fn diff_text(diff: &Diff) -> String {
    let mut text = String::new();
    if diff.scrolled != 0 {
        let _ = writeln!(text, "scrolled {}", diff.scrolled);
    }
    for change in &diff.changes {
        let row = change.row + 1;
        let _ = match change.kind {
            ChangeKind::Removed => writeln!(text, "{row}\t(blank now)"),
            ChangeKind::Style => {
                writeln!(text, "{row}\t{} (style)", visible(change.now.text()))
            }
            ChangeKind::Changed | ChangeKind::Added => {
                writeln!(text, "{row}\t{}", visible(change.now.text()))
            }
        };
    }
    if diff.is_empty() {
        text.push_str("nothing changed\n");
    }
    text
}

/// A line of output as one of several in a result.
pub fn line(line: &str) -> String {
    cut(visible(line), policy::LINE_CHARS, "read_output")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_invisible_is_shown() {
        assert_eq!(visible("abc世é"), "abc世é");
        assert_eq!(visible("a\u{202e}b\u{200b}c\u{e0041}"), "a<U+202E>b<U+200B>c<U+E0041>");
        assert_eq!(visible("👩\u{200d}💻 ☀\u{fe0f}"), "👩\u{200d}💻 ☀\u{fe0f}");
        assert_eq!(visible("a\u{200d}b\u{9b}"), "a<U+200D>b<U+009B>");
    }

    #[test]
    fn long_texts_are_cut_in_the_middle() {
        assert_eq!(cut("x".repeat(200), 200, "ask"), "x".repeat(200));
        let text = cut("a".repeat(500) + &"b".repeat(500), 200, "ask for rows");
        assert!(text.chars().count() <= 200, "{text}");
        assert!(text.starts_with("aaa") && text.ends_with("bbb"));
        assert!(text.contains("characters left out: ask for rows"));
    }

    #[test]
    fn blank_rows_are_shown_once() {
        let rows = ["a", "", "", "b", ""].map(str::to_owned).into_iter().enumerate();
        let rows: Vec<_> = rows.map(|(i, row)| (i + 1, row)).collect();
        assert_eq!(numbered(&rows), "1\ta\n…\n4\tb\n");
    }
}
