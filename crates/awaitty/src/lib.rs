//! awaitty drives terminal programs and knows when something happened.
//!
//! [`Awaitty`] starts programs, [`Session`] is one of them; [`blocking`] has the same without a runtime. Every
//! capability is a tool: one file in [`tools`], the same for an MCP client ([`mcp`]), for the command line
//! ([`cli`], over the [`daemon`]'s socket) and for the library. [`sessions`] holds the terminals, [`driver`] is
//! the task of one, [`backend`] where it comes from. What a wait means is decided in `awaitty-core`, which does
//! no I/O.

pub mod access;
pub mod api;
pub mod blocking;
pub mod cli;
pub mod client;
pub mod daemon;
pub mod demo;
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

pub use api::{Answer, Awaitty, Session};
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

/// Says something to whoever reads the log: standard error, since standard output is the protocol's.
#[expect(clippy::print_stderr, reason = "the one place that logs")]
pub fn log(message: &str) {
    eprintln!("awaitty: {message}");
}
