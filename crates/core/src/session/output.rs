//! Output of the program: how much of it is fed at a time, and when a frame is taken.

use std::sync::Arc;

use super::{FRAME_INTERVAL, Session, UPDATE_MAX};
use crate::Time;
use crate::screen::Screen;

impl Session {
    /// Feeds output of the program. More output may be unread. Trusts all marks that carry a known nonce.
    pub fn handle_output(&mut self, now: Time, mut bytes: &[u8]) {
        self.handle_some_output(now, &mut bytes, u64::MAX, &mut |_| true);
    }

    /// Like [`handle_output`](Self::handle_output), for a program that may be hostile. Feeds until `work_max` units of
    /// work are done (see [`Screen::limit_work`]) and leaves the rest in `bytes`: call it again before the next output.
    /// A mark that the running command could have forged is ignored unless `is_by_shell` confirms, for its nonce, that
    /// the shell has the terminal.
    pub fn handle_some_output(
        &mut self,
        now: Time,
        bytes: &mut &[u8],
        work_max: u64,
        is_by_shell: &mut dyn FnMut(&str) -> bool,
    ) {
        self.end_overdue_update(now);
        self.screen.limit_work(work_max);
        while !bytes.is_empty() && self.screen.work_left() > 0 {
            let was_updating = self.screen.is_synchronized();
            self.feed(bytes);
            self.handle_events(now, is_by_shell);
            let unframed_since = *self.unframed_since.get_or_insert(now);
            let is_updating = self.screen.is_synchronized();
            self.update_since = is_updating.then(|| self.update_since.unwrap_or(now));
            // Feeding stops at the start and at the end of an update. The screen is complete at both.
            let is_edge = is_updating != was_updating;
            let is_complete = is_edge || !was_updating;
            let is_due =
                now.since(unframed_since) >= FRAME_INTERVAL || is_edge && self.is_edge_due(now);
            if is_complete && is_due {
                self.take_frame(now);
            }
        }
    }

    /// Takes a frame after all output of the program was read.
    pub fn handle_drained(&mut self, now: Time) {
        self.end_overdue_update(now);
        self.catch_up(now);
        if std::mem::take(&mut self.is_prompt_new) {
            self.judge_activity(now);
        }
    }

    /// Returns the time at which an open update is shown although it has not ended.
    pub(super) fn update_deadline(&self) -> Option<Time> {
        self.update_since.map(|since| since.after(UPDATE_MAX))
    }

    /// Ends an update that has been open for too long.
    pub(super) fn end_overdue_update(&mut self, now: Time) {
        if self.update_deadline().is_some_and(|deadline| deadline <= now) {
            self.screen.end_update();
            self.update_since = None;
            self.take_frame(now);
        }
    }

    /// Takes a frame of the output fed so far, unless an update is open.
    pub(super) fn catch_up(&mut self, now: Time) {
        if self.unframed_since.is_some() && !self.screen.is_synchronized() {
            self.take_frame(now);
        }
    }

    /// Takes a frame, and judges the waits by it.
    pub(super) fn take_frame(&mut self, now: Time) {
        if self.waits.has_patterns() {
            self.waits.search_drawn(&self.screen);
        }
        let before = Arc::clone(self.frame());
        let (frame, changed) = self.history.take(now, &self.screen);
        if frame.is_alternate() && !before.is_alternate() {
            self.main_frame = Some(Arc::clone(&before));
        }
        // Cells that are drawn from now on are newer than this frame.
        self.screen.advance_tick();
        self.framed_at = now;
        self.unframed_since = None;
        self.transients.note_frame();
        self.judge_frame(now, &before, &frame, changed);
    }

    /// Returns whether a frame is due at the edge of an update. The screen may stay incomplete for a while after that,
    /// so a frame is taken even if the last one is recent, but at most once per frame interval.
    fn is_edge_due(&mut self, now: Time) -> bool {
        let is_old = |time: Time| now.since(time) >= FRAME_INTERVAL;
        if !self.screen.has_unobserved_cells() || is_old(self.framed_at) {
            return self.screen.has_unobserved_cells();
        }
        let is_due = self.edge_framed_at.is_none_or(is_old);
        if is_due {
            self.edge_framed_at = Some(now);
        }
        is_due
    }

    /// Feeds up to the edge of an update. Before text disappears it is searched for running waits, or kept in a
    /// transient frame for later ones.
    fn feed(&mut self, bytes: &mut &[u8]) {
        let (waits, transients) = (&mut self.waits, &mut self.transients);
        if waits.has_patterns() {
            self.screen.feed_update(bytes, Some(&mut |screen: &Screen| waits.search_drawn(screen)));
        } else if transients.has_room() {
            self.screen.feed_update(bytes, Some(&mut |screen| transients.take(screen)));
        } else {
            self.screen.feed_update(bytes, None);
        }
    }
}
