//! awaitty drives terminal programs and knows when something happened.
//!
//! [`Awaitty`] starts programs, [`Session`] is one of them; [`blocking`] has the same without a runtime. Every
//! capability is a tool: one file in [`tools`], the same for an MCP client ([`mcp`]), for the command line
//! ([`cli`], over the [`daemon`]'s socket) and for the library. [`sessions`] holds the terminals, [`driver`] is
//! the task of one, [`backend`] where it comes from. What a wait means is decided in `awaitty-core`, which does
//! no I/O.

pub mod access;
pub mod api;
pub mod backend;
pub mod blocking;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod demo;
pub mod driver;
pub mod error;
pub mod files;
pub mod http;
pub mod mcp;
pub mod operator;
pub mod people;
pub mod policy;
pub mod proxy;
pub mod record;
pub mod render;
pub mod secrets;
pub mod sessions;
pub mod shell;
pub mod signals;
pub mod socket;
pub mod text;
pub mod tools;

pub use api::{Awaitty, CallResult, Session};
pub use error::ToolError;

/// Says something to whoever reads the log: standard error, since standard output is the protocol's.
#[expect(clippy::print_stderr, reason = "the one place that logs")]
pub fn log(message: &str) {
    eprintln!("awaitty: {message}");
}
