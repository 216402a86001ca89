//! Linux: `/proc`, pidfds, the child subreaper and resource limits.

pub mod foreground;
pub mod leaders;
pub mod limits;
pub mod orphans;
pub mod processes;
mod threads;
