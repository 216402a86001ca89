//! Error messages for programs that could not be started: the errno, its meaning and the next step.

use std::io;

use rustix::io::Errno;

use super::SpawnSpec;
use crate::error::ToolError;

/// Returns the error of a `spawn` that failed in the kernel.
pub(super) fn spawn_failed(spec: &SpawnSpec, error: &io::Error) -> ToolError {
    let name = &spec.argv[0];
    ToolError::new("spawn_failed", format!("{name:?} could not be started: {}", describe(error)))
}

fn describe(error: &io::Error) -> String {
    let text = match error.raw_os_error().map(Errno::from_raw_os_error) {
        // The file itself exists: that was checked before.
        Some(Errno::NOENT) => {
            "ENOENT, no such file or directory: check that the interpreter in its first line exists"
        }
        Some(Errno::ACCESS) => "EACCES, permission denied: it is not executable",
        Some(Errno::NOEXEC) => {
            "ENOEXEC, not a program: check that its first line names an interpreter"
        }
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
    text.to_owned()
}
