//! What stood on the screen for so short a time that it was gone when it was read.
//!
//! A wait that runs looks before anything disappears. For one that is called later, the screen is kept
//! at such moments. They are no frames: nobody could have seen the rest of the screen like that.

use std::collections::VecDeque;

use super::Frame;
use crate::screen::Screen;
use crate::{Seq, Time};

/// Flashes taken between two frames, two for each thing that comes and goes: before it is erased, and before
/// the blanks are written over. A program that does so many times without a pause floods us, and is not
/// looked at for longer.
const BETWEEN_FRAMES: usize = 8;

/// Flashes kept. They share their rows with frames.
const KEPT_MAX: usize = 64;

/// The screen at the moments before something disappeared, oldest first.
#[derive(Debug)]
pub(crate) struct Flashes {
    kept: VecDeque<Frame>,
    left: usize,
}

impl Flashes {
    pub(crate) fn new() -> Flashes {
        Flashes { kept: VecDeque::new(), left: BETWEEN_FRAMES }
    }

    /// Tells whether another would be taken.
    pub(crate) fn are_wanted(&self) -> bool {
        self.left > 0
    }

    /// Something is about to disappear.
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

    /// A frame was taken.
    pub(crate) fn go_on(&mut self) {
        self.left = BETWEEN_FRAMES;
    }

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
        let mut flashes = Flashes::new();
        (0..=BETWEEN_FRAMES).for_each(|_| flashes.take(&screen));
        assert_eq!((flashes.iter().count(), flashes.are_wanted()), (BETWEEN_FRAMES, false));
        for _ in 0..KEPT_MAX {
            flashes.go_on();
            flashes.take(&screen);
        }
        assert_eq!(flashes.iter().count(), KEPT_MAX);
    }
}
