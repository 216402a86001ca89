//! The queue of input, and when the next part of it may be written.
//!
//! Programs treat bytes that arrive together as a paste, or handle a key before the previous one has taken effect. So a
//! keystroke is written only after the program has read the previous one and is at rest again. Time and evidence are
//! passed in.
//!
//! ```text
//! written ─► unread ─► read ─► at rest ─► the next part
//!              │         └─ busy: after KEY_GAP_MAX; not visible: after KEY_GAP_UNSEEN
//!              └─ never read: after KEY_UNREAD_MAX
//! ```

use std::collections::VecDeque;
use std::time::Duration;

use awaitty_core::{Activity, Job, TerminalWait};
use tokio::time::Instant;

use crate::io::line::Typed;
use crate::limits;

/// Pause before the next keystroke if the program has read the last one and stays busy. A person types about as fast.
const KEY_GAP_MAX: Duration = Duration::from_millis(250);

/// The same pause where the kernel does not show the activity of the program: behind ssh or tmux.
const KEY_GAP_UNSEEN: Duration = Duration::from_millis(50);

/// Time after which a keystroke is written although the program has not read the last one.
const KEY_UNREAD_MAX: Duration = Duration::from_secs(2);

/// Time after which a keystroke that is not in the terminal's buffer counts as read, although no thread is known to
/// have run. Before that, the kernel may not have moved it into the buffer yet.
const KEY_FLUSHED: Duration = Duration::from_millis(20);

/// Time for which a read blocks despite unread input before it counts as a read of more bytes, as with VMIN above 1.
const KEY_WANTED: Duration = Duration::from_millis(5);

/// Pause after an escape key while the program polls for the rest of an escape sequence: readline polls for 500 ms. The
/// pause ends earlier if the program waits for input without a timeout.
const ESCAPE_POLLED_MAX: Duration = Duration::from_millis(600);

/// Time from a keystroke to the first probe, and between probes during [`CLOSE_PROBES`]. An editor handles a key in
/// about this time.
const PROBE_PAUSE: Duration = Duration::from_micros(200);
/// Time after a keystroke in which probes are [`PROBE_PAUSE`] apart.
const CLOSE_PROBES: Duration = Duration::from_millis(2);
/// The longest pause between two probes. Each pause is twice as long as the previous one.
const PROBE_PAUSE_MAX: Duration = Duration::from_millis(16);

/// The kind of a part of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Text. A program may read it together with other text.
    Text,
    /// A keystroke.
    Key,
    /// The Escape key. Together with bytes that follow at once it would be another key.
    Escape,
}

/// A part of the input that is written at once.
#[derive(Clone, Debug)]
pub struct Part {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The kind of the part.
    pub kind: PartKind,
}

impl Part {
    /// Returns a part that is text.
    pub fn text(bytes: impl Into<Vec<u8>>) -> Part {
        Part { bytes: bytes.into(), kind: PartKind::Text }
    }
}

/// A part in the queue.
#[derive(Debug)]
struct QueuedPart {
    bytes: VecDeque<u8>,
    kind: PartKind,
    /// It needs no evidence: its first bytes were written already, or a signal follows it.
    is_free: bool,
    /// It ends a line for the line discipline.
    ends_line: bool,
}

/// The result of a probe, by which the next part is released.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence {
    /// The program has unread input.
    pub(super) is_unread: bool,
    /// The activity of the foreground job.
    pub(super) activity: Activity,
    /// The number of times that its threads were scheduled so far.
    pub(super) runs: u64,
    /// The terminal is in canonical mode.
    pub(super) is_canonical: bool,
}

/// The part that was written last.
#[derive(Clone, Copy, Debug)]
struct LastPart {
    kind: PartKind,
    ends_line: bool,
    at: Instant,
    /// The number of times that the program's threads were scheduled before the write, if that was probed.
    runs: Option<u64>,
    /// A probe saw it in the terminal's buffer.
    was_seen: bool,
    /// The time at which a probe found that it was read.
    read_at: Option<Instant>,
    /// The time of the next probe, and its distance from the last one.
    probe_at: Instant,
    pause: Duration,
}

