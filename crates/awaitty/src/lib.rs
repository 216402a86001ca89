//! awaitty drives terminal programs and knows when something happened.
//!
//! Every capability is a tool: one file in [`tools`], the same for an MCP client and, later, for the
//! command line. [`sessions`] holds the terminals, [`driver`] is the task of one, [`backend`] where it
//! comes from. What a wait means is decided in `awaitty-core`, which does no I/O.

pub mod backend;
pub mod demo;
pub mod driver;
pub mod error;
pub mod mcp;
pub mod policy;
pub mod sessions;
pub mod text;
pub mod tools;
