//! The running waits of a terminal, grouped by the events that can meet them, and the search of drawn text for their
//! patterns.
//!
//! ```text
//!  start ─► judged at once against what is kept since the anchor ─► ended
//!    │ not met
//!    ▼
//!  running ── before drawn cells disappear ──────────► text: matched, ends with the next frame
//!    │     ── frame: something was drawn ────────────► text, gone, change judged ─► ended
//!    │     ── sample of the foreground job ──────────► ready, rest, asks, full screen judged ─► ended
//!    │     ── mark of a shell ───────────────────────► command, taken, unclosed judged ─► ended
//!    │     ── exit (all output was judged before) ───► ended
//!    │     ── time: change, settled, deadline ───────► ended
//!    └─ cancelled: removed
//! ```
//!
//! A wait that starts while the input of its call is being written is *held*: it is judged like any other, but ends
//! only after the last byte was written.
//!
//! Waits for the same pattern are searched together, so a thousand of them cost about as much as one; and only rows
//! that were drawn since the last search are searched again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::search::{DrawnText, Matches, all_places, drawn_places};
use super::{Pattern, Since, Trigger, Wait, WaitId};
use crate::frames::Frame;
use crate::screen::Screen;
use crate::{Line, Tick, Time};

/// The waits for one pattern, by the ticks of their anchors.
#[derive(Clone, Debug)]
struct Group {
    pattern: Arc<Pattern>,
    waits: BTreeMap<Tick, Vec<WaitId>>,
}

/// The waits of a terminal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Waits {
    waits: BTreeMap<WaitId, Wait>,
    by_trigger: BTreeMap<Trigger, BTreeSet<WaitId>>,
    /// The waits for text, by the sources of their patterns.
    groups: HashMap<String, Group>,
    timers: BTreeSet<(Time, WaitId)>,
    /// The waits that handle every frame.
    frame_waits: BTreeSet<WaitId>,
    /// The waits that are held until their input is written.
    held: BTreeSet<WaitId>,
    /// The text of the last search; kept to reuse its memory.
    drawn: DrawnText,
    /// The waits that have found their text and end with the next frame.
    matched: Vec<WaitId>,
    next_id: u64,
}

impl Waits {
    /// Returns the ID of the next wait.
    pub(crate) fn new_id(&mut self) -> WaitId {
        self.next_id += 1;
        WaitId(self.next_id)
    }

    /// Adds a wait that was not met at once.
    pub(crate) fn add(&mut self, id: WaitId, wait: Wait) {
        if let Some(pattern) = wait.spec.condition.searched_pattern() {
            let group = self
                .groups
                .entry(pattern.source().to_owned())
                .or_insert_with(|| Group { pattern: Arc::clone(pattern), waits: BTreeMap::new() });
            group.waits.entry(wait.anchor.tick).or_default().push(id);
        }
        if wait.is_held {
            self.held.insert(id);
        }
        let trigger = wait.spec.condition.rules().trigger;
        let takes_frames = match trigger {
            Trigger::Match => wait.spec.since == Since::InputFrame,
            Trigger::Quiet => true,
            Trigger::Frame | Trigger::Activity | Trigger::Mark | Trigger::Exit => false,
        };
        if takes_frames {
            self.frame_waits.insert(id);
        }
        self.by_trigger.entry(trigger).or_default().insert(id);
        self.waits.insert(id, wait);
        self.set_timer(id);
    }

