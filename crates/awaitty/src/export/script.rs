//! Converts the log of a session to the steps of a test.

use std::collections::BTreeMap;
use std::time::Duration;

use awaitty_core::Exit;

use super::act::{Act, Anchor, Pointer, Ran, Until, Wait};
use super::keys::{self, TypedPart};
use super::{escape, variable};
use crate::secrets::Secrets;

/// The time without changes after which a screen counts as settled, where the session had no wait.
const QUIET: Duration = Duration::from_millis(300);

/// The shortest time without changes that a `Settle` has: `ready` and the default wait of `run_steps` have none.
const QUIET_MIN: Duration = Duration::from_millis(100);

/// The factor by which a test may run slower than the session.
const SLOWER: u32 = 2;

/// The timeout of a wait in a test. A longer one is written to the test.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A session as a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The name or ID of the session.
    pub(crate) name: String,
    /// The program and its arguments.
    pub(crate) argv: Vec<String>,
    /// The directory in which it ran.
    pub(crate) cwd: Option<String>,
    /// The variables that the caller added; `None` for a value that is a secret.
    pub(crate) env: BTreeMap<String, Option<String>>,
    /// Whether it had no other variables.
    pub(crate) has_clear_env: bool,
    /// The size of the terminal: columns and rows.
    pub(crate) size: (usize, usize),
    /// The steps.
    pub(crate) steps: Vec<Step>,
}

/// A step of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Types text without control characters.
    Type(String),
    /// Presses a key several times.
    Press(String, usize),
    /// Pastes text.
    Paste(String),
    /// Uses the mouse.
    Point(Pointer),
    /// Types a secret, which an environment variable has.
    Secret(String),
    /// Runs a command in the shell and expects its exit status; `None` accepts any.
    Run(String, Option<i32>),
    /// Changes the size of the terminal: columns and rows.
    Resize(usize, usize),
    /// Waits for text.
    Expect {
        /// The pattern.
        pattern: String,
        /// Which text counts.
        anchor: Anchor,
        /// The timeout, if it is not the default.
        timeout: Option<Duration>,
    },
    /// Waits until no match is on the screen.
    Gone {
        /// The pattern.
        pattern: String,
        /// The timeout, if it is not the default.
        timeout: Option<Duration>,
    },
    /// Waits until the program is at rest and the screen was unchanged for that time.
    Settle(Duration, Option<Duration>),
    /// Waits for the exit of the program with that status; `None` accepts any.
    Exit(Option<i32>, Option<Duration>),
    /// A comment.
    Note(String),
}

/// Builds the steps of a session.
struct Builder<'s> {
    secrets: &'s Secrets,
    steps: Vec<Step>,
    exit: Option<Exit>,
    /// The number of secrets without a name.
    unnamed: usize,
}

/// Returns the steps for the acts of a session whose program has exited, or not.
pub(crate) fn steps(acts: Vec<Act>, exit: Option<Exit>, secrets: &Secrets) -> Vec<Step> {
    let mut builder = Builder { secrets, steps: Vec::new(), exit, unnamed: 0 };
    let is_closed = acts.contains(&Act::Closed);
    for act in acts {
        builder.add(act);
    }
    let has_exit = builder.steps.iter().any(|step| matches!(step, Step::Exit(..)));
    if exit.is_some() && !is_closed && !has_exit {
        builder.exit(TIMEOUT);
    }
    builder.steps
}

