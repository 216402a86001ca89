//! The waits that are running on one terminal: started, judged and ended here, and nowhere else.
//!
//! ```text
//!  start ─► judged at once against what is kept since the anchor ─► ended
//!    │ not met
//!    ▼
//!  running ── look: before drawn cells disappear ──► text: matched, ends with the next frame
//!    │     ── frame: something was drawn ──────────► text, gone, change, settled judged ─► ended
//!    │     ── activity of the foreground job ──────► ready, rest, asks judged ─► ended
//!    │     ── exit (all output judged before) ─────► ended
//!    │     ── time: settled or deadline ───────────► ended
//!    └─ cancelled: forgotten
//! ```
//!
//! A wait that is started while input of its call is still to be handed over is *held*: it is judged as any other, but
//! ends only after the last byte was handed over.
//!
//! Waits for the same pattern are judged together, so a thousand of them cost about one; and only the
//! rows drawn since the last judgement are looked at again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use super::activity::{LOOK_PAUSE_MAX, LOOK_PAUSE_MIN, REST_CONFIRM};
use super::change::{ChangeState, differs_from};
use super::search::{Glance, Match, Matches, all_places, drawn_places, frame_places};
use super::{Condition, Finding, Outcome, Pattern, Since, Spec, WaitId};
use crate::frames::Frame;
use crate::screen::Screen;
use crate::{Line, Tick, Time};

/// The moment after which a wait looks.
#[derive(Clone, Debug)]
pub(crate) struct Anchor {
    /// Cells drawn later have a later tick.
    pub(crate) tick: Tick,
    /// The first line that was on the screen then.
    pub(crate) line: Line,
    /// The screen then.
    pub(crate) frame: Arc<Frame>,
    /// How often Enter was typed since; each may have scrolled the screen by its echo.
    pub(crate) enters: usize,
    /// The echo of input is a change like any other: whoever names a frame asks for all that came after it.
    pub(crate) echo_counts: bool,
    /// What is kept does not reach back to it.
    pub(crate) truncated: bool,
}

/// A wait that is running.
#[derive(Clone, Debug)]
pub(crate) struct Wait {
    pub(crate) spec: Spec,
    pub(crate) anchor: Anchor,
    pub(crate) started: Time,
    /// Since when its timeout counts.
    counted_from: Time,
    /// A text was found; the next frame ends the wait.
    pub(crate) matched: Option<Match>,
    change: ChangeState,
    /// Some of the input that it follows is still to be handed over.
    pub(crate) is_held: bool,
    /// A frame since the anchor shows more than the echo of input.
    has_new_frame: bool,
    /// When to look again what the foreground job does, and how long after the look before.
    look: Option<(Time, Duration)>,
    /// The job was busy at the last look.
    was_busy: bool,
    /// When `handle_time` is to look at it, as it stands in the timers.
    timer: Option<Time>,
}

/// The waits of one pattern, by their anchors.
#[derive(Clone, Debug)]
struct Group {
    pattern: Arc<Pattern>,
    waits: BTreeMap<Tick, Vec<WaitId>>,
}

/// The waits of a terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    waits: BTreeMap<WaitId, Wait>,
    groups: HashMap<String, Group>,
    timers: BTreeSet<(Time, WaitId)>,
    /// Those that depend on the activity of the foreground job: ready, rest and asks.
    active: BTreeSet<WaitId>,
    /// Those for text in a frame since the input.
    framed: BTreeSet<WaitId>,
    /// Those that are held until their input was handed over.
    held: BTreeSet<WaitId>,
    /// Those that are told of every frame: for a change, and for the screen to settle.
    changes: BTreeSet<WaitId>,
    /// Those for a text to be gone.
    gone: BTreeSet<WaitId>,
    /// What was seen at the last look; kept for its memory.
    glance: Glance,
    /// Waits for text that found it and end with the next frame.
    matched: Vec<WaitId>,
    next_id: u64,
}

impl Waits {
    /// The next wait's number.
    pub(crate) fn new_id(&mut self) -> WaitId {
        self.next_id += 1;
        WaitId(self.next_id)
    }

    /// Adds a wait that was not met at once.
    pub(crate) fn add(&mut self, id: WaitId, wait: Wait) {
        if let Condition::Text(pattern) = &wait.spec.condition {
            let group = self
                .groups
                .entry(pattern.source().to_owned())
                .or_insert_with(|| Group { pattern: Arc::clone(pattern), waits: BTreeMap::new() });
            group.waits.entry(wait.anchor.tick).or_default().push(id);
            if wait.spec.since == Since::InputFrame {
                self.framed.insert(id);
            }
        }
        if wait.is_held {
            self.held.insert(id);
        }
        self.kind(&wait.spec.condition).map(|ids| ids.insert(id));
        self.waits.insert(id, wait);
        self.set_timer(id);
    }

