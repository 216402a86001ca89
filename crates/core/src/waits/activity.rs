//! Describes the activity of the foreground job, as the kernel sees it, and for how long a wait relies on it.
//!
//! The driver samples the kernel and reports an [`Activity`]. The session decides on its own clock what that means for
//! `ready`, `settled`, `asks` and the rest between two steps.

use std::time::Duration;

/// Time that a program gets to react to input before `ready` takes a screen without a change for the reaction.
pub const REACTION_GRACE: Duration = Duration::from_millis(100);

/// Time for which two samples must agree that the job is at rest. The kernel hands output over a moment after the
/// program wrote it, so a sample can be ahead of the screen.
pub const REST_CONFIRM: Duration = Duration::from_millis(2);

/// Quiet after which a program that polls its terminal with a timeout, or next to other threads, is ready. It is longer
/// than the period of most spinners.
pub const POLL_QUIET: Duration = Duration::from_millis(150);

/// Quiet after which a program that reads keys and has drawn nothing is ready. A full-screen program needs about this
/// long for its first screen.
pub const BLANK_QUIET: Duration = Duration::from_secs(1);

/// Quiet that stands for evidence where the kernel cannot see the program.
pub const UNSEEN_QUIET: Duration = Duration::from_secs(1);

/// Quiet after which `settled` answers although the program is busy.
pub const BUSY_MAX: Duration = Duration::from_secs(3);

/// Quiet after which a command that blocks in a read of its terminal asks something.
pub const ASKS_QUIET: Duration = Duration::from_millis(300);

/// Quiet after which a command that polls its terminal asks something.
pub const ASKS_POLL_QUIET: Duration = Duration::from_secs(2);

/// Time for which a program on the alternate screen waits for input until it counts as a full-screen program. Between two
/// programs a shell may wait for input for a moment.
pub const STEADY: Duration = Duration::from_millis(100);

/// Time on the alternate screen after which a program counts as a full-screen program although it reads no input, as
/// `watch` does.
pub const FULL_SCREEN: Duration = Duration::from_secs(1);

/// First pause between two looks at a busy program; each pause doubles, up to [`LOOK_PAUSE_MAX`].
pub(crate) const LOOK_PAUSE_MIN: Duration = Duration::from_millis(2);
/// See [`LOOK_PAUSE_MIN`].
pub(crate) const LOOK_PAUSE_MAX: Duration = Duration::from_millis(50);

/// How a thread waits for input from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalWait {
    /// It blocks in a read of the terminal.
    Read,
    /// It polls the terminal without a time limit, or with one of seconds.
    Poll,
    /// It polls the terminal with a timeout of less than a second.
    TimedPoll,
}

/// What the threads of the foreground job do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Job {
    /// All of them wait without a time limit, or for the terminal.
    AtRest,
    /// One waits for something with a timeout, and none is busy.
    Timed,
    /// One is runnable, sleeps on a timer, or waits for a child that is busy.
    Busy,
    /// The kernel does not show it.
    #[default]
    Unknown,
}

/// The activity of the foreground job at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// How a thread of the job waits for input from the terminal, if one does.
    pub terminal: Option<TerminalWait>,
    /// What its threads do.
    pub job: Job,
    /// No thread of the process that waits for the terminal is busy. Others of the job may be, such as what a shell has
    /// started in the background.
    pub reader_rests: bool,
    /// The terminal hands over keys, not lines.
    pub reads_keys: bool,
}

impl Activity {
    /// Returns whether a thread of the job is busy.
    pub fn is_busy(&self) -> bool {
        self.job == Job::Busy
    }

    /// Returns whether all threads wait, one of them for the terminal and without a time limit.
    pub(crate) fn waits_for_terminal_only(&self) -> bool {
        self.job == Job::AtRest
            && matches!(self.terminal, Some(TerminalWait::Read | TerminalWait::Poll))
    }
}
