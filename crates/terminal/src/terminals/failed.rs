//! Why a program could not be started, in words: the name of the error that people search for, and the next step.

use std::io;

use rustix::io::Errno;

use super::SpawnSpec;
use crate::error::ToolError;

/// The answer to a `spawn` that the kernel refused.
pub(super) fn spawn_failed(spec: &SpawnSpec, error: &io::Error) -> ToolError {
    let name = &spec.argv[0];
    ToolError::new("spawn_failed", format!("{name:?} could not be started: {}", say(error)))
}

fn say(error: &io::Error) -> String {
    let name = match error.raw_os_error().map(Errno::from_raw_os_error) {
        // That the file itself is there was looked at before.
        Some(Errno::NOENT) => {
            "ENOENT, no such file or directory: is there what its first line names as interpreter?"
        }
        Some(Errno::ACCESS) => "EACCES, permission denied: it is not executable",
        Some(Errno::NOEXEC) => "ENOEXEC, not a program: does its first line name an interpreter?",
        Some(Errno::TOOBIG) => "E2BIG, the arguments and the environment are too long",
        Some(Errno::AGAIN) => {
            "EAGAIN, the limit of processes is reached: close some sessions, or raise `ulimit -u`"
        }
        Some(Errno::NOMEM) => "ENOMEM, no memory is left: close some sessions",
        Some(Errno::NFILE) => "ENFILE, the machine has too many open files: close some sessions",
        Some(Errno::MFILE) => "EMFILE, too many open files: close some sessions",
        Some(Errno::NOSPC) => {
            "ENOSPC, no pseudo-terminal is left: close some sessions, here or elsewhere"
        }
        _ => return error.to_string(),
    };
    name.to_owned()
}
