//! A shell's command, from its delivery or its start to the prompt after it.

use std::collections::VecDeque;

use super::{Output, Start};
use crate::Time;

/// Maximum number of characters kept of the text of a typed command.
pub const COMMAND_TEXT_MAX: usize = 200;

/// The ID of a command, from 1 and unique in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u64);

/// The progress of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It was sent, and the shell has not started it.
    Sent,
    /// It runs.
    Running,
    /// It ended, or it had nothing to run.
    Ended,
    /// The shell waits for more lines of it: a quote or a loop is not closed.
    Incomplete,
    /// The shell did not take it, because its line already had text.
    Refused,
    /// Its shell ended first.
    Lost,
}

/// A command of a shell.
#[derive(Clone, Debug)]
pub struct Command {
    /// Its ID.
    pub id: CommandId,
    /// Its text.
    pub text: String,
    /// Its progress.
    pub progress: Progress,
    /// The time at which it started, or was sent.
    pub started: Time,
    /// The time at which it ended.
    pub ended: Option<Time>,
    /// Its exit status, once it ended.
    pub status: Option<i32>,
    /// The working directory of the shell after it.
    pub cwd: Option<String>,
    /// Whether the shell started it. An empty command is not started.
    pub ran: bool,
    /// The name of the shell, if the command was a probe for it (mark `K`).
    pub answer: Option<String>,
    pub(crate) nonce: String,
    /// The shell is at its prompt again.
    pub(crate) settled: bool,
    /// It has ended, and the mark of the next prompt settles it.
    pub(crate) is_prompted: bool,
    /// See [`Delivery::sentinel`].
    pub(crate) sentinel: bool,
    /// The pieces of it that are not sent yet.
    pub(crate) rest: VecDeque<Vec<u8>>,
    /// The number of continuation prompts to expect, because its lines are sent one by one.
    pub(crate) continuations: usize,
    /// The number of lines that it takes on the screen.
    pub(crate) shown: usize,
    /// Maximum number of characters kept of its output.
    pub(crate) chars_max: usize,
    /// The start of the part of its output that is still open.
    pub(crate) start: Option<Start>,
    /// The output before that part.
    pub(crate) output: Output,
}

impl Command {
    /// Returns whether it is over, so that the shell can take another.
    pub fn is_over(&self) -> bool {
        match self.progress {
            Progress::Sent | Progress::Running => false,
            Progress::Ended | Progress::Incomplete => self.settled,
            Progress::Refused | Progress::Lost => true,
        }
    }

    /// Returns whether the shell has read all of it, or refused it.
    pub fn is_taken(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns the number of pieces that are not sent yet.
    pub fn pieces_left(&self) -> usize {
        self.rest.len()
    }

    /// Returns whether its shell waits for more lines, and there are none.
    pub fn is_unclosed(&self) -> bool {
        self.progress == Progress::Incomplete && !self.is_prompted
    }

    /// Returns whether the alternate screen was already shown when it started, left on by another program.
    pub fn began_on_alternate(&self) -> bool {
        self.start.is_some_and(|start| start.is_alternate)
    }

    /// Returns whether its marks are part of its text, and not printed by a shell with our script.
    pub fn is_sentinel(&self) -> bool {
        self.sentinel
    }
}

/// A command to be delivered.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// The nonce of its marks.
    pub nonce: String,
    /// Its text, as it is reported.
    pub text: String,
    /// The pieces that follow what was sent, each when the shell requests it or shows a continuation prompt.
    pub rest: VecDeque<Vec<u8>>,
    /// The number of its lines that are sent one by one.
    pub lines: usize,
    /// The number of lines that it takes on the screen.
    pub shown: usize,
    /// Its marks are part of its text, and not printed by a shell that returns to its prompt.
    pub sentinel: bool,
    /// Maximum number of characters kept of its output.
    pub chars_max: usize,
}

impl Command {
    /// Returns a command that was just sent.
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

    /// Marks it as refused: the shell's line already had text.
    pub(crate) fn refuse(&mut self) {
        if self.progress == Progress::Sent {
            self.progress = Progress::Refused;
            self.rest.clear();
        }
    }

    /// Notes that it started. A text of several commands starts several times.
    pub(crate) fn note_start(&mut self, now: Time) {
        if !self.ran {
            self.started = now;
        }
        self.ran = true;
        self.progress = Progress::Running;
    }

    /// Ends it: the shell is about to show a prompt. Returns whether there was output to end.
    pub(crate) fn end(&mut self, now: Time, status: Option<i32>, cwd: Option<String>) -> bool {
        // The mark of a prompt that is only drawn again has no directory; see `bash.bash`.
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

    /// Revokes its end: the mark that ended it was forged.
    pub(crate) fn reopen(&mut self, start: Start, before: Output) {
        self.progress = Progress::Running;
        (self.settled, self.is_prompted) = (false, false);
        (self.ended, self.status) = (None, None);
        self.start = Some(start);
        self.output = before;
    }

    /// Settles it at the prompt of the shell. Returns whether the shell has not read the command yet: line editors
    /// redraw their prompts.
    pub(crate) fn settle(&mut self, now: Time) -> bool {
        if self.is_prompted {
            self.settled = true;
            self.ended.get_or_insert(now);
        }
        !self.is_over() && self.progress == Progress::Sent
    }

    /// Handles a continuation prompt. The command is incomplete if no line is left to send.
    pub(crate) fn want_more(&mut self) {
        if self.progress == Progress::Sent {
            if self.continuations == 0 {
                self.progress = Progress::Incomplete;
            }
            self.continuations = self.continuations.saturating_sub(1);
        }
    }
}
