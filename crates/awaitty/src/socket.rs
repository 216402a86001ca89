//! The Unix sockets by which programs and people reach a server: where they are, and who may use them.

use std::ffi::OsStr;
use std::fs::{DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::{Hangup, Host};

/// The variable that tells a program in a terminal of ours where its server is.
pub const SOCKET_VARIABLE: &str = "AWAITTY_SOCKET";

/// The variable that tells a program in a terminal of ours which one it is in.
pub const SESSION_VARIABLE: &str = "AWAITTY_SESSION";

/// The daemon's socket.
const DAEMON_SOCKET: &str = "daemon.sock";

/// How the name of another server's begins; its process's number follows.
pub(crate) const SERVER_SOCKET: &str = "mcp-";

/// How long nobody is let in when there is no descriptor left for the next one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The directory of our sockets, which only we can look into; it is made if it is not there.
///
/// # Errors
/// If it cannot be made, or belongs to somebody else.
pub fn runtime_dir() -> io::Result<PathBuf> {
    let uid = rustix::process::geteuid().as_raw();
    let path = match std::env::var_os("XDG_RUNTIME_DIR").filter(|dir| Path::new(dir).is_dir()) {
        Some(dir) => PathBuf::from(dir).join("awaitty"),
        None => std::env::temp_dir().join(format!("awaitty-{uid}")),
    };
    match DirBuilder::new().mode(0o700).create(&path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
        }
        _ => {}
    }
    let found = path.symlink_metadata()?;
    if !found.is_dir() || found.uid() != uid || found.mode() & 0o077 != 0 {
        return Err(io::Error::other(format!(
            "{} is not a directory that only you can use: remove it, or set XDG_RUNTIME_DIR to one that is",
            path.display()
        )));
    }
    Ok(path)
}

/// Where the daemon listens.
///
/// # Errors
/// As [`runtime_dir`].
pub fn daemon_path() -> io::Result<PathBuf> {
    Ok(runtime_dir()?.join(DAEMON_SOCKET))
}

/// Takes away the sockets of servers that were killed: they are named after a process that is no more.
pub fn remove_stale(folder: &Path) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let pid = name.strip_prefix(SERVER_SOCKET).and_then(|rest| rest.strip_suffix(".sock"));
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = std::fs::remove_file(entry.path());
        }
    }
}

/// The sockets of the other servers of this user. There are others in that folder, by which we hand things to ourselves.
pub fn others(own: &Path) -> Vec<PathBuf> {
    let Some(folder) = own.parent().and_then(|folder| std::fs::read_dir(folder).ok()) else {
        return Vec::new();
    };
    let is_server = |name: &str| {
        name == DAEMON_SOCKET || name.starts_with(SERVER_SOCKET) && name.ends_with(".sock")
    };
    let is_other = |path: &PathBuf| {
        path.file_name().and_then(OsStr::to_str).is_some_and(is_server) && path != own
    };
    folder.flatten().map(|entry| entry.path()).filter(is_other).collect()
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

    /// Serves whoever comes, until `ended`.
    pub async fn serve(self, host: Arc<Host>, ended: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                () = ended.cancelled() => return,
                accepted = self.inner.accept() => accepted,
            };
            match accepted {
                Ok((stream, _)) if is_ours(&stream) => {
                    let (host, ended) = (Arc::clone(&host), ended.child_token());
                    tokio::spawn(async move {
                        let _guest = host.guests.enter();
                        let hangup = Hangup::of_socket(&stream);
                        let (reader, writer) = stream.into_split();
                        // A client that does not speak the protocol is its own fault.
                        let _ = host.serve(reader, writer, hangup, ended).await;
                    });
                }
                Ok(_) => {}
                // No descriptor is left: it would fail again at once.
                Err(_) => tokio::time::sleep_until(Instant::now() + ACCEPT_PAUSE).await,
            }
        }
    }
}

/// Only our own user is let in, whatever the file's mode says.
fn is_ours(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == rustix::process::geteuid().as_raw())
}
