//! Watches for the exit of a process, with a pidfd: it stays valid when the kernel reuses the PID.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use awaitty_core::Exit;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags, Signal, WaitId, WaitIdOptions};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::io::pty;

/// Watches one process.
#[derive(Debug)]
pub struct ExitWatch {
    pidfd: AsyncFd<OwnedFd>,
}

impl ExitWatch {
    /// Watches a process that is not reaped yet.
    ///
    /// # Errors
    /// If no file descriptor is left.
    pub fn new(pid: Pid) -> io::Result<ExitWatch> {
        let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
        Ok(ExitWatch { pidfd: pty::register(pidfd, Interest::READABLE)? })
    }

    /// Waits until the process has exited.
    ///
    /// # Errors
    /// If the runtime is shutting down.
    pub async fn exited(&self) -> io::Result<()> {
        self.pidfd.readable().await.map(|mut guard| guard.retain_ready())
    }

    /// Reaps a child that has exited, and returns its exit status. Called once.
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
}

/// Sends SIGTERM to a process that is no child of this one, and blocks until it has exited.
///
/// # Errors
/// If the process does not exist, or the signal is not permitted.
pub fn terminate(pid: Pid) -> io::Result<()> {
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    rustix::process::pidfd_send_signal(&pidfd, Signal::TERM)?;
    let mut polled = [PollFd::new(&pidfd, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None))?;
    Ok(())
}

/// Blocks until a process exits, or a file descriptor is readable or at EOF. Returns whether the process has exited.
///
/// # Errors
/// If the process does not exist, or no file descriptor is left.
pub fn exits_before_input(pid: Pid, input: impl AsFd) -> io::Result<bool> {
    let pidfd = rustix::process::pidfd_open(pid, PidfdFlags::empty())?;
    let mut polled = [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
    rustix::io::retry_on_intr(|| rustix::event::poll(&mut polled, None))?;
    Ok(!polled[0].revents().is_empty())
}
