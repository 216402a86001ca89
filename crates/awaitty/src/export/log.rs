//! The logs of sessions: what callers and people did to each, for exports.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::act::{Act, CommandStatus, Ran};

/// The maximum number of acts in the log of a session: an hour of a fast typist. A test with more is of little use.
pub(crate) const ACTS_MAX: usize = 10_000;

/// The maximum size of the log of a session in bytes, about that of its scrollback.
pub(crate) const BYTES_MAX: usize = 1 << 20;

/// The time between two inputs from which the later one was decided on by what the screen showed. It is longer than
/// the time between two keystrokes of a typist.
pub(super) const PAUSE: Duration = Duration::from_millis(300);

/// The logs of the sessions of a server, by session ID.
#[derive(Debug, Default)]
pub(crate) struct Logs {
    by_session: Mutex<BTreeMap<String, Log>>,
}

/// The log of a session.
#[derive(Debug, Default)]
struct Log {
    acts: Vec<Act>,
    bytes: usize,
    /// The log reached a limit. It is empty then.
    is_full: bool,
    last: Option<Instant>,
}

/// The log of a session reached a limit, so its start is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LogFull;

impl Log {
    fn add(&mut self, act: Act, now: Instant) {
        self.last = Some(now);
        if self.is_full {
            return;
        }
        self.bytes += act.bytes();
        self.acts.push(act);
        if self.acts.len() > ACTS_MAX || self.bytes > BYTES_MAX {
            *self = Log { is_full: true, last: self.last, ..Log::default() };
        }
    }

    /// Returns whether the last act was an input, and `now` is a pause later.
    fn is_paused(&self, now: Instant) -> bool {
        let Some(act) = self.acts.last() else { return !self.is_full };
        let is_later = self.last.is_none_or(|last| now.duration_since(last) >= PAUSE);
        act.is_input() && (is_later || matches!(act, Act::Signalled(_)))
    }
}

impl Logs {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Log>> {
        self.by_session.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an act to the log of a session.
    pub(crate) fn add(&self, session: &str, act: Act) {
        self.change(session, |log| log.add(act, Instant::now()));
    }

    fn change<T>(&self, session: &str, change: impl FnOnce(&mut Log) -> T) -> T {
        let mut logs = self.lock();
        if let Some(log) = logs.get_mut(session) {
            return change(log);
        }
        change(logs.entry(session.to_owned()).or_default())
    }

    /// Removes the log of a session.
    pub(crate) fn remove(&self, session: &str) {
        self.lock().remove(session);
    }

    /// Removes the logs of all other sessions.
    pub(crate) fn keep(&self, is_kept: impl Fn(&str) -> bool) {
        self.lock().retain(|session, _| is_kept(session));
    }

    /// Returns the time since the last act of a session.
    pub(crate) fn idle(&self, session: &str) -> Duration {
        let logs = self.lock();
        let last = logs.get(session).and_then(|log| log.last);
        last.map_or(Duration::ZERO, |last| last.elapsed())
    }

    /// Returns whether an input of this moment comes after a pause, in which the caller may have read the screen.
    pub(crate) fn is_paused(&self, session: &str) -> bool {
        self.lock().get(session).is_none_or(|log| log.is_paused(Instant::now()))
    }

    /// Returns whether the last act of a session is an input.
    pub(crate) fn ends_with_input(&self, session: &str) -> bool {
        let logs = self.lock();
        logs.get(session).and_then(|log| log.acts.last()).is_some_and(Act::is_input)
    }

    /// Returns the log of a session.
    pub(crate) fn acts(&self, session: &str) -> Result<Vec<Act>, LogFull> {
        match self.lock().get(session) {
            Some(Log { is_full: true, .. }) => Err(LogFull),
            Some(log) => Ok(log.acts.clone()),
            None => Ok(Vec::new()),
        }
    }

