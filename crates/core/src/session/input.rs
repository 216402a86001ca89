//! Input to the program: the anchor that it sets, its echo, and whether it was written and read.

use super::Session;
use crate::Time;
use crate::screen::EchoSource;
use crate::waits::{Input, JobState, REACTION_GRACE};

impl Session {
    /// Sets the anchor before input is written to the program. `text` is the part of it that may be echoed, and `by`
    /// the source of the echo.
    pub fn handle_input(&mut self, now: Time, text: &str, by: EchoSource) {
        self.catch_up(now);
        let mut anchor = self.anchor_here();
        anchor.enters = text.matches(['\r', '\n']).count();
        let Input { is_pending, is_unread, .. } = self.input;
        self.input = Input {
            anchor,
            echo_source: by,
            started_at: now,
            progress_at: now,
            is_pending,
            is_unread,
        };
        // Samples from before the input do not show how the program reacts to it.
        self.job = JobState { alternate_since: self.job.alternate_since, ..JobState::default() };
        self.shells.note_input(text);
        self.screen.expect_echo(text, by);
    }

    /// Notes that the program has started to read keys instead of lines, as a line editor does.
    pub fn handle_line_editor(&mut self) {
        self.screen.note_line_editor();
    }

    /// Notes whether the program has unread input, as far as the kernel shows.
    pub fn handle_input_unread(&mut self, now: Time, unread: bool) {
        if self.input.is_unread && !unread {
            self.input.progress_at = now;
        }
        self.input.is_unread = unread;
    }

    /// Notes that a part of the input was written, and whether more of it follows. Waits that start in between are
    /// held: their timeouts count from the last byte of the input.
    pub fn handle_input_pending(&mut self, now: Time, is_pending: bool) {
        self.input.progress_at = now;
        self.input.is_pending = is_pending;
        self.note_written(now);
        if !is_pending {
            self.judge_activity(now);
        }
    }

    /// Returns whether the program may still react to the last input: it has not had the time that a reaction takes.
    pub fn may_react(&self, now: Time) -> bool {
        now.since(self.input.progress_at) < REACTION_GRACE
    }

    /// Returns whether a part of the last input is not written yet.
    pub fn is_input_pending(&self) -> bool {
        self.input.is_pending
    }
}
