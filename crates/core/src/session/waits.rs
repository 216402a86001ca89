//! Starts, judges and ends waits. The meaning of each condition is in `waits/conditions`.

use std::sync::Arc;

use super::Session;
use crate::frames::Frame;
use crate::screen::{EchoSource, Screen};
use crate::waits::{
    Anchor, Event, Evidence, Finding, Input, Outcome, Since, Spec, Trigger, Verdict, Wait,
    WaitEnded, WaitError, WaitId,
};
use crate::{Line, Tick, Time};

impl Session {
    /// Starts a wait, which may end at once.
    ///
    /// # Errors
    /// If the frame of its anchor or the command of its condition does not exist. Nothing has changed then.
    pub fn start_wait(&mut self, now: Time, mut spec: Spec) -> Result<WaitId, WaitError> {
        if let Since::Frame(asked) = spec.since
            && asked > self.frame().seq()
        {
            return Err(WaitError::FromTheFuture { asked, newest: self.frame().seq() });
        }
        spec.condition.resolve(&self.shells, self.input.started_at)?;
        self.catch_up(now);
        let id = self.waits.new_id();
        let anchor = self.anchor(spec.since);
        let evidence = self.evidence(now);
        let frames: Vec<Arc<Frame>> = evidence.frames_since(&anchor).cloned().collect();
        let mut wait = Wait::new(spec, anchor, now, &frames);
        wait.is_held = self.is_held(&wait.spec);
        wait.note_input(self.input.progress_at);
        wait.search_history(&evidence);
        let verdict = wait.judge(Event::Start, &evidence);
        let (is_held, is_expired) = (wait.is_held, wait.is_expired(now));
        match verdict {
            Verdict::Met(finding) if !is_held => {
                self.push_ended(id, &wait, now, Outcome::Met, finding);
                return Ok(id);
            }
            Verdict::Met(_) => self.waits.add(id, wait),
            verdict => {
                self.waits.add(id, wait);
                self.apply(id, now, verdict);
            }
        }
        self.judge_activity(now);
        if self.closed {
            self.end(id, now, Outcome::Closed);
        } else if self.exit.is_some() {
            self.end(id, now, Outcome::Exited);
        } else if is_expired {
            self.end(id, now, Outcome::Timeout);
        }
        Ok(id)
    }

    /// Checks whether a wait could be started now, apart from its anchor.
    ///
    /// # Errors
    /// If its condition names a command that does not exist.
    pub fn check_wait(&self, spec: &Spec) -> Result<(), WaitError> {
        spec.condition.check(&self.shells, self.input.started_at)
    }

    /// Removes a wait without a result.
    pub fn cancel_wait(&mut self, id: WaitId) {
        self.waits.remove(id);
    }

    /// Takes the waits that ended.
    pub fn poll_ended(&mut self) -> Vec<WaitEnded> {
        std::mem::take(&mut self.ended)
    }

    /// Returns how many waits are running.
    pub fn waits_running(&self) -> usize {
        self.waits.len()
    }

