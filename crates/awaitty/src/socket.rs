//! The Unix sockets of servers: their paths, and the access that each one gives.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Pid;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use awaitty_terminal::platform::proc;
pub use awaitty_terminal::runtime::{SESSION_VARIABLE, SOCKET_VARIABLE, runtime_dir};

use crate::access::{Caller, Connection, SocketAccess};
use crate::mcp::{HangupDetector, Host};

/// The daemon's socket for the user's command line. Its path is in no program's environment.
const DAEMON_SOCKET: &str = "daemon.sock";

/// The socket for programs in the daemon's terminals. The fixed name lets a new daemon find the programs that a killed
/// one left.
const DAEMON_PROGRAM_SOCKET: &str = "daemon-programs.sock";

/// Prefix of the socket name for programs in the terminals of other servers. The server's PID follows.
const SERVER_SOCKET: &str = "mcp-";

/// Pause before the next `accept` when no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Returns the path of the daemon's socket.
///
/// # Errors
/// As [`runtime_dir`].
pub fn daemon_path() -> io::Result<PathBuf> {
    Ok(runtime_dir()?.join(DAEMON_SOCKET))
}

/// Returns the path of the socket for programs in the daemon's terminals.
///
/// # Errors
/// As [`runtime_dir`].
pub fn daemon_program_path() -> io::Result<PathBuf> {
    Ok(runtime_dir()?.join(DAEMON_PROGRAM_SOCKET))
}

/// Returns the path of the socket for programs in the terminals of this server, which is not a daemon. Removes stale
/// sockets.
///
/// # Errors
/// As [`runtime_dir`].
pub fn program_path() -> io::Result<PathBuf> {
    let directory = runtime_dir()?;
    remove_stale(&directory);
    Ok(directory
        .join(format!("{SERVER_SOCKET}{}.sock", rustix::process::getpid().as_raw_nonzero())))
}

/// Removes the sockets of killed servers: no process has the PID in their name.
fn remove_stale(directory: &Path) {
    for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(SERVER_SOCKET).and_then(|rest| rest.strip_suffix(".sock"));
        if pid.is_some_and(|pid| !pid.parse().is_ok_and(proc::exists)) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the sockets of the user's other servers on which channels can be signalled.
pub fn others(own: &Path) -> Vec<PathBuf> {
    let Some(directory) = own.parent().and_then(|directory| std::fs::read_dir(directory).ok())
    else {
        return Vec::new();
    };
    let is_server = |name: &str| {
        name == DAEMON_PROGRAM_SOCKET || name.starts_with(SERVER_SOCKET) && name.ends_with(".sock")
    };
    let is_other = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(is_server) && path != own
    };
    directory.flatten().map(|entry| entry.path()).filter(is_other).collect()
}

/// Kinds of clients, each with its own socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// The user's command line and agents.
    User,
    /// Programs in the terminals, which get the path in their environment.
    Programs,
}

/// A listening socket. Dropping it removes the file.
#[derive(Debug)]
pub struct Listener {
    inner: UnixListener,
    path: PathBuf,
}

impl Drop for Listener {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Listener {
    /// Listens at a path. Replaces a stale socket.
    ///
    /// # Errors
    /// If another server is listening there, or the file cannot be created.
    pub fn bind(path: PathBuf) -> io::Result<Listener> {
        if path.exists() {
            if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                let taken = format!("{}: another server is listening there", path.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, taken));
            }
            std::fs::remove_file(&path)?;
        }
        let inner = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Listener { inner, path })
    }

    /// Returns the path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves clients until `ended`. The host's options set the access of programs.
    pub async fn serve(self, host: Arc<Host>, clients: Clients, ended: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                () = ended.cancelled() => return,
                accepted = self.inner.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) => {
                    let access = host.socket_access();
                    let Some(connection) = connection(&stream, clients, access) else { continue };
                    let (host, ended) = (Arc::clone(&host), ended.child_token());
                    tokio::spawn(async move {
                        let _counted = host.client_count.enter();
                        let hangup = HangupDetector::of_socket(&stream);
                        let (reader, writer) = stream.into_split();
                        // A client that violates the protocol only loses its own connection.
                        let _ = host.serve(reader, writer, hangup, connection, ended).await;
                    });
                }
                // No file descriptor is left, and a retry would fail at once.
                Err(_) => tokio::time::sleep_until(Instant::now() + ACCEPT_PAUSE).await,
            }
        }
    }
}

/// Returns the caller of a connection; `None` for another user, whatever the file mode of the socket.
fn connection(stream: &UnixStream, clients: Clients, access: SocketAccess) -> Option<Connection> {
    let peer = stream.peer_cred().ok()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return None;
    }
    let caller = match (clients, access) {
        (Clients::User, _) | (Clients::Programs, SocketAccess::Full) => Caller::User,
        (Clients::Programs, SocketAccess::Own) => Caller::Program(Pid::from_raw(peer.pid()?)?),
    };
    Some(Connection::socket(caller, peer.pid()))
}
