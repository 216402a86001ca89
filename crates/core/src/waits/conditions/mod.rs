//! The conditions of waits. All code that differs from condition to condition is in this directory.
//!
//! A new condition is a variant of [`Condition`] and an arm in each `match` below. The registry and the session use
//! conditions only through these functions.

mod changes;
mod commands;
mod job;
mod quiet;
mod text;

use std::sync::Arc;
use std::time::Duration;

use super::wait::{Anchor, Progress, Wait};
use super::{Evidence, Match, Pattern, Since, WaitError};
use crate::Time;
use crate::frames::Frame;
use crate::shell::{Command, CommandId, Shells};

pub(crate) use changes::ChangeState;

/// The condition of a wait.
#[derive(Clone, Debug)]
pub enum Condition {
    /// The pattern matches text that was drawn since the anchor.
    Text(Arc<Pattern>),
    /// The pattern has no match on the screen.
    Gone(Arc<Pattern>),
    /// The text differs from the anchor's frame, and has been unchanged for a while.
    Change {
        /// The time for which it must be unchanged.
        stable: Duration,
        /// The changes of style that count.
        styles: Styles,
        /// The patterns of rows that are ignored.
        ignore: Vec<Arc<Pattern>>,
    },
    /// The program has read its input and is not busy, and the text has been unchanged for that long, whether or not it
    /// changed before.
    Settled(Duration),
    /// The program exits.
    Exit,
    /// A shell's command is over, and the shell is at its prompt again.
    Command(CommandId),
    /// Like `Command`, for the newest command, or for the one that the last input is about to run.
    LastCommand {
        /// The newest command that does not count; set when the wait starts.
        after: Option<CommandId>,
    },
    /// A shell has read all of a delivered command, or refused it.
    Taken(CommandId),
    /// A shell waits for the rest of a command that has no more lines.
    Unclosed(CommandId),
    /// A running command of a shell, this one or any, waits for an answer: it reads the terminal and is quiet.
    Asks(Option<CommandId>),
    /// A shell's command has switched to the alternate screen, and reads input there or stays there for a while.
    FullScreen(CommandId),
    /// A shell is at its prompt, or the program waits for input.
    Ready,
    /// As `Ready`, or the program waits for something other than its terminal and has been quiet for a while.
    Rest,
}

/// The changes of style that count as a change of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Styles {
    /// None: text only.
    Text,
    /// Those that move the selection.
    #[default]
    Selection,
    /// All.
    All,
}

/// The evidence that a program is ready for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A shell marked the end of its prompt.
    Shell,
    /// The kernel shows a thread that waits for the terminal.
    Kernel,
    /// The screen has been quiet, and the kernel shows nothing that contradicts it.
    Quiet,
}

/// The finding of a wait, by its condition.
#[derive(Clone, Debug)]
pub enum Finding {
    /// The finding of a wait for text.
    Text {
        /// The match; if there was none since the anchor, an older one that is on the screen.
        found: Option<Match>,
        /// The match was drawn since the anchor.
        fresh: bool,
        /// The match is still on the screen.
        visible: bool,
        /// A frame since the input shows the text, although no cell of it was drawn since.
        in_newer_frame: bool,
    },
    /// The finding of a wait for text to be gone: a match that is still on the screen.
    Gone(Option<Match>),
    /// The finding of a wait for a change.
    Change {
        /// The text differs from the anchor's frame, by more than the echo of the input.
        changed: bool,
        /// It was unchanged for the requested time.
        stable: bool,
        /// A style differs.
        style_changed: bool,
        /// The time since the last change of the text, if it changed since the anchor.
        last_change: Option<Duration>,
        /// The rows that were still changing when the wait ended, most often first.
        busy_rows: Vec<usize>,
    },
    /// The finding of a wait for the screen to settle.
    Settled {
        /// It was unchanged for the requested time.
        settled: bool,
        /// The text differs from before the input, by more than its echo.
        changed: bool,
        /// The program is still busy, and has been for longer than the wait allows.
        busy: bool,
    },
    /// The finding of a wait for the exit.
    Exit,
    /// The finding of a wait for a command; see [`crate::Session::command`].
    Command,
    /// The evidence that the program is ready or at rest, if it is.
    Ready(Option<Ready>),
}

/// An event at which conditions are judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// The wait starts.
    Start,
    /// A frame was taken.
    Frame,
    /// The driver has sampled the foreground job, or something else that `job.rs` judges by has changed.
    Activity,
    /// A shell has printed a mark.
    Mark,
    /// The time that the wait requested is reached, or its deadline.
    Time,
    /// All of the input that the wait follows was written.
    Release,
    /// The program has exited.
    Exit,
}