    /// Returns the evidence for conditions.
    fn evidence(&self, now: Time) -> Evidence<'_> {
        Evidence {
            now,
            screen: &self.screen,
            history: &self.history,
            transients: &self.transients,
            shells: &self.shells,
            input: &self.input,
            job: &self.job,
            exit: self.exit,
            is_closed: self.closed,
        }
    }

    /// Returns whether a wait that starts now is held until all of the input is written.
    fn is_held(&self, spec: &Spec) -> bool {
        let follows_input = matches!(spec.since, Since::Input | Since::InputFrame);
        self.input.is_pending && follows_input && spec.condition.rules().is_held_by_input
    }

    /// Judges the waits that are due.
    pub(super) fn judge_due(&mut self, now: Time) {
        let mut is_activity_due = false;
        for id in self.waits.due(now) {
            let Some(wait) = self.waits.get(id) else { continue };
            let is_expired = wait.is_expired(now);
            is_activity_due |=
                !is_expired && wait.spec.condition.rules().trigger == Trigger::Activity;
            self.judge(id, now, Event::Time);
            if is_expired {
                self.end(id, now, Outcome::Timeout);
            }
        }
        if is_activity_due {
            self.judge_activity(now);
        }
    }

    /// Judges the waits after a frame was taken that replaced `before`, or only updated it.
    pub(super) fn judge_frame(&mut self, now: Time, before: &Frame, frame: &Frame, changed: bool) {
        if changed {
            self.waits.note_frame(now, before, frame);
        }
        for id in self.waits.take_matched() {
            self.judge_unheld(id, now, Event::Frame);
        }
        if changed {
            for id in self.triggered(Trigger::Frame) {
                self.judge_unheld(id, now, Event::Frame);
            }
            for id in self.waits.due(now) {
                let wait = self.waits.get(id);
                if wait.is_some_and(|wait| wait.spec.condition.rules().trigger == Trigger::Quiet) {
                    self.judge_unheld(id, now, Event::Frame);
                }
            }
        }
    }

    /// Judges the waits that depend on the activity of the foreground job.
    pub(super) fn judge_activity(&mut self, now: Time) {
        self.judge_with_frame(now, Trigger::Activity, Event::Activity);
    }

    /// Judges the waits that depend on the marks of shells.
    pub(super) fn judge_marks(&mut self, now: Time) {
        self.judge_with_frame(now, Trigger::Mark, Event::Mark);
    }

    /// Judges the waits of a trigger. A wait that is met ends with a frame of all output fed so far.
    fn judge_with_frame(&mut self, now: Time, trigger: Trigger, event: Event) {
        for id in self.triggered(trigger) {
            let Some(wait) = self.waits.get(id).filter(|wait| !wait.is_held) else { continue };
            let verdict = wait.judge(event, &self.evidence(now));
            if let Verdict::Met(_) = verdict {
                self.catch_up(now);
            }
            self.apply(id, now, verdict);
        }
    }

    /// Ends all waits after the program has exited.
    pub(super) fn end_by_exit(&mut self, now: Time) {
        for id in self.waits.ids() {
            self.judge(id, now, Event::Exit);
            self.end(id, now, Outcome::Exited);
        }
    }

    /// Ends all waits after the session was closed.
    pub(super) fn end_by_close(&mut self, now: Time) {
        for id in self.waits.ids() {
            self.end(id, now, Outcome::Closed);
        }
    }

    /// Updates the held waits after a part of the input was written.
    pub(super) fn note_written(&mut self, now: Time) {
        for id in self.waits.held() {
            self.waits.note_written(id, now);
            if !self.input.is_pending {
                self.waits.release(id);
                self.judge(id, now, Event::Release);
            }
        }
    }

    fn triggered(&self, trigger: Trigger) -> Vec<WaitId> {
        self.waits.triggered(trigger).map(|(id, _)| id).collect()
    }

    fn judge_unheld(&mut self, id: WaitId, now: Time, event: Event) {
        if self.waits.get(id).is_some_and(|wait| !wait.is_held) {
            self.judge(id, now, event);
        }
    }

    fn judge(&mut self, id: WaitId, now: Time, event: Event) {
        let Some(wait) = self.waits.get(id) else { return };
        let verdict = wait.judge(event, &self.evidence(now));
        self.apply(id, now, verdict);
    }

    fn apply(&mut self, id: WaitId, now: Time, verdict: Verdict) {
        match verdict {
            Verdict::Met(finding) => {
                if let Some(wait) = self.waits.remove(id) {
                    self.push_ended(id, &wait, now, Outcome::Met, finding);
                }
            }
            Verdict::Open => {}
            Verdict::LookAt(at) => self.waits.look_at(id, at),
            Verdict::LookLater { is_busy, until } => {
                self.waits.look_later(id, now, is_busy, until);
            }
            Verdict::Restart => self.waits.restart_quiet(id, now),
        }
    }

    /// Ends a wait whose condition does not hold, if it is still running.
    fn end(&mut self, id: WaitId, now: Time, outcome: Outcome) {
        if let Some(wait) = self.waits.remove(id) {
            let finding = wait.unmet(&self.evidence(now));
            self.push_ended(id, &wait, now, outcome, finding);
        }
    }

    fn push_ended(
        &mut self,
        id: WaitId,
        wait: &Wait,
        now: Time,
        outcome: Outcome,
        finding: Finding,
    ) {
        self.ended.push(WaitEnded {
            id,
            condition: wait.spec.condition.clone(),
            outcome,
            finding,
            elapsed: wait.elapsed(now),
            frame: Arc::clone(self.frame()),
            anchor: Arc::clone(&wait.anchor.frame),
            exit: self.exit,
            history_truncated: wait.anchor.truncated,
        });
    }

    /// Returns an anchor at the current moment. Cells that are drawn from now on are newer.
    pub(super) fn anchor_here(&mut self) -> Anchor {
        let (tick, line) = (self.screen.tick(), self.screen.line(0));
        self.screen.advance_tick();
        Anchor {
            tick,
            line,
            frame: Arc::clone(self.frame()),
            enters: 0,
            echo_counts: false,
            truncated: false,
        }
    }

    fn anchor(&mut self, since: Since) -> Anchor {
        let mut anchor = match since {
            Since::Input | Since::InputFrame => self.input.anchor.clone(),
            Since::Now | Since::Screen => self.anchor_here(),
            Since::Frame(seq) => {
                let kept = self.history.get(seq).or(self.history.dropped()).unwrap_or(self.frame());
                Anchor {
                    tick: kept.tick(),
                    line: kept.line(0),
                    frame: Arc::clone(kept),
                    enters: self.input.anchor.enters,
                    echo_counts: true,
                    truncated: kept.seq() != seq,
                }
            }
        };
        if since == Since::Screen {
            anchor.tick = Tick::NEVER;
        } else {
            let first = self.screen.scrollback().first().unwrap_or(self.screen.line(0));
            let reaches_back = self.history.oldest().seq().0 <= anchor.frame.seq().0 + 1;
            anchor.truncated |= anchor.line < first || !reaches_back;
        }
        anchor
    }
}

/// Returns the state before the first input, with its anchor at the blank screen.
pub(super) fn no_input(now: Time, screen: &Screen, frame: &Arc<Frame>) -> Input {
    let anchor = Anchor {
        tick: screen.tick(),
        line: Line(1),
        frame: Arc::clone(frame),
        enters: 0,
        echo_counts: false,
        truncated: false,
    };
    Input {
        anchor,
        echo_source: EchoSource::None,
        started_at: now,
        progress_at: now,
        is_pending: false,
        is_unread: false,
    }
}
