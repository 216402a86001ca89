//! Linux: `/proc`, pidfds, inotify, the child subreaper, files beneath a directory and resource limits.

pub(crate) mod child;
pub mod exit_watch;
pub mod files;
pub mod foreground;
pub mod leaders;
pub mod leaks;
pub mod limits;
pub mod orphans;
pub mod peers;
pub mod proc;
pub mod processes;
mod threads;
