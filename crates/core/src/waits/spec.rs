//! The request for a wait, and its result. The conditions are in `conditions/mod.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Condition, Finding};
use crate::frames::Frame;
use crate::shell::CommandId;
use crate::{Seq, Time};

/// The anchor of a wait: only later events count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The moment just before the last input was written to the program.
    Input,
    /// The same moment. In addition, all visible text of a newer frame counts, if that frame differs by more than the
    /// echo.
    InputFrame,
    /// The call itself.
    Now,
    /// No moment: all visible text counts.
    Screen,
    /// The moment at which that frame was replaced.
    Frame(Seq),
}

/// The request for a wait.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Its condition.
    pub condition: Condition,
    /// Its anchor.
    pub since: Since,
    /// The time at which it times out; `None` for never.
    pub deadline: Option<Time>,
}

/// The ID of a wait, unique in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u64);

/// The exit of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It exited with that status.
    Code(i32),
    /// A signal of that number killed it.
    Signal(i32),
    /// Its exit status could not be read.
    Unknown,
}

/// The reason for the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Its condition holds.
    Met,
    /// The deadline passed.
    Timeout,
    /// The program exited first.
    Exited,
    /// The session was closed.
    Closed,
}

/// The result of a wait.
#[derive(Clone, Debug)]
pub struct WaitEnded {
    /// The ID of the wait.
    pub id: WaitId,
    /// Its condition.
    pub condition: Condition,
    /// The reason for its end.
    pub outcome: Outcome,
    /// Its finding.
    pub finding: Finding,
    /// Its duration.
    pub elapsed: Duration,
    /// The screen when it ended.
    pub frame: Arc<Frame>,
    /// The screen of its anchor.
    pub anchor: Arc<Frame>,
    /// The exit of the program, if it has exited.
    pub exit: Option<Exit>,
    /// The kept frames or the scrollback do not reach back to the anchor.
    pub history_truncated: bool,
}

impl WaitEnded {
    /// Updates a result that could not be delivered at once to a newer frame.
    pub fn refresh(&mut self, frame: &Arc<Frame>, exit: Option<Exit>) {
        self.frame = Arc::clone(frame);
        self.exit = exit;
        self.condition.refresh(&mut self.finding, frame);
    }
}

/// The error for a wait that cannot be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// The anchor is a frame that does not exist yet.
    FromTheFuture {
        /// The requested number.
        asked: Seq,
        /// The newest number.
        newest: Seq,
    },
    /// No command has that ID, or it is no longer remembered.
    NoSuchCommand(CommandId),
    /// No shell has reported a command.
    NoCommand,
}

impl fmt::Display for WaitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WaitError::FromTheFuture { asked: Seq(asked), newest: Seq(newest) } => write!(
                f,
                "there is no seq {asked} yet, the newest is {newest}: pass a seq that a result gave"
            ),
            WaitError::NoSuchCommand(CommandId(id)) => write!(
                f,
                "command_id: there is no command {id}, or it is too old to be remembered: pass one that a \
                 result gave"
            ),
            WaitError::NoCommand => {
                write!(
                    f,
                    "no shell has reported a command in this session: run one with run_command"
                )
            }
        }
    }
}

impl std::error::Error for WaitError {}
