//! What can be waited for, and how a wait ends. Text only: what is done about it is in `waits.rs`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::{Match, Matches, Pattern, frame_places};
use crate::frames::Frame;
use crate::shell::CommandId;
use crate::{Seq, Time};

/// The anchor: a wait looks only at what came after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// The moment just before the last input was handed to the program.
    Input,
    /// The same moment, but all text counts that is visible in a newer frame which differs by more than the echo.
    InputFrame,
    /// The call itself.
    Now,
    /// None: whatever is visible counts.
    Screen,
    /// The moment the screen stopped being that frame.
    Frame(Seq),
}

/// What a wait waits for.
#[derive(Clone, Debug)]
pub enum Condition {
    /// The pattern matches text that was drawn since the anchor.
    Text(Arc<Pattern>),
    /// No match of the pattern is on the screen.
    Gone(Arc<Pattern>),
    /// The text differs from the anchor's frame, and has been unchanged for a while.
    Change {
        /// For how long.
        stable: Duration,
        /// The changes of style that count.
        styles: Styles,
        /// Rows that match one of these are left out.
        ignore: Vec<Arc<Pattern>>,
    },
    /// The program has read its input, is not busy, and the text has been unchanged for a while, whether or not it
    /// changed before.
    Settled(Duration),
    /// The program exits.
    Exit,
    /// A shell's command is over, and the shell at its prompt again.
    Command(CommandId),
    /// The same of the last command, or of the one that the last input is about to run.
    LastCommand {
        /// The newest command that does not count; found out when the wait is started.
        after: Option<CommandId>,
    },
    /// A shell has taken a command that was delivered, or refused it.
    Taken(CommandId),
    /// A shell wants more of a command than there is.
    Unclosed(CommandId),
    /// A shell's command that runs, this one or any, waits for an answer: it reads the terminal and is quiet.
    Asks(Option<CommandId>),
    /// A shell's command has switched to the alternate screen, and reads input there or stays there for a while.
    FullScreen(CommandId),
    /// A shell is at its prompt, or the program waits for input.
    Ready,
    /// As `Ready`, or the program waits for something other than its terminal and has been quiet for a while.
    Rest,
}

/// The changes of style that count as a change of the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Styles {
    /// None: text only.
    Text,
    /// Those that move the selection.
    #[default]
    Selection,
    /// All.
    All,
}

/// The evidence that a program is ready for input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ready {
    /// A shell marked the end of its prompt.
    Shell,
    /// The kernel shows a thread that waits for the terminal.
    Kernel,
    /// The screen has been quiet, and the kernel cannot tell more.
    Quiet,
}

/// A wait as it is asked for.
#[derive(Clone, Debug)]
pub struct Spec {
    /// What for.
    pub condition: Condition,
    /// Since when.
    pub since: Since,
    /// When to give up; `None` never does.
    pub deadline: Option<Time>,
}

/// A wait's number, never used twice in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId(pub u64);

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// By itself, with that status.
    Code(i32),
    /// By a signal of that number.
    Signal(i32),
    /// Nobody could find out how.
    Unknown,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// What was waited for holds.
    Met,
    /// The deadline passed.
    Timeout,
    /// The program exited first.
    Exited,
    /// The terminal was closed.
    Closed,
}

/// What there is to say of a wait, by its condition.
#[derive(Clone, Debug)]
pub enum Finding {
    /// Of a wait for text.
    Text {
        /// The match, or, if there was none since the anchor, one that is on the screen all the same.
        found: Option<Match>,
        /// The match was drawn since the anchor.
        fresh: bool,
        /// The match is still on the screen.
        visible: bool,
        /// A frame since the input shows the text, although no cell of it was drawn since.
        in_newer_frame: bool,
    },
    /// Of a wait for text to be gone: the match that is still there.
    Gone(Option<Match>),
    /// Of a wait for a change.
    Change {
        /// The text differs from the anchor's frame, by more than the echo of what was typed.
        changed: bool,
        /// It has been unchanged for as long as was asked.
        stable: bool,
        /// A style differs.
        style_changed: bool,
        /// How long ago the text changed last, if it did since the anchor.
        last_change: Option<Duration>,
        /// The rows that were still changing when it ended, most often first.
        busy_rows: Vec<usize>,
    },
    /// Of a wait for the screen to settle.
    Settled {
        /// It has been unchanged for as long as was asked.
        settled: bool,
        /// The text differs from before the input, by more than its echo.
        changed: bool,
        /// The program is busy all the same, and has been for longer than a wait holds out.
        busy: bool,
    },
    /// Of a wait for the exit.
    Exit,
    /// Of a wait for a command; what there is to say of it is asked apart.
    Command,
    /// Of a wait for the program to be ready, or at rest: the evidence, if it is.
    Ready(Option<Ready>),
}

/// A wait that ended.
#[derive(Clone, Debug)]
pub struct WaitEnded {
    /// Which.
    pub id: WaitId,
    /// What it waited for.
    pub condition: Condition,
    /// Why.
    pub outcome: Outcome,
    /// What it found.
    pub finding: Finding,
    /// How long it took.
    pub elapsed: Duration,
    /// The screen at that moment.
    pub frame: Arc<Frame>,
    /// The anchor's screen.
    pub anchor: Arc<Frame>,
    /// How the program ended, if it did.
    pub exit: Option<Exit>,
    /// What is kept does not reach back to the anchor.
    pub history_truncated: bool,
}

impl WaitEnded {
    /// Brings a wait that ended a moment ago up to date, if it could not be answered at once.
    pub fn refresh(&mut self, frame: &Arc<Frame>, exit: Option<Exit>) {
        self.frame = Arc::clone(frame);
        self.exit = exit;
        let (Condition::Text(pattern), Finding::Text { found: Some(found), visible, .. }) =
            (&self.condition, &mut self.finding)
        else {
            return;
        };
        let places = frame_places(frame);
        let now = Matches::new(pattern, &places).with_text(&found.text, found.line);
        *visible = now.is_some();
        found.row = now.and_then(|now| now.row);
    }
}

/// Why a wait could not be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitError {
    /// No frame has that number yet.
    FromTheFuture {
        /// The number that was asked for.
        asked: Seq,
        /// The newest there is.
        newest: Seq,
    },
    /// No command has that number, or it is too old to be remembered.
    NoSuchCommand(CommandId),
    /// No shell has told of any command.
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
                write!(f, "no shell has told of a command here: run_command runs one")
            }
        }
    }
}

impl std::error::Error for WaitError {}
