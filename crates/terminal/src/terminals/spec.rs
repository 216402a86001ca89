//! What to start: the program, its environment and its terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::wall_clock_ms;
use crate::error::ToolError;
use crate::limits::{self, Limits};
use crate::record::{Head, Recorder};

/// Environment variables that describe the terminal of this process. Programs in our terminals do not inherit them.
pub const TERMINAL_VARIABLES: [&str; 10] = [
    "TERM",
    "COLORTERM",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
];

/// A program to start in a new terminal.
#[derive(Clone, Debug)]
pub struct SpawnSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The working directory. Default: that of this process.
    pub cwd: Option<PathBuf>,
    /// Environment variables that are added to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// The program inherits no environment variable except PATH.
    pub clear_env: bool,
    /// Environment variables that the program inherits instead of those of this process.
    pub inherit_env: Option<BTreeMap<String, String>>,
    /// Columns of the terminal.
    pub cols: usize,
    /// Rows of the terminal.
    pub rows: usize,
    /// A name for the terminal.
    pub name: Option<String>,
    /// Lines of scrollback.
    pub scrollback: usize,
    /// Time after which the program is ended.
    pub ttl: Option<Duration>,
    /// A shell gets shell integration, which marks its prompts and commands.
    pub shell_integration: bool,
    /// The client that starts it.
    pub client: Arc<str>,
    /// How it is recorded, if at all.
    pub record: Option<Record>,
    /// The kind of its terminal.
    pub place: Place,
    /// The seed of a random disturbance of its timing (see [`crate::io::disturbance`]), for tests. Only in a PTY.
    pub disturbance: Option<u64>,
}

/// The kind of terminal in which a program is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A PTY.
    Pty,
    /// A window of tmux: in this session of the user, or else in a session of its own on our tmux server.
    Tmux(Option<String>),
}

/// How a program is recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// The new file for the recording. Default: a file in the directory for recordings.
    pub path: Option<PathBuf>,
    /// Input is recorded too, except secrets.
    pub with_input: bool,
}

impl SpawnSpec {
    /// Creates a spec of a program and its arguments, in a PTY of the default size, with shell integration.
    pub fn new<W: Into<String>>(argv: impl IntoIterator<Item = W>) -> SpawnSpec {
        SpawnSpec {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: BTreeMap::new(),
            clear_env: false,
            inherit_env: None,
            cols: limits::COLS,
            rows: limits::ROWS,
            name: None,
            scrollback: limits::SCROLLBACK,
            ttl: None,
            shell_integration: true,
            client: "library".into(),
            record: None,
            place: Place::Pty,
            disturbance: None,
        }
    }

    /// Starts the recording, if one was requested.
    pub(super) fn recorder(
        &self,
        id: &str,
        limits: &Limits,
    ) -> Result<Option<Recorder>, ToolError> {
        let Some(Record { path, with_input }) = &self.record else { return Ok(None) };
        let command = shell_words::join(&self.argv);
        let timestamp = wall_clock_ms() / 1000;
        let head = Head { size: (self.cols, self.rows), command: &command, timestamp };
        let name = [Some(id), self.name.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let started = match path {
            Some(path) => Recorder::start_at(path.clone(), &head, *with_input),
            None => Recorder::start(&name.join("-"), &head, *with_input, limits),
        };
        started.map(Some).map_err(|error| {
            let next = match path {
                Some(_) => "give the path of a new file",
                None => "leave record out, or set AWAITTY_RECORDINGS to a directory",
            };
            ToolError::new("spawn_failed", format!("record: {error}: {next}"))
        })
    }
}
