//! A program in a PTY: starts it, reads and writes its terminal, and waits for its exit. Uses no thread and no task.
//!
//! The `unsafe` calls set up the child between fork and exec, and register file descriptors with the runtime.
#![expect(
    unsafe_code,
    reason = "pre_exec, execve and the registration of a file descriptor have no safe form"
)]

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use awaitty_core::{EchoSource, Exit};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, Resource, Rlimit, setrlimit};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::disturbance::Disturbance;
use super::line::Discipline;
use crate::platform::child;
use crate::platform::exit_watch::ExitWatch;
use crate::platform::limits;

/// A program to start, and the size of its terminal.
#[derive(Clone, Debug)]
pub struct Start {
    /// The resolved path of the executable.
    pub program: PathBuf,
    /// The program's `argv[0]`.
    pub arg0: OsString,
    /// The arguments after `arg0`.
    pub args: Vec<OsString>,
    /// The whole environment.
    pub env: Vec<(OsString, OsString)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// Columns of the terminal.
    pub cols: u16,
    /// Rows of the terminal.
    pub rows: u16,
}

/// A program in a PTY.
#[derive(Debug)]
pub struct Pty {
    master: AsyncFd<OwnedFd>,
    exit: ExitWatch,
    pid: Pid,
    terminal: PathBuf,
    untouched: InputModes,
    /// Disturbs the timing, if a test asks for it.
    disturbance: Option<Box<Mutex<Disturbance>>>,
}

/// The arguments of `execve`. Created before the fork, because a forked child must not allocate.
struct ExecImage {
    program: CString,
    words: Words,
    env: Words,
}

/// A list of strings for `execve`, which ends with a null pointer.
struct Words {
    pointers: Vec<*const c_char>,
    /// Owns the strings of `pointers`.
    _strings: Vec<CString>,
}

// SAFETY: the pointers point to strings that the same value owns and never changes.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

/// The modes of a line discipline that affect input.
#[derive(Clone, Copy, Debug)]
pub struct InputModes {
    /// The source of the echo of typed text.
    pub echo_source: EchoSource,
    /// The line discipline collects whole lines (`ICANON`).
    pub is_canonical: bool,
    /// The special characters.
    pub line: Discipline,
    pub(super) flags: rustix::termios::InputModes,
}

impl InputModes {
    /// Returns the modes of a terminal whose modes cannot be read.
    pub(super) fn unknown() -> InputModes {
        let flags = rustix::termios::InputModes::empty();
        let line = Discipline::default();
        InputModes { echo_source: EchoSource::LineEditor, is_canonical: false, line, flags }
    }

    /// Returns whether the program reads lines without echo, as a password prompt does.
    pub fn is_secret(&self) -> bool {
        self.echo_source == EchoSource::None
    }

    /// Returns whether a line editor has changed the modes since `then`: it reads keys now, or it has set other input
    /// flags, as fish does, which leaves canonical mode on for a moment while it runs a command.
    pub fn show_editor_since(&self, then: &InputModes) -> bool {
        self.echo_source == EchoSource::LineEditor || self.flags != then.flags
    }
}

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// Number of bytes that were read.
    Bytes(usize),
    /// No more output at the moment.
    Drained,
    /// A pane that is only captured has changed.
    Changed,
    /// EOF: no process has the terminal open.
    Closed,
}

