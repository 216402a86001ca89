//! Waits for a shell's command: until it is taken, until it is over, or until it needs more lines.

use super::{Event, Finding, Verdict};
use crate::Time;
use crate::shell::{Command, CommandId, Shells};
use crate::waits::{Evidence, WaitError};

/// Checks that a command exists.
pub(super) fn check(id: CommandId, shells: &Shells) -> Result<(), WaitError> {
    shells.get(id).map(|_| ()).ok_or(WaitError::NoSuchCommand(id))
}

/// Returns the newest command other than the one that the input at `input_at` runs.
pub(super) fn last_before(shells: &Shells, input_at: Time) -> Result<CommandId, WaitError> {
    let last = shells.last();
    if shells.depth() == 0 && last.is_none() {
        return Err(WaitError::NoCommand);
    }
    // The input does not run a command that had ended before it.
    let is_open = |command: &&Command| command.ended.is_none_or(|ended| ended >= input_at);
    let is_last = !shells.is_entered() && last.filter(is_open).is_some();
    let last = last.map_or(0, |last| last.id.0);
    Ok(CommandId(last - u64::from(is_last)))
}

/// Judges by `holds` at the events that can meet a wait for a command.
fn judge(event: Event, evidence: &Evidence<'_>, holds: impl FnOnce(&Shells) -> bool) -> Verdict {
    match event {
        Event::Start | Event::Mark => {
            let holds = evidence.exit.is_none() && holds(evidence.shells);
            Verdict::met(holds.then_some(Finding::Command))
        }
        Event::Frame | Event::Activity | Event::Time | Event::Release | Event::Exit => {
            Verdict::Open
        }
    }
}

/// Judges a command by `holds`. A command that is no longer remembered is over.
pub(super) fn judge_one(
    id: CommandId,
    event: Event,
    evidence: &Evidence<'_>,
    holds: fn(&Command) -> bool,
) -> Verdict {
    judge(event, evidence, |shells| shells.get(id).is_none_or(holds))
}

/// Judges whether the newest command is over, if it is newer than `after`.
pub(super) fn judge_last(
    after: Option<CommandId>,
    event: Event,
    evidence: &Evidence<'_>,
) -> Verdict {
    judge(event, evidence, |shells| {
        let last = shells.last().filter(|last| after.is_some_and(|after| last.id > after));
        last.is_some_and(Command::is_over)
    })
}
