//! The state of a new process between fork and exec, and the program's end of a PTY.
//!
//! Together with `io/pty.rs` the only code with `unsafe`.
#![expect(unsafe_code, reason = "ioctl and rt_sigaction have no safe form for these requests")]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Number of the last signal of the kernel.
const SIGNAL_MAX: i32 = 64;

/// Opens the program's end of a PTY. It does not become the controlling terminal of this process.
///
/// # Errors
/// If no file descriptor is left.
pub(crate) fn open_peer(master: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the request takes flags, and returns a new file descriptor or -1. It accesses no memory.
    let fd = unsafe { libc::ioctl(master.as_raw_fd(), libc::TIOCGPTPEER, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created this file descriptor, so it has no other owner.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Makes a forked child the leader of a new session with standard input as its controlling terminal, resets its
/// signals, and marks all file descriptors except 0, 1 and 2 as close-on-exec. Async-signal-safe.
///
/// # Errors
/// If the terminal cannot become the controlling terminal.
pub(crate) fn become_leader() -> io::Result<()> {
    rustix::process::setsid()?;
    // SAFETY: the request is async-signal-safe and accesses no memory.
    unsafe {
        if libc::ioctl(0, libc::TIOCSCTTY, 0) < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    reset_signals();
    // SAFETY: the system call is async-signal-safe and accesses no memory.
    unsafe {
        // Not closed at once, because the standard library reports a failed exec through a pipe.
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
    }
    Ok(())
}

/// Sets all signals to their default dispositions and unblocks them, before an exec: ignored and blocked signals are
/// inherited. Async-signal-safe.
pub(crate) fn reset_signals() {
    // SAFETY: the calls are async-signal-safe. The kernel reads the array and the mask, which outlive the calls. The
    // system call is used because the C library reserves two signals and refuses to change them.
    unsafe {
        let default: [usize; 4] = [libc::SIG_DFL; 4];
        for signal in 1..=SIGNAL_MAX {
            let none = std::ptr::null_mut::<usize>();
            libc::syscall(libc::SYS_rt_sigaction, signal, default.as_ptr(), none, size_of::<u64>());
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, std::ptr::null_mut());
    }
}
