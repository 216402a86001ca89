//! What happened and left no trace on the screen, and the sequences that were not known.

use super::Screen;
use crate::{Line, Tick};

/// Events kept until they are taken; what comes on top is counted and dropped. One read from a
/// terminal, 4 095 bytes, holds fewer.
pub const EVENTS_MAX: usize = 4096;

/// Kinds of unknown sequences that are told apart.
pub const UNKNOWN_MAX: usize = 64;

/// Characters kept of a mark's parameters: they may hold the longest path there is.
pub const MARK_MAX: usize = 5_000;

/// Something that happened and left no trace on the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The bell rang.
    Bell,
    /// The program wants the user's attention (OSC 9 and 777).
    Notification {
        /// Its title, if it has one.
        title: Option<String>,
        /// Its text.
        body: String,
    },
    /// A shell's mark (OSC 133).
    Mark(Mark),
}

/// A shell's mark: where a prompt, a command or its output begins or ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// `A` before the prompt, `B` after it, `C` before the output, `D` after it, or another letter.
    pub kind: char,
    /// What follows the kind, as it came.
    pub params: String,
    /// The cursor's line at that moment.
    pub line: Line,
    /// The cursor's column, from 0.
    pub col: usize,
    /// The tick at that moment.
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
