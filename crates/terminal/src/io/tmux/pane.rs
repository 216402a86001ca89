//! One pane: its bytes come and go by a pipe of tmux's, and the kernel is asked about its terminal as about any other.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, PidfdFlags};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::net::UnixListener;
use tokio::time::Instant;

use super::typing::Typing;
use super::{ANSWER_TIMEOUT, Capture, PaneInfo, Server, TmuxError, mark, pipe, quoted};
use crate::io::pty::{self, InputModes, ReadEnd};

/// Bytes that are typed at once, and bytes that a program has not read from which on it gets no more: a little less
/// than a terminal holds (4 095).
const PIECE: usize = 4_000;

/// How long until a program that does not read is looked at again.
const FULL_PAUSE: Duration = Duration::from_millis(10);

/// A pane that we listen to. Dropping it ends the pipe, and nothing of ours is left.
#[derive(Debug)]
pub struct Pane {
    server: Server,
    id: String,
    pid: Pid,
    pidfd: AsyncFd<OwnedFd>,
    tty: PathBuf,
    source: Source,
}

/// How we hear of what a pane prints.
#[derive(Debug)]
enum Source {
    /// Byte by byte: our end of the pipe that tmux has made.
    Pipe(AsyncFd<OwnedFd>),
    /// The pane's one pipe is somebody else's, so tmux is asked what it shows whenever the kernel tells that the
    /// program has written to its terminal.
    Captures {
        /// An inotify.
        written: AsyncFd<OwnedFd>,
        typing: Typing,
    },
}

