//! The rights of a caller: which tools a connection may call, and on which sessions.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Pid;

use crate::operator::{AuditLog, Policy};
use crate::sessions::{Entry, Sessions};
use crate::tools::Tool;
use awaitty_terminal::ToolError;

/// The variable that names the policy file.
pub const POLICY_VARIABLE: &str = "AWAITTY_POLICY";

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

/// How a caller is connected.
#[derive(Clone, Debug)]
pub struct Connection {
    /// Who calls.
    pub caller: Caller,
    /// The way: `stdio`, `socket`, `http` or `program`. All callers that come one way are one client for the limits of
    /// the policy: a user's processes cannot be told apart, and neither can the holders of one token.
    pub via: &'static str,
    /// The PID of the process at the other end, where the kernel shows it.
    pub pid: Option<i32>,
}

impl Connection {
    /// Returns the connection by standard input and output.
    pub fn stdio() -> Connection {
        Connection { caller: Caller::User, via: "stdio", pid: None }
    }

    /// Returns a connection by a Unix socket, from a process.
    pub fn socket(caller: Caller, pid: Option<i32>) -> Connection {
        let via = match caller {
            Caller::Program(_) => "program",
            _ => "socket",
        };
        Connection { caller, via, pid }
    }

    /// Returns a connection over HTTP.
    pub fn http(caller: Caller) -> Connection {
        let via = match caller {
            Caller::Reader => "http-read",
            _ => "http",
        };
        Connection { caller, via, pid: None }
    }
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
    /// A file of rules: which programs may be started, which tools called and which sessions used, and an audit log.
    #[arg(long, env = POLICY_VARIABLE, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

impl AccessOptions {
    /// Loads the policy, and opens its audit log.
    ///
    /// # Errors
    /// If the policy makes no sense, or the log cannot be opened.
    pub fn load(&self) -> anyhow::Result<(Policy, Option<AuditLog>)> {
        let Some(path) = &self.policy else { return Ok(Default::default()) };
        let policy = Policy::load(path)?;
        let audit = policy.audit_file().map(AuditLog::open).transpose()?;
        Ok((policy, audit))
    }
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
        sessions.of_process(pid).map(Some).ok_or_else(|| {
            let why = "the program that asks belongs to no session of this server, so it may signal channels only";
            ToolError::new("denied", why)
        })
    }
}
