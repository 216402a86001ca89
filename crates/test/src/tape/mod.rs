//! Parses tapes: scripts for terminal programs in the grammar of VHS, with assertions.

mod command;
mod regex;
mod theme;

pub use command::{
    Action, Command, Expectation, KeyPress, OutputFormat, Position, ScreenshotFormat, Scroll,
    Setting, Tape, TapeError, TapeKey, WaitScope, Warning, WarningKind, WindowBar,
};
pub use regex::Regex;
pub use theme::{Rgb, Theme, ThemeColors};
