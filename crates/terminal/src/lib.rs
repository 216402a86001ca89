//! Drives interactive terminal programs in PTYs and waits for their output and state.
//!
//! [`Terminals`] starts programs in PTYs or attaches to tmux panes. A [`Terminal`] takes input and runs waits. A
//! [`WaitRequest`] has conditions. By default they count only what was drawn after the last input, so stale text and
//! the echo of the input do not match. A [`WaitResult`] has the screen and the state of the program at the end of the
//! wait. [`blocking`] has the same calls for programs without a Tokio runtime.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), awaitty_terminal::ToolError> {
//! use std::sync::Arc;
//! use awaitty_terminal::{SpawnSpec, Terminals, WaitRequest};
//!
//! let menu = r"printf 'Choose:\n  One\n\033[7m  Two\033[m\n'; read key; exit 3";
//! let terminals = Arc::new(Terminals::default());
//! let terminal = terminals.open(SpawnSpec::new(["sh", "-c", menu])).await?;
//! let shown = terminal.wait(WaitRequest::text("Two")?).await?.met()?;
//! assert_eq!(shown.selected().as_deref(), Some("Two"));
//! let exited = terminal.press_and_wait("enter", WaitRequest::exit()).await?;
//! assert_eq!(exited.exit_code(), Some(3));
//! # terminals.shut_down().await;
//! # Ok(())
//! # }
//! ```
//!
//! Each terminal is a task ([`terminal`]) that owns a parsed screen (`awaitty-core`) and its [`io`]. Calls run as
//! closures on that task, so checking a condition and registering a wait are one step. [`platform`] is the only place
//! with calls that only Linux has; the rest needs POSIX.

pub mod blocking;
pub mod channels;
pub mod diagnosis;
pub mod error;
mod handle;
pub mod io;
pub mod judged;
pub mod keyboard;
pub mod limits;
pub mod people;
pub mod platform;
pub mod record;
mod rest;
pub mod rules;
pub mod run;
pub mod runtime;
pub mod shell;
pub mod terminal;
pub mod terminals;
pub mod text;
pub mod wait;
pub mod workers;

pub use awaitty_core as core;
pub use error::ToolError;
pub use handle::Terminal;
pub use terminals::{Config, SpawnSpec, Terminals};
pub use wait::{WaitRequest, WaitResult};
