//! The I/O-free heart of awaitty: what a terminal shows, and since when.
//!
//! # The data's way
//!
//! ```text
//!  bytes ─► Screen ─ parser ─► actions ─► cells, each stamped with the current tick
//!             │                             ├─► lines that leave the screen ─► Scrollback
//!             │                             ├─► replies (cursor reports, …) and events (bell, marks, …)
//!             │                             └─► before drawn cells disappear: the caller may look
//!             ▼
//!          Session ─ output drained, no update open, something visible changed ─► Frame, seq + 1
//!                                                                                   │
//!                                             History (a ring of frames) ◄──────────┘
//!                                                └─► Diff of any two
//! ```
//!
//! Nothing here reads a clock, starts a thread or does I/O; [`Time`] is passed in. Feeding bytes
//! cannot fail, whatever the bytes, and how they are cut into pieces makes no difference.
//!
//! # Glossary
//!
//! - **screen**: the visible rows of a terminal, parsed.
//! - **drawn**: a cell is drawn when the program writes or erases it, even if it comes out the same.
//!   Scrolling moves cells and does not draw them.
//! - **tick**: the count of the moments at which somebody looked at everything drawn so far: a frame
//!   was taken, or the caller was shown cells before they disappeared. Each cell knows the tick at
//!   which it was last drawn, so *drawn since then* is a comparison.
//! - **line**: a row's absolute number; 1 is the first line the terminal ever had. A line keeps its
//!   number while it scrolls and after it left the screen.
//! - **frame**: the screen at one moment that a person could have seen.
//! - **mark**: a shell says where a prompt, a command or its output begins or ends (OSC 133). It counts
//!   only with the nonce of a shell that is trusted.
//! - **seq**: the number of a frame. It grows by one, and only when something visible changed.

mod channel;
mod frames;
mod intern;
mod keys;
mod lines;
mod row;
mod screen;
mod scrollback;
mod session;
mod shell;
mod style;
mod waits;

pub use channel::{
    CHANNEL_MESSAGE_MAX, CHANNEL_NAME_MAX, CHANNEL_SIGNALS_MAX, CHANNELS_MAX, ChannelError,
    Channels, Signal, Signalled, check_channel_name,
};
pub use frames::{
    Change, ChangeKind, Cursor, Diff, FRAMES_BYTES_MAX, FRAMES_MAX, Frame, History, Selection,
    SelectionChange,
};
pub use keys::{Key, KeyError, Mouse, MouseAction, encode_mouse};
pub use row::{Row, Span};
pub use screen::{
    CLUSTERS_MAX, COL_MARKS_MAX, COLS_MAX, CursorShape, ECHO_MAX, EVENTS_MAX, EchoBy, Event,
    LINKS_MAX, MARK_MAX, Mark, MouseEncoding, MouseTracking, REPLIES_MAX, ROW_MARKS_MIN, ROWS_MAX,
    Screen, TITLE_MAX, UNKNOWN_MAX,
};
pub use scrollback::Scrollback;
pub use session::{FRAME_INTERVAL, Session, UPDATE_MAX};
pub use shell::{COMMAND_TEXT_MAX, COMMANDS_MAX, Command, CommandId, Delivery, Output, Progress};
pub use style::{Attrs, Color, LinkId, Style, Underline};
pub use waits::{
    ASKS_POLL_QUIET, ASKS_QUIET, Activity, BLANK_QUIET, BUSY_MAX, Condition, Exit, FULL_SCREEN,
    Finding, Job, Match, Outcome, PATTERN_COMPILED_MAX, PATTERN_MAX, POLL_QUIET, Pattern,
    PatternError, REACTION_GRACE, REST_CONFIRM, Ready, STEADY, Since, Spec, Styles, TerminalWait,
    UNSEEN_QUIET, WaitEnded, WaitError, WaitId, spans_on_screen,
};

use std::time::Duration;

/// A moment, as the time since some fixed one that the caller chose. It never goes back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// The moment `ms` milliseconds after the fixed one.
    pub const fn from_ms(ms: u64) -> Time {
        Time(Duration::from_millis(ms))
    }

    /// The moment that much later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(duration))
    }

    /// How much later this is than `earlier`; zero if it is not.
    pub fn since(self, earlier: Time) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// When a cell was drawn, see the [glossary](crate#glossary). 0 means never.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u64);

/// A line's absolute number, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

/// The colour that a number of the palette is, unless a program chose another: as xterm has it.
pub fn palette_color(index: u8) -> (u8, u8, u8) {
    screen::default_rgb(index)
}

/// A frame's number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);