    /// Takes a wait out, wherever it stands.
    pub(crate) fn remove(&mut self, id: WaitId) -> Option<Wait> {
        let wait = self.waits.remove(&id)?;
        self.kind(&wait.spec.condition).map(|ids| ids.remove(&id));
        self.framed.remove(&id);
        self.held.remove(&id);
        if let Some(timer) = wait.timer {
            self.timers.remove(&(timer, id));
        }
        if let Condition::Text(pattern) = &wait.spec.condition
            && let Some(group) = self.groups.get_mut(pattern.source())
        {
            if let Some(ids) = group.waits.get_mut(&wait.anchor.tick) {
                ids.retain(|&other| other != id);
            }
            group.waits.retain(|_, ids| !ids.is_empty());
            if group.waits.is_empty() {
                self.groups.remove(pattern.source());
            }
        }
        Some(wait)
    }

    /// The waits of a kind that somebody goes through, so that those of other kinds cost nothing then.
    fn kind(&mut self, condition: &Condition) -> Option<&mut BTreeSet<WaitId>> {
        match condition {
            Condition::Ready | Condition::Rest | Condition::Asks(_) | Condition::FullScreen(_) => {
                Some(&mut self.active)
            }
            Condition::Change { .. } | Condition::Settled(_) => Some(&mut self.changes),
            Condition::Gone(_) => Some(&mut self.gone),
            Condition::Text(_)
            | Condition::Exit
            | Condition::Command(_)
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::LastCommand { .. } => None,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.waits.len()
    }

    /// Tells whether anybody waits for text, so that somebody has to look before it disappears.
    pub(crate) fn want_text(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns the waits that depend on the activity of the foreground job.
    pub(crate) fn active(&self) -> impl Iterator<Item = (WaitId, &Wait)> {
        self.active.iter().filter_map(|&id| Some((id, self.waits.get(&id)?)))
    }

    /// Returns the waits that are held until their input was handed over.
    pub(crate) fn held(&self) -> Vec<WaitId> {
        self.held.iter().copied().collect()
    }

    /// When a wait is next to be looked at.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|&(time, _)| time)
    }

    /// The waits whose time has come.
    pub(crate) fn due(&self, now: Time) -> Vec<WaitId> {
        self.timers.iter().take_while(|&&(time, _)| time <= now).map(|&(_, id)| id).collect()
    }

    pub(crate) fn ids(&self) -> Vec<WaitId> {
        self.waits.keys().copied().collect()
    }

    /// The waits for a text to be gone.
    pub(crate) fn gone(&self) -> Vec<WaitId> {
        self.gone.iter().copied().collect()
    }

    pub(crate) fn get(&self, id: WaitId) -> Option<&Wait> {
        self.waits.get(&id)
    }

    /// Shows the waits for text the rows that were drawn since the last look.
    pub(crate) fn judge(&mut self, screen: &Screen) {
        let wants_blanks = self.groups.values().any(|group| group.pattern.matches_blanks());
        self.glance.take(screen, wants_blanks);
        if self.glance.is_empty() {
            return;
        }
        let crosses = |group: &&Group| group.pattern.crosses_rows();
        let may_match = |group: &&Group| crosses(group) || self.glance.has(&group.pattern);
        let groups: Vec<&Group> = self.groups.values().filter(may_match).collect();
        if groups.is_empty() {
            return;
        }
        let drawn = drawn_places(screen);
        // What can match across rows has to see all of them, and a screenful above the screen is enough of what was judged
        // while it was on it.
        let from = Line(screen.line(0).0.saturating_sub(screen.rows() as u64));
        let all = if groups.iter().any(crosses) { all_places(screen, from) } else { Vec::new() };
        let mut found = Vec::new();
        for group in groups {
            let places = if crosses(&group) { &all } else { &drawn };
            let matches = Matches::new(&group.pattern, places);
            let Some(newest) = matches.newest_tick() else { continue };
            for (&tick, ids) in group.waits.range(..newest) {
                if let Some(first) = matches.first_since(tick) {
                    found.extend(ids.iter().map(|&id| (id, first.clone())));
                }
            }
        }
        for (id, first) in found {
            if let Some(wait) = self.waits.get_mut(&id)
                && wait.matched.is_none()
            {
                wait.matched = Some(first);
                self.matched.push(id);
            }
        }
    }

    /// Takes the waits for text that found it and may end, with what they found.
    pub(crate) fn take_matched(&mut self) -> Vec<(WaitId, Match)> {
        let mut ids = std::mem::take(&mut self.matched);
        // The patterns are judged in no order; the waits end in theirs.
        ids.sort();
        let may_end = |id: WaitId| {
            let wait = self.waits.get(&id).filter(|wait| !wait.is_held && wait.may_match())?;
            Some((id, wait.matched.clone()?))
        };
        ids.into_iter().filter_map(may_end).collect()
    }

    /// Shows a new frame to the waits for text in a frame since the input.
    pub(crate) fn judge_frame(&mut self, frame: &Frame) {
        for id in &self.framed {
            let Some(wait) = self.waits.get_mut(id) else { continue };
            wait.judge_frame(frame);
            if wait.matched.is_some() {
                self.matched.push(*id);
            }
        }
        self.matched.sort();
        self.matched.dedup();
    }

    /// A frame was taken: tells the waits for a change, and sets their timers anew.
    pub(crate) fn note_frame(&mut self, now: Time, before: &Frame, frame: &Frame) {
        for id in self.changes.iter().copied().collect::<Vec<_>>() {
            if let Some(wait) = self.waits.get_mut(&id) {
                wait.note_frame(now, before, frame);
            }
            self.set_timer(id);
        }
    }

    /// Puts off a wait for the screen to settle: the program has not read its input yet.
    pub(crate) fn put_off(&mut self, id: WaitId, now: Time) {
        self.change(id, |wait| wait.change.changed_at = now);
    }

    /// Gives a held wait all of its time again, from now: a part of its input was handed over.
    pub(crate) fn rebase(&mut self, id: WaitId, now: Time) {
        self.change(id, |wait| {
            let counted = now.since(std::mem::replace(&mut wait.counted_from, now));
            wait.spec.deadline = wait.spec.deadline.map(|deadline| deadline.after(counted));
            if matches!(wait.spec.condition, Condition::Settled(_)) {
                wait.count_from(now);
            }
        });
    }

    /// Lets a held wait end.
    pub(crate) fn release(&mut self, id: WaitId) {
        self.held.remove(&id);
        self.change(id, |wait| wait.is_held = false);
    }

    /// Looks at a wait again at `at` and not before.
    pub(crate) fn look_at(&mut self, id: WaitId, at: Option<Time>) {
        self.change(id, |wait| wait.look = at.map(|at| (at, LOOK_PAUSE_MIN)));
    }

    /// Looks at a wait again after a pause, which grows from look to look while the job is busy.
    pub(crate) fn look_later(&mut self, id: WaitId, now: Time, is_busy: bool, until: Time) {
        self.change(id, |wait| {
            let last = wait.look.filter(|_| wait.was_busy).map(|(_, pause)| 2 * pause);
            let pause = match is_busy {
                true => last.unwrap_or(LOOK_PAUSE_MIN).min(LOOK_PAUSE_MAX),
                false => REST_CONFIRM,
            };
            wait.was_busy = is_busy;
            wait.look = Some((now.after(pause).min(until), pause));
        });
    }

    fn change(&mut self, id: WaitId, change: impl FnOnce(&mut Wait)) {
        self.waits.get_mut(&id).map(change);
        self.set_timer(id);
    }

    fn set_timer(&mut self, id: WaitId) {
        let Some(wait) = self.waits.get_mut(&id) else { return };
        let due = wait.due_at().filter(|_| !wait.is_held);
        let timer = match (due, wait.spec.deadline) {
            (Some(due), Some(deadline)) => Some(due.min(deadline)),
            (due, deadline) => due.or(deadline),
        };
        if wait.timer != timer {
            if let Some(old) = std::mem::replace(&mut wait.timer, timer) {
                self.timers.remove(&(old, id));
            }
            self.timers.extend(timer.map(|timer| (timer, id)));
        }
    }
}

impl Wait {
    /// Returns a wait that has seen the frames since its anchor.
    pub(crate) fn new(spec: Spec, anchor: Anchor, started: Time, frames: &[Arc<Frame>]) -> Wait {
        let change = ChangeState::new(anchor.frame.time());
        let mut wait = Wait {
            spec,
            anchor,
            started,
            counted_from: started,
            matched: None,
            change,
            is_held: false,
            has_new_frame: false,
            look: None,
            was_busy: false,
            timer: None,
        };
        let mut before = Arc::clone(&wait.anchor.frame);
        for frame in frames {
            wait.note_frame(frame.time(), &before, frame);
            wait.judge_frame(frame);
            before = Arc::clone(frame);
        }
        wait
    }

