//! Confirms the end of commands. A program that knows the nonce of its shell can forge end marks just before it exits;
//! we read them when the shell has the terminal again. So an answer that depends on the end of a command waits until a
//! probe shows that the shell reads at its prompt. By then the shell has printed its own marks, which override forged
//! ones.

use std::time::Duration;

use tokio::time::Instant;

use super::Driver;
use super::callers::{AnswerFn, Ends};

/// Time after which an end counts as confirmed although no probe saw the shell read. A shell reads within a millisecond
/// after its prompt.
const CONFIRM_MAX: Duration = Duration::from_millis(250);

/// Pause between two probes: the resolution of the runtime's timers.
const CONFIRM_PAUSE: Duration = Duration::from_millis(1);

/// Probes before each pause. A shell takes some tens of microseconds from its prompt to its read.
const CONFIRM_PROBES: usize = 3;

/// Answers that wait for the end of a command to be confirmed.
#[derive(Default)]
pub(super) struct Unconfirmed {
    answers: Vec<(AnswerFn, Ends)>,
    until: Option<Instant>,
}

impl Driver {
    /// Returns whether an answer must wait for the end of a command to be confirmed.
    pub(super) fn must_confirm(&self) -> bool {
        self.session.is_command_end_unconfirmed()
            && self.session.exit().is_none()
            && self.shells.is_visible(&self.session, self.io.as_ref())
    }

    fn is_shell_reading(&self) -> bool {
        self.shells.reads(&self.session, self.foreground().as_ref())
    }

    /// Holds an answer back until the end of the command is confirmed.
    pub(super) fn hold_unconfirmed(&mut self, answer: AnswerFn, ends: Ends) {
        self.unconfirmed.answers.push((answer, ends));
        self.unconfirmed.until.get_or_insert(Instant::now() + CONFIRM_MAX);
    }

    /// Returns when to probe the shell again.
    pub(super) fn confirm_wake(&self) -> Option<Instant> {
        self.unconfirmed.until.map(|until| until.min(Instant::now() + CONFIRM_PAUSE))
    }

    /// Probes whether the shell reads at its prompt, and answers the callers if it does.
    pub(super) async fn confirm_command_end(&mut self) {
        let Some(until) = self.unconfirmed.until else { return };
        for _ in 0..CONFIRM_PROBES {
            let is_over = until <= Instant::now() || !self.must_confirm();
            if is_over {
                return self.end_confirming();
            }
            if self.is_shell_reading() {
                // Marks that were not read yet are in the terminal's buffer.
                self.read_some();
                if self.is_drained {
                    return self.end_confirming();
                }
            }
            tokio::task::yield_now().await;
        }
    }

    /// Answers all callers that wait for the confirmation.
    pub(super) fn end_confirming(&mut self) {
        self.session.confirm_command_end();
        self.unconfirmed.until = None;
        for (answer, mut ends) in std::mem::take(&mut self.unconfirmed.answers) {
            ends.first.refresh(self.session.frame(), self.session.exit());
            answer(self, ends);
        }
    }
}