impl Pty {
    /// Starts a program. The exec has succeeded when this returns.
    ///
    /// # Errors
    /// The error of the kernel, such as ENOENT for a missing program and ENOSPC if no PTY is left.
    pub fn start(start: &Start) -> io::Result<Pty> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).map_err(|error| match error {
            // The C library maps ENOSPC of the kernel to EAGAIN, as POSIX wants. But a fork returns EAGAIN when there
            // are too many processes, and the two need different remedies.
            Errno::AGAIN => Errno::NOSPC,
            other => other,
        })?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let terminal = rustix::pty::ptsname(&master, Vec::new())?;
        let terminal = PathBuf::from(OsStr::from_bytes(terminal.as_bytes()));
        set_size(&master, start.cols, start.rows)?;
        let slave = child::open_peer(&master)?;
        let untouched = input_modes(&master);
        let image = ExecImage::new(start)?;
        let mut command = Command::new(&start.program);
        command
            .current_dir(&start.cwd)
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave));
        let inherited = limits::inherited();
        let begin = move || {
            child::become_leader()?;
            set_limit(inherited.as_ref())?;
            Err(image.execute())
        };
        // SAFETY: the closure calls only async-signal-safe functions and allocates nothing.
        unsafe { command.pre_exec(begin) };
        // Returns after the exec, or with the error of the exec.
        let child = command.spawn()?;
        drop(command);
        let pid = Pid::from_child(&child);
        let exit = ExitWatch::new(pid)?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let master = register(master, Interest::READABLE | Interest::WRITABLE)?;
        Ok(Pty { master, exit, pid, terminal, untouched, disturbance: None })
    }

    /// Returns the PID of the program, which is also the ID of its process group and session.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns the path of the terminal's device file.
    pub fn terminal(&self) -> &Path {
        &self.terminal
    }

    /// Disturbs the timing of output and input from now on.
    pub fn disturb(&mut self, disturbance: Disturbance) {
        self.disturbance = Some(Box::new(Mutex::new(disturbance)));
    }

    fn disturbance(&self) -> Option<MutexGuard<'_, Disturbance>> {
        let disturbance = self.disturbance.as_ref()?;
        Some(disturbance.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether output was read from the kernel and is held back.
    pub fn holds_output(&self) -> bool {
        self.disturbance().is_some_and(|disturbance| disturbance.holds_output())
    }

    /// Waits until there is output to read.
    pub async fn readable(&self) -> io::Result<()> {
        let release_at = self.disturbance().and_then(|disturbance| disturbance.release_at());
        if let Some(at) = release_at {
            tokio::time::sleep_until(at).await;
            return Ok(());
        }
        self.master.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Waits until the terminal accepts input.
    pub async fn writable(&self) -> io::Result<()> {
        let writable_at = self.disturbance().and_then(|disturbance| disturbance.writable_at());
        if let Some(at) = writable_at {
            tokio::time::sleep_until(at).await;
        }
        self.master.writable().await.map(|mut guard| guard.retain_ready())
    }

    /// Waits until the program has exited.
    pub async fn exited(&self) -> io::Result<()> {
        self.exit.exited().await
    }

    /// Reads output, even if the runtime has not been notified of it yet.
    pub fn read(&self, buffer: &mut [u8]) -> ReadOutcome {
        match self.disturbance() {
            Some(mut disturbance) => self.read_disturbed(&mut disturbance, buffer),
            None => read(&self.master, buffer),
        }
    }

    /// Reads from the kernel into the held output, and releases the next piece if it is due. After the exit the rest is
    /// released without delays, so that the exit is not reported late.
    fn read_disturbed(&self, disturbance: &mut Disturbance, buffer: &mut [u8]) -> ReadOutcome {
        let mut end = ReadOutcome::Drained;
        while disturbance.room() >= buffer.len() {
            match read(&self.master, buffer) {
                ReadOutcome::Bytes(count) => disturbance.hold(&buffer[..count]),
                other => {
                    end = other;
                    break;
                }
            }
        }
        let released = match end {
            ReadOutcome::Closed => disturbance.release_all(buffer),
            ReadOutcome::Bytes(_) | ReadOutcome::Drained | ReadOutcome::Changed => {
                disturbance.release(buffer)
            }
        };
        if released > 0 { ReadOutcome::Bytes(released) } else { end }
    }

    /// Writes as much as the terminal accepts. Returns the number of bytes.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let Some(mut disturbance) = self.disturbance() else { return write(&self.master, bytes) };
        if disturbance.writable_at().is_some() {
            return Ok(0);
        }
        let written = write(&self.master, bytes);
        disturbance.note_written();
        written
    }

    /// Reaps the program, which has exited, and returns its exit status. Called once.
    pub fn reap(&self) -> Exit {
        self.exit.reap()
    }

    /// Sets the size of the terminal. The kernel sends SIGWINCH to the foreground process group.
    pub fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        set_size(self.master.get_ref(), cols, rows)
    }

    /// Returns the modes of the terminal.
    pub fn input_modes(&self) -> InputModes {
        input_modes(self.master.get_ref())
    }

    /// Returns the modes of the terminal before the program was started.
    pub fn untouched_modes(&self) -> InputModes {
        self.untouched
    }

    /// Returns the foreground process group of the terminal.
    pub fn foreground_group(&self) -> Option<i32> {
        let group = rustix::termios::tcgetpgrp(self.master.get_ref()).ok()?;
        Some(group.as_raw_nonzero().get())
    }

    /// Returns whether the terminal has input that the program has not read.
    pub fn has_unread_input(&self) -> bool {
        // The kernel counts unread input only at the program's end of the terminal.
        let unread = child::open_peer(self.master.get_ref()).and_then(|peer| unread(&peer));
        unread.is_ok_and(|count| count > 0)
    }
}

impl ExecImage {
    fn new(start: &Start) -> io::Result<ExecImage> {
        let words = std::iter::once(&start.arg0).chain(&start.args);
        let env = start.env.iter().map(|(name, value)| {
            let mut entry = name.clone();
            entry.push("=");
            entry.push(value);
            entry
        });
        Ok(ExecImage {
            program: CString::new(start.program.as_os_str().as_bytes())?,
            words: Words::new(words)?,
            env: Words::new(env)?,
        })
    }

