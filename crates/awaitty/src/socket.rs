//! The Unix sockets by which programs and people reach a server: where they are, and who may use them.

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

pub use awaitty_terminal::runtime::{SESSION_VARIABLE, SOCKET_VARIABLE, runtime_dir};

use crate::access::{Caller, Connection, SocketAccess};
use crate::mcp::{Hangup, Host};

/// The daemon's socket for the user's command line. No program gets its path from us.
const DAEMON_SOCKET: &str = "daemon.sock";

/// The socket that programs in the daemon's terminals get. Its name is fixed, so that the next daemon finds the programs
/// that a killed one left.
const DAEMON_PROGRAM_SOCKET: &str = "daemon-programs.sock";

/// The beginning of the name of the socket that programs in the terminals of another server get. The server's PID follows.
const SERVER_SOCKET: &str = "mcp-";

/// How long nobody is let in when there is no descriptor left for the next one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Where the daemon listens.
///
/// # Errors
/// As [`runtime_dir`].
pub fn daemon_path() -> io::Result<PathBuf> {
    Ok(runtime_dir()?.join(DAEMON_SOCKET))
}

/// Returns the path of the socket that programs in the daemon's terminals get.
///
/// # Errors
/// As [`runtime_dir`].
pub fn daemon_program_path() -> io::Result<PathBuf> {
    Ok(runtime_dir()?.join(DAEMON_PROGRAM_SOCKET))
}

/// Returns the path of the socket that programs in the terminals of this server get, which is not a daemon. Removes the
/// sockets of servers that were killed.
///
/// # Errors
/// As [`runtime_dir`].
pub fn program_path() -> io::Result<PathBuf> {
    let folder = runtime_dir()?;
    remove_stale(&folder);
    Ok(folder.join(format!("{SERVER_SOCKET}{}.sock", rustix::process::getpid().as_raw_nonzero())))
}

/// Takes away the sockets of servers that were killed: they are named after a process that is no more.
fn remove_stale(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(SERVER_SOCKET).and_then(|rest| rest.strip_suffix(".sock"));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// Returns the sockets of the other servers of this user that take signals, which are those that programs get.
pub fn others(own: &Path) -> Vec<PathBuf> {
    let Some(folder) = own.parent().and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let is_server = |name: &str| {
        name == DAEMON_PROGRAM_SOCKET || name.starts_with(SERVER_SOCKET) && name.ends_with(".sock")
    };
    let is_other = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(is_server) && path != own
    };
    folder.flatten().map(|entry| entry.path()).filter(is_other).collect()
}

/// The clients of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clients {
    /// The user's command line, and agents.
    User,
    /// Programs in our terminals, which find the socket in their environment.
    Programs,
}

/// A socket that is listened on; its file goes with it.
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
    /// Listens at a path at which nobody answers.
    ///
    /// # Errors
    /// If somebody does, or the file cannot be made.
    pub fn bind(path: PathBuf) -> io::Result<Listener> {
        if path.exists() {
            if std::os::unix::net::UnixStream::connect(&path).is_ok() {
                let taken = format!("{}: another server answers there", path.display());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, taken));
            }
            std::fs::remove_file(&path)?;
        }
        let inner = UnixListener::bind(&path)?;
        std::fs::set_permissions(&path, Permissions::from_mode(0o600))?;
        Ok(Listener { inner, path })
    }

    /// Where it listens.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Serves the clients that connect, until `ended`. Of a socket that programs get, the host's options say what they may
    /// do.
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
                        let _guest = host.guests.enter();
                        let hangup = Hangup::of_socket(&stream);
                        let (reader, writer) = stream.into_split();
                        // A client that does not speak the protocol is its own fault.
                        let _ = host.serve(reader, writer, hangup, connection, ended).await;
                    });
                }
                // No descriptor is left: it would fail again at once.
                Err(_) => tokio::time::sleep_until(Instant::now() + ACCEPT_PAUSE).await,
            }
        }
    }
}

/// Returns who calls through a connection; `None` for another user, whatever the mode of the socket's file is.
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
