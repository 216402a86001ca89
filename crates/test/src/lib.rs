//! Tests terminal programs: assertions that wait, golden screens, tapes and traces.
//!
//! ```no_run
//! use awaitty_test::{assert_screen, exit, selected, text};
//!
//! # fn main() -> Result<(), awaitty_test::Failure> {
//! let t = awaitty_test::program("my-menu").size(80, 24).start()?;
//! t.expect(text("Main menu"))?;
//! t.press("down")?.expect(selected("Two"))?;
//! assert_screen!(t, "menu", mask = [r"\d\d:\d\d"]);
//! t.press("q")?.expect(exit(0))?;
//! # Ok(())
//! # }
//! ```
//!
//! [`bin!`] starts a binary of the package under test, [`program`] another program, and [`shell`] a shell, each in an
//! environment that is the same on every machine ([`Builder`]). A [`Terminal`] takes input and waits for an
//! [`Expectation`]. By default an expectation counts only what happened since the last input, so stale text and the
//! echo of the input do not match. There is nothing to sleep for.
//!
//! A [`Failure`] shows the expectation, the screen, what changed since the last input, and the line of the test. No
//! process outlives a test: a process that would is killed and fails the test ([`Terminal::close`]).
//!
//! The API blocks, and needs no runtime and no daemon. Tests may run in parallel, as threads or as processes. In an
//! async test, call it on a thread for blocking work (`tokio::task::spawn_blocking`).
//!
//! # Environment variables
//!
//! | variable | effect |
//! | --- | --- |
//! | [`AWAITTY_TEST_TRACE`](MODE_VARIABLE) | `on`, `retain-on-failure` (default) or `off`: when traces are written |
//! | [`AWAITTY_TEST_TRACES`](DIRECTORY_VARIABLE) | their directory; default `target/awaitty-traces` |
//! | [`AWAITTY_TEST_SLOW`](SLOW_VARIABLE) | `1` disturbs the timing, to show that no test depends on it |
//! | [`AWAITTY_TEST_SEED`](SEED_VARIABLE) | the seed that a failure in slow mode printed, to repeat its timing |

pub use awaitty_terminal as terminal;
pub use awaitty_terminal::core::{Color, Frame};
pub use awaitty_terminal::{WaitRequest, WaitResult};
#[doc(hidden)]
pub use insta;

mod builder;
pub mod burners;
pub mod cast;
mod command;
mod ending;
mod expectation;
mod failure;
mod golden;
mod handle;
pub mod hermetic;
mod judge;
mod place;
pub mod replay;
pub mod runner;
mod screen;
mod slow;
mod steps;
mod style;
pub mod tape;
pub mod trace;
mod traces;

pub use builder::{Builder, SIZE, TIMEOUT};
pub use command::CommandResult;
pub use expectation::{
    Expectation, SETTLED, cursor, cursor_row, exit, gone, ready, selected, settled, styled, text,
    title,
};
pub use failure::Failure;
pub use golden::Golden;
pub use handle::{COMMAND_TIMEOUT, Terminal};
pub use slow::{SEED_VARIABLE, SLOW_VARIABLE};
pub use style::{Style, color};
pub use traces::{DIRECTORY_VARIABLE, MODE_VARIABLE, TraceMode};

/// Returns a builder for a program, by its path or its name in [`hermetic::PATH`].
pub fn program(program: impl Into<String>) -> Builder {
    Builder::new(program)
}

/// Returns a builder for a shell: bash, zsh, fish or sh. [`Terminal::run`] runs commands in it.
pub fn shell(shell: impl Into<String>) -> Builder {
    Builder::new(shell)
}

/// Returns a builder for a binary of the package under test, by its name.
///
/// ```ignore
/// let t = awaitty_test::bin!("myapp").start()?;
/// ```
#[macro_export]
macro_rules! bin {
    ($name:literal) => {
        $crate::Builder::new(env!(concat!("CARGO_BIN_EXE_", $name)))
    };
}
