//! Drives interactive terminal programs and knows when something happened.
//!
//! [`Terminals`](terminals::Terminals) starts programs in PTYs or attaches to tmux panes. Each terminal is a task
//! ([`terminal`]) that owns a parsed screen (`awaitty-core`) and its [`io`]. Calls run as closures on that task, so
//! checking a condition and registering a wait are one step. [`platform`] is the only place with OS-specific calls.

pub mod channels;
pub mod error;
pub mod io;
pub mod limits;
pub mod people;
pub mod platform;
pub mod record;
pub mod rules;
pub mod runtime;
pub mod shell;
pub mod terminal;
pub mod terminals;
pub mod text;
pub mod workers;

pub use error::ToolError;
