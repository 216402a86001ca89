//! Why a wait did not end as hoped, in a few lines: what an engineer would look at next.

use awaitty_core::{Condition, Finding, Outcome, WaitEnded};

use crate::terminal::{Driver, Ends};
use crate::text;

/// Lines of output in which the nearest to a pattern is looked for.
const LINES_LOOKED_AT: usize = 200;

/// The shortest word of a pattern that says something about a line.
const WORD_MIN: usize = 3;

/// Returns what there is to say, at most ten lines; nothing of a wait that was met, unless the program is busy.
pub fn explain(driver: &Driver, ends: &Ends) -> Option<String> {
    let ended = &ends.first;
    if let Finding::Settled { busy: true, .. } = ended.finding {
        return Some(format!("the screen is quiet, but {}", doing(driver)));
    }
    if matches!(ended.outcome, Outcome::Met | Outcome::Closed) {
        return None;
    }
    let mut said: Vec<String> = Vec::new();
    for ended in std::iter::once(ended).chain(&ends.others) {
        said.extend(explain_finding(driver, ended));
    }
    if driver.is_output_stopped() {
        said.push("output is stopped, as ctrl+s does it: ctrl+q lets it go on".to_owned());
    }
    said.push(match ended.exit {
        Some(_) => "the program has exited, so nothing more will come".to_owned(),
        None => doing(driver),
    });
    Some(said.join("\n"))
}

/// Returns why one wait was not met.
fn explain_finding(driver: &Driver, ended: &WaitEnded) -> Option<String> {
    match (&ended.condition, &ended.finding) {
        (Condition::Text(pattern), Finding::Text { found: None, .. }) => {
            nearest(driver, pattern.text(), pattern.flags())
        }
        (Condition::Text(_), Finding::Text { found: Some(found), .. }) => {
            let row = found.row.map_or_else(String::new, |row| format!("row {}, ", row + 1));
            Some(format!(
                "the pattern is there, but from before the anchor or as the echo of input: {row}line {}, {:?}",
                found.line.0,
                text::line(&found.text)
            ))
        }
        (Condition::Gone(_), Finding::Gone(Some(found))) => Some(format!(
            "it is still there: {:?} in line {}",
            text::line(&found.text),
            found.line.0
        )),
        (_, Finding::Change { changed: false, style_changed, .. }) => {
            let styles = if *style_changed {
                ", but its styles did: `styles: true` counts them"
            } else {
                ""
            };
            Some(format!("the text on the screen did not change{styles}"))
        }
        (_, Finding::Change { stable: false, busy_rows, .. }) if !busy_rows.is_empty() => {
            let rows: Vec<String> = busy_rows.iter().map(|row| (row + 1).to_string()).collect();
            let rows = rows.join(", ");
            Some(format!("rows that kept changing: {rows}; `ignore` leaves out rows by a pattern"))
        }
        _ => None,
    }
}

/// Returns what has the terminal in the foreground, and what it does.
pub fn doing(driver: &Driver) -> String {
    match driver.foreground() {
        Some(found) => format!("{:?}: {}", found.name, found.words()),
        None => "nothing runs in the foreground".to_owned(),
    }
}

/// The line that shares most with the words of a pattern, newest first.
fn nearest(driver: &Driver, pattern: &str, flags: &str) -> Option<String> {
    let words = words(pattern);
    if words.is_empty() {
        return None;
    }
    let lines = driver.session().last_lines(LINES_LOOKED_AT);
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
        return Some("no line of the output has a word of the pattern".to_owned());
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

/// The runs of letters and digits of a pattern, without those that are escapes.
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
    fn words_of_a_pattern() {
        assert_eq!(words(r"^Tests: \d+ (passed|failed)\b.x$"), ["Tests", "passed", "failed"]);
        assert!(words(r"\w+.*").is_empty());
    }
}
