//! Transient frames: the screen at moments just before text disappeared, for waits that start later.
//!
//! A running wait searches text before it disappears. A wait that starts later searches these frames instead. They are
//! not part of the history: the rest of the screen may have been in the middle of an update.

use std::collections::VecDeque;

use super::Frame;
use crate::screen::Screen;
use crate::{Seq, Time};

/// Transient frames between two frames. Text that appears and disappears takes two of them: one before it is erased,
/// and one before the blanks are overwritten. A program that does this more often without a pause is flooding the
/// terminal.
const BETWEEN_FRAMES: usize = 8;

/// Transient frames kept. They share their rows with frames.
const KEPT_MAX: usize = 64;

/// The newest transient frames, oldest first.
#[derive(Debug)]
pub(crate) struct TransientFrames {
    kept: VecDeque<Frame>,
    /// The number of transient frames that may still be taken before the next frame.
    left: usize,
}

impl TransientFrames {
    /// Returns an empty buffer.
    pub(crate) fn new() -> TransientFrames {
        TransientFrames { kept: VecDeque::new(), left: BETWEEN_FRAMES }
    }

    /// Returns whether another transient frame may be taken.
    pub(crate) fn has_room(&self) -> bool {
        self.left > 0
    }

    /// Takes a transient frame before text disappears. Does nothing at the limit.
    pub(crate) fn take(&mut self, screen: &Screen) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        if self.kept.len() == KEPT_MAX {
            self.kept.pop_front();
        }
        self.kept.push_back(Frame::new(Seq(0), Time::from_ms(0), screen));
    }

    /// Resets the limit after a frame was taken.
    pub(crate) fn note_frame(&mut self) {
        self.left = BETWEEN_FRAMES;
    }

    /// Returns the kept transient frames, oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.kept.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_transient_frames_is_bounded() {
        let screen = Screen::new(2, 1, 0);
        let mut transients = TransientFrames::new();
        (0..=BETWEEN_FRAMES).for_each(|_| transients.take(&screen));
        assert_eq!((transients.iter().count(), transients.has_room()), (BETWEEN_FRAMES, false));
        for _ in 0..KEPT_MAX {
            transients.note_frame();
            transients.take(&screen);
        }
        assert_eq!(transients.iter().count(), KEPT_MAX);
    }
}
