//! The private directory of a user's servers, and the environment variables that programs in terminals get.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The variable that names the server's socket for a program in a terminal.
pub const SOCKET_VARIABLE: &str = "AWAITTY_SOCKET";

/// The variable that names the session that a program runs in.
pub const SESSION_VARIABLE: &str = "AWAITTY_SESSION";

/// Variables with this prefix hold secrets, or lead to them. No program that we start inherits one.
pub const SECRET_PREFIX: &str = "AWAITTY_SECRET";

/// Returns whether a variable holds a secret, or leads to one.
pub fn is_secret_variable(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(SECRET_PREFIX.as_bytes())
}

/// Returns the directory of our sockets and other private files, and creates it if it is missing.
///
/// # Errors
/// If it cannot be created, or another user can read it.
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