/// The event that most often meets a condition. The registry keeps the waits of each trigger apart, so that an event
/// costs nothing for the waits of other triggers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trigger {
    /// Drawn text that matches [`Condition::searched_pattern`].
    Match,
    /// A frame that differs from the one before.
    Frame,
    /// Time without a change.
    Quiet,
    /// The activity of the foreground job.
    Activity,
    /// A mark of a shell.
    Mark,
    /// The exit.
    Exit,
}

/// The times at which the driver has to sample the foreground job for a wait. The kernel reports no changes of the
/// job's activity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Samples {
    /// Never.
    Never,
    /// At the moment at which the condition may hold.
    WhenDue,
    /// Again and again.
    Periodic,
    /// Again and again while the alternate screen is shown.
    OnAlternate,
}

/// The properties of a condition that determine how the registry keeps its wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) trigger: Trigger,
    pub(crate) samples: Samples,
    /// A wait that follows the input ends only after all of the input is written.
    pub(crate) is_held_by_input: bool,
    /// Its clock restarts whenever a part of the input is written.
    pub(crate) counts_from_input: bool,
}

/// The result of judging a condition.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It holds.
    Met(Finding),
    /// It does not hold. It is judged again at the time that was set before.
    Open,
    /// It will hold at that time unless an event comes first; `None` if it needs an event.
    LookAt(Option<Time>),
    /// It must be judged again after a pause, at `until` at the latest.
    LookLater { is_busy: bool, until: Time },
    /// Its time without a change restarts.
    Restart,
}

impl Verdict {
    /// Returns that the condition holds from `at` on.
    fn at(at: Time, now: Time, finding: Finding) -> Verdict {
        if at <= now { Verdict::Met(finding) } else { Verdict::LookAt(Some(at)) }
    }

    /// Returns that the condition holds if there is a finding.
    fn met(finding: Option<Finding>) -> Verdict {
        finding.map_or(Verdict::Open, Verdict::Met)
    }
}

impl Condition {
    /// Returns whether the activity of the foreground job decides when a wait for it starts, so that the driver has to
    /// sample the job first.
    pub fn is_judged_by_activity(&self) -> bool {
        matches!(self.rules().samples, Samples::WhenDue | Samples::Periodic)
    }

    /// Returns the properties that determine how the registry keeps its wait.
    pub(crate) fn rules(&self) -> Rules {
        use Samples::{Never, OnAlternate, Periodic, WhenDue};
        let (trigger, samples, is_held_by_input) = match self {
            Condition::Text(_) => (Trigger::Match, Never, true),
            Condition::Gone(_) => (Trigger::Frame, Never, true),
            Condition::Change { .. } => (Trigger::Quiet, Never, true),
            Condition::Settled(_) => (Trigger::Quiet, WhenDue, true),
            Condition::Exit => (Trigger::Exit, Never, false),
            Condition::Command(_)
            | Condition::LastCommand { .. }
            | Condition::Taken(_)
            | Condition::Unclosed(_) => (Trigger::Mark, Never, false),
            Condition::Asks(_) => (Trigger::Activity, Periodic, false),
            Condition::FullScreen(_) => (Trigger::Activity, OnAlternate, false),
            Condition::Ready | Condition::Rest => (Trigger::Activity, Periodic, true),
        };
        let counts_from_input = matches!(self, Condition::Settled(_));
        Rules { trigger, samples, is_held_by_input, counts_from_input }
    }

    /// Returns the pattern that is searched for in all rows before their text can disappear.
    pub(crate) fn searched_pattern(&self) -> Option<&Arc<Pattern>> {
        match self {
            Condition::Text(pattern) => Some(pattern),
            Condition::Gone(_)
            | Condition::Change { .. }
            | Condition::Settled(_)
            | Condition::Exit
            | Condition::Command(_)
            | Condition::LastCommand { .. }
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::Asks(_)
            | Condition::FullScreen(_)
            | Condition::Ready
            | Condition::Rest => None,
        }
    }

    /// Checks that the command in it exists. For `LastCommand`, sets `after`.
    pub(crate) fn resolve(&mut self, shells: &Shells, input_at: Time) -> Result<(), WaitError> {
        match self {
            Condition::Command(id)
            | Condition::Taken(id)
            | Condition::Unclosed(id)
            | Condition::FullScreen(id)
            | Condition::Asks(Some(id)) => commands::check(*id, shells),
            Condition::LastCommand { after } => {
                *after = Some(commands::last_before(shells, input_at)?);
                Ok(())
            }
            Condition::Text(_)
            | Condition::Gone(_)
            | Condition::Change { .. }
            | Condition::Settled(_)
            | Condition::Exit
            | Condition::Asks(None)
            | Condition::Ready
            | Condition::Rest => Ok(()),
        }
    }

    /// Checks whether a wait for it can start after some input.
    pub(crate) fn check(&self, shells: &Shells, input_at: Time) -> Result<(), WaitError> {
        if matches!(self, Condition::LastCommand { .. }) && shells.depth() > 0 {
            // The input may run a command.
            return Ok(());
        }
        self.clone().resolve(shells, input_at)
    }