/// The input that was not written yet.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Replies to queries of the program. They are written before the next part.
    replies: VecDeque<u8>,
    parts: VecDeque<QueuedPart>,
    /// Bytes in the queue.
    len: usize,
    last: Option<LastPart>,
    /// The number of times that the program's threads were scheduled before the next part, if that was probed.
    runs: Option<u64>,
    /// The state of the line discipline after all input in the queue.
    pub(super) typed: Typed,
}

impl Input {
    /// Adds a part. `ends_line` is true if it ends a line for the line discipline.
    pub(super) fn push(&mut self, part: Part, ends_line: bool) {
        // A mouse event has no bytes if the program did not enable mouse reports.
        if part.bytes.is_empty() {
            return;
        }
        self.len += part.bytes.len();
        let (bytes, kind) = (part.bytes.into(), part.kind);
        self.parts.push_back(QueuedPart { bytes, kind, is_free: false, ends_line });
    }

    /// Adds a reply to a query of the program.
    pub(super) fn push_reply(&mut self, bytes: &[u8]) {
        self.len += bytes.len();
        self.replies.extend(bytes);
    }

    /// Releases all parts in the queue at once, because a signal follows that must not wait for a program that reads
    /// nothing.
    pub(super) fn free(&mut self) {
        self.last = None;
        self.parts.iter_mut().for_each(|part| part.is_free = true);
    }

    /// Drops all input that was not written.
    pub(super) fn clear(&mut self) {
        self.replies.clear();
        self.parts.clear();
        self.len = 0;
    }

    /// Returns how many bytes are in the queue.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the queue has parts.
    pub(super) fn has_parts(&self) -> bool {
        !self.parts.is_empty()
    }

    /// Returns whether the next part has to wait for evidence.
    fn is_gated(&self) -> bool {
        let (Some(next), Some(last)) = (self.parts.front(), &self.last) else { return false };
        let is_text = next.kind == PartKind::Text && last.kind == PartKind::Text;
        !next.is_free && !is_text
    }

    /// Returns whether bytes may be written now.
    pub(super) fn is_due(&self) -> bool {
        !self.front().is_empty()
    }

    /// Returns the time of the next probe, if the next part needs evidence.
    pub(super) fn wake(&self) -> Option<Instant> {
        self.last.filter(|_| self.is_gated()).map(|last| last.probe_at)
    }

    /// Brings the next probe forward: the program has printed its reaction and may be at rest. A timer with a
    /// resolution of 1 ms is too coarse for that. After [`CLOSE_PROBES`], output causes no more probes, or a flood
    /// would cause one for each read.
    pub(super) fn note_output(&mut self, now: Instant) {
        if let Some(last) = &mut self.last
            && now.duration_since(last.at) < CLOSE_PROBES
        {
            last.probe_at = now;
        }
    }

    /// Returns the bytes that may be written now.
    pub(super) fn front(&self) -> &[u8] {
        if !self.is_front_typed() {
            return self.replies.as_slices().0;
        }
        match self.parts.front() {
            Some(part) if !self.is_gated() => part.bytes.as_slices().0,
            _ => &[],
        }
    }

    /// Returns whether the bytes in front are input of a caller, and not a reply to a query.
    pub(super) fn is_front_typed(&self) -> bool {
        let is_inside = self.parts.front().is_some_and(|part| part.is_free);
        self.replies.is_empty() || is_inside
    }

    /// Returns whether the program should be probed before the next part is written, so that a later probe can show
    /// that it was scheduled since.
    pub(super) fn wants_runs(&self) -> bool {
        let is_key = |part: &QueuedPart| part.kind != PartKind::Text || self.parts.len() > 1;
        self.runs.is_none() && !self.is_gated() && self.parts.front().is_some_and(is_key)
    }

