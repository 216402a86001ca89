//! The core of awaitty, without I/O: a terminal whose cells know when they were drawn, its frames, and the waits for
//! them.
//!
//! # Data flow
//!
//! ```text
//!  bytes ─► Screen ─ parser ─► actions ─► cells, each with the tick at which it was drawn
//!             │                             ├─► lines that leave the screen ─► Scrollback
//!             │                             ├─► replies (cursor reports, …) and events (bell, marks, …)
//!             │                             └─► callback before drawn cells disappear: search for waits
//!             ▼
//!          Session ─ output drained, no update open, something visible changed ─► Frame, seq + 1
//!             │                                                                     │
//!             │                               History (ring buffer of frames) ◄─────┤
//!             │                                  └─► Diff of any two                │
//!             ▼                                                                     ▼
//!          Waits ◄── input, samples of the foreground job, marks, exit, time ── frames
//!             └─► WaitEnded
//! ```
//!
//! Nothing here reads a clock, starts a thread or does I/O; [`Time`] is passed in. Feeding bytes never fails, and the
//! result does not depend on how they are split into chunks.
//!
//! # Glossary
//!
//! - **terminal**: a PTY or a tmux pane, its program and its screen. The tools call it a **session**; the sessions of
//!   the kernel are called *POSIX sessions*.
//! - **tag**: an entry in the environment of a terminal's processes, by which they are found.
//! - **screen**: the visible rows of a terminal, parsed.
//! - **drawn**: a cell is drawn when the program writes or erases it, even if it looks the same after that. Scrolling
//!   moves cells and does not draw them.
//! - **tick**: a counter that grows each time everything drawn so far has been recorded: when a frame is taken, an
//!   anchor is set, or the output of a command starts. Each cell has the tick at which it was last drawn, so *drawn
//!   since* is a comparison.
//! - **echo**: the cells in which the terminal or a line editor shows the input. They count as never drawn.
//! - **line**: the absolute number of a row; 1 is the first line that the terminal had. A line keeps its number while
//!   it scrolls and after it has left the screen.
//! - **update**: a synchronized update (mode 2026): the program marks the start and the end of output that must be
//!   shown at once.
//! - **frame**: an immutable snapshot of the screen at a moment at which it was complete.
//! - **transient frame**: a snapshot just before text disappeared that was drawn after the last frame.
//! - **seq**: the number of a frame. It grows by one, and only when something visible changed.
//! - **wait**: a request to report when a condition holds. It ends once, as met, timed out, exited or closed, unless it
//!   is cancelled.
//! - **condition**: the predicate that ends a wait, such as text that matches a pattern. It is *judged* at events.
//! - **anchor**: the moment at which a wait starts to count events, such as the last input.
//! - **fresh**, **stale**: a match is fresh if one of its cells was drawn since the anchor, and stale otherwise.
//! - **held**: a wait that starts before all of its input is written is held: it cannot end before that.
//! - **foreground job**: the process group that has the terminal. The driver *samples* its activity.
//! - **mark**: an OSC 133 sequence by which a shell reports where a prompt, a command or its output starts or ends. It
//!   counts only with the nonce of a trusted shell.
//! - **command**: the text that a shell runs between two prompts. A *delivered* command was sent by us, a *typed* one
//!   was not.
//! - **sentinel**: a delivered command that prints its own marks, for a shell without our script.
//! - **channel**: a named counter of signals.

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
    CLUSTERS_MAX, COL_MARKS_MAX, COLS_MAX, CursorShape, ECHO_MAX, EVENTS_MAX, EchoSource, Event,
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
    UNSEEN_QUIET, WaitEnded, WaitError, WaitId, match_in_frame, spans_on_screen,
};

use std::time::Duration;

/// A moment, as the time since an epoch that the caller chooses. It never decreases.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub Duration);

impl Time {
    /// Returns the moment `ms` milliseconds after the epoch.
    pub const fn from_ms(ms: u64) -> Time {
        Time(Duration::from_millis(ms))
    }

    /// Returns the moment `duration` later.
    #[must_use]
    pub fn after(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(duration))
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> Duration {
        self.0.saturating_sub(earlier.0)
    }
}

/// The tick at which a cell was drawn; see the [glossary](crate#glossary).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tick(pub u64);

impl Tick {
    /// The tick of a cell that the program never drew. It is older than every other tick.
    pub const NEVER: Tick = Tick(0);

    /// The tick of a cell that shows the echo of input. Equal to [`Tick::NEVER`], so that waits do not take echo for
    /// output.
    pub const ECHO: Tick = Tick::NEVER;
}

/// The absolute number of a line, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

/// Returns xterm's default colour for an entry of the palette.
pub fn palette_color(index: u8) -> (u8, u8, u8) {
    screen::default_rgb(index)
}

/// The number of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);