    /// Handles the next frame since the anchor.
    pub(super) fn note_frame(
        &self,
        now: Time,
        since: Since,
        anchor: &Anchor,
        progress: &mut Progress,
        before: &Frame,
        frame: &Frame,
    ) {
        match self {
            Condition::Text(pattern) => text::note_frame(pattern, since, anchor, progress, frame),
            Condition::Change { ignore, .. } => {
                progress.change.note_frame(now, anchor, before, frame, ignore);
            }
            Condition::Settled(_) => progress.change.note_frame(now, anchor, before, frame, &[]),
            Condition::Gone(_)
            | Condition::Exit
            | Condition::Command(_)
            | Condition::LastCommand { .. }
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::Asks(_)
            | Condition::FullScreen(_)
            | Condition::Ready
            | Condition::Rest => {}
        }
    }

    /// Returns the time at which it will hold unless an event comes first; `None` if it needs an event.
    pub(super) fn holds_at(&self, progress: &Progress) -> Option<Time> {
        match self {
            Condition::Change { stable, styles, .. } => {
                progress.change.counts(*styles).then(|| progress.change.changed_at.after(*stable))
            }
            Condition::Settled(quiet) => Some(progress.change.changed_at.after(*quiet)),
            Condition::Text(_)
            | Condition::Gone(_)
            | Condition::Exit
            | Condition::Command(_)
            | Condition::LastCommand { .. }
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::Asks(_)
            | Condition::FullScreen(_)
            | Condition::Ready
            | Condition::Rest => None,
        }
    }

    /// Updates a finding to a newer frame.
    pub(super) fn refresh(&self, finding: &mut Finding, frame: &Frame) {
        match self {
            Condition::Text(pattern) => text::refresh(pattern, finding, frame),
            Condition::Gone(_)
            | Condition::Change { .. }
            | Condition::Settled(_)
            | Condition::Exit
            | Condition::Command(_)
            | Condition::LastCommand { .. }
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::Asks(_)
            | Condition::FullScreen(_)
            | Condition::Ready
            | Condition::Rest => {}
        }
    }
}

impl Wait {
    /// Searches the kept output since the anchor, before the wait is judged for the first time.
    pub(crate) fn search_history(&mut self, evidence: &Evidence<'_>) {
        if let Some(pattern) = self.spec.condition.searched_pattern().cloned() {
            text::search_history(&pattern, self, evidence);
        }
    }

    /// Judges its condition at an event.
    pub(crate) fn judge(&self, event: Event, evidence: &Evidence<'_>) -> Verdict {
        match &self.spec.condition {
            Condition::Text(pattern) => text::judge_text(pattern, self, event, evidence),
            Condition::Gone(pattern) => text::judge_gone(pattern, event, evidence),
            Condition::Change { stable, styles, .. } => {
                quiet::judge_change(*stable, *styles, self, event, evidence)
            }
            Condition::Settled(quiet) => quiet::judge_settled(*quiet, self, event, evidence),
            Condition::Exit => Verdict::met(evidence.exit.map(|_| Finding::Exit)),
            Condition::Command(id) => commands::judge_one(*id, event, evidence, Command::is_over),
            Condition::LastCommand { after } => commands::judge_last(*after, event, evidence),
            Condition::Taken(id) => commands::judge_one(*id, event, evidence, Command::is_taken),
            Condition::Unclosed(id) => {
                commands::judge_one(*id, event, evidence, Command::is_unclosed)
            }
            Condition::Asks(id) => job::judge(event, evidence, || job::asks(*id, evidence)),
            Condition::FullScreen(id) => {
                job::judge(event, evidence, || job::full_screen(*id, evidence))
            }
            Condition::Ready => job::judge(event, evidence, || job::ready(evidence)),
            Condition::Rest => job::judge(event, evidence, || job::rest(evidence)),
        }
    }

    /// Returns the finding of a wait that ends although its condition does not hold.
    pub(crate) fn unmet(&self, evidence: &Evidence<'_>) -> Finding {
        match &self.spec.condition {
            Condition::Text(pattern) => text::stale(pattern, self, evidence),
            Condition::Gone(pattern) => Finding::Gone(text::first_visible(pattern, evidence)),
            Condition::Change { stable, styles, .. } => {
                quiet::change_finding(*stable, *styles, self, evidence.now, false)
            }
            Condition::Settled(_) => quiet::settled_finding(self, false, false),
            Condition::Exit => Finding::Exit,
            Condition::Command(_)
            | Condition::LastCommand { .. }
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::Asks(_)
            | Condition::FullScreen(_) => Finding::Command,
            Condition::Ready | Condition::Rest => Finding::Ready(None),
        }
    }
}
