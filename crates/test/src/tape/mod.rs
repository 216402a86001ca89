//! Parses tapes: scripts for terminal programs in the grammar of VHS, with assertions.
//!
//! [`parse`] makes a [`Tape`] of text, or returns all errors with their positions. docs/tapes.md has the grammar.
//!
//! ```
//! use awaitty_test::tape::{self, Action};
//!
//! let load = |_: &str| Err(std::io::ErrorKind::NotFound.into());
//! let tape = tape::parse("Type \"ls\" Enter\nExpect@5s /README/", &load).expect("it is valid");
//! assert!(matches!(tape.commands[2].action, Action::Expect { .. }));
//!
//! let errors = tape::parse("Expct /README/", &load).expect_err("the command is not known");
//! let text = "1:1: the command \"Expct\" is not known: did you mean `Expect`?";
//! assert_eq!(errors[0].to_string(), text);
//! ```

mod check;
mod command;
mod format;
mod keys;
mod parser;
mod pattern;
mod scan;
mod settings;
mod suggest;
mod theme;
mod values;

pub use command::{
    Action, Command, Expectation, KeyPress, OutputFormat, Position, ScreenshotFormat, Scroll,
    Setting, Tape, TapeError, TapeKey, WaitScope, Warning, WarningKind, WindowBar,
};
pub use parser::{ERRORS_MAX, SOURCES_MAX, TAPE_MAX, parse};
pub use pattern::{Regex, RegexError};
pub use settings::{FACTOR_MAX, FRAMERATE_MAX, PIXELS_MAX};
pub use theme::{Rgb, Theme, ThemeColors};
pub use values::{COUNT_MAX, SCREEN_NAME_MAX, TIME_MAX};
