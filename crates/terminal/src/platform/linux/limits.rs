//! Descriptors: as many as the machine lets us have for us, and as many as were given to us for what we start.
//!
//! A session takes two, and a soft limit of 1 024 is what most systems give. Programs must not see more than that unless
//! they ask: some use `select`, which cannot count further, and some close all there could be, one by one.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// What we were started with, once it was raised.
static GIVEN: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit to the hard one. It is for a server that starts, and not for a library, whose process is another's.
pub fn raise_descriptors() {
    let given = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: given.maximum, ..given };
    // A server that may not goes on with fewer: a spawn that finds none says so.
    if raised.current != given.current && setrlimit(Resource::Nofile, raised).is_ok() {
        let _ = GIVEN.set(given);
    }
}

/// The limit that programs are to have, if it is another than ours.
pub(crate) fn given() -> Option<Rlimit> {
    GIVEN.get().copied()
}
