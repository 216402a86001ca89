//! The rights of a caller: which tools a connection may call, and on which sessions.

use std::sync::Arc;

use rustix::process::Pid;

use crate::backend::processes;
use crate::error::ToolError;
use crate::sessions::{Entry, Sessions};
use crate::tools::Tool;

/// Who calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The user, or an agent of the user.
    User,
    /// The holder of a read token.
    Reader,
    /// A program in a terminal of ours, by the socket that `AWAITTY_SOCKET` names, with its PID.
    Program(Pid),
}

/// What a server lets the programs in its terminals do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SocketAccess {
    /// Signal channels, and read their own session.
    #[default]
    Own,
    /// Everything that the user may do.
    Full,
}

/// What callers may do.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Access")]
pub struct AccessOptions {
    /// What programs in the terminals may do through the socket in AWAITTY_SOCKET: `own` lets them signal channels and read
    /// their own session, `full` lets them do everything that you may.
    #[arg(long, env = "AWAITTY_SOCKET_ACCESS", value_enum, default_value_t = SocketAccess::Own, value_name = "own|full", hide_possible_values = true)]
    pub socket_access: SocketAccess,
}

/// Tools that change nothing, for holders of a read token. A wait for a channel is not among them: a signal that one wait
/// was given is not given to the next.
const READ_TOOLS: [&str; 7] = [
    "list_sessions",
    "read_output",
    "search_output",
    "snapshot",
    "wait_for_exit",
    "wait_for_screen_change",
    "wait_for_text",
];

impl Caller {
    /// Returns whether the caller may call a tool.
    pub(crate) fn may_call(self, tool: &Tool) -> bool {
        match self {
            Caller::User => true,
            Caller::Reader => READ_TOOLS.contains(&tool.name),
            Caller::Program(_) => {
                tool.name == "signal_channel"
                    || READ_TOOLS.contains(&tool.name) && tool.name != "list_sessions"
            }
        }
    }

    /// Checks that the caller may call a tool.
    pub(crate) fn check_tool(self, tool: &Tool) -> Result<(), ToolError> {
        if self.may_call(tool) {
            return Ok(());
        }
        let why = match self {
            Caller::Program(_) => {
                "a program in a terminal may signal channels and read its own session, by the socket in AWAITTY_SOCKET: \
                 call the daemon instead, or start the server with --socket-access full"
            }
            _ => "this is a read token: use the token of --token-file",
        };
        Err(ToolError::new("denied", format!("{}: {why}", tool.name)))
    }

    /// Returns the only session that the caller may use; `None` if it may use all. A program may use its own.
    pub(crate) fn own_session(self, sessions: &Sessions) -> Result<Option<Arc<Entry>>, ToolError> {
        let Caller::Program(pid) = self else { return Ok(None) };
        session_of(sessions, pid).map(Some).ok_or_else(|| {
            let why = "the program that asks belongs to no session of this server, so it may signal channels only";
            ToolError::new("denied", why)
        })
    }
}

/// Returns the session that a process belongs to: a process of its terminal, or a descendant of one.
fn session_of(sessions: &Sessions, pid: Pid) -> Option<Arc<Entry>> {
    let entries = sessions.all();
    let mut pid = pid.as_raw_nonzero().get();
    loop {
        let fields = processes::stat(pid)?;
        let number = |index: usize| fields.get(index).and_then(|field| field.parse::<i32>().ok());
        let (parent, session) = (number(1)?, number(3)?);
        let is_of =
            |entry: &&Arc<Entry>| [pid, session].contains(&entry.pid.as_raw_nonzero().get());
        if let Some(entry) = entries.iter().find(is_of) {
            return Some(Arc::clone(entry));
        }
        // The kernel's own processes have no parent.
        if parent == 0 {
            return None;
        }
        pid = parent;
    }
}
