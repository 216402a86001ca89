//! Waits that depend on the activity of the foreground job: ready, rest, asks and full screen.

use super::changes::differs_from;
use super::{Event, Finding, Ready, Verdict};
use crate::Time;
use crate::screen::EchoSource;
use crate::shell::{Command, CommandId, Progress};
use crate::waits::{
    ASKS_POLL_QUIET, ASKS_QUIET, BLANK_QUIET, BUSY_MAX, Evidence, FULL_SCREEN, Job, POLL_QUIET,
    REACTION_GRACE, REST_CONFIRM, STEADY, TerminalWait, UNSEEN_QUIET,
};

/// The verdict for a condition that cannot hold before another event.
const NOT_YET: Verdict = Verdict::LookAt(None);

/// Judges a condition by `verdict` at the events that can meet it.
pub(super) fn judge(
    event: Event,
    evidence: &Evidence<'_>,
    verdict: impl FnOnce() -> Verdict,
) -> Verdict {
    match event {
        Event::Start | Event::Activity if evidence.exit.is_some() => NOT_YET,
        Event::Start | Event::Activity => verdict(),
        Event::Frame | Event::Mark | Event::Time | Event::Release | Event::Exit => Verdict::Open,
    }
}

/// Judges whether a command is a full-screen program. An alternate screen that was shown before the command started was
/// left on by another program, and a command that has not started has switched nothing.
pub(super) fn full_screen(id: CommandId, evidence: &Evidence<'_>) -> Verdict {
    let is_own =
        |command: &&Command| command.progress == Progress::Running && !command.began_on_alternate();
    let is_alternate = evidence.screen.is_alternate();
    let Some(command) = evidence.shells.get(id).filter(|_| is_alternate).filter(is_own) else {
        return NOT_YET;
    };
    let from = |at: Time| at.max(command.started);
    let steady = evidence.job.reading_since.map(|at| from(at).after(STEADY));
    let shown = evidence.job.alternate_since.map(|at| from(at).after(FULL_SCREEN));
    match [steady, shown].into_iter().flatten().min() {
        Some(at) => Verdict::at(at, evidence.now, Finding::Command),
        None => NOT_YET,
    }
}

/// Judges whether a shell is at its prompt, or the program waits for input.
pub(super) fn ready(evidence: &Evidence<'_>) -> Verdict {
    if evidence.input.is_open() {
        return NOT_YET;
    }
    let activity = &evidence.job.activity;
    let is_at_prompt = evidence.shells.is_at_prompt();
    let (quiet, ready) = match (activity.terminal, activity.job) {
        _ if is_at_prompt => (None, Ready::Shell),
        _ if activity.waits_for_terminal_only() => (None, Ready::Kernel),
        (Some(_), Job::Busy) if !activity.reader_rests => (Some(BUSY_MAX), Ready::Quiet),
        (Some(_), Job::AtRest | Job::Timed | Job::Busy | Job::Unknown) => {
            (Some(POLL_QUIET), Ready::Kernel)
        }
        (None, Job::Unknown) => (Some(UNSEEN_QUIET), Ready::Quiet),
        (None, Job::AtRest | Job::Timed | Job::Busy) => return NOT_YET,
    };
    let is_blank = !is_at_prompt && activity.reads_keys && evidence.frame().text().is_empty();
    let quiet = if is_blank { quiet.max(Some(BLANK_QUIET)) } else { quiet };
    let mut at = quiet.map_or(Time::default(), |quiet| evidence.quiet_since().after(quiet));
    if !has_reacted(is_at_prompt, evidence) {
        at = at.max(evidence.input.progress_at.after(REACTION_GRACE));
    }
    if ready == Ready::Kernel {
        let since = evidence.job.reading_since.unwrap_or(evidence.now).max(evidence.frame().time());
        at = at.max(since.after(REST_CONFIRM));
    }
    Verdict::at(at, evidence.now, Finding::Ready(Some(ready)))
}

/// Judges as [`ready`], and otherwise whether the program waits for something other than its terminal, or shows a full
/// screen.
pub(super) fn rest(evidence: &Evidence<'_>) -> Verdict {
    let verdict = ready(evidence);
    if !matches!(verdict, Verdict::LookAt(None)) || evidence.input.is_open() {
        return verdict;
    }
    let quiet = match evidence.job.activity.job {
        Job::AtRest | Job::Timed => ASKS_POLL_QUIET,
        Job::Busy if evidence.screen.is_alternate() => BUSY_MAX,
        Job::Busy | Job::Unknown => return NOT_YET,
    };
    let at = evidence.quiet_since().after(quiet);
    Verdict::at(at, evidence.now, Finding::Ready(Some(Ready::Quiet)))
}

/// Judges whether a running command waits for an answer.
pub(super) fn asks(id: Option<CommandId>, evidence: &Evidence<'_>) -> Verdict {
    let shells = evidence.shells;
    let command = id.map_or_else(|| shells.running(), |id| shells.get(id));
    let command = command.filter(|command| command.progress == Progress::Running);
    let (Some(command), false) = (command, evidence.input.is_open()) else { return NOT_YET };
    let activity = &evidence.job.activity;
    let quiet = match (activity.terminal, activity.job) {
        (Some(TerminalWait::Read), Job::AtRest | Job::Timed | Job::Unknown) => ASKS_QUIET,
        // Another thread works: the reader waits for optional input, such as a key that stops the program.
        (Some(_), Job::Busy) if !activity.reader_rests => return NOT_YET,
        (Some(_), Job::AtRest | Job::Timed | Job::Busy | Job::Unknown) => ASKS_POLL_QUIET,
        (None, Job::AtRest | Job::Timed | Job::Busy | Job::Unknown) => return NOT_YET,
    };
    let since = evidence.quiet_since().max(command.started);
    Verdict::at(since.after(quiet), evidence.now, Finding::Command)
}

/// Returns whether the program has drawn something since the input. The echo of the line discipline does not count.
fn has_reacted(is_at_prompt: bool, evidence: &Evidence<'_>) -> bool {
    let is_echo_own = evidence.input.echo_source != EchoSource::Terminal;
    let (anchor, frame) = (&evidence.input.anchor, evidence.frame());
    is_at_prompt && !evidence.shells.is_half_typed()
        || frame.seq() > anchor.frame.seq() && (is_echo_own || differs_from(anchor, frame))
}
