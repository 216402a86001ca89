//! A running wait: its anchor, the progress of its condition since then, and when it is judged again.

use std::sync::Arc;
use std::time::Duration;

use super::activity::{LOOK_PAUSE_MAX, LOOK_PAUSE_MIN, REST_CONFIRM};
use super::conditions::ChangeState;
use super::{Match, Spec};
use crate::frames::Frame;
use crate::{Line, Tick, Time};

/// The anchor of a wait: the moment after which events count.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// The tick at that moment. Cells that were drawn later have a higher one.
    pub(crate) tick: Tick,
    /// The first line of the screen at that moment.
    pub(crate) line: Line,
    /// The screen at that moment.
    pub(crate) frame: Arc<Frame>,
    /// The number of Enter keys typed since; the echo of each may have scrolled the screen.
    pub(crate) enters: usize,
    /// The echo of input counts as a change: the anchor is a frame that the caller named.
    pub(crate) echo_counts: bool,
    /// The kept frames or the scrollback do not reach back to it.
    pub(crate) truncated: bool,
}

/// The progress of a condition since the anchor.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// A match that was found; the next frame ends the wait.
    pub(crate) matched: Option<Match>,
    /// The changes of the screen.
    pub(crate) change: ChangeState,
    /// A frame since the anchor shows more than the echo of input.
    pub(crate) has_new_frame: bool,
    /// The job was busy at the last judgement.
    pub(crate) was_busy: bool,
}

/// A running wait.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) spec: Spec,
    pub(crate) anchor: Anchor,
    pub(crate) progress: Progress,
    /// A part of the input that it follows is not written yet.
    pub(crate) is_held: bool,
    started: Time,
    /// The start of its timeout.
    timeout_from: Time,
    /// The time at which it is judged again by the activity of the foreground job, and the pause before that.
    next_look: Option<(Time, Duration)>,
    /// Its entry in the timers of the registry.
    pub(super) timer: Option<Time>,
}

impl Wait {
    /// Returns a wait that has handled the frames since its anchor.
    pub(crate) fn new(spec: Spec, anchor: Anchor, started: Time, frames: &[Arc<Frame>]) -> Wait {
        let progress = Progress {
            matched: None,
            change: ChangeState::new(anchor.frame.time()),
            has_new_frame: false,
            was_busy: false,
        };
        let mut wait = Wait {
            spec,
            anchor,
            progress,
            is_held: false,
            started,
            timeout_from: started,
            next_look: None,
            timer: None,
        };
        let mut before = Arc::clone(&wait.anchor.frame);
        for frame in frames {
            wait.note_frame(frame.time(), &before, frame);
            before = Arc::clone(frame);
        }
        wait
    }

    /// Returns its running time.
    pub(crate) fn elapsed(&self, now: Time) -> Duration {
        now.since(self.started)
    }

    /// Returns the start of its timeout.
    pub(crate) fn timeout_from(&self) -> Time {
        self.timeout_from
    }

    /// Returns whether its deadline has passed.
    pub(crate) fn is_expired(&self, now: Time) -> bool {
        self.spec.deadline.is_some_and(|deadline| deadline <= now)
    }

    /// Returns whether the time at which its condition holds is reached.
    pub(crate) fn holds(&self, now: Time) -> bool {
        !self.is_held && self.holds_at().is_some_and(|at| at <= now)
    }

    /// Returns the time at which its condition will hold unless an event comes first; `None` if it needs an event.
    fn holds_at(&self) -> Option<Time> {
        self.spec.condition.holds_at(&self.progress)
    }

    /// Returns the time at which it must be judged or times out, whichever is earlier.
    pub(super) fn due_at(&self) -> Option<Time> {
        let look = self.next_look.map(|(at, _)| at);
        let judged = self.holds_at().max(look).filter(|_| !self.is_held);
        [judged, self.spec.deadline].into_iter().flatten().min()
    }

    /// Handles the next frame.
    pub(super) fn note_frame(&mut self, now: Time, before: &Frame, frame: &Frame) {
        let Wait { spec, anchor, progress, .. } = self;
        spec.condition.note_frame(now, spec.since, anchor, progress, before, frame);
    }

    /// Notes that input was written, or read by the program, at `at`.
    pub(crate) fn note_input(&mut self, at: Time) {
        if self.spec.condition.rules().counts_from_input {
            self.progress.change.restart(at);
        }
    }

    /// Restarts its timeout.
    pub(super) fn restart_timeout(&mut self, now: Time) {
        let counted = now.since(std::mem::replace(&mut self.timeout_from, now));
        self.spec.deadline = self.spec.deadline.map(|deadline| deadline.after(counted));
    }

    /// Sets the time at which it is judged again; `None` if it needs an event.
    pub(super) fn look_at(&mut self, at: Option<Time>) {
        self.next_look = at.map(|at| (at, LOOK_PAUSE_MIN));
    }

    /// Sets it to be judged again after a pause, at `until` at the latest. The pause doubles while the job is busy.
    pub(super) fn look_later(&mut self, now: Time, is_busy: bool, until: Time) {
        let was_busy = std::mem::replace(&mut self.progress.was_busy, is_busy);
        let pause = if is_busy {
            let last = self.next_look.filter(|_| was_busy).map(|(_, pause)| 2 * pause);
            last.unwrap_or(LOOK_PAUSE_MIN).min(LOOK_PAUSE_MAX)
        } else {
            REST_CONFIRM
        };
        self.next_look = Some((now.after(pause).min(until), pause));
    }
}
