//! Access control: the tools that a connection may call, and the sessions that it may use.

use std::path::PathBuf;
use std::sync::Arc;

use rustix::process::Pid;

use crate::operator::{AuditLog, Policy};
use crate::sessions::{Entry, Sessions};
use crate::tools::Tool;
use awaitty_terminal::ToolError;

/// Environment variable with the path of the policy file.
pub const POLICY_VARIABLE: &str = "AWAITTY_POLICY";

/// The origin of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The user, or an agent of the user.
    User,
    /// The holder of a read-only token.
    Reader,
    /// A program in a terminal of this server, connected by the socket in `AWAITTY_SOCKET`, with its PID.
    Program(Pid),
}

/// A connection of a caller.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The caller.
    pub caller: Caller,
    /// The transport: `stdio`, `socket`, `http`, `http-read` or `program`. All callers on one transport count as one
    /// client for the limits of the policy: a user's processes are indistinguishable, and so are the holders of one
    /// token.
    pub via: &'static str,
    /// The peer's PID, if the kernel reports it.
    pub pid: Option<i32>,
}

impl Connection {
    /// Returns the connection of standard input and output.
    pub fn stdio() -> Connection {
        Connection { caller: Caller::User, via: "stdio", pid: None }
    }

    /// Returns a connection by a Unix socket.
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

/// Access of the programs in a server's terminals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SocketAccess {
    /// Signal channels, and read their own session.
    #[default]
    Own,
    /// The same as the user.
    Full,
}

/// Command line options for access control.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Access")]
pub struct AccessOptions {
    /// Access of programs in the terminals through the socket in AWAITTY_SOCKET: `own` allows signalling channels and
    /// reading their own session, `full` allows everything.
    #[arg(long, env = "AWAITTY_SOCKET_ACCESS", value_enum, default_value_t = SocketAccess::Own, value_name = "own|full", hide_possible_values = true)]
    pub socket_access: SocketAccess,
    /// File of rules for the programs that may be started, the tools that may be called and the sessions that may be
    /// used, and for an audit log.
    #[arg(long, env = POLICY_VARIABLE, value_name = "FILE")]
    pub policy: Option<PathBuf>,
}

impl AccessOptions {
    /// Loads the policy and opens its audit log.
    ///
    /// # Errors
    /// If the policy is invalid, or the log cannot be opened.
    pub fn load(&self) -> anyhow::Result<(Policy, Option<AuditLog>)> {
        let Some(path) = &self.policy else { return Ok(Default::default()) };
        let policy = Policy::load(path)?;
        let audit = policy.audit_file().map(AuditLog::open).transpose()?;
        Ok((policy, audit))
    }
}

impl Caller {
    /// Returns whether the caller may call a tool.
    pub(crate) fn may_call(self, tool: &Tool) -> bool {
        match self {
            Caller::User => true,
            Caller::Reader => tool.spec.callers.include_readers(),
            Caller::Program(_) => tool.spec.callers.include_programs(),
        }
    }

    /// Checks that the caller may call a tool.
    pub(crate) fn check_tool(self, tool: &Tool) -> Result<(), ToolError> {
        if self.may_call(tool) {
            return Ok(());
        }
        let why = match self {
            Caller::Program(_) => {
                "a program in a terminal may only signal channels and read its own session through the socket in \
                 AWAITTY_SOCKET: call the daemon instead, or start the server with --socket-access full"
            }
            _ => "this token is read-only: use the token of --token-file",
        };
        Err(ToolError::new("denied", format!("{}: {why}", tool.spec.name)))
    }

    /// Returns the session that the caller is limited to; `None` if it may use all.
    pub(crate) fn own_session(self, sessions: &Sessions) -> Result<Option<Arc<Entry>>, ToolError> {
        let Caller::Program(pid) = self else { return Ok(None) };
        sessions.of_process(pid).map(Some).ok_or_else(|| {
            let why = "the calling program belongs to no session of this server, so it may only signal channels";
            ToolError::new("denied", why)
        })
    }
}
