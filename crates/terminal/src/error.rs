//! A mistake of the caller: a stable code, what was wrong with the value, and what to do next.

use awaitty_core::{ChannelError, KeyError, PatternError, WaitError};

use crate::io::tmux::TmuxError;
use crate::limits;
use crate::terminal::{Control, SendError};

/// What a tool says when it cannot do what it was asked to. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// One of the codes of the contract.
    pub code: &'static str,
    /// What was wrong, and the next step.
    pub message: String,
}

impl ToolError {
    /// An error of that code.
    pub fn new(code: &'static str, message: impl Into<String>) -> ToolError {
        ToolError { code, message: message.into() }
    }

    /// An argument that makes no sense.
    pub fn argument(message: impl Into<String>) -> ToolError {
        ToolError::new("bad_argument", message)
    }

    /// A parameter that must be given and is not.
    pub fn missing(name: &str) -> ToolError {
        ToolError::argument(format!("{name}: it is missing, and must be given"))
    }

    /// A person has taken control.
    pub fn human_has_control(control: &Control) -> ToolError {
        ToolError::new(
            "denied",
            format!(
                "human_has_control: a person has taken control since seq {}, so nothing was done; waits go on, and \
                 wait_for_channel {{\"channel\": {:?}, \"since\": {}}} answers when it is given back",
                control.from.0, control.channel, control.count
            ),
        )
    }

    /// The terminal went away while it was asked.
    pub fn gone() -> ToolError {
        ToolError::new(
            "unknown_session",
            "the session was closed: list_sessions shows the ones there are",
        )
    }
}

impl From<PatternError> for ToolError {
    fn from(error: PatternError) -> ToolError {
        let code = match error {
            PatternError::Pattern(_) => "bad_pattern",
            PatternError::Flags(_) => "bad_flags",
        };
        ToolError::new(code, error.to_string())
    }
}

impl From<ChannelError> for ToolError {
    fn from(error: ChannelError) -> ToolError {
        ToolError::argument(error.to_string())
    }
}

impl From<KeyError> for ToolError {
    fn from(error: KeyError) -> ToolError {
        ToolError::new("bad_key", format!("{error}. Nothing was sent"))
    }
}

impl From<WaitError> for ToolError {
    fn from(error: WaitError) -> ToolError {
        ToolError::argument(match error {
            WaitError::FromTheFuture { .. } => format!("since: {error}"),
            WaitError::NoSuchCommand(_) | WaitError::NoCommand => error.to_string(),
        })
    }
}

impl From<TmuxError> for ToolError {
    fn from(error: TmuxError) -> ToolError {
        let next = match error {
            TmuxError::NotInstalled | TmuxError::Other(_) => "",
            TmuxError::NoServer(_) => ": start one, or spawn a program without tmux",
            TmuxError::NoPane(_) => ": list_sessions shows the panes there are",
            TmuxError::TooManyChannels => ": use channels without tmux for the rest",
        };
        let code = match error {
            TmuxError::NoServer(_) | TmuxError::NoPane(_) => "unknown_session",
            TmuxError::TooManyChannels => "limit_reached",
            TmuxError::NotInstalled | TmuxError::Other(_) => "tmux_failed",
        };
        ToolError::new(code, format!("{error}{next}"))
    }
}

impl From<SendError> for ToolError {
    fn from(error: SendError) -> ToolError {
        match error {
            SendError::Exited => ToolError::new(
                "exited",
                "the program has exited and takes no input: read its last screen with snapshot, or spawn a new one",
            ),
            SendError::QueueFull { waiting, max } => ToolError::new(
                "limit_reached",
                format!(
                    "{waiting} bytes wait for the program to read them, and {max} are allowed with these: \
                     wait until it reads, or send less. Nothing was sent"
                ),
            ),
            SendError::HumanHasControl(control) => ToolError::human_has_control(&control),
            SendError::LineTooLong { line, before } => {
                let typed = match before {
                    0 => String::new(),
                    _ => format!(
                        " ({before} of them were typed before: \"enter\" ends them, \"ctrl+u\" takes them back)"
                    ),
                };
                ToolError::argument(format!(
                    "input has a line of {line} bytes{typed}, and the program reads whole lines, of which the terminal \
                     keeps {}: send shorter lines, or a file. Nothing was sent",
                    limits::CANONICAL_LINE_MAX
                ))
            }
        }
    }
}
