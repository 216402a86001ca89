//! The evidence by which conditions are judged: a read-only view of a session at one moment.

use std::sync::Arc;

use super::search::{Place, frame_places, screen_places};
use super::wait::Anchor;
use super::{Activity, Exit};
use crate::Time;
use crate::frames::{Frame, History, TransientFrames};
use crate::screen::{EchoSource, Screen};
use crate::shell::Shells;

/// The last input, and how much of it was written and read.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    /// The moment just before it.
    pub(crate) anchor: Anchor,
    /// The source of its echo.
    pub(crate) echo_source: EchoSource,
    /// The time just before its first byte was written.
    pub(crate) started_at: Time,
    /// The time at which a part of it was last written, or at which the program had read all of it.
    pub(crate) progress_at: Time,
    /// A part of it is not written yet.
    pub(crate) is_pending: bool,
    /// The program may not have read all of the written input.
    pub(crate) is_unread: bool,
}

impl Input {
    /// Returns whether a part of it is not written or not read yet.
    pub(crate) fn is_open(&self) -> bool {
        self.is_pending || self.is_unread
    }
}

/// The foreground job, by the samples that the driver took.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct JobState {
    /// The newest sample.
    pub(crate) activity: Activity,
    /// The time since which a thread of it has waited for the terminal, with all input read.
    pub(crate) reading_since: Option<Time>,
    /// The time since which the samples have found the alternate screen.
    pub(crate) alternate_since: Option<Time>,
}

/// A session at one moment.
#[derive(Clone, Copy)]
pub(crate) struct Evidence<'s> {
    pub(crate) now: Time,
    pub(crate) screen: &'s Screen,
    pub(crate) history: &'s History,
    pub(crate) transients: &'s TransientFrames,
    pub(crate) shells: &'s Shells,
    pub(crate) input: &'s Input,
    pub(crate) job: &'s JobState,
    pub(crate) exit: Option<Exit>,
    pub(crate) is_closed: bool,
}

impl<'s> Evidence<'s> {
    /// Returns the newest frame.
    pub(crate) fn frame(&self) -> &'s Arc<Frame> {
        self.history.newest()
    }

    /// Returns the rows that are visible: in the middle of an update those of the newest frame.
    pub(crate) fn visible_places(&self) -> Vec<Place> {
        if self.screen.is_synchronized() {
            frame_places(self.frame())
        } else {
            screen_places(self.screen)
        }
    }

    /// Returns the kept frames that are newer than the anchor's, oldest first.
    pub(crate) fn frames_since(&self, anchor: &Anchor) -> impl Iterator<Item = &'s Arc<Frame>> {
        let seq = anchor.frame.seq();
        self.history.frames().filter(move |frame| frame.seq() > seq)
    }

    /// Returns the time since which neither the screen has changed nor input was written.
    pub(crate) fn quiet_since(&self) -> Time {
        self.frame().time().max(self.input.progress_at)
    }
}
