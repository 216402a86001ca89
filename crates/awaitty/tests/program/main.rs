//! The program itself: `awaitty mcp`, the daemon and the command line, as processes.
#![expect(clippy::unwrap_used, reason = "a test may say what it takes for granted")]

mod agree;
mod channels;
mod client;
mod daemon;
mod flags;
mod fuzz;
mod http;
mod mcp;
mod names;
mod page;
mod panes;
mod people;
mod recordings;
mod texts;
