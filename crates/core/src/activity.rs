//! Describes the activity of the foreground job, as the kernel sees it.

/// How a thread waits for input from the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TerminalWait {
    /// It blocks in a read of the terminal.
    Read,
    /// It polls the terminal without a time limit.
    Poll,
    /// It polls the terminal with a timeout.
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
}
