//! The seam to the operating system: process tables, exits, foreground jobs, descriptor limits.
//!
//! Everything that only one operating system offers is below this module. `docs/porting.md` says what a port provides.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(target_os = "linux")]
pub use linux::*;

#[cfg(not(target_os = "linux"))]
compile_error!(
    "awaitty-terminal supports Linux only: a port provides the modules of crates/terminal/src/platform/linux \
     (foreground, leaders, limits, orphans, processes, threads) for this target; docs/porting.md lists them"
);
