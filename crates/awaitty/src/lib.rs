//! The awaitty server and command line.
//!
//! Every capability is a tool: one file in [`tools`], the same for an MCP client ([`mcp`]), for the command line
//! ([`cli`], over the [`daemon`]'s socket) and for [`Awaitty`], which calls the tools from the same process with JSON.
//! The typed library is `awaitty-terminal`. `awaitty-core` defines the waits and does no I/O.

pub mod access;
pub mod api;
pub mod blocking;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod demo;
mod export;
pub mod files;
pub mod http;
pub mod mcp;
pub mod operator;
pub mod policy;
pub mod proxy;
pub mod record;
pub mod render;
pub mod secrets;
pub mod server;
pub mod sessions;
pub mod socket;
pub mod text;
pub mod tools;

pub use api::{Awaitty, CallResult, Session};
pub use awaitty_terminal::ToolError;

/// Sends the log of the libraries to standard error.
pub fn log_to_stderr() {
    struct ToStderr;
    impl log::Log for ToStderr {
        fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
            metadata.level() <= log::Level::Warn && metadata.target().starts_with("awaitty")
        }

        fn log(&self, record: &log::Record<'_>) {
            if self.enabled(record.metadata()) {
                crate::log(&record.args().to_string());
            }
        }

        fn flush(&self) {}
    }
    if log::set_logger(&ToStderr).is_ok() {
        log::set_max_level(log::LevelFilter::Warn);
    }
}

/// Writes a message to the log on standard error. Standard output is reserved for the protocol.
#[expect(clippy::print_stderr, reason = "the one place that logs")]
pub fn log(message: &str) {
    eprintln!("awaitty: {message}");
}
