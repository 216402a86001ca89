//! Output on its way to the screen: how much of it is fed at a time, and when the screen is complete.

use super::{FRAME_INTERVAL, Session, UPDATE_MAX};
use crate::Time;
use crate::screen::Screen;

impl Session {
    /// The program printed something, and may have printed more that was not read yet. Trusts all marks that carry a
    /// known nonce.
    pub fn handle_output(&mut self, now: Time, mut bytes: &[u8]) {
        self.handle_some_output(now, &mut bytes, u64::MAX, &mut |_| true);
    }

    /// As [`handle_output`](Self::handle_output), for a program that may be hostile. Feeds until `work_max` units of work
    /// are done (see [`Screen::limit_work`]) and leaves the rest in `bytes`: call it again before the next output. A mark
    /// that the running command could have forged is ignored unless `is_by_shell` confirms, for its nonce, that the shell
    /// has the terminal.
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
            let updating = self.screen.is_synchronized();
            self.feed(bytes);
            self.handle_events(now, is_by_shell);
            let began = *self.unframed.get_or_insert(now);
            let is_edge = self.screen.is_synchronized() != updating;
            self.update_began = match self.update_began {
                _ if !self.screen.is_synchronized() => None,
                None => Some(now),
                began => began,
            };
            // Feeding stopped at the edge of an update, where the screen is complete: as nothing was
            // drawn by its beginning, or because it ended.
            let is_complete = is_edge || !updating;
            let is_due = now.since(began) >= FRAME_INTERVAL || is_edge && self.is_edge_due(now);
            if is_complete && is_due {
                self.take_frame(now);
            }
        }
    }

    /// All that the program printed was read.
    pub fn handle_drained(&mut self, now: Time) {
        self.end_overdue_update(now);
        self.catch_up(now);
        if std::mem::take(&mut self.is_prompt_new) {
            self.judge_activity(now);
        }
    }

    pub(super) fn update_deadline(&self) -> Option<Time> {
        self.update_began.map(|began| began.after(UPDATE_MAX))
    }

    pub(super) fn end_overdue_update(&mut self, now: Time) {
        if self.update_deadline().is_some_and(|deadline| deadline <= now) {
            self.screen.end_update();
            self.update_began = None;
            self.take_frame(now);
        }
    }

    /// At the edge of an update the screen may be complete for the last time in a while, so it is seen
    /// even if the last frame is not old, but no more than once in the time between two.
    fn is_edge_due(&mut self, now: Time) -> bool {
        let is_old = |time: Time| now.since(time) >= FRAME_INTERVAL;
        if !self.screen.has_unobserved_cells() || is_old(self.framed_at) {
            return self.screen.has_unobserved_cells();
        }
        let due = self.edge_framed_at.is_none_or(is_old);
        if due {
            self.edge_framed_at = Some(now);
        }
        due
    }

    /// Feeds up to the edge of an update; whoever waits for text looks before it disappears, and for
    /// whoever will wait for it later it is kept.
    fn feed(&mut self, bytes: &mut &[u8]) {
        if self.waits.want_text() {
            let waits = &mut self.waits;
            let mut look = |screen: &Screen| waits.judge(screen);
            return self.screen.feed_update(bytes, Some(&mut look));
        }
        if !self.flashes.are_wanted() {
            return self.screen.feed_update(bytes, None);
        }
        let flashes = &mut self.flashes;
        self.screen.feed_update(bytes, Some(&mut |screen| flashes.take(screen)));
    }
}
