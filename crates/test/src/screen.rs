//! Screens in reports: framed, with the cursor, and what changed between two of them.

use std::fmt::Write;

use awaitty_terminal::core::{ChangeKind, Diff, Frame, SelectionChange};
use awaitty_terminal::text::visible;

use crate::trace::Mask;

/// The maximum number of changed rows that a report lists. The screen itself is above the list.
const CHANGES_MAX: usize = 12;

/// Returns a screen with a border and row numbers, and with secrets masked. A line below the row of the cursor marks
/// its column.
pub(crate) fn framed(frame: &Frame, masker: &Mask) -> String {
    let border = "─".repeat(frame.cols());
    let cursor = frame.cursor();
    let mut text = format!("    ┌{border}┐\n");
    // A secret may be wrapped, so the rows are masked together.
    let rows: Vec<&str> = frame.rows().iter().map(|row| row.text()).collect();
    let rows = masker.chars(&rows.join("\n"));
    for (index, (row, shown)) in frame.rows().iter().zip(rows.split('\n')).enumerate() {
        let blanks = " ".repeat(frame.cols().saturating_sub(row.width()));
        let _ = writeln!(text, "{:>3} │{}{blanks}│", index + 1, visible(shown));
        if cursor.visible && cursor.row == index {
            let _ = writeln!(text, "     {}^ cursor", " ".repeat(cursor.col));
        }
    }
    let _ = write!(text, "    └{border}┘");
    text
}

/// Describes the size of a screen and the place of its cursor.
pub(crate) fn heading(frame: &Frame) -> String {
    let cursor = frame.cursor();
    let hidden = if cursor.visible { "" } else { ", hidden" };
    format!(
        "screen {}x{}, cursor at row {}, column {}{hidden}",
        frame.cols(),
        frame.rows().len(),
        cursor.row + 1,
        cursor.col + 1
    )
}

/// Lists what changed between two frames, one line for each row.
pub(crate) fn changes(base: &Frame, frame: &Frame) -> Vec<String> {
    let Some(diff) = Diff::new(base, frame) else {
        let size = |frame: &Frame| format!("{}x{}", frame.cols(), frame.rows().len());
        return vec![format!("the size: {} is now {}", size(base), size(frame))];
    };
    let mut lines = Vec::new();
    if diff.is_replaced(frame.rows().len()) {
        lines.push("the whole screen".to_owned());
    } else if diff.scrolled != 0 {
        let (rows, way) = (diff.scrolled.abs(), if diff.scrolled > 0 { "up" } else { "down" });
        lines.push(format!("scrolled {way} by {rows}"));
    }
    for change in &diff.changes {
        let (row, now) = (change.row + 1, visible(change.now.text()));
        let before = change.row.checked_add_signed(diff.scrolled);
        let before = before.and_then(|row| base.rows().get(row));
        let before = before.map_or(String::new(), |row| visible(row.text()));
        let selection = match change.selection {
            Some(SelectionChange::Selected) => " (now selected)",
            Some(SelectionChange::Deselected) => " (no longer selected)",
            None => "",
        };
        lines.push(match change.kind {
            ChangeKind::Added => format!("row {row}: + {now:?}{selection}"),
            ChangeKind::Removed => format!("row {row}: - {before:?}{selection}"),
            ChangeKind::Changed => format!("row {row}: {before:?} is now {now:?}{selection}"),
            ChangeKind::Style => format!("row {row}: another style of {now:?}{selection}"),
        });
    }
    if diff.reversed {
        lines.push("the colours of the whole screen are swapped".to_owned());
    }
    let left_out = lines.len().saturating_sub(CHANGES_MAX);
    if left_out > 0 {
        lines.truncate(CHANGES_MAX);
        lines.push(format!("and {left_out} more rows"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use awaitty_terminal::core::{Session, Time};

    use super::*;

    fn frames(outputs: &[&str]) -> Vec<Arc<Frame>> {
        let mut session = Session::new(Time::from_ms(0), 10, 3, 10);
        let mut frame = |output: &&str| {
            session.handle_output(Time::from_ms(1), output.as_bytes());
            session.handle_drained(Time::from_ms(1));
            Arc::clone(session.frame())
        };
        outputs.iter().map(&mut frame).collect()
    }

    #[test]
    fn a_screen_has_a_border_row_numbers_and_its_cursor() {
        let frames = frames(&["世 a\r\n> b", "\x1b[?25l"]);
        let expected = "    ┌──────────┐\n  1 │世 a      │\n  2 │> b       │\n        ^ cursor\n  3 │          │\n    └──────────┘";
        assert_eq!(framed(&frames[0], &Mask::default()), expected);
        assert_eq!(heading(&frames[0]), "screen 10x3, cursor at row 2, column 4");
        assert!(heading(&frames[1]).ends_with(", hidden"));
        assert!(!framed(&frames[1], &Mask::default()).contains("cursor"));
    }

    #[test]
    fn a_secret_that_is_wrapped_is_masked() {
        let frames = frames(&["a: hunter2345"]);
        let shown = framed(&frames[0], &Mask::new(&["hunter2345".to_owned()]));
        assert!(shown.contains("│a: •••••••│\n  2 │•••       │"), "{shown}");
    }

    #[test]
    fn changes_are_listed_by_row() {
        let all = frames(&[
            "one\r\ntwo",
            "\x1b[1;1H\x1b[7mone\x1b[m\x1b[2;1Htoo\x1b[3;1Hnew",
            "\x1b[2;1H\x1b[K",
        ]);
        let lines = [
            r#"row 1: another style of "one" (now selected)"#,
            r#"row 2: "two" is now "too""#,
            r#"row 3: + "new""#,
        ];
        assert_eq!(changes(&all[0], &all[1]), lines);
        assert_eq!(changes(&all[1], &all[2]), [r#"row 2: - "too""#]);
        assert!(changes(&all[2], &all[2]).is_empty());
    }

    #[test]
    fn a_long_list_of_changes_ends_with_a_count() {
        let rows = CHANGES_MAX + 1;
        let mut session = Session::new(Time::from_ms(0), 10, rows, 10);
        let blank = Arc::clone(session.frame());
        let at_most = "x\r\n".repeat(CHANGES_MAX);
        session.handle_output(Time::from_ms(1), at_most.as_bytes());
        session.handle_drained(Time::from_ms(1));
        assert_eq!(changes(&blank, session.frame()).len(), CHANGES_MAX);
        session.handle_output(Time::from_ms(2), b"x");
        session.handle_drained(Time::from_ms(2));
        let lines = changes(&blank, session.frame());
        assert_eq!(lines.last().map(String::as_str), Some("and 1 more rows"));
    }
}