    /// Records how often the program's threads were scheduled before the next part.
    pub(super) fn note_runs(&mut self, runs: u64) {
        self.runs = Some(runs);
    }

    /// Removes `count` bytes in front, which were written.
    pub(super) fn hand_over(&mut self, count: usize, now: Instant) {
        self.len -= count;
        if !self.is_front_typed() {
            self.replies.drain(..count);
            return;
        }
        let Some(part) = self.parts.front_mut() else { return };
        part.bytes.drain(..count);
        part.is_free = true;
        if !part.bytes.is_empty() {
            return;
        }
        self.last = Some(LastPart {
            kind: part.kind,
            ends_line: part.ends_line,
            at: now,
            runs: self.runs.take(),
            was_seen: false,
            read_at: None,
            probe_at: now + PROBE_PAUSE,
            pause: PROBE_PAUSE,
        });
        self.parts.pop_front();
    }

    /// Releases the next part if the evidence allows it, else sets the time of the next probe.
    pub(super) fn consider(&mut self, now: Instant, evidence: &Evidence) {
        let Some(last) = &mut self.last else { return };
        if last.may_be_followed(now, evidence) {
            self.last = None;
            self.runs = Some(evidence.runs);
            return;
        }
        if now.duration_since(last.at) >= CLOSE_PROBES {
            last.pause = (2 * last.pause).min(PROBE_PAUSE_MAX);
        }
        last.probe_at = now + last.pause;
    }
}

