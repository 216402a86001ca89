//! How waits end: what they found, and what is said of it.

use std::sync::Arc;

use super::Session;
use crate::Time;
use crate::frames::Frame;
use crate::waits::{
    Anchor, Condition, Finding, Match, Matches, Outcome, Place, Since, Wait, WaitEnded, WaitId,
    all_places, differs_from, elapsed, frame_places, screen_places,
};

impl Session {
    /// Ends the waits for a text to be gone that is gone.
    pub(super) fn end_gone(&mut self, now: Time) {
        for id in self.waits.gone() {
            let Some(Wait { spec, is_held: false, .. }) = self.waits.get(id) else { continue };
            if let Condition::Gone(pattern) = &spec.condition
                && Matches::new(pattern, &self.shown_places()).first().is_none()
            {
                self.end(id, now, Outcome::Met);
            }
        }
    }

    /// Ends the waits that hold with the change itself, having asked for no quiet after it.
    pub(super) fn end_first_changes(&mut self, now: Time) {
        for id in self.waits.due(now) {
            let Some(wait) = self.waits.get(id) else { continue };
            let is_change = matches!(wait.spec.condition, Condition::Change { .. });
            if is_change && !wait.is_held && wait.holds_at().is_some_and(|time| time <= now) {
                self.end(id, now, Outcome::Met);
            }
        }
    }

    /// The rows that a person sees: in the middle of an update those of the last frame.
    pub(super) fn shown_places(&self) -> Vec<Place> {
        if self.screen.is_synchronized() {
            frame_places(self.frame())
        } else {
            screen_places(&self.screen)
        }
    }

    /// The frames that came after the anchor's, oldest first.
    pub(super) fn frames_since(&self, anchor: &Anchor) -> impl Iterator<Item = &Arc<Frame>> {
        let seq = anchor.frame.seq();
        self.history.frames().filter(move |frame| frame.seq() > seq)
    }

    /// What a wait for text finds in what is kept since its anchor.
    pub(super) fn finding_at_once(&self, wait: &Wait, frames: &[Arc<Frame>]) -> Option<Finding> {
        match &wait.spec.condition {
            Condition::Text(pattern) => {
                let anchor = &wait.anchor;
                if wait.spec.since == Since::Screen {
                    let places = self.shown_places();
                    let found = Matches::new(pattern, &places).first()?;
                    let fresh = found.tick > self.input.tick;
                    return Some(Finding::Text {
                        found: Some(found),
                        fresh,
                        visible: true,
                        in_newer_frame: false,
                    });
                }
                if let Some(found) = &wait.matched {
                    return Some(self.text_finding(wait, found.clone()));
                }
                if !wait.may_match() {
                    return None;
                }
                let places = all_places(&self.screen, anchor.line);
                if let Some(found) = Matches::new(pattern, &places).first_since(anchor.tick) {
                    return Some(self.text_finding(wait, found));
                }
                let seen = frames.iter().map(|frame| &**frame).chain(self.flashes.iter());
                let found = seen.filter(|frame| frame.tick() > anchor.tick).find_map(|frame| {
                    Matches::new(pattern, &frame_places(frame)).first_since(anchor.tick)
                })?;
                Some(self.text_finding(wait, found))
            }
            Condition::Gone(pattern) => {
                let found = Matches::new(pattern, &self.shown_places()).first();
                found.is_none().then_some(Finding::Gone(None))
            }
            _ => None,
        }
    }

    /// Says of a match where it is now, if it is anywhere.
    pub(super) fn text_finding(&self, wait: &Wait, found: Match) -> Finding {
        let Condition::Text(pattern) = &wait.spec.condition else { return Finding::Exit };
        let places = self.shown_places();
        let matches = Matches::new(pattern, &places);
        let now = match wait.spec.since {
            Since::InputFrame => matches.with_text(&found.text, found.line),
            _ => matches.first_since(wait.anchor.tick).filter(|now| now.text == found.text),
        };
        let visible = now.is_some();
        let found = match now {
            Some(now) => now,
            None => Match { row: None, ..found },
        };
        let fresh = found.tick > wait.anchor.tick;
        Finding::Text { found: Some(found), fresh, visible, in_newer_frame: false }
    }

    pub(super) fn end(&mut self, id: WaitId, now: Time, outcome: Outcome) {
        let Some(wait) = self.waits.remove(id) else { return };
        let finding = match &wait.spec.condition {
            Condition::Text(pattern) => match &wait.matched {
                Some(found) if outcome == Outcome::Met => self.text_finding(&wait, found.clone()),
                _ => {
                    let found = Matches::new(pattern, &self.shown_places()).first();
                    let visible = found.is_some();
                    let in_newer_frame =
                        visible && wait.spec.since == Since::Input && self.has_new_frame(&wait);
                    Finding::Text { found, fresh: false, visible, in_newer_frame }
                }
            },
            Condition::Gone(pattern) => {
                Finding::Gone(Matches::new(pattern, &self.shown_places()).first())
            }
            _ => wait.finding(now, outcome),
        };
        self.push_ended(id, &wait, now, outcome, finding);
    }

    /// Returns whether the newest frame shows more than the anchor's and the echo of input.
    fn has_new_frame(&self, wait: &Wait) -> bool {
        let (anchor, frame) = (&wait.anchor, self.frame());
        frame.seq() > anchor.frame.seq() && differs_from(anchor, frame)
    }

    pub(super) fn push_ended(
        &mut self,
        id: WaitId,
        wait: &Wait,
        now: Time,
        outcome: Outcome,
        finding: Finding,
    ) {
        self.ended.push(WaitEnded {
            id,
            condition: wait.spec.condition.clone(),
            outcome,
            finding,
            elapsed: elapsed(wait, now),
            frame: Arc::clone(self.frame()),
            anchor: Arc::clone(&wait.anchor.frame),
            exit: self.exit,
            history_truncated: wait.anchor.truncated,
        });
    }
}
