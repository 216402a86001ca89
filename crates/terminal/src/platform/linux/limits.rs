//! The limit of file descriptors: the hard limit for this process, and the inherited limit for the programs that it
//! starts.
//!
//! A terminal takes two file descriptors, and most systems set a soft limit of 1024. Programs keep that limit, because
//! some use `select`, which cannot handle larger numbers, and some close every possible file descriptor one by one.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The inherited limit, if this process has raised its own.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit to the hard limit. For a server at its start; a library must not change its host's limit.
pub fn raise_descriptors() {
    let inherited = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: inherited.maximum, ..inherited };
    // If it fails, the server has fewer file descriptors, and a spawn that finds none left returns an error.
    if raised.current != inherited.current && setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = INHERITED.set(inherited);
    }
}

/// Returns the limit for programs, if it differs from our own.
pub(crate) fn inherited() -> Option<Rlimit> {
    INHERITED.get().copied()
}