impl LastPart {
    /// Returns whether the next part may follow.
    fn may_be_followed(&mut self, now: Instant, evidence: &Evidence) -> bool {
        let waited = now.duration_since(self.at);
        let Activity { terminal, job, .. } = evidence.activity;
        if evidence.is_canonical && !self.ends_line && self.kind != PartKind::Escape {
            // The line discipline keeps it until the end of the line, so the program cannot read it yet.
            return true;
        }
        if evidence.is_unread {
            (self.was_seen, self.read_at) = (true, None);
            let wants_more = terminal == Some(TerminalWait::Read) && job == Job::AtRest;
            return wants_more && waited >= KEY_WANTED || waited >= KEY_UNREAD_MAX;
        }
        let has_run = self.runs.is_some_and(|runs| runs != evidence.runs);
        if !self.was_seen && !has_run && waited < KEY_FLUSHED {
            return false;
        }
        let read_at = *self.read_at.get_or_insert(now);
        let gap = match (job, terminal) {
            (Job::AtRest, _) | (Job::Timed, Some(_)) => Duration::ZERO,
            (Job::Busy, Some(_)) if evidence.activity.reader_rests => Duration::ZERO,
            (Job::Busy, _) => KEY_GAP_MAX,
            (Job::Timed, None) | (Job::Unknown, _) => KEY_GAP_UNSEEN,
        };
        let pause = match (self.kind, terminal) {
            (PartKind::Escape, Some(TerminalWait::TimedPoll)) => ESCAPE_POLLED_MAX,
            (PartKind::Escape, _) => limits::ESCAPE_PAUSE,
            _ => Duration::ZERO,
        };
        now >= read_at + gap.max(pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    const RESTS: Evidence = evidence(Some(TerminalWait::Poll), Job::AtRest);
    const POLLS: Evidence = evidence(Some(TerminalWait::TimedPoll), Job::Timed);
    const BUSY: Evidence = evidence(None, Job::Busy);
    const UNSEEN: Evidence = evidence(None, Job::Unknown);
    const UNREAD: Evidence = Evidence { is_unread: true, ..BUSY };

    const fn evidence(terminal: Option<TerminalWait>, job: Job) -> Evidence {
        let activity = Activity { terminal, job, reader_rests: false, reads_keys: true };
        Evidence { is_unread: false, activity, runs: 1, is_canonical: false }
    }

    fn key(bytes: &[u8]) -> Part {
        let kind = if bytes == b"\x1b" { PartKind::Escape } else { PartKind::Key };
        Part { bytes: bytes.to_vec(), kind }
    }

    /// Removes all bytes that may be written, one by one, and returns them.
    fn hand_over(input: &mut Input, now: Instant) -> Vec<u8> {
        let mut handed = Vec::new();
        while !input.front().is_empty() {
            if input.wants_runs() {
                input.note_runs(0);
            }
            handed.push(input.front()[0]);
            input.hand_over(1, now);
        }
        handed
    }

    /// Probes with the same evidence until the next part may follow, and returns the time that this took.
    fn gap(input: &mut Input, start: Instant, evidence: &Evidence) -> Duration {
        while let Some(at) = input.wake() {
            assert!(at < start + 10 * KEY_UNREAD_MAX, "the next part is never released");
            input.consider(at, evidence);
            if input.is_due() {
                return at - start;
            }
        }
        Duration::ZERO
    }

    fn two_keys() -> (Input, Instant) {
        let (mut input, start) = (Input::default(), Instant::now());
        input.push(key(b"\x1b[A"), false);
        input.push(key(b"\r"), true);
        assert_eq!(hand_over(&mut input, start), b"\x1b[A");
        assert!(!input.is_due() && input.has_parts());
        (input, start)
    }

    #[test]
    fn a_keystroke_follows_when_the_program_is_at_rest_again() {
        for (evidence, least, most) in [
            (RESTS, Duration::ZERO, MS),
            (POLLS, Duration::ZERO, MS),
            (BUSY, KEY_GAP_MAX, KEY_GAP_MAX + PROBE_PAUSE_MAX),
            (UNSEEN, KEY_GAP_UNSEEN, KEY_GAP_UNSEEN + PROBE_PAUSE_MAX),
            (UNREAD, KEY_UNREAD_MAX, KEY_UNREAD_MAX + PROBE_PAUSE_MAX),
        ] {
            let (mut input, start) = two_keys();
            let gap = gap(&mut input, start, &evidence);
            assert!((least..=most).contains(&gap), "{evidence:?}: {gap:?}");
            assert_eq!(hand_over(&mut input, start + gap), b"\r");
        }
    }

    #[test]
    fn a_key_follows_an_escape_when_the_program_no_longer_polls_for_the_rest() {
        let escape = || {
            let (mut input, start) = (Input::default(), Instant::now());
            input.push(key(b"\x1b"), false);
            input.push(key(b"\x1b[B"), false);
            assert_eq!(hand_over(&mut input, start), b"\x1b");
            (input, start)
        };
        let (mut input, start) = escape();
        let gap_polled = gap(&mut input, start, &POLLS);
        assert!(gap_polled >= ESCAPE_POLLED_MAX, "{gap_polled:?}");
        let (mut input, start) = escape();
        input.consider(start + 300 * MS, &POLLS);
        assert!(!input.is_due(), "readline waits for 500 ms");
        input.consider(start + 520 * MS, &RESTS);
        assert!(input.is_due());
    }

    #[test]
    fn output_brings_the_probe_forward_for_two_milliseconds() {
        let (mut input, start) = two_keys();
        let soon = start + PROBE_PAUSE / 4;
        input.note_output(soon);
        assert_eq!(input.wake(), Some(soon));
        let late = start + CLOSE_PROBES;
        input.consider(late, &BUSY);
        input.note_output(late);
        assert!(input.wake() > Some(late), "a flood does not cause a probe for each read");
    }

    #[test]
    fn a_program_that_has_not_run_has_not_read() {
        let (mut input, start) = two_keys();
        let asleep = Evidence { runs: 0, ..RESTS };
        input.consider(start + MS, &asleep);
        assert!(!input.is_due(), "the kernel may not have moved the key yet");
        input.consider(start + 2 * MS, &RESTS);
        assert!(input.is_due());
        // A key that was seen in the buffer and is gone from there was read.
        let (mut input, start) = two_keys();
        input.consider(start + MS, &Evidence { is_unread: true, ..asleep });
        input.consider(start + 2 * MS, &asleep);
        assert!(input.is_due());
    }

    #[test]
    fn a_read_that_wants_more_bytes_gets_them() {
        let (mut input, start) = two_keys();
        let wants = evidence(Some(TerminalWait::Read), Job::AtRest);
        let gap = gap(&mut input, start, &Evidence { is_unread: true, ..wants });
        assert!((KEY_WANTED..KEY_WANTED + PROBE_PAUSE_MAX).contains(&gap), "{gap:?}");
    }

    #[test]
    fn text_follows_text_at_once_and_a_keystroke_does_not() {
        let (mut input, start) = (Input::default(), Instant::now());
        input.push(Part::text("one"), false);
        input.push(Part::text("two"), false);
        assert_eq!(hand_over(&mut input, start), b"onetwo");
        // Across calls as well.
        input.push(key(b"\r"), true);
        assert_eq!(hand_over(&mut input, start), b"");
        input.consider(start + MS, &RESTS);
        assert_eq!(hand_over(&mut input, start), b"", "whether it ran is not known");
        input.consider(start + KEY_FLUSHED, &RESTS);
        assert_eq!(hand_over(&mut input, start), b"\r");
        input.push(Part::text("more"), false);
        assert_eq!(hand_over(&mut input, start), b"");
    }

    #[test]
    fn the_line_discipline_collects_keys_of_a_line() {
        let (mut input, start) = (Input::default(), Instant::now());
        for (bytes, ends_line) in [(b"y", false), (b"\r", true), (b"x", false)] {
            input.push(key(bytes), ends_line);
        }
        let busy = Evidence { is_canonical: true, ..BUSY };
        assert_eq!(hand_over(&mut input, start), b"y");
        input.consider(start + MS, &busy);
        assert_eq!(hand_over(&mut input, start + MS), b"\r");
        input.consider(start + 2 * MS, &busy);
        assert_eq!(hand_over(&mut input, start), b"", "the program may read keys after this line");
    }

    #[test]
    fn an_escape_is_followed_after_a_pause() {
        let (mut input, start) = (Input::default(), Instant::now());
        input.push(key(b"\x1b"), false);
        assert_eq!(hand_over(&mut input, start), b"\x1b");
        assert_eq!(input.wake(), None, "nothing is to follow");
        input.push(Part::text("x"), false);
        let read = start + 1000 * MS;
        input.consider(read, &Evidence { is_unread: true, ..RESTS });
        input.consider(read + MS, &RESTS);
        input.consider(read + limits::ESCAPE_PAUSE, &RESTS);
        assert_eq!(hand_over(&mut input, read), b"");
        input.consider(read + MS + limits::ESCAPE_PAUSE, &RESTS);
        assert_eq!(hand_over(&mut input, read), b"x");
    }

    #[test]
    fn replies_and_signals_do_not_wait() {
        let (mut input, start) = two_keys();
        input.push_reply(b"\x1b[1;1R");
        assert_eq!(hand_over(&mut input, start), b"\x1b[1;1R");
        input.push(key(b"\x03"), false);
        input.free();
        assert_eq!(hand_over(&mut input, start), b"\r\x03");
        // A reply does not come into the middle of a part.
        let (mut input, start) = (Input::default(), Instant::now());
        input.push(key(b"\x1b[A"), false);
        input.hand_over(1, start);
        input.push_reply(b"R");
        assert_eq!(hand_over(&mut input, start), b"[AR");
        input.push(key(b"x"), false);
        input.clear();
        assert!(input.is_empty() && !input.has_parts());
        input.push(key(b""), false);
        assert!(!input.has_parts(), "there is nothing to write");
    }
}
