//! Waits for text to appear, and for text to be gone.

use super::super::search::{Matches, all_places, frame_places};
use super::changes::differs_from;
use super::{Event, Finding, Verdict};
use crate::frames::Frame;
use crate::waits::wait::{Anchor, Progress, Wait};
use crate::waits::{Evidence, Match, Pattern, Since};

/// Searches a frame of which all cells count, for a wait since the input's frame.
pub(super) fn note_frame(
    pattern: &Pattern,
    since: Since,
    anchor: &Anchor,
    progress: &mut Progress,
    frame: &Frame,
) {
    if since != Since::InputFrame || !differs_from(anchor, frame) {
        return;
    }
    progress.has_new_frame = true;
    if progress.matched.is_none() {
        progress.matched = Matches::new(pattern, &frame_places(frame)).first();
    }
}

/// Searches the kept output since the anchor: the screen and the scrollback, then the frames, then the transient
/// frames.
pub(super) fn search_history(pattern: &Pattern, wait: &mut Wait, evidence: &Evidence<'_>) {
    if wait.spec.since == Since::Screen {
        return;
    }
    if wait.progress.matched.is_none() && may_match(wait) {
        let anchor = &wait.anchor;
        let places = all_places(evidence.screen, anchor.line);
        wait.progress.matched =
            Matches::new(pattern, &places).first_since(anchor.tick).or_else(|| {
                let kept = evidence.frames_since(anchor).map(|frame| &**frame);
                let mut newer = kept
                    .chain(evidence.transients.iter())
                    .filter(|frame| frame.tick() > anchor.tick);
                newer.find_map(|frame| {
                    Matches::new(pattern, &frame_places(frame)).first_since(anchor.tick)
                })
            });
    }
    if let Some(found) = wait.progress.matched.take() {
        let visible = visible_match(pattern, wait, &found, evidence);
        wait.progress.matched = Some(visible.unwrap_or(Match { row: None, ..found }));
    }
}

/// Judges a wait for text by the match that was found, or if all visible text counts, by the screen.
pub(super) fn judge_text(
    pattern: &Pattern,
    wait: &Wait,
    event: Event,
    evidence: &Evidence<'_>,
) -> Verdict {
    if event == Event::Start && wait.spec.since == Since::Screen {
        let found = first_visible(pattern, evidence);
        return Verdict::met(found.map(|found| {
            let fresh = found.tick > evidence.input.anchor.tick;
            Finding::Text { found: Some(found), fresh, visible: true, in_newer_frame: false }
        }));
    }
    let found = wait.progress.matched.as_ref().filter(|_| may_match(wait));
    Verdict::met(found.map(|found| fresh(pattern, wait, found, evidence)))
}

/// Judges a wait for text to be gone. It is not judged again at its deadline, because it was judged at every frame.
pub(super) fn judge_gone(pattern: &Pattern, event: Event, evidence: &Evidence<'_>) -> Verdict {
    match event {
        Event::Start | Event::Frame | Event::Release => {
            let is_gone = first_visible(pattern, evidence).is_none();
            Verdict::met(is_gone.then_some(Finding::Gone(None)))
        }
        Event::Activity | Event::Mark | Event::Time | Event::Exit => Verdict::Open,
    }
}

/// Returns the first match on the screen, whenever it was drawn.
pub(super) fn first_visible(pattern: &Pattern, evidence: &Evidence<'_>) -> Option<Match> {
    Matches::new(pattern, &evidence.visible_places()).first()
}

/// Returns the finding of a wait for text that found none: an older match that is on the screen.
pub(super) fn stale(pattern: &Pattern, wait: &Wait, evidence: &Evidence<'_>) -> Finding {
    let found = first_visible(pattern, evidence);
    let visible = found.is_some();
    let (anchor, frame) = (&wait.anchor, evidence.frame());
    let in_newer_frame = visible
        && wait.spec.since == Since::Input
        && frame.seq() > anchor.frame.seq()
        && differs_from(anchor, frame);
    Finding::Text { found, fresh: false, visible, in_newer_frame }
}

/// Updates the place of a match to a newer frame.
pub(super) fn refresh(pattern: &Pattern, finding: &mut Finding, frame: &Frame) {
    if let Finding::Text { found: Some(found), visible, .. } = finding {
        let places = frame_places(frame);
        let now = Matches::new(pattern, &places).with_text(&found.text, found.line);
        *visible = now.is_some();
        found.row = now.and_then(|now| now.row);
    }
}

/// Returns whether a match counts already.
fn may_match(wait: &Wait) -> bool {
    wait.spec.since != Since::InputFrame || wait.progress.has_new_frame
}

/// Returns the finding for a match, with its place on the screen if it is still there.
fn fresh(pattern: &Pattern, wait: &Wait, found: &Match, evidence: &Evidence<'_>) -> Finding {
    let now = visible_match(pattern, wait, found, evidence);
    let visible = now.is_some();
    let found = now.unwrap_or(Match { row: None, ..found.clone() });
    let fresh = found.tick > wait.anchor.tick;
    Finding::Text { found: Some(found), fresh, visible, in_newer_frame: false }
}

/// Returns a match at its current place on the screen, if it is still there.
fn visible_match(
    pattern: &Pattern,
    wait: &Wait,
    found: &Match,
    evidence: &Evidence<'_>,
) -> Option<Match> {
    let places = evidence.visible_places();
    let matches = Matches::new(pattern, &places);
    match wait.spec.since {
        Since::InputFrame => matches.with_text(&found.text, found.line),
        Since::Input | Since::Now | Since::Screen | Since::Frame(_) => {
            matches.first_since(wait.anchor.tick).filter(|now| now.text == found.text)
        }
    }
}
