//! Waits: their conditions, how these are judged, and the running waits of a terminal.
//!
//! To add a condition, add a variant of [`Condition`] and its arms in `conditions/mod.rs`.

mod activity;
mod conditions;
mod evidence;
mod pattern;
mod registry;
mod search;
mod spec;
mod wait;

pub use activity::{
    ASKS_POLL_QUIET, ASKS_QUIET, Activity, BLANK_QUIET, BUSY_MAX, FULL_SCREEN, Job, POLL_QUIET,
    REACTION_GRACE, REST_CONFIRM, STEADY, TerminalWait, UNSEEN_QUIET,
};
pub use conditions::{Condition, Finding, Ready, Styles};
pub use pattern::{PATTERN_COMPILED_MAX, PATTERN_MAX, Pattern, PatternError};
pub use search::{Match, match_in_frame, spans_on_screen};
pub use spec::{Exit, Outcome, Since, Spec, WaitEnded, WaitError, WaitId};

pub(crate) use conditions::{Event, Samples, Trigger, Verdict};
pub(crate) use evidence::{Evidence, Input, JobState};
pub(crate) use registry::Waits;
pub(crate) use search::all_places;
pub(crate) use wait::{Anchor, Wait};
