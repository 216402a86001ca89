//! A program in a pseudo-terminal: started, read, written, asked and waited for. No thread, no task.
//!
//! The only file with `unsafe` in it: between fork and exec, and for two questions to the kernel that
//! no safe wrapper asks.
#![expect(unsafe_code, reason = "fork, exec and ioctl have no safe form for what is needed here")]

use std::ffi::{CString, OsStr, OsString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use awaitty_core::{EchoSource, Exit};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, WaitId, WaitIdOptions, setrlimit};
use rustix::pty::OpenptFlags;
use rustix::termios::{LocalModes, Winsize};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::line::Discipline;
use crate::platform::limits;

/// What is to be started.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program, as it was resolved.
    pub program: PathBuf,
    /// What it finds as its own name.
    pub arg0: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// All of its environment.
    pub env: Vec<(OsString, OsString)>,
    /// Where it starts.
    pub cwd: PathBuf,
    /// The size of its terminal.
    pub cols: u16,
    /// See `cols`.
    pub rows: u16,
}

/// A program in a pseudo-terminal.
#[derive(Debug)]
pub struct Pty {
    master: AsyncFd<OwnedFd>,
    pidfd: AsyncFd<OwnedFd>,
    pid: Pid,
    terminal: PathBuf,
    untouched: InputModes,
}

/// What a process becomes by an exec. It is put together before the fork, after which nothing may be allocated.
struct ExecImage {
    program: CString,
    words: Words,
    env: Words,
}

/// Strings as the kernel takes them.
struct Words {
    pointers: Vec<*const c_char>,
    /// What those lead to, but for the null at their end.
    _strings: Vec<CString>,
}

// SAFETY: the pointers lead to what the same value owns and nobody changes.
unsafe impl Send for Words {}
// SAFETY: as above.
unsafe impl Sync for Words {}

/// What a terminal does with input before the program gets it.
#[derive(Clone, Copy, Debug)]
pub struct InputModes {
    /// Who would echo what is typed.
    pub echo_source: EchoSource,
    /// The program reads whole lines.
    pub is_canonical: bool,
    /// What becomes of single bytes.
    pub line: Discipline,
    pub(super) flags: rustix::termios::InputModes,
}

impl InputModes {
    /// Of a terminal that cannot be asked.
    pub(super) fn unknown() -> InputModes {
        let flags = rustix::termios::InputModes::empty();
        let line = Discipline::default();
        InputModes { echo_source: EchoSource::LineEditor, is_canonical: false, line, flags }
    }

    /// Tells whether the program reads lines that nobody is to see, as for a password.
    pub fn is_secret(&self) -> bool {
        self.echo_source == EchoSource::None
    }

    /// Tells whether a line editor has come since `then`: it reads keys now, or it has set the terminal up
    /// to its liking, as fish does, and reads lines for a moment while it runs a command.
    pub fn show_editor_since(&self, then: &InputModes) -> bool {
        self.echo_source == EchoSource::LineEditor || self.flags != then.flags
    }
}

/// What a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOutcome {
    /// So many bytes.
    Bytes(usize),
    /// Nothing at the moment: all was read.
    Drained,
    /// Something is to be read, but elsewhere: of a pane that is only captured.
    Changed,
    /// Nobody holds the terminal any more.
    Closed,
}

