//! The newest frames of a terminal, in a bounded ring buffer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::{Diff, Frame};
use crate::screen::Screen;
use crate::{Seq, Time};

/// Default number of frames kept. At the highest rate, one per 16 ms, they reach back 3 seconds. Frames share unchanged
/// rows.
pub const FRAMES_MAX: usize = 200;

/// Maximum size in bytes of the rows that only older frames show. 200 frames of 120x40 in colours have 9 MB if each
/// changes all rows; one frame of 1000x500 has 22 MB if each cell has another style.
pub const FRAMES_BYTES_MAX: usize = 64 << 20;

/// The newest frames, oldest first. It is never empty: the blank screen has number 0.
#[derive(Clone, Debug)]
pub struct History {
    frames: VecDeque<Arc<Frame>>,
    /// For each frame but the newest, the bytes of its rows that the next one does not share.
    left_bytes: VecDeque<usize>,
    /// The sum of `left_bytes`.
    bytes: usize,
    /// The newest of the frames that were dropped.
    dropped: Option<Arc<Frame>>,
    max: usize,
}

impl History {
    /// Returns a history of the blank screen.
    pub(crate) fn new(now: Time, screen: &Screen) -> History {
        let blank = Arc::new(Frame::new(Seq(0), now, screen));
        History {
            frames: VecDeque::from([blank]),
            left_bytes: VecDeque::new(),
            bytes: 0,
            dropped: None,
            max: FRAMES_MAX,
        }
    }

    /// Takes a frame of the screen. It gets a new number only if something visible changed. Otherwise it replaces the
    /// newest frame, because cells may have been drawn again and the cursor may have moved. Returns the frame, and
    /// whether it has a new number.
    pub(crate) fn take(&mut self, now: Time, screen: &Screen) -> (Arc<Frame>, bool) {
        let newest = self.newest();
        let mut frame = Frame::new(newest.seq(), newest.time(), screen);
        let changed = !frame.looks_like(newest);
        if changed {
            frame.seq = Seq(newest.seq().0 + 1);
            frame.time = now;
        } else {
            self.frames.pop_back();
            self.bytes -= self.left_bytes.pop_back().unwrap_or(0);
        }
        let frame = Arc::new(frame);
        if let Some(before) = self.frames.back() {
            let left = before.bytes_without(&frame);
            self.left_bytes.push_back(left);
            self.bytes += left;
        }
        self.frames.push_back(Arc::clone(&frame));
        self.keep(self.max);
        (frame, changed)
    }

    /// Keeps at most `max` frames, fewer if their rows exceed [`FRAMES_BYTES_MAX`], and at least one.
    pub(crate) fn keep(&mut self, max: usize) {
        self.max = max.max(1);
        while self.frames.len() > self.max || self.bytes > FRAMES_BYTES_MAX {
            self.dropped = self.frames.pop_front();
            self.bytes -= self.left_bytes.pop_front().unwrap_or(0);
        }
    }

    /// Returns the newest frame.
    pub fn newest(&self) -> &Arc<Frame> {
        self.frames.back().expect("there is always a frame")
    }

    /// Returns the oldest frame that is kept.
    pub fn oldest(&self) -> &Arc<Frame> {
        self.frames.front().expect("there is always a frame")
    }

    /// Returns the newest of the dropped frames, if any.
    pub(crate) fn dropped(&self) -> Option<&Arc<Frame>> {
        self.dropped.as_ref()
    }

    /// Returns a frame, if it is still kept.
    pub fn get(&self, seq: Seq) -> Option<&Arc<Frame>> {
        let at = seq.0.checked_sub(self.oldest().seq().0)?;
        self.frames.get(usize::try_from(at).ok()?)
    }

    /// Returns the frames that are kept, oldest first.
    pub fn frames(&self) -> impl DoubleEndedIterator<Item = &Arc<Frame>> + ExactSizeIterator {
        self.frames.iter()
    }

    /// Returns the changes since a frame; `None` if it is not kept or had another size.
    pub fn diff_since(&self, seq: Seq) -> Option<Diff> {
        Diff::new(self.get(seq)?, self.newest())
    }
}
