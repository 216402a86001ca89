//! Why a wait did not end as hoped, in a few lines: what an engineer would look at next.

use std::sync::Arc;

use awaitty_core::{Condition, Finding, Outcome, WaitEnded};

use crate::sessions::Entry;
use crate::text;

/// Lines of output in which the nearest to a pattern is looked for.
const LINES_LOOKED_AT: usize = 200;

/// The shortest word of a pattern that says something about a line.
const WORD_MIN: usize = 3;

/// Returns what there is to say, at most ten lines; nothing of a wait that was met, unless the program is busy.
pub(super) async fn explain(entry: &Arc<Entry>, ended: &WaitEnded) -> Option<String> {
    if let Finding::Settled { busy: true, .. } = ended.finding {
        return Some(format!("the screen is quiet, but {}", doing(entry).await));
    }
    if matches!(ended.outcome, Outcome::Met | Outcome::Closed) {
        return None;
    }
    let mut said = Vec::new();
    match (&ended.condition, &ended.finding) {
        (Condition::Text(pattern), Finding::Text { found, .. }) => match found {
            Some(found) => {
                let row = found.row.map_or_else(String::new, |row| format!("row {}, ", row + 1));
                said.push(format!(
                    "the pattern is there, but from before the anchor or as the echo of input: {row}line {}, {:?}",
                    found.line.0,
                    text::line(&found.text)
                ));
            }
            None => said.extend(nearest(entry, pattern.text(), pattern.flags()).await),
        },
        (Condition::Gone(_), Finding::Gone(Some(found))) => {
            said.push(format!(
                "it is still there: {:?} in line {}",
                text::line(&found.text),
                found.line.0
            ));
        }
        (_, Finding::Change { changed, stable, busy_rows, style_changed, .. }) => {
            if !changed {
                let styles = if *style_changed {
                    ", but its styles did: `styles: true` counts them"
                } else {
                    ""
                };
                said.push(format!("the text on the screen did not change{styles}"));
            } else if !stable && !busy_rows.is_empty() {
                let rows: Vec<String> = busy_rows.iter().map(|row| (row + 1).to_string()).collect();
                let rows = rows.join(", ");
                said.push(format!(
                    "rows that kept changing: {rows}; `ignore` leaves out rows by a pattern"
                ));
            }
        }
        _ => {}
    }
    if entry.handle.call(|driver| driver.is_output_stopped()).await == Some(true) {
        said.push("output is stopped, as ctrl+s does it: ctrl+q lets it go on".to_owned());
    }
    said.push(match ended.exit {
        Some(_) => "the program has exited, so nothing more will come".to_owned(),
        None => doing(entry).await,
    });
    Some(said.join("\n"))
}

pub(super) async fn doing(entry: &Arc<Entry>) -> String {
    match entry.handle.call(|driver| driver.foreground()).await {
        Some(Some(found)) => format!("{:?}: {}", found.name, found.words()),
        _ => "nothing runs in the foreground".to_owned(),
    }
}

/// The line that shares most with the words of a pattern, newest first.
async fn nearest(entry: &Arc<Entry>, pattern: &str, flags: &str) -> Option<String> {
    let words = words(pattern);
    if words.is_empty() {
        return None;
    }
    let lines = entry.handle.call(|driver| driver.session().last_lines(LINES_LOOKED_AT)).await?;
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