impl Pty {
    /// Starts a program; it runs when this returns.
    ///
    /// # Errors
    /// What the kernel said, from no terminal left to no such program.
    pub fn start(start: &Start) -> io::Result<Pty> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = rustix::pty::openpt(flags).map_err(|error| match error {
            // It says so in the words of POSIX where the kernel said ENOSPC; but that is also a fork's word for too many
            // processes, and the two are mended in different ways.
            Errno::AGAIN => Errno::NOSPC,
            other => other,
        })?;
        rustix::pty::grantpt(&master)?;
        rustix::pty::unlockpt(&master)?;
        let terminal = rustix::pty::ptsname(&master, Vec::new())?;
        let terminal = PathBuf::from(OsStr::from_bytes(terminal.as_bytes()));
        set_size(&master, start.cols, start.rows)?;
        let slave = open_peer(&master)?;
        let untouched = input_modes(&master);
        let image = ExecImage::new(start)?;
        let mut command = Command::new(&start.program);
        command
            .current_dir(&start.cwd)
            .stdin(Stdio::from(slave.try_clone()?))
            .stdout(Stdio::from(slave.try_clone()?))
            .stderr(Stdio::from(slave));
        let given = limits::given();
        let begin = move || {
            become_leader()?;
            set_limit(given.as_ref())?;
            Err(image.execute())
        };
        // SAFETY: these call nothing but async-signal-safe functions and allocate nothing.
        unsafe { command.pre_exec(begin) };
        // This returns when the program was executed, or with the reason why it was not.
        let child = command.spawn()?;
        drop(command);
        let pid = Pid::from_child(&child);
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        rustix::io::ioctl_fionbio(&master, true)?;
        let master = register(master, Interest::READABLE | Interest::WRITABLE)?;
        let pidfd = register(pidfd, Interest::READABLE)?;
        Ok(Pty { master, pidfd, pid, terminal, untouched })
    }

    /// The program's number, which is that of its process group and session too.
    pub fn pid(&self) -> Pid {
        self.pid
    }

    /// The file that is the program's end of it.
    pub fn terminal(&self) -> &Path {
        &self.terminal
    }

    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        self.master.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        self.master.writable().await.map(|mut guard| guard.retain_ready())
    }

    /// Waits until the program has ended.
    pub async fn exited(&self) -> io::Result<()> {
        self.pidfd.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Reads what there is, whether or not the reactor has heard of it.
    pub fn read(&self, buffer: &mut [u8]) -> ReadOutcome {
        read(&self.master, buffer)
    }

    /// Writes what there is room for, and says how much that was.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        write(&self.master, bytes)
    }

    /// How the program ended; must be called once it has, and only once.
    pub fn reap(&self) -> Exit {
        let id = WaitId::PidFd(self.pidfd.get_ref().as_fd());
        match rustix::process::waitid(id, WaitIdOptions::EXITED | WaitIdOptions::NOHANG) {
            Ok(Some(status)) => match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => Exit::Code(code),
                (None, Some(signal)) => Exit::Signal(signal),
                (None, None) => Exit::Unknown,
            },
            _ => Exit::Unknown,
        }
    }

    /// Tells the program and the kernel of a new size.
    pub fn resize(&self, cols: u16, rows: u16) -> io::Result<()> {
        set_size(self.master.get_ref(), cols, rows)
    }

    /// What the terminal does with input now.
    pub fn input_modes(&self) -> InputModes {
        input_modes(self.master.get_ref())
    }

    /// What it did with input before the program was started.
    pub fn untouched_modes(&self) -> InputModes {
        self.untouched
    }

    /// Returns the foreground process group of the terminal.
    pub fn foreground_group(&self) -> Option<i32> {
        let group = rustix::termios::tcgetpgrp(self.master.get_ref()).ok()?;
        Some(group.as_raw_nonzero().get())
    }

    /// Tells whether the program has input that it did not read.
    pub fn has_unread_input(&self) -> bool {
        // The other end is opened only to look, and closed at once.
        let unread = open_peer(self.master.get_ref()).and_then(|peer| unread(&peer));
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

    /// Becomes the program, and returns only if that fails. The C library's `execvp`, which the standard library
    /// uses, would hand a file that the kernel does not take for a program to `sh`, and that says nothing of a mistake.
    fn execute(&self) -> io::Error {
        // SAFETY: a path and two lists that end with null, all of which live as long as `self`.
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

/// Has this process become a program, where it is to start, and returns only if that fails.
pub fn become_program(start: &Start) -> io::Error {
    let image = std::env::set_current_dir(&start.cwd).and_then(|()| ExecImage::new(start));
    match image {
        Ok(image) => {
            reset_signals();
            image.execute()
        }
        Err(error) => error,
    }
}

/// Has a process that is to be started begin with the limits that we were given, and not with what we made of them.
pub(super) fn restore_limits(command: &mut Command) {
    if let Some(given) = limits::given() {
        // SAFETY: the call is one to the kernel and allocates nothing.
        unsafe { command.pre_exec(move || set_limit(Some(&given))) };
    }
}

/// Between fork and exec: the limit of descriptors, if it is to be another.
fn set_limit(limit: Option<&Rlimit>) -> io::Result<()> {
    limit.map_or(Ok(()), |limit| Ok(setrlimit(Resource::Nofile, *limit)?))
}

/// Has the reactor watch a descriptor.
pub(super) fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: an `OwnedFd` returns the same descriptor for as long as it lives, and it is moved into the `AsyncFd`
    // and taken out of it nowhere.
    Ok(unsafe { AsyncFd::register_with_interest(fd, interest)? })
}

/// Reads what there is.
pub(super) fn read(from: &AsyncFd<OwnedFd>, buffer: &mut [u8]) -> ReadOutcome {
    let mut is_asked = false;
    let mut read = from.try_io(Interest::READABLE, |from| {
        is_asked = true;
        Ok(rustix::io::read(from, &mut *buffer)?)
    });
    // Where the reactor was not told yet, it is the kernel that knows: what a program wrote before it began to wait
    // for input must be read by whoever sees that it waits.
    if !is_asked {
        read = rustix::io::read(from.get_ref(), &mut *buffer).map_err(io::Error::from);
    }
    match read {
        Ok(0) => ReadOutcome::Closed,
        Ok(count) => ReadOutcome::Bytes(count),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => ReadOutcome::Drained,
        Err(error) if error.kind() == io::ErrorKind::Interrupted => ReadOutcome::Bytes(0),
        // EIO is the end of file of a terminal.
        Err(_) => ReadOutcome::Closed,
    }
}

/// Writes what there is room for, and says how much that was.
pub(super) fn write(to: &AsyncFd<OwnedFd>, bytes: &[u8]) -> io::Result<usize> {
    match to.try_io(Interest::WRITABLE, |to| Ok(rustix::io::write(to, bytes)?)) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(0),
        written => written,
    }
}

