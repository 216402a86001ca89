//! One pane: its input and output go through a pipe of tmux's; the state of its terminal is read from the kernel.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use rustix::process::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixListener;
use tokio::time::Instant;

use super::typing::Typing;
use super::{Capture, PaneInfo, REPLY_TIMEOUT, Server, TmuxError, pipe, quoted, separator};
use crate::io::pty::{self, InputModes, ReadOutcome};
use crate::platform::exit_watch::ExitWatch;
use crate::platform::files;

/// The maximum size of one write, and the number of unread bytes from which on nothing is written: a little less than
/// the terminal's input buffer holds (4 095).
const PIECE: usize = 4_000;

/// The interval between checks whether a program has read its input.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// An attached pane. Dropping it closes the pipe and leaves nothing in the server.
#[derive(Debug)]
pub struct Pane {
    server: Server,
    id: String,
    pid: Pid,
    exit: ExitWatch,
    tty: PathBuf,
    source: Source,
}

/// The source of a pane's output.
#[derive(Debug)]
enum Source {
    /// All bytes of the output: our end of the pipe that tmux created.
    Pipe(AsyncFd<OwnedFd>),
    /// Captures of the screen. Another program uses the pane's only pipe, so the screen is captured whenever the
    /// kernel reports that the program has written to its terminal.
    Captures {
        /// Readable after a program has written to the terminal.
        written: AsyncFd<OwnedFd>,
        typing: Typing,
    },
}

impl Pane {
    /// Attaches to a pane and captures it. No byte of its output is missing between the capture and the pipe.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn attach(
        server: &Server,
        info: &PaneInfo,
        directory: &Path,
        history: usize,
    ) -> Result<(Pane, Capture), TmuxError> {
        let other = |error: io::Error| TmuxError::Other(error.to_string());
        let separator = separator()?;
        let (listener, command, _removed) = listen(directory, "tmux-pipe")?;
        // tmux expands formats and dates in the shell command of a pipe.
        let command = command.replace('#', "##").replace('%', "%%");
        // The check and the pipe are one command, so that a pipe of another program is never replaced. The pipe has
        // both directions, because tmux detects the end of a write-only pipe only when it writes.
        let take = format!("pipe-pane -IO -t {} {}", info.id, quoted(&command));
        let refuse = format!("display-message -p -t {} {PIPED}", info.id);
        let guard = ["if-shell", "-F", "-t", &info.id, "#{pane_pipe}", &refuse, &take, ";"];
        let mut args: Vec<String> = guard.map(str::to_owned).into();
        args.extend(Capture::everything(&info.id, &separator, history));
        let output = server.run(&args).await?;
        let (is_piped, output) = match output.strip_prefix(&format!("{PIPED}\n")) {
            Some(rest) => (true, rest),
            None => (false, output.as_str()),
        };
        let capture = Capture::parse(&info.id, output, &separator)?;
        let tty = PathBuf::from(&info.tty);
        let source = match is_piped {
            true => captures(server, &info.id, &tty).map_err(other)?,
            false => match accept(&listener).await {
                Ok(end) => Source::Pipe(end),
                Err(error) => {
                    // The pipe's command may still start, and would keep the pipe open.
                    server.end_pipe(&info.id).await;
                    let message =
                        format!("the helper that sends the pane's pipe did not start: {error}");
                    return Err(TmuxError::Other(message));
                }
            },
        };
        let (pid, exit) = process(capture.info.pid).map_err(other)?;
        let (server, id) = (server.clone(), info.id.clone());
        Ok((Pane { server, id, pid, exit, tty, source }, capture))
    }

    /// Returns the PID of its first process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns its server and its id there.
    pub fn place(&self) -> (Server, String) {
        (self.server.clone(), self.id.clone())
    }

    /// Returns whether the pane is only captured, so that states between two captures are missed.
    pub fn is_captured(&self) -> bool {
        matches!(self.source, Source::Captures { .. })
    }

    /// Continues with captures after another tmux client closed the pipe.
    ///
    /// # Errors
    /// If the terminal cannot be watched.
    pub fn switch_to_captures(&mut self) -> io::Result<()> {
        self.source = captures(&self.server, &self.id, &self.tty)?;
        Ok(())
    }

    /// Waits until there is output to read.
    pub async fn readable(&self) -> io::Result<()> {
        let (Source::Pipe(fd) | Source::Captures { written: fd, .. }) = &self.source;
        fd.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Reads available output.
    pub fn read(&self, buffer: &mut [u8]) -> ReadOutcome {
        match &self.source {
            Source::Pipe(end) => pty::read(end, buffer),
            Source::Captures { written, .. } => match pty::read(written, buffer) {
                // The number of writes does not matter.
                ReadOutcome::Bytes(_) => ReadOutcome::Changed,
                other => other,
            },
        }
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        match &self.source {
            Source::Pipe(end) => {
                while self.is_full() {
                    tokio::time::sleep_until(Instant::now() + FULL_PAUSE).await;
                }
                end.writable().await.map(|mut guard| guard.retain_ready())
            }
            Source::Captures { typing, .. } => {
                typing.writable().await;
                Ok(())
            }
        }
    }

    /// Types as many bytes as there is room for and returns their number.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.source {
            Source::Pipe(_) if self.is_full() => Ok(0),
            Source::Pipe(end) => pty::write(end, &bytes[..bytes.len().min(PIECE)]),
            Source::Captures { typing, .. } => typing.write(bytes),
        }
    }

    /// Returns whether the terminal's input buffer is full. tmux would queue more input without a limit.
    fn is_full(&self) -> bool {
        self.tty().is_ok_and(|tty| pty::unread(&tty).is_ok_and(|count| count >= PIECE as u64))
    }

    /// Waits until its first process has ended.
    pub async fn exited(&self) -> io::Result<()> {
        self.exit.exited().await
    }

    /// Switches to the process that replaced the one that ended (`respawn-pane`).
    ///
    /// # Errors
    /// If that process has ended too.
    pub fn follow(&mut self, info: &PaneInfo) -> io::Result<()> {
        (self.pid, self.exit) = process(info.pid)?;
        // The new process has a new terminal.
        self.tty = PathBuf::from(&info.tty);
        if let Source::Captures { written, .. } = &mut self.source {
            *written = watch(&self.tty)?;
        }
        Ok(())
    }

    /// Returns the terminal's current input modes.
    pub fn input_modes(&self) -> InputModes {
        self.tty().map_or_else(|_| InputModes::unknown(), |tty| pty::input_modes(&tty))
    }

    /// Returns whether the program has unread input. Input that is still in tmux's own buffer does not count: see
    /// [`Server::sync`].
    pub fn has_unread_input(&self) -> bool {
        let is_typing = match &self.source {
            Source::Pipe(_) => false,
            Source::Captures { typing, .. } => !typing.is_empty(),
        };
        is_typing || self.tty().is_ok_and(|tty| pty::unread(&tty).is_ok_and(|count| count > 0))
    }

    /// Returns the columns and rows of its terminal.
    pub fn size(&self) -> Option<(usize, usize)> {
        let size = rustix::termios::tcgetwinsize(self.tty().ok()?).ok()?;
        Some((size.ws_col.into(), size.ws_row.into()))
    }

    /// Opens the terminal for one query. A descriptor that stays open would keep the terminal from hanging up.
    fn tty(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&self.tty, flags, Mode::empty())?)
    }
}

