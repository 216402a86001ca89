//! Waits for time without a change of the text: after a change, or for the screen to settle.

use std::time::Duration;

use super::{Event, Finding, Styles, Verdict};
use crate::Time;
use crate::waits::wait::Wait;
use crate::waits::{BUSY_MAX, Evidence};

/// Judges a wait for a change. Without a stable time it holds at the change itself.
pub(super) fn judge_change(
    stable: Duration,
    styles: Styles,
    wait: &Wait,
    event: Event,
    evidence: &Evidence<'_>,
) -> Verdict {
    match event {
        Event::Start | Event::Frame | Event::Time | Event::Release => {
            let holds = wait.holds(evidence.now);
            let finding = || change_finding(stable, styles, wait, evidence.now, true);
            Verdict::met(holds.then(finding))
        }
        Event::Activity | Event::Mark | Event::Exit => Verdict::Open,
    }
}

/// Returns the finding of a wait for a change.
pub(super) fn change_finding(
    stable: Duration,
    styles: Styles,
    wait: &Wait,
    now: Time,
    is_met: bool,
) -> Finding {
    let change = &wait.progress.change;
    Finding::Change {
        changed: change.counts(styles),
        stable: is_met,
        style_changed: change.style,
        last_change: change.text.then(|| now.since(change.changed_at)),
        busy_rows: change.busy_rows(now, stable),
    }
}

/// Judges a wait for the screen to settle, once it has been quiet for long enough.
pub(super) fn judge_settled(
    quiet: Duration,
    wait: &Wait,
    event: Event,
    evidence: &Evidence<'_>,
) -> Verdict {
    match event {
        Event::Start | Event::Time => {}
        Event::Frame | Event::Activity | Event::Mark | Event::Release | Event::Exit => {
            return Verdict::Open;
        }
    }
    let now = evidence.now;
    if !wait.holds(now) {
        return Verdict::Open;
    }
    if evidence.exit.is_some() || evidence.is_closed {
        return Verdict::Met(settled_finding(wait, true, false));
    }
    if evidence.input.is_open() {
        return Verdict::Restart;
    }
    let change = &wait.progress.change;
    // A busy program that prints again and again, as `watch` does, is never quiet for BUSY_MAX.
    let since = if change.count > 1 { wait.timeout_from() } else { change.changed_at };
    let patience = since.after(quiet.max(BUSY_MAX));
    let (is_busy, was_busy) = (evidence.job.activity.is_busy(), wait.progress.was_busy);
    let is_over = wait.is_expired(now) || is_busy && patience <= now;
    if (is_busy || was_busy) && !is_over {
        // After the job was busy, a second sample is needed: its last output may not have been read yet.
        return Verdict::LookLater { is_busy, until: patience };
    }
    Verdict::Met(settled_finding(wait, true, is_busy || was_busy))
}

/// Returns the finding of a wait for the screen to settle.
pub(super) fn settled_finding(wait: &Wait, settled: bool, busy: bool) -> Finding {
    Finding::Settled { settled, changed: wait.progress.change.text, busy }
}
