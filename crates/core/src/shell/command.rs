//! A shell's command, from its delivery to the prompt after it.

use std::collections::VecDeque;

use super::{Output, Start};
use crate::Time;

/// Characters kept of a command that somebody typed; what a delivered one is called is its own.
pub const COMMAND_TEXT_MAX: usize = 200;

/// A command's number, from 1 and never used twice in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was sent, and the shell has not begun it.
    Sent,
    /// It runs.
    Running,
    /// It ended, or there was nothing to run.
    Ended,
    /// The shell wants more of it: a quote or a loop is not closed.
    Incomplete,
    /// The shell did not take it, because something stands on its line already.
    Refused,
    /// Its shell is gone.
    Lost,
}

/// A command of a shell.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its number.
    pub id: CommandId,
    /// What it is.
    pub text: String,
    /// How far it has come.
    pub progress: Progress,
    /// When it began, or was sent.
    pub started: Time,
    /// When it ended.
    pub ended: Option<Time>,
    /// Its exit status, once it ended.
    pub status: Option<i32>,
    /// Where the shell is since.
    pub cwd: Option<String>,
    /// It began: the shell had something to run.
    pub ran: bool,
    /// What a shell said when it was asked what it is (mark `K`).
    pub answer: Option<String>,
    pub(crate) nonce: String,
    pub(crate) settled: bool,
    /// The next mark of a prompt ends it.
    pub(crate) is_prompted: bool,
    pub(crate) sentinel: bool,
    /// What is still to be sent of it.
    pub(crate) rest: VecDeque<Vec<u8>>,
    /// Continuation prompts that are to be expected, because its lines are typed one by one.
    pub(crate) continuations: usize,
    pub(crate) shown: usize,
    pub(crate) chars_max: usize,
    pub(crate) start: Option<Start>,
    pub(crate) output: Output,
}

impl Command {
    /// Tells whether nothing more will come of it, and the shell can be given another.
    pub fn is_over(&self) -> bool {
        match self.progress {
            Progress::Sent | Progress::Running => false,
            Progress::Ended | Progress::Incomplete => self.settled,
            Progress::Refused | Progress::Lost => true,
        }
    }

    /// Tells whether the shell has taken all of it, or refused it.
    pub fn is_taken(&self) -> bool {
        self.rest.is_empty()
    }

    /// How many pieces of it are still to be sent.
    pub fn pieces_left(&self) -> usize {
        self.rest.len()
    }

    /// Tells whether its shell waits for the rest of it, which will not come.
    pub fn is_unclosed(&self) -> bool {
        self.progress == Progress::Incomplete && !self.is_prompted
    }

    /// Tells whether the alternate screen was shown already when it began, left on by somebody.
    pub fn began_on_alternate(&self) -> bool {
        self.start.is_some_and(|start| start.is_alternate)
    }

    /// Tells whether its marks came with it, and not from a shell that has our script.
    pub fn is_sentinel(&self) -> bool {
        self.sentinel
    }
}

/// A command to be delivered.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The nonce that its marks will carry.
    pub nonce: String,
    /// What it is called.
    pub text: String,
    /// What follows what was sent, each piece when the shell says that it is ready for it or wants more.
    pub rest: VecDeque<Vec<u8>>,
    /// How many lines of it are typed one by one.
    pub lines: usize,
    /// How many lines of it are shown.
    pub shown: usize,
    /// Its marks come with it, and not from a shell that has a prompt to come back to.
    pub sentinel: bool,
    /// Characters of its output that are kept.
    pub chars_max: usize,
}

impl Command {
    pub(crate) fn new(now: Time, text: String, nonce: String, chars_max: usize) -> Command {
        Command {
            id: CommandId(0),
            text,
            progress: Progress::Sent,
            started: now,
            ended: None,
            status: None,
            cwd: None,
            ran: false,
            answer: None,
            nonce,
            settled: false,
            is_prompted: false,
            sentinel: false,
            rest: VecDeque::new(),
            continuations: 0,
            shown: 1,
            chars_max,
            start: None,
            output: Output::default(),
        }
    }

    /// Something stands on the shell's line.
    pub(crate) fn refuse(&mut self) {
        if self.progress == Progress::Sent {
            self.progress = Progress::Refused;
            self.rest.clear();
        }
    }

    /// Its output begins; again, if it was several commands in one.
    pub(crate) fn begin(&mut self, now: Time) {
        if !self.ran {
            self.started = now;
        }
        self.ran = true;
        self.progress = Progress::Running;
    }

    /// The shell is about to show a prompt. Tells whether there was output to end.
    pub(crate) fn end(&mut self, now: Time, status: Option<i32>, cwd: Option<String>) -> bool {
        // A prompt that is only drawn again says no directory; see `bash.bash`.
        let is_redraw = self.progress == Progress::Sent && cwd.is_none();
        if self.settled || is_redraw || matches!(self.progress, Progress::Refused | Progress::Lost)
        {
            return false;
        }
        self.is_prompted = true;
        if self.progress == Progress::Incomplete {
            return false;
        }
        let has_output = self.progress == Progress::Running;
        if has_output || self.progress == Progress::Sent {
            self.progress = Progress::Ended;
            self.ended = Some(now);
            self.status = status;
        }
        if cwd.is_some() {
            self.cwd = cwd;
        }
        has_output
    }

    /// Goes on: the mark that ended it was not its shell's.
    pub(crate) fn reopen(&mut self, start: Start, before: Output) {
        self.progress = Progress::Running;
        (self.settled, self.is_prompted) = (false, false);
        (self.ended, self.status) = (None, None);
        self.start = Some(start);
        self.output = before;
    }

    /// The prompt is there. Tells whether the command is still on its way to the shell: line editors
    /// draw their prompts again.
    pub(crate) fn settle(&mut self, now: Time) -> bool {
        if self.is_prompted {
            self.settled = true;
            self.ended.get_or_insert(now);
        }
        !self.is_over() && self.progress == Progress::Sent
    }

    /// The shell wants more, and perhaps there is no more to come.
    pub(crate) fn want_more(&mut self) {
        if self.progress == Progress::Sent {
            if self.continuations == 0 {
                self.progress = Progress::Incomplete;
            }
            self.continuations = self.continuations.saturating_sub(1);
        }
    }
}
