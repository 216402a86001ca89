//! The seam to the operating system: processes and their exits, foreground jobs, private files, limits of file
//! descriptors.
//!
//! Everything that only one operating system offers is below this module. `docs/porting.md` says what a port provides.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64")
)))]
compile_error!(
    "awaitty-terminal supports Linux on x86-64, aarch64 and riscv64 only. A port to another system provides the modules of \
     crates/terminal/src/platform/linux for it (child, exit_watch, files, foreground, leaders, leaks, limits, orphans, peers, \
     proc, processes, threads); a port to another architecture adds its system call numbers to threads.rs. \
     docs/porting.md describes each module"
);