    /// Adds the end of a command, on which a caller waited. If it is the last input, the command is the act;
    /// otherwise nothing is added, since the inputs in between belong to the command.
    pub(crate) fn end_command(&self, session: &str, id: Option<u64>, status: Option<i32>) {
        self.change(session, |log| {
            let end = Some(CommandStatus(status));
            match log.acts.last_mut() {
                Some(Act::Ran(ran)) if id.is_none_or(|id| id == ran.id) => ran.end = end,
                Some(Act::Typed(text)) => {
                    // One line with Enter is a command. Otherwise a pause follows.
                    let Some(line) = text.strip_suffix(['\n', '\r']) else { return };
                    if line.is_empty() || line.contains(char::is_control) {
                        return;
                    }
                    let ran = Ran { command: line.to_owned(), id: id.unwrap_or_default(), end };
                    if let Some(last) = log.acts.last_mut() {
                        *last = Act::Ran(ran);
                    }
                }
                _ => {}
            }
            log.last = Some(Instant::now());
        });
    }

    /// Names the text that was typed while echo was off, after a caller asked a person for that secret.
    pub(crate) fn name_secret(&self, session: &str, name: &str) {
        self.change(session, |log| {
            let secret = log.acts.iter_mut().rev().find_map(|act| match act {
                Act::Secret(secret) => Some(secret),
                _ => None,
            });
            if let Some(secret @ None) = secret {
                *secret = Some(name.to_owned());
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(text: &str) -> Act {
        Act::Typed(text.to_owned())
    }

    fn pause() -> Act {
        Act::Paused { text: None, after: PAUSE }
    }

    #[test]
    fn a_log_may_have_as_many_acts_as_its_limit() {
        let logs = Logs::default();
        for _ in 0..ACTS_MAX {
            logs.add("s1", pause());
        }
        assert_eq!(logs.acts("s1").map(|acts| acts.len()), Ok(ACTS_MAX));
        logs.add("s1", pause());
        assert_eq!(logs.acts("s1"), Err(LogFull));
        assert!(!logs.is_paused("s1"), "a full log is not written");
        assert_eq!(logs.acts("s2"), Ok(Vec::new()), "another session has its own");
    }

    #[test]
    fn a_log_may_have_as_many_bytes_as_its_limit() {
        let logs = Logs::default();
        let room = BYTES_MAX - typed("").bytes();
        logs.add("s1", typed(&"x".repeat(room)));
        assert_eq!(logs.acts("s1").map(|acts| acts.len()), Ok(1));
        logs.add("s2", typed(&"x".repeat(room + 1)));
        assert_eq!(logs.acts("s2"), Err(LogFull));
        logs.keep(|session| session == "s1");
        assert_eq!(logs.acts("s2"), Ok(Vec::new()), "it was forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_input_comes_after_a_pause() {
        let logs = Logs::default();
        assert!(logs.is_paused("s1"), "the first input comes after the start of the program");
        logs.add("s1", typed("a"));
        assert!(!logs.is_paused("s1"));
        tokio::time::advance(PAUSE - Duration::from_millis(1)).await;
        assert!(!logs.is_paused("s1"));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert!(logs.is_paused("s1"));
        let wait = super::super::act::Wait {
            until: super::super::act::Until::Exit,
            timeout: Duration::ZERO,
        };
        logs.add("s1", Act::Waited(wait));
        tokio::time::advance(PAUSE).await;
        assert!(!logs.is_paused("s1"), "the caller waited");
    }

    #[test]
    fn a_typed_line_whose_end_was_awaited_is_a_command() {
        let logs = Logs::default();
        logs.add("s1", typed("make\n"));
        logs.end_command("s1", Some(3), Some(2));
        let ran = Ran { command: "make".to_owned(), id: 3, end: Some(CommandStatus(Some(2))) };
        assert_eq!(logs.acts("s1"), Ok(vec![Act::Ran(ran)]));
        for input in ["make", "\n", "a\nb\n"] {
            logs.add("s2", typed(input));
            logs.end_command("s2", Some(3), Some(0));
            assert_eq!(logs.acts("s2").unwrap().last(), Some(&typed(input)));
        }
        let asks = Ran { command: "rm -i a".to_owned(), id: 4, end: None };
        logs.add("s3", Act::Ran(asks.clone()));
        logs.add("s3", typed("y\n"));
        logs.end_command("s3", Some(5), Some(0));
        assert_eq!(logs.acts("s3").unwrap()[0], Act::Ran(asks), "it has input of its own");
    }
}
