//! Tests terminal programs: assertions that wait, golden screens, tapes and traces.

pub use awaitty_terminal as terminal;

pub mod cast;
pub mod replay;
pub mod tape;
pub mod trace;
