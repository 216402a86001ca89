//! The process at the other end of a Unix socket.

use std::io;
use std::os::fd::AsFd;

use rustix::process::Pid;

/// Returns the PID of the process that created the other end of a socket (`SO_PEERCRED`).
///
/// # Errors
/// If the file descriptor is no connected Unix socket.
pub fn peer_pid(socket: impl AsFd) -> io::Result<Pid> {
    Ok(rustix::net::sockopt::socket_peercred(socket)?.pid)
}
