//! Chooses a text that appeared on the screen after an input: what a person probably waited for.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Frame, Outcome, Pattern, Since, Spec};

use super::escape;
use crate::sessions::{Entry, Sessions};

/// The maximum number of texts that are checked against the session.
const CHECKED_MAX: usize = 5;

/// The length of a text in characters: a shorter one matches by chance, a longer one breaks at each change of wording.
const CHARS: std::ops::RangeInclusive<usize> = 4..=48;

/// The number of digits in a row from which a text looks like a PID, a time stamp or a size.
const DIGITS: usize = 3;

/// Characters that are parts of paths, prompts, times, shares and versions, which differ between two runs.
const UNSTABLE: [char; 9] = ['/', '\\', '@', '%', '~', '$', '#', '\u{fffd}', '…'];

/// Returns a text that is new on the screen since the last input, that only this place of the screen shows, and that a
/// wait for new text finds; `None` if there is none.
pub(crate) async fn text(sessions: &Sessions, entry: &Entry) -> Option<String> {
    let frames = entry.handle.call(|driver| {
        let session = driver.session();
        let before = session.history().get(session.anchor_seq(Since::Input)).cloned();
        (before, Arc::clone(session.frame()))
    });
    let (before, now) = frames.await?;
    for text in candidates(before.as_deref(), &now).into_iter().take(CHECKED_MAX) {
        if !sessions.has_secret(&text) && is_met(entry, &escape(&text), Since::Input).await {
            return Some(text);
        }
    }
    None
}

/// Returns whether a wait for text would be met at once.
pub(crate) async fn is_met(entry: &Entry, pattern: &str, since: Since) -> bool {
    let Ok(pattern) = Pattern::new(pattern, "") else { return false };
    let spec = Spec { condition: Condition::Text(Arc::new(pattern)), since, deadline: None };
    let wait = entry.handle.start_wait(move |driver| driver.start_wait(spec, Duration::ZERO)).await;
    let Some(Ok(mut wait)) = wait else { return false };
    wait.ended().await.is_some_and(|ended| ended.outcome == Outcome::Met)
}

/// Returns the texts of a screen that were not on the screen before, the most distinctive first.
fn candidates(before: Option<&Frame>, now: &Frame) -> Vec<String> {
    let rows = |frame: &Frame| frame.rows().iter().map(|row| row.text().to_owned()).collect();
    let before: Vec<String> = before.map(rows).unwrap_or_default();
    choose(&before, &rows(now))
}

fn choose(before: &[String], now: &[String]) -> Vec<String> {
    let old: HashSet<&str> = before.iter().map(String::as_str).collect();
    let (old_screen, screen) = (before.join("\n"), now.join("\n"));
    let new_rows = now.iter().filter(|row| !old.contains(row.as_str()));
    let mut texts: Vec<&str> = new_rows.flat_map(|row| segments(row)).collect();
    texts.retain(|text| screen.matches(text).count() == 1 && !old_screen.contains(text));
    // The sort is stable, so the upper of two equal texts is first.
    texts.sort_by_key(|text| std::cmp::Reverse(score(text)));
    texts.into_iter().map(str::to_owned).collect()
}

/// Returns the parts of a row that may be expected: words with single spaces between them, without frames around them.
fn segments(row: &str) -> impl Iterator<Item = &str> {
    let is_word = |c: char| c.is_alphanumeric() || " -_.,:;!?()[]<>'\"=*+&".contains(c);
    let parts = row.split(move |c| !is_word(c) && !UNSTABLE.contains(&c));
    let parts = parts.flat_map(|part| part.split("  "));
    let decoration = |c: char| c.is_whitespace() || "-_.,:;=*+<>&|".contains(c);
    parts.map(move |part| part.trim_matches(decoration)).filter_map(shorten).filter(is_stable)
}

/// Cuts a text after a word if it is too long.
fn shorten(text: &str) -> Option<&str> {
    let Some((at, _)) = text.char_indices().nth(*CHARS.end()) else { return Some(text) };
    let is_whole_word = text[at..].starts_with(' ');
    if is_whole_word { Some(&text[..at]) } else { Some(text[..at].rsplit_once(' ')?.0) }
}

/// Returns whether a text probably is the same in another run.
fn is_stable(text: &&str) -> bool {
    let count = text.chars().count();
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    let mut digits = text.split(|c: char| !c.is_ascii_digit());
    let has_time = text.split(':').zip(text.split(':').skip(1)).any(|(left, right)| {
        left.ends_with(|c: char| c.is_ascii_digit())
            && right.starts_with(|c: char| c.is_ascii_digit())
    });
    CHARS.contains(&count)
        && letters >= 3
        && 2 * letters >= count
        && !text.contains(UNSTABLE)
        && digits.all(|digits| digits.len() < DIGITS)
        && !has_time
}

/// Returns how distinctive a text is: without digits first, and then with many letters.
fn score(text: &str) -> (bool, usize) {
    let letters = text.chars().filter(|c| c.is_alphabetic()).count();
    (!text.contains(|c: char| c.is_ascii_digit()), letters)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first choice for these screens.
    fn chosen(before: &[&str], now: &[&str]) -> Option<String> {
        let owned = |rows: &[&str]| rows.iter().map(|&row| row.to_owned()).collect::<Vec<_>>();
        choose(&owned(before), &owned(now)).into_iter().next()
    }

    #[test]
    fn the_text_is_new_and_occurs_once() {
        let new = chosen(&["Main menu", ""], &["Main menu", "Settings saved"]);
        assert_eq!(new.as_deref(), Some("Settings saved"));
        assert_eq!(chosen(&["Main menu"], &["Main menu"]), None);
        assert_eq!(chosen(&[], &["again again", "again"]).as_deref(), Some("again again"));
        assert_eq!(chosen(&[], &["same", "same"]), None);
        assert_eq!(chosen(&["> Main menu"], &["  Main menu"]), None, "it only moved");
    }

    #[test]
    fn frames_and_columns_are_left_out() {
        assert_eq!(chosen(&[], &["│ Pick a fruit        │"]).as_deref(), Some("Pick a fruit"));
        assert_eq!(chosen(&[], &["< Cancel button >   1/8"]).as_deref(), Some("Cancel button"));
        let long = "one two three four five six seven eight nine ten eleven twelve";
        let cut = "one two three four five six seven eight nine ten";
        assert_eq!(chosen(&[], &[long]).as_deref(), Some(cut));
    }

    #[test]
    fn text_that_differs_between_runs_is_not_chosen() {
        for row in [
            "root@host:~# ls",
            "/tmp/tmp.XyZ/file",
            "started at 12:05:33",
            "process 48213",
            "ab",
            "-- 12 --",
            "~",
            "done 45%",
        ] {
            assert_eq!(chosen(&[], &[row]), None, "{row}");
        }
        let both = ["2 files changed", "nothing to commit"];
        assert_eq!(chosen(&[], &both).as_deref(), Some("nothing to commit"));
    }
}