impl Builder<'_> {
    fn add(&mut self, act: Act) {
        match act {
            Act::Typed(text) => self.typed(&text),
            Act::Pasted(text) => self.with_secrets(&text, Step::Paste),
            Act::Pressed(key) => self.press(key),
            Act::Pointed(pointer) => self.steps.push(Step::Point(pointer)),
            Act::Secret(name) => self.secret(name.as_deref()),
            Act::Ran(ran) => self.ran(ran),
            Act::Resized { cols, rows } => self.steps.push(Step::Resize(cols, rows)),
            Act::Waited(wait) => self.waited(wait),
            Act::Signalled(channel) => {
                self.note(format!(
                    "The session waited for the channel {channel} here. A test has no such wait."
                ));
                self.settle(QUIET, None);
            }
            Act::Paused { text, after } => self.paused(text, after),
            Act::Closed => {}
        }
    }

    fn paused(&mut self, text: Option<String>, after: Duration) {
        // What took long may take longer on another machine.
        let timeout = Some(SLOWER * after).filter(|timeout| *timeout > TIMEOUT);
        match (text, self.steps.last()) {
            (Some(text), _) => {
                let (pattern, anchor) = (escape(&text), Anchor::Input);
                self.steps.push(Step::Expect { pattern, anchor, timeout });
            }
            // A typist paused within a text.
            (None, Some(Step::Type(_))) => {}
            (None, _) => self.settle(QUIET, timeout),
        }
    }

    fn note(&mut self, text: String) {
        self.steps.push(Step::Note(text));
    }

    fn typed(&mut self, text: &str) {
        for part in keys::parts(text) {
            match part {
                TypedPart::Text(text) => self.with_secrets(&text, Step::Type),
                TypedPart::Key(key) => self.press(key),
                TypedPart::Paste(text) => self.with_secrets(&text, Step::Paste),
                TypedPart::Mouse(pointer) => self.steps.push(Step::Point(pointer)),
            }
        }
    }

    /// Adds a text, in which secrets become steps of their own.
    fn with_secrets(&mut self, text: &str, step: fn(String) -> Step) {
        let mut text = text.to_owned();
        let is_typed = matches!(step(String::new()), Step::Type(_));
        // A typist sends each character by itself, also those of a secret.
        if is_typed && let Some(Step::Type(before)) = self.steps.last_mut() {
            text = std::mem::take(before) + &text;
            self.steps.pop();
        }
        for piece in self.secrets.split(&text) {
            match piece {
                Ok(text) => self.steps.push(step(text.to_owned())),
                Err(name) => self.secret(Some(name)),
            }
        }
    }

    fn press(&mut self, key: String) {
        match self.steps.last_mut() {
            Some(Step::Press(last, count)) if *last == key => *count += 1,
            _ => self.steps.push(Step::Press(key, 1)),
        }
    }

    /// Adds a secret. Text that was typed in several calls while echo was off is one.
    fn secret(&mut self, name: Option<&str>) {
        let name = match name {
            Some(name) => variable(name),
            None if matches!(self.steps.last(), Some(Step::Secret(_))) => return,
            None => {
                self.unnamed += 1;
                format!("SECRET_{}", self.unnamed)
            }
        };
        self.steps.push(Step::Secret(name));
    }

    fn ran(&mut self, Ran { command, end, .. }: Ran) {
        let has_secret = self.secrets.split(&command).any(|piece| piece.is_err());
        match end {
            Some(end) if !has_secret => self.steps.push(Step::Run(command, end.0)),
            _ => self.typed(&(command + "\n")),
        }
    }

    fn waited(&mut self, Wait { until, timeout }: Wait) {
        let longer = Some(timeout).filter(|timeout| *timeout > TIMEOUT);
        match until {
            Until::Text { pattern, anchor } if self.is_public(&pattern) => {
                self.steps.push(Step::Expect { pattern, anchor, timeout: longer });
            }
            Until::Gone { pattern } if self.is_public(&pattern) => {
                self.steps.push(Step::Gone { pattern, timeout: longer });
            }
            Until::Text { .. } | Until::Gone { .. } => {
                self.note("The session waited for text with a secret here.".to_owned());
                self.settle(QUIET, None);
            }
            Until::Settled(quiet) => self.settle(quiet.max(QUIET_MIN), longer),
            Until::Exit => self.exit(timeout),
        }
    }

    fn is_public(&self, pattern: &str) -> bool {
        self.secrets.split(pattern).all(|piece| piece.is_ok())
    }

    /// Adds a wait until the screen settles, unless the step before is one.
    fn settle(&mut self, quiet: Duration, timeout: Option<Duration>) {
        match self.steps.last_mut() {
            Some(Step::Settle(last, last_timeout)) => {
                (*last, *last_timeout) = (quiet.max(*last), timeout.max(*last_timeout));
            }
            _ => self.steps.push(Step::Settle(quiet, timeout)),
        }
    }

    /// Adds the exit of the program.
    fn exit(&mut self, timeout: Duration) {
        let status = match self.exit {
            Some(Exit::Code(status)) => Some(status),
            Some(Exit::Signal(number)) => {
                self.note(format!("Signal {number} ended the program."));
                None
            }
            Some(Exit::Unknown) | None => None,
        };
        self.steps.push(Step::Exit(status, Some(timeout).filter(|timeout| *timeout > TIMEOUT)));
    }
}

#[cfg(test)]
mod tests {
    use super::super::act::CommandStatus;
    use super::*;

    fn steps_of(acts: Vec<Act>, exit: Option<Exit>) -> Vec<Step> {
        steps(acts, exit, &Secrets::of([("DB_WORD", "hunter2")]))
    }

    fn typed(text: &str) -> Act {
        Act::Typed(text.to_owned())
    }

    fn pause(text: Option<&str>, seconds: u64) -> Act {
        let after = Duration::from_secs(seconds);
        Act::Paused { text: text.map(str::to_owned), after }
    }

    fn type_step(text: &str) -> Step {
        Step::Type(text.to_owned())
    }

    fn press(key: &str, count: usize) -> Step {
        Step::Press(key.to_owned(), count)
    }

    #[test]
    fn keystrokes_of_a_typist_become_text_and_keys() {
        let keys = ["l", "s", "\r", "\x1b[A", "\x1b[A", "q"].map(typed);
        let wanted = [type_step("ls"), press("enter", 1), press("up", 2), type_step("q")];
        assert_eq!(steps_of(keys.to_vec(), None), wanted);
    }

