//! Waits: what a wait can wait for, and the waits that are running on one terminal.

mod activity;
mod change;
mod condition;
mod pattern;
mod registry;
mod search;

pub use activity::{
    ASKS_POLL_QUIET, ASKS_QUIET, Activity, BLANK_QUIET, BUSY_MAX, FULL_SCREEN, Job, POLL_QUIET,
    REACTION_GRACE, REST_CONFIRM, STEADY, TerminalWait, UNSEEN_QUIET,
};
pub use condition::{
    Condition, Exit, Finding, Outcome, Ready, Since, Spec, Styles, WaitEnded, WaitError, WaitId,
};
pub use pattern::{PATTERN_COMPILED_MAX, PATTERN_MAX, Pattern, PatternError};
pub use search::{Match, spans_on_screen};

pub(crate) use change::differs_from;
pub(crate) use registry::{Anchor, Wait, Waits, elapsed};
pub(crate) use search::{Matches, Place, all_places, frame_places, screen_places};
