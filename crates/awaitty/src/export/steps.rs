//! The steps of a trace: which of them are open, and where they end in the recording.

use awaitty_terminal::terminal::Driver;
use awaitty_test::trace::{Kind, Step, Verdict};
use tokio::time::Instant;

use super::act::Act;
use super::log::BYTES_MAX;
use super::words;
use crate::secrets::Secrets;

/// The steps of a trace.
#[derive(Debug, Default)]
pub(super) struct Steps {
    pub(super) all: Vec<Step>,
    /// Whether each step has ended.
    pub(super) ended: Vec<bool>,
    /// Their size in bytes, which is limited like that of a log.
    pub(super) bytes: usize,
    /// The input that the next act ends.
    pub(super) input: Option<OpenInput>,
    /// The command that runs.
    pub(super) command: Option<OpenCommand>,
    /// Changes with each change of a step.
    pub(super) version: u64,
}

/// An input that has not ended.
#[derive(Debug)]
pub(super) struct OpenInput {
    pub(super) number: usize,
    pub(super) acts: Vec<Act>,
    pub(super) last: Instant,
}

/// A command that has not ended.
#[derive(Debug)]
pub(super) struct OpenCommand {
    pub(super) number: usize,
    /// Its ID, once the shell has taken it.
    pub(super) id: Option<u64>,
}

impl Steps {
    /// Adds a step, and returns its number. A full list gets no more steps.
    pub(super) fn add(&mut self, step: Step) -> Option<usize> {
        let texts = step.name.len() + step.looked_for.as_ref().map_or(0, String::len);
        let bytes = texts + size_of::<Step>();
        if self.bytes + bytes > BYTES_MAX {
            return None;
        }
        self.bytes += bytes;
        self.version += 1;
        self.all.push(step);
        self.ended.push(false);
        Some(self.all.len() - 1)
    }

    /// Ends a step, unless it has ended.
    pub(super) fn end(&mut self, driver: &mut Driver, number: usize, verdict: Option<Verdict>) {
        if std::mem::replace(&mut self.ended[number], true) {
            return;
        }
        self.version += 1;
        driver.mark_recording(&format!("step {number} end"));
        if let Some(verdict) = verdict {
            self.set_verdict(number, verdict);
        }
    }

    pub(super) fn set_verdict(&mut self, number: usize, verdict: Verdict) {
        let (Verdict::Passed(text) | Verdict::Failed(text)) = &verdict;
        self.bytes += text.len();
        self.all[number].verdict = verdict;
        self.version += 1;
    }

    /// Hides the text of the last input if a part of it was written while echo was off, or if `is_hidden`.
    pub(super) fn hide_typed(&mut self, driver: &mut Driver, secrets: &Secrets, is_hidden: bool) {
        if (driver.take_hidden() || is_hidden)
            && let Some(input) = &mut self.input
        {
            let acts = std::mem::take(&mut input.acts).into_iter();
            input.acts = acts.flat_map(|act| super::record::visible(act, true)).collect();
            self.all[input.number].name = words::inputs(&input.acts, secrets);
            self.version += 1;
        }
    }

    /// Ends the last input: the next act starts.
    pub(super) fn end_input(&mut self, driver: &mut Driver, secrets: &Secrets) {
        // What is not written yet may be written while echo is off.
        let is_pending = driver.session().is_input_pending();
        self.hide_typed(driver, secrets, is_pending);
        if let Some(input) = self.input.take() {
            self.end(driver, input.number, None);
        }
    }
}

/// Returns a step whose result is not known yet.
pub(super) fn step(kind: Kind, name: String, looked_for: Option<String>) -> Step {
    let verdict = match kind {
        Kind::Wait => "it has not ended",
        _ => "",
    };
    Step { kind, name, place: None, looked_for, verdict: Verdict::Passed(verdict.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Step {
        step(Kind::Wait, name.to_owned(), None)
    }

    #[test]
    fn a_trace_may_have_as_many_bytes_as_a_log() {
        let room = BYTES_MAX - size_of::<Step>();
        let mut steps = Steps::default();
        assert_eq!(steps.add(named(&"x".repeat(room + 1))), None);
        assert_eq!(steps.add(named(&"x".repeat(room))), Some(0));
        assert_eq!(steps.add(named("")), None, "it is full");
    }
}