    /// Starts the clock of a settled wait at the input, not at an earlier change.
    pub(crate) fn count_from(&mut self, time: Time) {
        self.change.changed_at = self.change.changed_at.max(time);
    }

    /// Returns how often the text has changed since the wait was started.
    pub(crate) fn changes(&self) -> u32 {
        self.change.count
    }

    /// Returns since when its timeout counts.
    pub(crate) fn counted_from(&self) -> Time {
        self.counted_from
    }

    /// Returns when the text changed last, or the clock was started again.
    pub(crate) fn quiet_since(&self) -> Time {
        self.change.changed_at
    }

    /// Returns whether the job was busy at the last look.
    pub(crate) fn was_busy(&self) -> bool {
        self.was_busy
    }

    /// Returns when the condition will hold if nothing happens; `None` if something has to.
    pub(crate) fn holds_at(&self) -> Option<Time> {
        match &self.spec.condition {
            Condition::Change { stable, styles, .. } => {
                self.change.counts(*styles).then(|| self.change.changed_at.after(*stable))
            }
            Condition::Settled(quiet) => Some(self.change.changed_at.after(*quiet)),
            _ => None,
        }
    }

    /// Returns when to look at it: when it will hold, or when the job is to be looked at again, if that is later.
    fn due_at(&self) -> Option<Time> {
        let look = self.look.map(|(at, _)| at);
        self.holds_at().max(look)
    }

