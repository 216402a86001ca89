//! `awaitty mcp --daemon`: connects standard input and output to the daemon's socket. Both sides use MCP, so it only
//! copies bytes.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::client::Client;
use crate::socket;

/// Copies both ways until one side ends.
///
/// # Errors
/// If the daemon cannot be reached, or closes the connection first.
pub fn run() -> io::Result<()> {
    // Starts the daemon if none is running, and checks its version.
    drop(Client::daemon()?);
    let mut to_daemon = UnixStream::connect(socket::daemon_path()?)?;
    let from_daemon = to_daemon.try_clone()?;
    let is_stdin_closed = Arc::new(AtomicBool::new(false));
    let is_closed = Arc::clone(&is_stdin_closed);
    thread::spawn(move || {
        let _ = copy(io::stdin(), &mut to_daemon);
        is_closed.store(true, Ordering::Release);
        // A closed connection makes the daemon cancel the client's calls.
        let _ = to_daemon.shutdown(Shutdown::Both);
    });
    let copied = copy(from_daemon, io::stdout());
    if is_stdin_closed.load(Ordering::Acquire) {
        return Ok(());
    }
    copied?;
    Err(io::Error::other("the daemon closed the connection: its log gives the reason; start again"))
}

/// Copies bytes without waiting for a full buffer.
fn copy(mut from: impl Read, mut to: impl Write) -> io::Result<()> {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let count = from.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        to.write_all(&buffer[..count])?;
        to.flush()?;
    }
}
