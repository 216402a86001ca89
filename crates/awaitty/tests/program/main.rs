//! Tests of the `awaitty` binary: `awaitty mcp`, `awaitty serve`, the daemon and the command line, as processes.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod agree;
mod channels;
mod client;
mod daemon;
mod exports;
mod flags;
mod fuzz;
mod http;
mod mcp;
mod names;
mod page;
mod panes;
mod people;
mod recordings;
mod tapes;
mod texts;
mod traces;
