//! Where the bytes of a terminal come from and go to.

pub mod line;
pub mod pty;
pub mod tmux;

use std::io;

use pty::{InputModes, Pty, ReadEnd};
use tmux::Pane;

/// Where a terminal's bytes come from and go to.
#[derive(Debug)]
pub enum Io {
    /// A program that we started.
    Pty(Pty),
    /// A pane of a tmux server.
    Pane(Box<Pane>),
}

impl Io {
    /// Waits until there is something to read.
    pub async fn readable(&self) -> io::Result<()> {
        match self {
            Io::Pty(pty) => pty.readable().await,
            Io::Pane(pane) => pane.readable().await,
        }
    }

    /// Waits until there is room to write.
    pub async fn writable(&self) -> io::Result<()> {
        match self {
            Io::Pty(pty) => pty.writable().await,
            Io::Pane(pane) => pane.writable().await,
        }
    }

    /// Waits until the first process has ended.
    pub async fn exited(&self) -> io::Result<()> {
        match self {
            Io::Pty(pty) => pty.exited().await,
            Io::Pane(pane) => pane.exited().await,
        }
    }

    /// Reads what there is.
    pub fn read(&self, buffer: &mut [u8]) -> ReadEnd {
        match self {
            Io::Pty(pty) => pty.read(buffer),
            Io::Pane(pane) => pane.read(buffer),
        }
    }

    /// Writes what there is room for, and says how much that was.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Io::Pty(pty) => pty.write(bytes),
            Io::Pane(pane) => pane.write(bytes),
        }
    }

    /// What the terminal does with input now.
    pub fn input_modes(&self) -> InputModes {
        match self {
            Io::Pty(pty) => pty.input_modes(),
            Io::Pane(pane) => pane.input_modes(),
        }
    }

    /// Returns the foreground process group of the terminal. The programs of a pane belong to the user as well, so the
    /// group of a pane is no evidence.
    pub fn foreground_group(&self) -> Option<i32> {
        match self {
            Io::Pty(pty) => pty.foreground_group(),
            Io::Pane(_) => None,
        }
    }

    /// Tells whether the program has input that it did not read.
    pub fn has_unread_input(&self) -> bool {
        match self {
            Io::Pty(pty) => pty.has_unread_input(),
            Io::Pane(pane) => pane.has_unread_input(),
        }
    }
}
