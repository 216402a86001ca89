//! awaitty drives terminal programs and knows when something happened.
//!
//! Every capability is a tool: one file in [`tools`], the same for an MCP client and, later, for the
//! command line. [`sessions`] holds the terminals, [`driver`] is the task of one, [`backend`] where it
//! comes from. What a wait means is decided in `awaitty-core`, which does no I/O.

pub mod backend;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod demo;
pub mod driver;
pub mod error;
pub mod mcp;
pub mod policy;
pub mod proxy;
pub mod sessions;
pub mod signals;
pub mod socket;
pub mod text;
pub mod tools;

/// Says something to whoever reads the log: standard error, since standard output is the protocol's.
#[expect(clippy::print_stderr, reason = "the one place that logs")]
pub fn log(message: &str) {
    eprintln!("awaitty: {message}");
}
