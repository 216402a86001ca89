//! Names of the steps of a trace, as people read them.

use std::time::Duration;

use awaitty_core::{Condition, Pattern, Since};

use super::act::{Act, Place, Pointer};
use super::keys::{TypedPart, parts};
use super::record::SETTLED_MIN;
use crate::secrets::Secrets;

/// The maximum number of characters of the name of a step: a page shows no more.
pub(super) const NAME_CHARS: usize = 500;

/// The text that replaces a secret.
const MASK: &str = "•••";

/// Returns a text with the values of declared secrets masked, cut to the length of a name.
pub(super) fn without_secrets(text: &str, secrets: &Secrets) -> String {
    let masked: String = secrets.split(text).map(|part| part.unwrap_or(MASK)).collect();
    match masked.char_indices().nth(NAME_CHARS) {
        Some((at, _)) => format!("{}…", &masked[..at]),
        None => masked,
    }
}

/// Returns the name of an input.
pub(super) fn inputs(acts: &[Act], secrets: &Secrets) -> String {
    let quoted = |text: &str| format!("\"{}\"", without_secrets(text, secrets));
    let mut words = Vec::new();
    let mut typed = String::new();
    for act in acts.iter().map(Some).chain([None]) {
        if let Some(Act::Typed(text)) = act {
            typed += text;
            continue;
        }
        for part in parts(&std::mem::take(&mut typed)) {
            words.push(match part {
                TypedPart::Text(text) => format!("type {}", quoted(&text)),
                TypedPart::Key(key) => format!("press {key}"),
                TypedPart::Paste(text) => format!("paste {}", quoted(&text)),
                TypedPart::Mouse(pointer) => pointed(&pointer),
            });
        }
        words.extend(match act {
            Some(Act::Pasted(text)) => Some(format!("paste {}", quoted(text))),
            Some(Act::Pressed(key)) => Some(format!("press {key}")),
            Some(Act::Pointed(pointer)) => Some(pointed(pointer)),
            Some(Act::Secret(Some(name))) => Some(format!("type the secret {name}")),
            Some(Act::Secret(None)) => Some("type hidden text".to_owned()),
            Some(Act::Resized { cols, rows }) => Some(format!("resize to {cols}x{rows}")),
            _ => None,
        });
    }
    words.join(", ")
}

fn pointed(pointer: &Pointer) -> String {
    let what = match (pointer.button, pointer.action) {
        ("left", "click") => "click".to_owned(),
        (button, action) => format!("mouse {button} {action}"),
    };
    match &pointer.place {
        Place::Text(pattern) => format!("{what} /{pattern}/"),
        Place::Cell { row, col, .. } => format!("{what} at row {row}, column {col}"),
    }
}

/// Returns the name of a command.
pub(super) fn command(command: &str, secrets: &Secrets) -> String {
    format!("run \"{}\"", without_secrets(command, secrets))
}

/// Returns the name of a wait, and what it looks for; `None` for a wait of a viewer for the next change.
pub(crate) fn wait<'c>(
    conditions: impl IntoIterator<Item = &'c Condition>,
    channel: Option<&str>,
    since: Since,
    timeout: Duration,
) -> Option<(String, String)> {
    let conditions = conditions.into_iter().filter_map(condition);
    let channel = channel.map(|channel| format!("a signal on {channel}"));
    let words: Vec<String> = conditions.chain(channel).collect();
    if words.is_empty() {
        return None;
    }
    let anchor = match since {
        Since::Input => "since the last input".to_owned(),
        Since::InputFrame => "in a frame since the last input".to_owned(),
        Since::Screen => "on the screen".to_owned(),
        Since::Now => "from now on".to_owned(),
        Since::Frame(seq) => format!("since frame {}", seq.0),
    };
    let words = words.join(" or ");
    Some((format!("wait for {words}"), format!("{words} {anchor}, for at most {}", time(timeout))))
}

/// Returns the name of a wait for the end of a command, and what it looks for.
pub(super) fn end_of_command(timeout: Duration) -> (String, String) {
    let words = "the end of the command";
    (format!("wait for {words}"), format!("{words}, for at most {}", time(timeout)))
}