/// The text that tmux prints if the pane's pipe is in use.
const PIPED: &str = "piped";

async fn accept(listener: &UnixListener) -> io::Result<AsyncFd<OwnedFd>> {
    let accepted = tokio::time::timeout(REPLY_TIMEOUT, listener.accept()).await;
    let (stream, _) = accepted.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let end = stream.async_io(Interest::READABLE, || pipe::receive(&stream)).await?;
    rustix::io::ioctl_fionbio(&end, true)?;
    pty::register(end, Interest::READABLE | Interest::WRITABLE)
}

/// Watches for writes to a terminal.
fn watch(tty: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    pty::register(files::watch_writes(tty)?, Interest::READABLE)
}

fn captures(server: &Server, pane: &str, tty: &Path) -> io::Result<Source> {
    let written = watch(tty)?;
    Ok(Source::Captures { written, typing: Typing::start(server.clone(), pane.to_owned()) })
}

/// Listens on a new socket, and returns the shell command that runs a subcommand of this program with the socket's
/// path.
pub(super) fn listen(
    directory: &Path,
    subcommand: &str,
) -> Result<(UnixListener, String, SocketFile), TmuxError> {
    let other = |error: io::Error| TmuxError::Other(error.to_string());
    let socket = directory.join(format!("{subcommand}-{}.sock", &separator()?[..12]));
    let listener = UnixListener::bind(&socket).map_err(other)?;
    let program = std::env::current_exe().map_err(other)?;
    let words = [program.to_string_lossy(), subcommand.into(), socket.to_string_lossy()];
    let line = format!("exec {}", shell_words::join(words));
    Ok((listener, line, SocketFile(socket)))
}

/// The file of a socket. Dropping it removes the file.
#[derive(Debug)]
pub(super) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn process(pid: i32) -> io::Result<(Pid, ExitWatch)> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    Ok((pid, ExitWatch::new(pid)?))
}
