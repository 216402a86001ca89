//! What callers and people did to a session, as its log has it.

use std::time::Duration;

/// An input, a wait that was met, or a pause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Text was typed. A line feed or a carriage return is Enter, and escape sequences are keys.
    Typed(String),
    /// Text was pasted.
    Pasted(String),
    /// A key was pressed, by its name.
    Pressed(String),
    /// The mouse was used.
    Pointed(Pointer),
    /// A secret was typed: a declared one with its name, or text that was typed while echo was off.
    Secret(Option<String>),
    /// A command was run in the shell.
    Ran(Ran),
    /// The terminal got another size.
    Resized {
        /// Its columns.
        cols: usize,
        /// Its rows.
        rows: usize,
    },
    /// A wait was met.
    Waited(Wait),
    /// A channel was signalled, on which a call waited.
    Signalled(String),
    /// The next input came later.
    Paused {
        /// A text that is new on the screen since the last input, if one was found.
        text: Option<String>,
        /// The time since the last input.
        after: Duration,
    },
    /// The session was closed, so its exit status is not that of the program.
    Closed,
}

/// A command that was run in the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    /// Its text.
    pub(crate) command: String,
    /// Its ID.
    pub(crate) id: u64,
    /// Its end, if the caller waited for it before the next input.
    pub(crate) end: Option<CommandStatus>,
}

/// The end of a command, with its exit status if the shell reported one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CommandStatus(pub(crate) Option<i32>);

/// A use of the mouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pointer {
    /// The place.
    pub(crate) place: Place,
    /// The button, by its name in `mouse`.
    pub(crate) button: &'static str,
    /// The action, by its name in `mouse`.
    pub(crate) action: &'static str,
}

impl Pointer {
    /// Returns the pattern to click on, if this is a click of the left button on a text.
    pub(crate) fn clicked(&self) -> Option<&str> {
        let is_click = (self.button, self.action) == ("left", "click");
        match &self.place {
            Place::Text(pattern) => Some(pattern.as_str()),
            Place::Cell { pattern, .. } => pattern.as_deref(),
        }
        .filter(|_| is_click)
    }
}

/// A place of the mouse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The only match of a pattern.
    Text(String),
    /// A cell.
    Cell {
        /// From 1.
        row: usize,
        /// From 1.
        col: usize,
        /// A pattern whose only match on the screen was at the cell.
        pattern: Option<String>,
    },
}

/// A wait that was met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Its condition.
    pub(crate) until: Until,
    /// Its timeout.
    pub(crate) timeout: Duration,
}

/// The condition of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Until {
    /// Text matches.
    Text {
        /// The pattern, with its flags.
        pattern: String,
        /// Which text counts.
        anchor: Anchor,
    },
    /// No match is on the screen.
    Gone {
        /// The pattern, with its flags.
        pattern: String,
    },
    /// The screen was unchanged for that time.
    Settled(Duration),
    /// The program exited.
    Exit,
}

/// The text that counts for a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// Text that was drawn since the last input.
    Input,
    /// Text in a frame that is newer than the last input.
    Frame,
    /// All text on the screen.
    Screen,
}

impl Act {
    /// Returns the number of bytes that it takes in a log, at least.
    pub(crate) fn bytes(&self) -> usize {
        let text = match self {
            Act::Typed(text) | Act::Pasted(text) | Act::Pressed(text) | Act::Signalled(text) => {
                text.len()
            }
            Act::Ran(ran) => ran.command.len(),
            Act::Pointed(pointer) => match &pointer.place {
                Place::Text(pattern) => pattern.len(),
                Place::Cell { pattern, .. } => pattern.as_ref().map_or(0, String::len),
            },
            Act::Waited(Wait {
                until: Until::Text { pattern, .. } | Until::Gone { pattern },
                ..
            }) => pattern.len(),
            Act::Secret(text) | Act::Paused { text, .. } => text.as_ref().map_or(0, String::len),
            Act::Waited(_) | Act::Resized { .. } | Act::Closed => 0,
        };
        text + size_of::<Act>()
    }

    /// Returns whether it is an input, after which a pause says something about the program.
    pub(crate) fn is_input(&self) -> bool {
        match self {
            Act::Waited(_) | Act::Paused { .. } | Act::Closed => false,
            Act::Ran(ran) => ran.end.is_none(),
            _ => true,
        }
    }
}