    /// Returns whether a match that was found counts.
    pub(crate) fn may_match(&self) -> bool {
        self.spec.since != Since::InputFrame || self.has_new_frame
    }

    /// Looks for the text in a frame, of which all cells count.
    fn judge_frame(&mut self, frame: &Frame) {
        let Condition::Text(pattern) = &self.spec.condition else { return };
        if self.spec.since != Since::InputFrame || !differs_from(&self.anchor, frame) {
            return;
        }
        self.has_new_frame = true;
        if self.matched.is_none() {
            self.matched = Matches::new(pattern, &frame_places(frame)).first();
        }
    }

    fn note_frame(&mut self, now: Time, before: &Frame, frame: &Frame) {
        let ignore: &[Arc<Pattern>] = match &self.spec.condition {
            Condition::Change { ignore, .. } => ignore,
            _ => &[],
        };
        self.change.note_frame(now, &self.anchor, before, frame, ignore);
    }

    /// Returns what there is to say of it now.
    pub(crate) fn finding(&self, now: Time, outcome: Outcome) -> Finding {
        let met = outcome == Outcome::Met;
        let change = &self.change;
        match &self.spec.condition {
            Condition::Text(_) => {
                Finding::Text { found: None, fresh: false, visible: false, in_newer_frame: false }
            }
            Condition::Gone(_) => Finding::Gone(None),
            Condition::Change { styles, stable, .. } => Finding::Change {
                changed: change.counts(*styles),
                stable: met,
                style_changed: change.style,
                last_change: change.text.then(|| now.since(change.changed_at)),
                busy_rows: change.busy_rows(now, *stable),
            },
            Condition::Settled(_) => {
                Finding::Settled { settled: met, changed: change.text, busy: met && self.was_busy }
            }
            Condition::Exit => Finding::Exit,
            Condition::Command(_)
            | Condition::Taken(_)
            | Condition::Unclosed(_)
            | Condition::Asks(_)
            | Condition::FullScreen(_)
            | Condition::LastCommand { .. } => Finding::Command,
            Condition::Ready | Condition::Rest => Finding::Ready(None),
        }
    }
}

/// How long a wait took.
pub(crate) fn elapsed(wait: &Wait, now: Time) -> Duration {
    now.since(wait.started)
}

#[cfg(test)]
impl Waits {
    /// Tells whether nothing is left of any wait.
    pub(crate) fn is_clean(&self) -> bool {
        self.waits.is_empty()
            && self.groups.is_empty()
            && self.timers.is_empty()
            && self.active.is_empty()
            && self.framed.is_empty()
            && self.held.is_empty()
            && self.changes.is_empty()
            && self.gone.is_empty()
            && self.matched.is_empty()
    }
}