impl Pane {
    /// Listens to a pane from now on, and gives what it shows now: not a byte is missing in between.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn attach(
        server: &Server,
        info: &PaneInfo,
        folder: &Path,
        history: usize,
    ) -> Result<(Pane, Capture), TmuxError> {
        let other = |error: io::Error| TmuxError::Other(error.to_string());
        let mark = mark()?;
        let (listener, command, _removed) = listen(folder, "tmux-pipe")?;
        // tmux looks for formats and dates in what it has a shell run for a pipe.
        let command = command.replace('#', "##").replace('%', "%%");
        // Looked at and taken in one go, so that nobody's pipe is ever taken away. In both directions, because tmux
        // notices the end of one that it only writes to when it writes.
        let take = format!("pipe-pane -IO -t {} {}", info.id, quoted(&command));
        let refuse = format!("display-message -p -t {} {PIPED}", info.id);
        let guard = ["if-shell", "-F", "-t", &info.id, "#{pane_pipe}", &refuse, &take, ";"];
        let mut args: Vec<String> = guard.map(str::to_owned).into();
        args.extend(Capture::everything(&info.id, &mark, history));
        let said = server.run(&args).await?;
        let (is_piped, said) = match said.strip_prefix(&format!("{PIPED}\n")) {
            Some(rest) => (true, rest),
            None => (false, said.as_str()),
        };
        let capture = Capture::parse(&info.id, said, &mark)?;
        let tty = PathBuf::from(&info.tty);
        let source = match is_piped {
            true => captures(server, &info.id, &tty).map_err(other)?,
            false => match accept(&listener).await {
                Ok(end) => Source::Pipe(end),
                Err(error) => {
                    // What was started did not come, and is not to come later.
                    server.end_pipe(&info.id).await;
                    let why = format!("what hands over the pane's output did not start: {error}");
                    return Err(TmuxError::Other(why));
                }
            },
        };
        let (pid, pidfd) = process(capture.info.pid).map_err(other)?;
        let (server, id) = (server.clone(), info.id.clone());
        Ok((Pane { server, id, pid, pidfd, tty, source }, capture))
    }

    /// The number of its first process.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Its server and its id there.
    pub fn place(&self) -> (Server, String) {
        (self.server.clone(), self.id.clone())
    }

    /// Tells whether it is only captured, so that what is shown between two captures is not seen.
    pub fn is_captured(&self) -> bool {
        matches!(self.source, Source::Captures { .. })
    }

    /// Listens on although the pipe is gone, which is not ours alone to end.
    ///
    /// # Errors
    /// If the kernel does not let us.
    pub fn go_on_by_captures(&mut self) -> io::Result<()> {
        self.source = captures(&self.server, &self.id, &self.tty)?;
        Ok(())
    }

    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        let (Source::Pipe(fd) | Source::Captures { written: fd, .. }) = &self.source;
        fd.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Reads what there is.
    pub fn read(&self, buffer: &mut [u8]) -> ReadEnd {
        match &self.source {
            Source::Pipe(end) => pty::read(end, buffer),
            Source::Captures { written, .. } => match pty::read(written, buffer) {
                // How often it has written does not matter.
                ReadEnd::Bytes(_) => ReadEnd::Changed,
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

    /// Has bytes typed, as many as there is room for.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match &self.source {
            Source::Pipe(_) if self.is_full() => Ok(0),
            Source::Pipe(end) => pty::write(end, &bytes[..bytes.len().min(PIECE)]),
            Source::Captures { typing, .. } => typing.write(bytes),
        }
    }

    /// Tells whether the program has as much to read as a terminal holds: tmux would keep the rest, however much it is.
    fn is_full(&self) -> bool {
        self.tty().is_ok_and(|tty| pty::unread(&tty).is_ok_and(|count| count >= PIECE as u64))
    }

    /// Waits until its process has ended.
    pub async fn exited(&self) -> io::Result<()> {
        self.pidfd.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Follows the pane to a process that took the place of the one that ended.
    ///
    /// # Errors
    /// If that is gone too.
    pub fn follow(&mut self, info: &PaneInfo) -> io::Result<()> {
        (self.pid, self.pidfd) = process(info.pid)?;
        // It has a terminal of its own.
        self.tty = PathBuf::from(&info.tty);
        if let Source::Captures { written, .. } = &mut self.source {
            *written = watch(&self.tty)?;
        }
        Ok(())
    }

    /// What the terminal does with input now.
    pub fn input_modes(&self) -> InputModes {
        self.tty().map_or_else(|_| InputModes::unknown(), |tty| pty::input_modes(&tty))
    }

    /// Tells whether the program has input that it did not read. What tmux has and has not handed on is not known
    /// here: see [`Server::sync`].
    pub fn has_unread_input(&self) -> bool {
        let is_typing = match &self.source {
            Source::Pipe(_) => false,
            Source::Captures { typing, .. } => !typing.is_empty(),
        };
        is_typing || self.tty().is_ok_and(|tty| pty::unread(&tty).is_ok_and(|count| count > 0))
    }

    /// The size of its terminal.
    pub fn size(&self) -> Option<(usize, usize)> {
        let size = rustix::termios::tcgetwinsize(self.tty().ok()?).ok()?;
        Some((size.ws_col.into(), size.ws_row.into()))
    }

    /// Opened only to look, and closed at once: a terminal that somebody holds does not end.
    fn tty(&self) -> io::Result<OwnedFd> {
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(rustix::fs::open(&self.tty, flags, Mode::empty())?)
    }
}

/// What tmux is made to say of a pane that is piped elsewhere.
const PIPED: &str = "piped";

async fn accept(listener: &UnixListener) -> io::Result<AsyncFd<OwnedFd>> {
    let accepted = tokio::time::timeout(ANSWER_TIMEOUT, listener.accept()).await;
    let (stream, _) = accepted.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))??;
    let end = stream.async_io(Interest::READABLE, || pipe::receive(&stream)).await?;
    rustix::io::ioctl_fionbio(&end, true)?;
    pty::register(end, Interest::READABLE | Interest::WRITABLE)
}

/// Has the kernel tell when something is written to a terminal.
fn watch(tty: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let written = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&written, tty, WatchFlags::MODIFY)?;
    pty::register(written, Interest::READABLE)
}

fn captures(server: &Server, pane: &str, tty: &Path) -> io::Result<Source> {
    let written = watch(tty)?;
    Ok(Source::Captures { written, typing: Typing::start(server.clone(), pane.to_owned()) })
}

/// Listens for a part of this program, and gives the line for a shell that starts it.
pub(super) fn listen(
    folder: &Path,
    part: &str,
) -> Result<(UnixListener, String, Removed), TmuxError> {
    let other = |error: io::Error| TmuxError::Other(error.to_string());
    let socket = folder.join(format!("{part}-{}.sock", &mark()?[..12]));
    let listener = UnixListener::bind(&socket).map_err(other)?;
    let program = std::env::current_exe().map_err(other)?;
    let words = [program.to_string_lossy(), part.into(), socket.to_string_lossy()];
    let line = format!("exec {}", shell_words::join(words));
    Ok((listener, line, Removed(socket)))
}

/// A file that is removed when it is not needed any more.
#[derive(Debug)]
pub(super) struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn process(pid: i32) -> io::Result<(Pid, AsyncFd<OwnedFd>)> {
    let pid = Pid::from_raw(pid).ok_or(io::ErrorKind::NotFound)?;
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    Ok((pid, pty::register(pidfd, Interest::READABLE)?))
}