    /// Replaces this process by the program. Returns only if that fails. The standard library uses `execvp`, which runs
    /// a file that is no executable (ENOEXEC) with `sh` instead of reporting an error.
    fn execute(&self) -> io::Error {
        // SAFETY: the path and both lists are null-terminated and live as long as `self`.
        unsafe {
            libc::execve(
                self.program.as_ptr(),
                self.words.pointers.as_ptr(),
                self.env.pointers.as_ptr(),
            );
        }
        io::Error::last_os_error()
    }
}

impl Words {
    fn new(words: impl Iterator<Item = impl AsRef<OsStr>>) -> io::Result<Words> {
        let strings = words.map(|word| CString::new(word.as_ref().as_bytes()));
        let strings = strings.collect::<Result<Vec<CString>, _>>()?;
        let pointers = strings.iter().map(|string| string.as_ptr());
        let pointers = pointers.chain([std::ptr::null()]).collect();
        Ok(Words { pointers, _strings: strings })
    }
}

/// Replaces this process by a program, in its working directory. Returns only if that fails.
pub fn become_program(start: &Start) -> io::Error {
    let image = std::env::set_current_dir(&start.cwd).and_then(|()| ExecImage::new(start));
    match image {
        Ok(image) => {
            child::reset_signals();
            image.execute()
        }
        Err(error) => error,
    }
}

/// Makes a command start with the limits that this process was started with.
pub(super) fn restore_limits(command: &mut Command) {
    if let Some(inherited) = limits::inherited() {
        // SAFETY: the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(move || set_limit(Some(&inherited))) };
    }
}

/// Sets the limit of file descriptors, if there is one to set. Async-signal-safe.
fn set_limit(limit: Option<&Rlimit>) -> io::Result<()> {
    limit.map_or(Ok(()), |limit| Ok(setrlimit(Resource::Nofile, *limit)?))
}

/// Registers a file descriptor with the runtime.
pub(crate) fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` keeps its file descriptor open and unchanged, and it is never taken out of the `AsyncFd`.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest)? })
}

/// Reads the available output.
pub(super) fn read(from: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> ReadOutcome {
    let mut was_tried = false;
    let mut read = from.try_io(Interest::READABLE, |from| {
        was_tried = true;
        Ok(rustix::io::read(from, &mut *buffer)?)
    });
    // The runtime may not have been notified of new output yet. Output that a program wrote before it began to wait for
    // input must be read by a caller that has seen it wait.
    if !was_tried {
        read = rustix::io::read(from.get_ref(), &mut *buffer).map_err(io::Error::from);
    }
    match read {
        Ok(0) => ReadOutcome::Closed,
        Ok(count) => ReadOutcome::Bytes(count),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => ReadOutcome::Drained,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => ReadOutcome::Bytes(0),
        // A terminal reports EOF as EIO.
        Err(_) => ReadOutcome::Closed,
    }
}

/// Writes as much as fits. Returns the number of bytes.
pub(super) fn write(to: &AsyncFd<OwnedFd>, bytes: &[u8]) -> io::Result<usize> {
    match to.try_io(Interest::WRITABLE, |to| Ok(rustix::io::write(to, bytes)?)) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

/// Returns the number of bytes of input that the program has not read. `peer` is the program's end of the terminal.
pub(super) fn unread(peer: &OwnedFd) -> io::Result<u64> {
    // A kernel worker moves written bytes into the line discipline. A poll waits for that worker.
    let mut polled = [PollFd::new(peer, PollFlags::IN)];
    rustix::event::poll(&mut polled, Some(&Timespec::default()))?;
    Ok(rustix::io::ioctl_fionread(peer)?)
}

fn set_size(master: &OwnedFd, cols: u16, rows: u16) -> io::Result<()> {
    let size = Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}

/// Returns the modes of a terminal.
pub(super) fn input_modes(terminal: &OwnedFd) -> InputModes {
    let Ok(termios) = rustix::termios::tcgetattr(terminal) else { return InputModes::unknown() };
    let has = |mode: LocalModes| termios.local_modes.contains(mode);
    let is_canonical = has(LocalModes::ICANON);
    let echo_source = match (has(LocalModes::ECHO), is_canonical) {
        (true, _) => EchoSource::Terminal,
        (false, true) => EchoSource::None,
        (false, false) => EchoSource::LineEditor,
    };
    let line = Discipline::from(&termios);
    InputModes { echo_source, is_canonical, line, flags: termios.input_modes }
}
