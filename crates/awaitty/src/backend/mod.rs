//! Where terminals come from, and how what runs in them is ended.

pub mod foreground;
pub mod processes;
pub mod pty;
