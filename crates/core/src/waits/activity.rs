//! The activity of the foreground job, as the kernel shows it, and the times that conditions combine it with.
//!
//! The driver samples the kernel and reports an [`Activity`]. The conditions in `conditions/job.rs` and
//! `conditions/quiet.rs` use it.

use std::time::Duration;

/// Time that a program gets to react to input before `ready` is met although the screen did not change.
pub const REACTION_GRACE: Duration = Duration::from_millis(100);

/// Time for which two samples must agree that the job is at rest. The kernel delivers output slightly after the program
/// wrote it, so a sample can be ahead of the screen.
pub const REST_CONFIRM: Duration = Duration::from_millis(2);

/// Quiet after which a program that polls its terminal with a timeout, or next to other threads, is ready. It is longer
/// than the period of most spinners.
pub const POLL_QUIET: Duration = Duration::from_millis(150);

/// Quiet after which a program that reads keys and has drawn nothing is ready. A full-screen program needs about this
/// long for its first screen.
pub const BLANK_QUIET: Duration = Duration::from_secs(1);

/// Quiet that replaces evidence where the kernel does not show the program.
pub const UNSEEN_QUIET: Duration = Duration::from_secs(1);

/// Quiet after which `settled` is met although the program is busy.
pub const BUSY_MAX: Duration = Duration::from_secs(3);

/// Quiet after which a command that blocks in a read of its terminal waits for an answer.
pub const ASKS_QUIET: Duration = Duration::from_millis(300);

/// Quiet after which a command that polls its terminal waits for an answer.
pub const ASKS_POLL_QUIET: Duration = Duration::from_secs(2);

/// Time for which a program on the alternate screen waits for input until it counts as a full-screen program. Between
/// two programs a shell may wait for input briefly.
pub const STEADY: Duration = Duration::from_millis(100);

/// Time on the alternate screen after which a program counts as a full-screen program although it reads no input, as
/// `watch` does.
pub const FULL_SCREEN: Duration = Duration::from_secs(1);

/// First pause between two samples of a busy program. It doubles with each sample, up to [`LOOK_PAUSE_MAX`].
pub(crate) const LOOK_PAUSE_MIN: Duration = Duration::from_millis(2);
/// Longest pause between two samples of a busy program.
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

/// The state of the threads of the foreground job.
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
    /// The state of its threads.
    pub job: Job,
    /// No thread of the process that waits for the terminal is busy. Other processes of the job may be, such as
    /// background jobs of a shell.
    pub reader_rests: bool,
    /// The terminal is in non-canonical mode: the program reads keys, not lines.
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
