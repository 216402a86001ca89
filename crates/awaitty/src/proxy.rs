//! `awaitty mcp --daemon`: standard input and output, joined to the daemon's socket. Both speak MCP, so bytes
//! are all there is to it.

use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::client::Client;
use crate::socket;

/// Joins the two until one of them ends.
///
/// # Errors
/// If the daemon cannot be reached, or goes away while the client is still there.
pub fn run() -> io::Result<()> {
    // Starts the daemon if there is none, and says if it is of another version.
    drop(Client::daemon()?);
    let mut to_daemon = UnixStream::connect(socket::daemon_path()?)?;
    let from_daemon = to_daemon.try_clone()?;
    let client_left = Arc::new(AtomicBool::new(false));
    let left = Arc::clone(&client_left);
    thread::spawn(move || {
        let _ = copy(io::stdin(), &mut to_daemon);
        left.store(true, Ordering::Release);
        // The daemon ends the calls of one who hangs up.
        let _ = to_daemon.shutdown(Shutdown::Both);
    });
    let copied = copy(from_daemon, io::stdout());
    if client_left.load(Ordering::Acquire) {
        return Ok(());
    }
    copied?;
    Err(io::Error::other("the daemon went away: start again, and its log says why"))
}

/// Copies what comes as it comes.
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
