//! Judges the waits that depend on what the foreground job does: ready, rest, asks and settled.

use super::Session;
use crate::Time;
use crate::screen::EchoBy;
use crate::shell::{Command, CommandId, Progress};
use crate::waits::{
    ASKS_POLL_QUIET, ASKS_QUIET, Activity, BLANK_QUIET, BUSY_MAX, Condition, FULL_SCREEN, Finding,
    Job, Outcome, POLL_QUIET, REACTION_GRACE, REST_CONFIRM, Ready, STEADY, TerminalWait,
    UNSEEN_QUIET, WaitId, differs_from,
};

/// What the evidence says of a condition.
enum Verdict {
    /// It holds.
    Met(Finding),
    /// It will hold then, if nothing happens before.
    At(Time),
    /// Something has to happen.
    Open,
}

impl Session {
    /// Takes in what the foreground job does. All that it printed before was handed over before.
    pub fn handle_activity(&mut self, now: Time, activity: Activity) {
        self.activity = activity;
        let is_reading = activity.terminal.is_some() && !self.has_open_input();
        self.reading_since = is_reading.then(|| self.reading_since.unwrap_or(now));
        let is_alternate = self.screen.is_alternate();
        self.alternate_since = is_alternate.then(|| self.alternate_since.unwrap_or(now));
        self.judge_activity(now);
    }

    /// Returns what the foreground job did at the last look.
    pub fn activity(&self) -> Activity {
        self.activity
    }

    /// Returns whether a wait depends on the activity of the foreground job, which nothing announces.
    pub fn wants_activity(&self) -> bool {
        let is_alternate = self.screen.is_alternate();
        let wants = |condition: &Condition| match condition {
            Condition::FullScreen(_) => is_alternate,
            _ => true,
        };
        self.waits.active().any(|(_, wait)| !wait.is_held && wants(&wait.spec.condition))
    }

    /// Returns whether a wait is due that is judged by the activity at that moment.
    pub fn wants_activity_at(&self, now: Time) -> bool {
        let settles = |id: WaitId| {
            self.waits.get(id).is_some_and(|wait| {
                !wait.is_held
                    && match wait.spec.condition {
                        Condition::Settled(_) => wait.holds_at().is_some_and(|at| at <= now),
                        Condition::Ready
                        | Condition::Rest
                        | Condition::Asks(_)
                        | Condition::FullScreen(_) => true,
                        _ => false,
                    }
            })
        };
        self.waits.due(now).into_iter().any(settles)
    }

    /// Returns whether input is still to be handed over or to be read.
    pub(super) fn has_open_input(&self) -> bool {
        self.input_pending || self.input_unread
    }

    /// Ends the waits that hold by what the job does, and says when to look at the others again.
    pub(super) fn judge_activity(&mut self, now: Time) {
        let waits: Vec<(WaitId, Condition)> = self
            .waits
            .active()
            .filter(|(_, wait)| !wait.is_held)
            .map(|(id, wait)| (id, wait.spec.condition.clone()))
            .collect();
        for (id, condition) in waits {
            match self.judge(now, &condition) {
                Verdict::Met(finding) => {
                    self.catch_up(now);
                    if let Some(wait) = self.waits.remove(id) {
                        self.push_ended(id, &wait, now, Outcome::Met, finding);
                    }
                }
                Verdict::At(at) => self.waits.look_at(id, Some(at)),
                Verdict::Open => self.waits.look_at(id, None),
            }
        }
    }

    fn judge(&self, now: Time, condition: &Condition) -> Verdict {
        if self.exit.is_some() {
            return Verdict::Open;
        }
        match condition {
            Condition::FullScreen(id) => self.judge_full_screen(now, *id),
            Condition::Ready => self.judge_ready(now),
            Condition::Rest => match self.judge_ready(now) {
                Verdict::Open => self.judge_rest(now),
                verdict => verdict,
            },
            Condition::Asks(id) => self.judge_asks(now, *id),
            _ => Verdict::Open,
        }
    }

    /// Judges whether a command is a full-screen program. An alternate screen that was on when the command began was left
    /// on by another program, and a command that has not begun has switched nothing.
    fn judge_full_screen(&self, now: Time, id: CommandId) -> Verdict {
        let is_own = |command: &&Command| {
            command.progress == Progress::Running && !command.began_on_alternate()
        };
        let is_shown = self.screen.is_alternate();
        let Some(command) = self.command(id).filter(|_| is_shown).filter(is_own) else {
            return Verdict::Open;
        };
        let steady = self.reading_since.map(|at| at.max(command.started).after(STEADY));
        let shown = self.alternate_since.map(|at| at.max(command.started).after(FULL_SCREEN));
        match [steady, shown].into_iter().flatten().min() {
            Some(at) => met_at(now, at, Finding::Command),
            None => Verdict::Open,
        }
    }

