//! Diagnosis of a wait that was not met, in a few lines.

use awaitty_core::{Condition, Finding, Outcome, WaitEnded};

use crate::terminal::{Driver, Ends};
use crate::text;

/// The number of output lines that are compared with a pattern.
const COMPARED_LINES: usize = 200;

/// The minimum length of a pattern's word that is compared, in characters.
const WORD_MIN: usize = 3;

/// Returns the diagnosis, at most ten lines; `None` for a wait that was met, unless the program is busy.
pub fn explain(driver: &Driver, ends: &Ends) -> Option<String> {
    let ended = &ends.first;
    if let Finding::Settled { busy: true, .. } = ended.finding {
        return Some(format!("the screen is quiet, but {}", doing(driver)));
    }
    if matches!(ended.outcome, Outcome::Met | Outcome::Closed) {
        return None;
    }
    let mut notes: Vec<String> = Vec::new();
    for ended in std::iter::once(ended).chain(&ends.others) {
        notes.extend(explain_finding(driver, ended));
    }
    if driver.is_output_stopped() {
        notes.push("output is stopped, as by ctrl+s: ctrl+q resumes it".to_owned());
    }
    notes.push(match ended.exit {
        Some(_) => "the program has exited, so there will be no more output".to_owned(),
        None => doing(driver),
    });
    Some(notes.join("\n"))
}

/// Returns the diagnosis of one wait.
fn explain_finding(driver: &Driver, ended: &WaitEnded) -> Option<String> {
    match (&ended.condition, &ended.finding) {
        (Condition::Text(pattern), Finding::Text { found: None, .. }) => {
            nearest(driver, pattern.text(), pattern.flags())
        }
        (Condition::Text(_), Finding::Text { found: Some(found), .. }) => {
            let row = found.row.map_or_else(String::new, |row| format!("row {}, ", row + 1));
            Some(format!(
                "the pattern matches only text from before the anchor or the echo of input: {row}line {}, {:?}",
                found.line.0,
                text::line(&found.text)
            ))
        }
        (Condition::Gone(_), Finding::Gone(Some(found))) => Some(format!(
            "the pattern still matches {:?} in line {}",
            text::line(&found.text),
            found.line.0
        )),
        (_, Finding::Change { changed: false, style_changed, .. }) => {
            let styles =
                if *style_changed { ", but styles did: styles: true counts them" } else { "" };
            Some(format!("the text on the screen did not change{styles}"))
        }
        (_, Finding::Change { stable: false, busy_rows, .. }) if !busy_rows.is_empty() => {
            let rows: Vec<String> = busy_rows.iter().map(|row| (row + 1).to_string()).collect();
            let rows = rows.join(", ");
            Some(format!("rows that kept changing: {rows}; ignore leaves out rows by a pattern"))
        }
        _ => None,
    }
}

/// Describes the program in the foreground.
pub fn doing(driver: &Driver) -> String {
    match driver.foreground() {
        Some(found) => format!("{:?}: {}", found.name, found.words()),
        None => "no program is in the foreground".to_owned(),
    }
}

/// Returns the newest line that shares most words with a pattern.
fn nearest(driver: &Driver, pattern: &str, flags: &str) -> Option<String> {
    let words = words(pattern);
    if words.is_empty() {
        return None;
    }
    let lines = driver.session().last_lines(COMPARED_LINES);
    let shared = |line: &str| {
        let line = line.to_lowercase();
        words
            .iter()
            .filter(|word| line.contains(&word.to_lowercase()))
            .map(String::len)
            .sum::<usize>()
    };
    let (count, line) =
        lines.iter().map(|line| (shared(line), line)).max_by_key(|(count, _)| *count)?;
    if count == 0 {
        return Some("no line of the output contains a word of the pattern".to_owned());
    }
    let exact = words
        .iter()
        .filter(|word| line.to_lowercase().contains(&word.to_lowercase()))
        .all(|word| line.contains(word.as_str()));
    let hint = if exact || flags.contains('i') {
        ""
    } else {
        " (the case differs: flags \"i\" ignores it)"
    };
    Some(format!("the nearest line is {:?}{hint}", text::line(line)))
}

/// Returns the runs of letters and digits in a pattern, without escapes.
fn words(pattern: &str) -> Vec<String> {
    let mut plain = String::new();
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' {
            chars.next();
            plain.push(' ');
        } else {
            plain.push(c);
        }
    }
    let words = plain.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| word.chars().count() >= WORD_MIN).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_and_short_words_of_a_pattern_are_skipped() {
        assert_eq!(words(r"^Tests: \d+ (passed|failed)\b.x$"), ["Tests", "passed", "failed"]);
        assert!(words(r"\w+.*").is_empty());
    }
}
