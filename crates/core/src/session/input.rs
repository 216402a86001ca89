//! Input on its way to the program: its mark, its echo, and the waits that are held until all of it was handed over.

use super::Session;
use crate::Time;
use crate::screen::EchoBy;
use crate::waits::{Activity, Condition, Matches, Outcome, Since, WaitId};

impl Session {
    /// Sets the input mark: input is about to be handed to the program, of which `text` can be echoed, by `by`.
    pub fn handle_input(&mut self, now: Time, text: &str, by: EchoBy) {
        self.catch_up(now);
        self.input = self.anchor_here();
        self.input.enters = text.matches(['\r', '\n']).count();
        (self.handed_at, self.input_at) = (now, now);
        self.echo_by = by;
        // What was known of the program was before the input.
        (self.activity, self.reading_since) = (Activity::default(), None);
        self.shells.note_input(text);
        self.screen.expect_echo(text, by);
    }

    /// Notes that the program reads keys and not lines now, as a line editor does.
    pub fn handle_line_editor(&mut self) {
        self.screen.line_editor_begins();
    }

    /// Notes whether the program has input that it did not read, as far as the kernel can tell.
    pub fn handle_input_unread(&mut self, now: Time, unread: bool) {
        if self.input_unread && !unread {
            // The program has read it only now.
            self.handed_at = now;
        }
        self.input_unread = unread;
    }

    /// Notes that some input was handed over, and whether more of it is still to be. Waits that are started meanwhile are
    /// held: their time counts from the last of the input.
    pub fn handle_input_pending(&mut self, now: Time, is_pending: bool) {
        self.handed_at = now;
        self.input_pending = is_pending;
        for id in self.waits.held() {
            self.waits.rebase(id, now);
            if !is_pending {
                self.release(id, now);
            }
        }
        if !is_pending {
            self.judge_activity(now);
        }
    }

    /// Returns whether some of the last input is still to be handed over.
    pub fn is_input_pending(&self) -> bool {
        self.input_pending
    }

    /// Returns whether a wait that starts now is held.
    pub(super) fn holds(&self, condition: &Condition, since: Since) -> bool {
        let follows_input = matches!(since, Since::Input | Since::InputFrame);
        let is_judged_by_screen = matches!(
            condition,
            Condition::Text(_)
                | Condition::Gone(_)
                | Condition::Change { .. }
                | Condition::Settled(_)
                | Condition::Ready
                | Condition::Rest
        );
        self.input_pending && follows_input && is_judged_by_screen
    }

    /// Lets a held wait end, which may hold already.
    fn release(&mut self, id: WaitId, now: Time) {
        self.waits.release(id);
        let Some(wait) = self.waits.get(id) else { return };
        let is_gone = match &wait.spec.condition {
            Condition::Gone(pattern) => {
                Matches::new(pattern, &self.shown_places()).first().is_none()
            }
            _ => false,
        };
        let is_change = matches!(wait.spec.condition, Condition::Change { .. });
        let has_changed = is_change && wait.holds_at().is_some_and(|at| at <= now);
        if is_gone || has_changed || wait.matched.is_some() && wait.may_match() {
            self.end(id, now, Outcome::Met);
        }
    }
}