    fn judge_ready(&self, now: Time) -> Verdict {
        if self.has_open_input() {
            return Verdict::Open;
        }
        let has_shell = self.is_at_prompt();
        let (quiet, evidence) = match (self.activity.terminal, self.activity.job) {
            _ if has_shell => (None, Ready::Shell),
            _ if self.activity.waits_for_terminal_only() => (None, Ready::Kernel),
            (Some(_), Job::Busy) if !self.activity.reader_rests => (Some(BUSY_MAX), Ready::Quiet),
            (Some(_), _) => (Some(POLL_QUIET), Ready::Kernel),
            (None, Job::Unknown) => (Some(UNSEEN_QUIET), Ready::Quiet),
            (None, _) => return Verdict::Open,
        };
        let is_blank = !has_shell && self.activity.reads_keys && self.frame().text().is_empty();
        let quiet = if is_blank { quiet.max(Some(BLANK_QUIET)) } else { quiet };
        let mut at = quiet.map_or(Time::default(), |quiet| self.quiet_since().after(quiet));
        if !self.has_reacted(has_shell) {
            at = at.max(self.handed_at.after(REACTION_GRACE));
        }
        if evidence == Ready::Kernel {
            let since = self.reading_since.unwrap_or(now).max(self.frame().time());
            at = at.max(since.after(REST_CONFIRM));
        }
        met_at(now, at, Finding::Ready(Some(evidence)))
    }

    /// Judges a program that waits for something other than its terminal, or shows a full screen.
    fn judge_rest(&self, now: Time) -> Verdict {
        if self.has_open_input() {
            return Verdict::Open;
        }
        let quiet = match self.activity.job {
            Job::AtRest | Job::Timed => ASKS_POLL_QUIET,
            Job::Busy if self.screen.is_alternate() => BUSY_MAX,
            _ => return Verdict::Open,
        };
        met_at(now, self.quiet_since().after(quiet), Finding::Ready(Some(Ready::Quiet)))
    }

    fn judge_asks(&self, now: Time, id: Option<CommandId>) -> Verdict {
        let command = id.map_or_else(|| self.running_command(), |id| self.command(id));
        let command = command.filter(|command| command.progress == Progress::Running);
        let (Some(command), false) = (command, self.has_open_input()) else { return Verdict::Open };
        let quiet = match (self.activity.terminal, self.activity.job) {
            (Some(TerminalWait::Read), job) if job != Job::Busy => ASKS_QUIET,
            // Another thread of the reader works: it reads for the case that somebody types, as to be stopped.
            (Some(_), Job::Busy) if !self.activity.reader_rests => return Verdict::Open,
            (Some(_), _) => ASKS_POLL_QUIET,
            (None, _) => return Verdict::Open,
        };
        let since = self.quiet_since().max(command.started);
        met_at(now, since.after(quiet), Finding::Command)
    }

    /// Judges a wait for the screen to settle, for whose quiet the time has come.
    pub(super) fn judge_settled(&mut self, id: WaitId, now: Time, is_expired: bool) {
        let Some(wait) = self.waits.get(id) else { return };
        let Condition::Settled(quiet) = wait.spec.condition else { return };
        // What prints again and again while it is busy, as `watch` does, is never quiet for that long.
        let since = if wait.changes() > 1 { wait.counted_from() } else { wait.quiet_since() };
        let patience = since.after(quiet.max(BUSY_MAX));
        if self.has_open_input() {
            match is_expired {
                true => self.end(id, now, Outcome::Timeout),
                false => self.waits.put_off(id, now),
            }
        } else if self.activity.is_busy() {
            self.waits.look_later(id, now, true, patience);
            if is_expired || patience <= now {
                self.end(id, now, Outcome::Met);
            }
        } else if wait.was_busy() && !is_expired {
            // The last output of the job may still be on its way.
            self.waits.look_later(id, now, false, patience);
        } else {
            self.end(id, now, Outcome::Met);
        }
    }

    /// Returns whether the program has drawn something since the input. The echo of a line discipline is not its own.
    fn has_reacted(&self, has_shell: bool) -> bool {
        let is_echo_own = self.echo_by != EchoBy::Terminal;
        let frame = self.frame();
        has_shell && !self.is_half_typed()
            || frame.seq() > self.input.frame.seq()
                && (is_echo_own || differs_from(&self.input, frame))
    }

    /// Returns since when neither the screen changed nor input was handed over.
    fn quiet_since(&self) -> Time {
        self.frame().time().max(self.handed_at)
    }
}

fn met_at(now: Time, at: Time, finding: Finding) -> Verdict {
    if at <= now { Verdict::Met(finding) } else { Verdict::At(at) }
}
