//! Traces: one HTML file per test with its steps, frames and waits.
