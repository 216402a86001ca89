//! Tests of the Rust API with a full-screen menu, shells and small scripts.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod children;
mod expectations;
mod failures;
mod goldens;
mod input;
mod leaks;
mod shells;
mod slow;
mod traces;

use awaitty_test::{Builder, Terminal, TraceMode, program, text};

/// Returns a builder for the menu in `tests/programs`.
fn menu_builder() -> Builder {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/menu.py");
    program("python3").arg(script).size(40, 10).trace(TraceMode::Off)
}

/// Starts the menu and waits for its first screen.
#[track_caller]
fn menu() -> Terminal {
    let t = menu_builder().start().unwrap();
    t.expect(text(r"\? keys")).unwrap();
    t
}

/// Starts a POSIX shell script.
#[track_caller]
fn script(script: &str) -> Terminal {
    program("sh").args(["-c", script]).size(40, 10).trace(TraceMode::Off).start().unwrap()
}
