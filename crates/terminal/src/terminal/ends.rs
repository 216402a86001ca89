//! The exit of the program, and the answers to callers whose waits ended.

use std::time::Duration;

use awaitty_core::{Exit, Finding, Outcome};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::Driver;
use super::callers::DueAnswer;
use crate::io::Io;
use crate::limits;
use crate::platform::processes;

/// Time for which a match is held back while the program is running and may be about to exit, so that the result of
/// `echo DONE; exit 3` has the exit status as well. A program that sleeps in a system call is not about to exit.
const LINGER: Duration = Duration::from_millis(10);

/// Pause between two probes of a program whose match is held back: the resolution of the runtime's timers.
const LINGER_PAUSE: Duration = Duration::from_millis(1);

/// Probes of such a program before the first pause. A program takes some tens of microseconds from its output to its
/// next read.
const LINGER_PROBES: usize = 8;

impl Driver {
    /// Reads the last output of a program that has ended, then handles its exit.
    pub(super) async fn finish(&mut self) {
        match self.io.take() {
            Some(Io::Pty(pty)) => {
                let exit = pty.reap();
                self.drain(&Io::Pty(pty), limits::DRAIN_MAX).await;
                self.end(exit);
            }
            Some(Io::Pane(pane)) => self.finish_pane(*pane).await,
            #[cfg(test)]
            Some(Io::Fake(fake)) => {
                let exit = fake.exit();
                self.drain(&Io::Fake(fake), limits::DRAIN_MAX).await;
                self.end(exit);
            }
            None => {}
        }
    }

    /// Returns whether the program runs, and so may be about to exit.
    fn may_be_exiting(&self) -> bool {
        self.io.as_ref().is_none_or(|io| io.is_running(self.pid))
    }

    /// Handles the exit of the program.
    pub(super) fn end(&mut self, exit: Exit) {
        processes::unregister(self.pid);
        self.input.clear();
        let now = self.now();
        self.record_exit(exit);
        self.session.handle_exit(now, exit);
        self.end_lingering();
        self.end_confirming();
        self.exit_awaited.clear();
    }

    /// Returns a channel that closes when the exit status is known. A wait cannot be used for this: a wait on a closed
    /// session ends at once.
    pub fn await_exit(&mut self) -> oneshot::Receiver<()> {
        let (open, closed) = oneshot::channel();
        if self.session.exit().is_none() {
            self.exit_awaited.push(open);
        }
        closed
    }

    /// Answers the callers whose waits ended.
    pub(super) fn answer_ended(&mut self) {
        for ended in self.session.poll_ended() {
            let Some(DueAnswer { answer, ends, rest }) = self.callers.note_ended(ended) else {
                continue;
            };
            rest.into_iter().for_each(|wait| self.session.cancel_wait(wait));
            let ended = &ends.first;
            let is_match =
                matches!(ended.finding, Finding::Text { .. }) && ended.outcome == Outcome::Met;
            if is_match && ended.exit.is_none() && self.may_be_exiting() {
                self.lingering.push((answer, ends));
                // tmux reports an exit late.
                let is_pane = matches!(self.io, Some(Io::Pane(_)));
                let linger = if is_pane { 3 * LINGER } else { LINGER };
                self.linger_until.get_or_insert(Instant::now() + linger);
            } else if ended.outcome == Outcome::Met && self.must_confirm() {
                self.hold_unconfirmed(answer, ends);
            } else {
                answer(self, ends);
            }
        }
    }

    /// Returns when to probe again a program whose match is held back.
    pub(super) fn linger_wake(&self) -> Option<Instant> {
        self.linger_until.map(|until| until.min(Instant::now() + LINGER_PAUSE))
    }

    /// Releases the matches that are held back if the program is not running any more.
    pub(super) async fn probe_lingering(&mut self) {
        let mut probes = 0;
        while !self.lingering.is_empty() && probes < LINGER_PROBES {
            tokio::task::yield_now().await;
            if !self.may_be_exiting() {
                self.end_lingering();
            }
            probes += 1;
        }
    }

    /// Answers the callers whose matches are held back.
    pub(super) fn end_lingering(&mut self) {
        self.linger_until = None;
        for (answer, mut ends) in std::mem::take(&mut self.lingering) {
            ends.first.refresh(self.session.frame(), self.session.exit());
            answer(self, ends);
        }
    }
}
