//! Traces: one HTML file per test with its steps, frames and waits.

mod step;

pub use step::{Kind, Place, Step, Verdict};
