//! Events that leave no trace on the screen, and the count of unknown sequences.

use super::Screen;
use crate::{Line, Tick};

/// The maximum number of queued events. Further events are dropped and counted. One read from a terminal, 4 095 bytes,
/// holds fewer.
pub const EVENTS_MAX: usize = 4096;

/// The maximum number of kinds of unknown sequences that are counted separately.
pub const UNKNOWN_MAX: usize = 64;

/// The maximum length of a mark's parameters in characters: room for the longest possible path.
pub const MARK_MAX: usize = 5_000;

/// An event that leaves no trace on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The bell.
    Bell,
    /// A notification for the user (OSC 9 and 777).
    Notification {
        /// The title, if any.
        title: Option<String>,
        /// The text.
        body: String,
    },
    /// A shell mark (OSC 133).
    Mark(Mark),
}

/// A shell mark: the start or the end of a prompt, a command or its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// `A` before the prompt, `B` after it, `C` before the output, `D` after it, or another letter.
    pub kind: char,
    /// The unparsed parameters after the kind.
    pub params: String,
    /// The line of the cursor at the mark.
    pub line: Line,
    /// The column of the cursor at the mark, from 0.
    pub col: usize,
    /// The tick at the mark.
    pub tick: Tick,
}

impl Screen {
    pub(super) fn push_event(&mut self, event: Event) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        } else {
            self.events_lost += 1;
        }
    }

    pub(super) fn count_unknown(&mut self, name: String) {
        let name = if self.unknown.len() < UNKNOWN_MAX || self.unknown.contains_key(&name) {
            name
        } else {
            "others".to_owned()
        };
        *self.unknown.entry(name).or_default() += 1;
    }
}
