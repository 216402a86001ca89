//! The I/O of a terminal: a PTY or a tmux pane.

pub mod disturbance;
#[cfg(test)]
pub(crate) mod fake;
pub mod line;
pub mod pty;
pub mod tmux;

use std::io;

use pty::{InputModes, Pty, ReadOutcome};
use rustix::process::Pid;
use tmux::Pane;

use crate::platform::foreground::{self, Foreground};
use crate::platform::proc;

/// The source of a terminal's output and the destination of its input.
#[derive(Debug)]
pub enum Io {
    /// The PTY of a program that awaitty started.
    Pty(Pty),
    /// A pane of a tmux server.
    Pane(Box<Pane>),
    /// A fake terminal for tests.
    #[cfg(test)]
    Fake(fake::FakeIo),
}

impl Io {
    /// Waits until there is output to read.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Io::Pty(pty) => pty.readable().await,
            Io::Pane(pane) => pane.readable().await,
            #[cfg(test)]
            Io::Fake(fake) => fake.readable().await,
        }
    }

    /// Waits until there is room to write input.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Io::Pty(pty) => pty.writable().await,
            Io::Pane(pane) => pane.writable().await,
            #[cfg(test)]
            Io::Fake(fake) => fake.writable().await,
        }
    }

    /// Waits until the first process has ended.
    pub async fn exited(&self) -> io::Result<()> {
        match self {
            Io::Pty(pty) => pty.exited().await,
            Io::Pane(pane) => pane.exited().await,
            #[cfg(test)]
            Io::Fake(fake) => fake.exited().await,
        }
    }

    /// Reads available output.
    pub fn read(&self, buffer: &mut [u8]) -> ReadOutcome {
        match self {
            Io::Pty(pty) => pty.read(buffer),
            Io::Pane(pane) => pane.read(buffer),
            #[cfg(test)]
            Io::Fake(fake) => fake.read(buffer),
        }
    }

    /// Writes as many bytes as there is room for and returns their number.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Io::Pty(pty) => pty.write(bytes),
            Io::Pane(pane) => pane.write(bytes),
            #[cfg(test)]
            Io::Fake(fake) => fake.write(bytes),
        }
    }

    /// Returns the terminal's current input modes.
    pub fn input_modes(&self) -> InputModes {
        match self {
            Io::Pty(pty) => pty.input_modes(),
            Io::Pane(pane) => pane.input_modes(),
            #[cfg(test)]
            Io::Fake(fake) => fake.input_modes(),
        }
    }

    /// Returns the foreground process group of the terminal. Returns `None` for a pane: the user may run programs in
    /// it, so its foreground group is no evidence.
    pub fn foreground_group(&self) -> Option<i32> {
        match self {
            Io::Pty(pty) => pty.foreground_group(),
            Io::Pane(_) => None,
            #[cfg(test)]
            Io::Fake(_) => None,
        }
    }

    /// Returns whether the program has unread input.
    pub fn has_unread_input(&self) -> bool {
        match self {
            Io::Pty(pty) => pty.has_unread_input(),
            Io::Pane(pane) => pane.has_unread_input(),
            #[cfg(test)]
            Io::Fake(fake) => fake.has_unread_input(),
        }
    }

    /// Returns the foreground job of the terminal. `leader` is the PID of the session leader.
    pub fn foreground(&self, leader: Pid) -> Option<Foreground> {
        match self {
            Io::Pty(pty) => {
                let foreground = foreground::probe(leader, &self.input_modes());
                // The program may be at rest, but its screen is not complete yet.
                foreground.map(|job| if pty.holds_output() { job.into_busy() } else { job })
            }
            Io::Pane(_) => foreground::probe(leader, &self.input_modes()),
            #[cfg(test)]
            Io::Fake(fake) => Some(fake.foreground()),
        }
    }

    /// Returns whether the session leader is running or runnable, or has ended.
    pub fn is_running(&self, leader: Pid) -> bool {
        match self {
            Io::Pty(_) | Io::Pane(_) => proc::is_running(leader),
            #[cfg(test)]
            Io::Fake(fake) => fake.is_running(),
        }
    }
}