    /// Removes a wait.
    pub(crate) fn remove(&mut self, id: WaitId) -> Option<Wait> {
        let wait = self.waits.remove(&id)?;
        if let Some(ids) = self.by_trigger.get_mut(&wait.spec.condition.rules().trigger) {
            ids.remove(&id);
        }
        self.frame_waits.remove(&id);
        self.held.remove(&id);
        if let Some(timer) = wait.timer {
            self.timers.remove(&(timer, id));
        }
        if let Some(pattern) = wait.spec.condition.searched_pattern()
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

    /// Returns the number of waits.
    pub(crate) fn len(&self) -> usize {
        self.waits.len()
    }

    /// Returns a wait.
    pub(crate) fn get(&self, id: WaitId) -> Option<&Wait> {
        self.waits.get(&id)
    }

    /// Returns the IDs of all waits.
    pub(crate) fn ids(&self) -> Vec<WaitId> {
        self.waits.keys().copied().collect()
    }

    /// Returns the waits of a trigger.
    pub(crate) fn triggered(&self, trigger: Trigger) -> impl Iterator<Item = (WaitId, &Wait)> {
        let ids = self.by_trigger.get(&trigger).into_iter().flatten();
        ids.filter_map(|&id| Some((id, self.waits.get(&id)?)))
    }

    /// Returns the waits that are held until their input is written.
    pub(crate) fn held(&self) -> Vec<WaitId> {
        self.held.iter().copied().collect()
    }

    /// Returns whether a wait waits for text, so that text has to be searched before it disappears.
    pub(crate) fn has_patterns(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Returns the next time at which a wait must be judged.
    pub(crate) fn next_timer(&self) -> Option<Time> {
        self.timers.first().map(|&(time, _)| time)
    }

    /// Returns the waits that are due, in the order of their times.
    pub(crate) fn due(&self, now: Time) -> Vec<WaitId> {
        self.timers.iter().take_while(|&&(time, _)| time <= now).map(|&(_, id)| id).collect()
    }

    /// Searches the rows that were drawn since the last search for the text of waits.
    pub(crate) fn search_drawn(&mut self, screen: &Screen) {
        let wants_blanks = self.groups.values().any(|group| group.pattern.matches_blanks());
        self.drawn.read(screen, wants_blanks);
        if self.drawn.is_empty() {
            return;
        }
        let crosses = |group: &&Group| group.pattern.crosses_rows();
        let may_match = |group: &&Group| crosses(group) || self.drawn.has(&group.pattern);
        let groups: Vec<&Group> = self.groups.values().filter(may_match).collect();
        if groups.is_empty() {
            return;
        }
        let drawn = drawn_places(screen);
        // A pattern that can match across rows is searched for in all rows of the screen and in as many above it: rows
        // further up were searched while they were on the screen.
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
                && wait.progress.matched.is_none()
            {
                wait.progress.matched = Some(first);
                self.matched.push(id);
            }
        }
    }

    /// Passes a new frame to the waits that handle every frame, and sets their timers.
    pub(crate) fn note_frame(&mut self, now: Time, before: &Frame, frame: &Frame) {
        for id in self.frame_waits.iter().copied().collect::<Vec<_>>() {
            self.update(id, |wait| wait.note_frame(now, before, frame));
            if self.waits.get(&id).is_some_and(|wait| wait.progress.matched.is_some()) {
                self.matched.push(id);
            }
        }
    }

    /// Takes the waits that have found their text since the last frame, in the order in which they started.
    pub(crate) fn take_matched(&mut self) -> Vec<WaitId> {
        let mut ids = std::mem::take(&mut self.matched);
        ids.sort();
        ids.dedup();
        ids
    }

    /// Restarts the time without a change that a wait needs.
    pub(crate) fn restart_quiet(&mut self, id: WaitId, now: Time) {
        self.update(id, |wait| wait.progress.change.restart(now));
    }

    /// Restarts the timeout of a held wait after a part of its input was written.
    pub(crate) fn note_written(&mut self, id: WaitId, now: Time) {
        self.update(id, |wait| {
            wait.restart_timeout(now);
            wait.note_input(now);
        });
    }

    /// Allows a held wait to end.
    pub(crate) fn release(&mut self, id: WaitId) {
        self.held.remove(&id);
        self.update(id, |wait| wait.is_held = false);
    }

    /// Sets the time at which a wait is judged again; `None` if it needs an event.
    pub(crate) fn look_at(&mut self, id: WaitId, at: Option<Time>) {
        self.update(id, |wait| wait.look_at(at));
    }

    /// Sets a wait to be judged again after a pause, at `until` at the latest. The pause doubles while the job is busy.
    pub(crate) fn look_later(&mut self, id: WaitId, now: Time, is_busy: bool, until: Time) {
        self.update(id, |wait| wait.look_later(now, is_busy, until));
    }

    fn update(&mut self, id: WaitId, update: impl FnOnce(&mut Wait)) {
        self.waits.get_mut(&id).map(update);
        self.set_timer(id);
    }

    fn set_timer(&mut self, id: WaitId) {
        let Some(wait) = self.waits.get_mut(&id) else { return };
        let timer = wait.due_at();
        if wait.timer != timer {
            if let Some(old) = std::mem::replace(&mut wait.timer, timer) {
                self.timers.remove(&(old, id));
            }
            self.timers.extend(timer.map(|timer| (timer, id)));
        }
    }
}

#[cfg(test)]
impl Waits {
    /// Returns whether no state of any wait is left.
    pub(crate) fn is_clean(&self) -> bool {
        self.waits.is_empty()
            && self.by_trigger.values().all(BTreeSet::is_empty)
            && self.groups.is_empty()
            && self.timers.is_empty()
            && self.frame_waits.is_empty()
            && self.held.is_empty()
            && self.matched.is_empty()
    }
}
