//! Errors of tools: a stable code and a message with the wrong value, the reason and the next step.

use awaitty_core::{ChannelError, KeyError, PatternError, WaitError};

use crate::io::tmux::TmuxError;
use crate::limits;
use crate::terminal::{Control, SendError};

/// The error of a tool. A failed call changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// A stable code.
    pub code: &'static str,
    /// The reason and the next step.
    pub message: String,
}

impl ToolError {
    /// Creates an error with a code.
    pub fn new(code: &'static str, message: impl Into<String>) -> ToolError {
        ToolError { code, message: message.into() }
    }

    /// Creates the error for an invalid argument.
    pub fn argument(message: impl Into<String>) -> ToolError {
        ToolError::new("bad_argument", message)
    }

    /// Creates the error for a required parameter that is missing.
    pub fn missing(name: &str) -> ToolError {
        ToolError::argument(format!("{name}: it is required, but missing"))
    }

    /// Creates the error for input while a person has control.
    pub fn human_has_control(control: &Control) -> ToolError {
        ToolError::new(
            "denied",
            format!(
                "human_has_control: a person has had control since seq {}, so nothing was done. Waits still work, and \
                 wait_for_channel {{\"channel\": {:?}, \"since\": {}}} returns when they give it back",
                control.from.0, control.channel, control.count
            ),
        )
    }

    /// Creates the error for a session that was closed during the call.
    pub fn gone() -> ToolError {
        ToolError::new("unknown_session", "the session was closed: list_sessions shows the others")
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
            TmuxError::NoPane(_) => ": list_sessions shows all panes",
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
                    "the program has not read {waiting} bytes of earlier input, and with this input they would exceed \
                     the limit of {max}: wait until it reads, or send less. Nothing was sent"
                ),
            ),
            SendError::HumanHasControl(control) => ToolError::human_has_control(&control),
            SendError::LineTooLong { line, before } => {
                let typed = match before {
                    0 => String::new(),
                    _ => format!(
                        " ({before} of them were typed before: \"enter\" ends that line, \"ctrl+u\" erases it)"
                    ),
                };
                ToolError::argument(format!(
                    "input has a line of {line} bytes{typed}, and the program reads whole lines, of which the terminal \
                     keeps only {}: send shorter lines, or write a file. Nothing was sent",
                    limits::CANONICAL_LINE_MAX
                ))
            }
        }
    }
}
