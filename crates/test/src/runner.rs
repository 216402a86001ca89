//! Runs tapes: as tests that stop at the first step that fails, or as demos with pauses between keystrokes.

mod goldens;
mod set_up;
mod steps;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use awaitty_terminal::core::Frame;

use crate::TraceMode;
use crate::tape::{Position, ScreenshotFormat, Tape};

/// What a tape is run for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A test. Typing has no pauses.
    Test {
        /// Golden screens that differ or are missing are written.
        update: bool,
    },
    /// A demo. Keys follow each other at the typing speed of the tape.
    Play,
}

/// Options of a run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What the tape is run for.
    pub mode: Mode,
    /// Columns and rows of the terminal, where the tape does not set them.
    pub size: (usize, usize),
    /// The seed of a random disturbance of the timing, if any.
    pub seed: Option<u64>,
    /// When a trace is kept.
    pub trace: TraceMode,
    /// The path of the page of the trace.
    pub trace_path: PathBuf,
    /// The new file of the recording. Default: a temporary one.
    pub recording: Option<PathBuf>,
}

/// The result of a run.
#[derive(Debug, Default)]
pub struct TapeRun {
    /// The step that failed, if one did.
    pub failure: Option<TapeFailure>,
    /// The golden screens that were written.
    pub written: Vec<PathBuf>,
    /// The screens of `Screenshot` commands. Rendering them is left to the caller.
    pub screenshots: Vec<Screenshot>,
}

/// A step of a tape that failed.
#[derive(Clone, Debug)]
pub struct TapeFailure {
    /// The position of the command.
    pub position: Position,
    /// The command.
    pub source: String,
    /// The report: what was expected, why the wait ended, and the screen.
    pub report: String,
    /// The path of the trace, if one was kept.
    pub trace: Option<PathBuf>,
    /// The seed of the disturbance, if there was one.
    pub seed: Option<u64>,
}

/// The screen of a `Screenshot` command.
#[derive(Clone, Debug)]
pub struct Screenshot {
    /// The path of the picture.
    pub path: String,
    /// The format.
    pub format: ScreenshotFormat,
    /// The screen.
    pub frame: Arc<Frame>,
}

/// Markers in the recording of a tape.
pub mod markers {
    /// What follows is left out of the outputs (`Hide`).
    pub const HIDE: &str = "tape hide";
    /// What follows is in the outputs (`Show`).
    pub const SHOW: &str = "tape show";
}

/// Runs a tape. Paths in it are relative to the working directory; its golden screens are beside it. The program and
/// everything that it started is ended before this returns.
pub fn run(path: &Path, tape: &Tape, options: &RunOptions) -> TapeRun {
    let mut run = TapeRun::default();
    run.failure = steps::Runner::run(path, tape, options, &mut run).err();
    run
}