    #[test]
    fn a_pause_becomes_an_expectation() {
        let acts = vec![
            pause(None, 1),
            typed("a"),
            pause(None, 1),
            typed("b\n"),
            pause(Some("Saved (all)."), 1),
            typed("\t"),
            pause(None, 1),
        ];
        let expect = Step::Expect {
            pattern: r"Saved \(all\)\.".to_owned(),
            anchor: Anchor::Input,
            timeout: None,
        };
        let settle = Step::Settle(QUIET, None);
        let wanted =
            [settle.clone(), type_step("ab"), press("enter", 1), expect, press("tab", 1), settle];
        assert_eq!(steps_of(acts, None), wanted);
    }

    #[test]
    fn a_long_pause_has_a_longer_timeout() {
        let acts = vec![typed("\n"), pause(None, 6), typed("\n"), pause(Some("Done"), 60)];
        let steps = steps_of(acts, None);
        assert_eq!(steps[1], Step::Settle(QUIET, Some(Duration::from_secs(12))));
        let (pattern, anchor) = ("Done".to_owned(), Anchor::Input);
        let timeout = Some(Duration::from_secs(120));
        assert_eq!(steps[3], Step::Expect { pattern, anchor, timeout });
    }

    #[test]
    fn secrets_are_variables() {
        let acts = vec![
            Act::Secret(Some("db.word".to_owned())),
            Act::Pressed("enter".to_owned()),
            typed("login hun"),
            typed("ter2 now"),
            Act::Secret(None),
            Act::Secret(None),
        ];
        let secret = |name: &str| Step::Secret(name.to_owned());
        let wanted = [
            secret("DB_WORD"),
            press("enter", 1),
            type_step("login "),
            secret("DB_WORD"),
            type_step(" now"),
            secret("SECRET_1"),
        ];
        assert_eq!(steps_of(acts, None), wanted);
        let until = Until::Text { pattern: "got hunter2".to_owned(), anchor: Anchor::Input };
        let shown = steps_of(vec![Act::Waited(Wait { until, timeout: TIMEOUT })], None);
        assert!(matches!(shown[..], [Step::Note(_), Step::Settle(..)]), "{shown:?}");
        let ran = |command: &str| {
            let end = Some(CommandStatus(Some(0)));
            Act::Ran(Ran { command: command.to_owned(), id: 1, end })
        };
        let shown = format!("{:?}", steps_of(vec![ran("login hunter2")], None));
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn the_end_of_a_program_is_expected_unless_the_session_was_closed() {
        let exit = Some(Exit::Code(3));
        assert_eq!(steps_of(vec![typed("q")], exit), [type_step("q"), Step::Exit(Some(3), None)]);
        assert_eq!(steps_of(vec![typed("q"), Act::Closed], exit), [type_step("q")]);
        assert_eq!(steps_of(vec![typed("q")], None), [type_step("q")]);
        let wait = Wait { until: Until::Exit, timeout: Duration::from_secs(30) };
        let awaited = steps_of(vec![Act::Waited(wait)], exit);
        assert_eq!(awaited, [Step::Exit(Some(3), Some(Duration::from_secs(30)))]);
        let killed = steps_of(Vec::new(), Some(Exit::Signal(9)));
        assert!(matches!(killed[..], [Step::Note(_), Step::Exit(None, None)]), "{killed:?}");
    }

    #[test]
    fn a_command_is_run_if_its_end_was_awaited() {
        let ran = |end| Act::Ran(Ran { command: "make".to_owned(), id: 1, end });
        let run = |status| Step::Run("make".to_owned(), status);
        assert_eq!(steps_of(vec![ran(Some(CommandStatus(Some(2))))], None), [run(Some(2))]);
        assert_eq!(steps_of(vec![ran(None)], None), [type_step("make"), press("enter", 1)]);
    }

    #[test]
    fn waits_are_kept_with_a_timeout_that_is_longer_than_the_default() {
        let wait =
            |until, seconds| Act::Waited(Wait { until, timeout: Duration::from_secs(seconds) });
        let gone = |timeout| Step::Gone { pattern: "Loading".to_owned(), timeout };
        let until = || Until::Gone { pattern: "Loading".to_owned() };
        assert_eq!(steps_of(vec![wait(until(), 10)], None), [gone(None)]);
        let minute = Some(Duration::from_secs(60));
        assert_eq!(steps_of(vec![wait(until(), 60)], None), [gone(minute)]);
        let settled = |ms| Until::Settled(Duration::from_millis(ms));
        let both = vec![wait(settled(0), 5), wait(settled(500), 5)];
        assert_eq!(steps_of(both, None), [Step::Settle(Duration::from_millis(500), None)]);
    }
}