/// How much the program has not read, asked at its end.
pub(super) fn unread(peer: &OwnedFd) -> io::Result<u64> {
    // What was just written is handed on by a worker of the kernel's; a poll waits for it.
    let mut asked = [PollFd::new(peer, PollFlags::IN)];
    rustix::event::poll(&mut asked, Some(&Timespec::default()))?;
    Ok(rustix::io::ioctl_fionread(peer)?)
}

fn set_size(master: &OwnedFd, cols: u16, rows: u16) -> io::Result<()> {
    let size = Winsize { ws_col: cols, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 };
    Ok(rustix::termios::tcsetwinsize(master, size)?)
}

/// What a terminal does with input.
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

/// Opens the program's end, without its becoming our controlling terminal.
fn open_peer(master: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the call takes flags and returns a new descriptor or -1; nothing else is touched.
    let fd = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us, so nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Between fork and exec: the leader of a new session with the terminal as its own, signals as they
/// were at the beginning of time, and no descriptor but 0, 1 and 2.
fn become_leader() -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: each call is async-signal-safe, works on numbers alone, and its failure is looked at
    // where it could matter.
    unsafe {
        if libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    reset_signals();
    // SAFETY: the call is one to the kernel, and works on numbers alone.
    unsafe {
        // Closed by the exec, because the pipe that reports a failed exec is still needed.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
    Ok(())
}

/// Before an exec: signals as they were at the beginning of time. Whoever started us may have ignored or blocked some, as our
/// own runtime does, and both would be inherited.
fn reset_signals() {
    // SAFETY: each call is async-signal-safe and works on numbers alone. Asked of the kernel itself, because the C library
    // keeps two for itself and refuses them.
    unsafe {
        let default: [usize; 4] = [libc::SIG_DFL; 4];
        for signal in 1..=64 {
            let none = std::ptr::null_mut::<usize>();
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, size_of::<u64>());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