fn condition(condition: &Condition) -> Option<String> {
    let pattern = |pattern: &Pattern| format!("/{}/{}", pattern.text(), pattern.flags());
    Some(match condition {
        Condition::Text(text) => format!("text {}", pattern(text)),
        Condition::Gone(text) => format!("no text {}", pattern(text)),
        Condition::Change { stable, .. } if *stable >= SETTLED_MIN => {
            format!("a change, then {} without changes", time(*stable))
        }
        Condition::Settled(quiet) if *quiet >= SETTLED_MIN => {
            format!("{} without changes", time(*quiet))
        }
        Condition::Ready => "a prompt".to_owned(),
        Condition::Rest => "rest".to_owned(),
        Condition::Exit => "the exit".to_owned(),
        Condition::Command(_) | Condition::LastCommand { .. } => {
            "the end of the command".to_owned()
        }
        _ => return None,
    })
}

/// Returns a time in seconds or milliseconds.
pub(crate) fn time(time: Duration) -> String {
    let ms = time.as_millis();
    if ms >= 1000 && ms.is_multiple_of(1000) {
        format!("{} s", ms / 1000)
    } else {
        format!("{ms} ms")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn typed(text: &str) -> Act {
        Act::Typed(text.to_owned())
    }

    #[test]
    fn inputs_have_names_for_people() {
        let none = Secrets::default();
        let name = |acts: &[Act]| inputs(acts, &none);
        assert_eq!(name(&[typed("hello\n")]), "type \"hello\", press enter");
        assert_eq!(name(&[typed("a"), typed("b\x1b[B")]), "type \"ab\", press down");
        assert_eq!(name(&[Act::Pressed("f5".to_owned()), typed("x")]), "press f5, type \"x\"");
        assert_eq!(name(&[Act::Resized { cols: 90, rows: 20 }]), "resize to 90x20");
        let click = |place| Act::Pointed(Pointer { place, button: "left", action: "click" });
        assert_eq!(name(&[click(Place::Text("OK".to_owned()))]), "click /OK/");
        let cell = Place::Cell { row: 2, col: 3, pattern: None };
        assert_eq!(name(&[click(cell)]), "click at row 2, column 3");
        let secrets = [Act::Secret(Some("db".to_owned())), Act::Secret(None)];
        assert_eq!(name(&secrets), "type the secret db, type hidden text");
    }

    #[test]
    fn names_have_no_secrets_and_a_limit() {
        let secrets = Secrets::of([("db", "hunter2")]);
        assert_eq!(inputs(&[typed("my hunter2")], &secrets), "type \"my •••\"");
        assert_eq!(command("echo hunter2", &secrets), "run \"echo •••\"");
        let cut = |count: usize| without_secrets(&"x".repeat(count), &secrets);
        assert_eq!(cut(NAME_CHARS), "x".repeat(NAME_CHARS));
        assert_eq!(cut(NAME_CHARS + 1), "x".repeat(NAME_CHARS) + "…");
    }

    #[test]
    fn waits_name_what_they_look_for() {
        let pattern = Condition::Text(Arc::new(Pattern::new("a|b", "i").unwrap()));
        let (name, looked_for) = wait(
            [&pattern, &Condition::Exit],
            Some("built"),
            Since::Input,
            Duration::from_secs(10),
        )
        .unwrap();
        assert_eq!(name, "wait for text /a|b/i or the exit or a signal on built");
        assert!(looked_for.ends_with(" since the last input, for at most 10 s"), "{looked_for}");
        let settled = |quiet| {
            wait([&Condition::Settled(quiet)], None, Since::Now, Duration::from_millis(1500))
        };
        let short = Duration::from_millis(1);
        assert_eq!(settled(SETTLED_MIN - short), None, "a viewer waits for the next change");
        let (name, looked_for) = settled(SETTLED_MIN).unwrap();
        assert_eq!(name, "wait for 50 ms without changes");
        assert!(looked_for.ends_with("from now on, for at most 1500 ms"), "{looked_for}");
    }
}
