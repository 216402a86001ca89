//! Files and memory with guarantees that only the kernel can give: paths that stay below a directory, notifications of
//! writes, memory that other processes of the user cannot read.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::fs::{MemfdFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use rustix::process::DumpableBehavior;

/// Creates a file of mode 0600 at a path below a directory. The kernel enforces that the path stays below the directory
/// and contains no symbolic link, without a race.
///
/// # Errors
/// `EEXIST` if there is a file, `ELOOP` or `EXDEV` if the path contains a link or leaves the directory.
pub fn create_beneath(directory: impl AsFd, path: &Path) -> Result<File, Errno> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mode = Mode::RUSR | Mode::WUSR;
    rustix::fs::openat2(directory, path, flags, mode, resolve).map(File::from)
}

/// Creates a file that exists only in memory, and whose file descriptor an exec keeps open.
///
/// # Errors
/// If no file descriptor or no memory is left.
pub fn memory_file(name: &str) -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create(name, MemfdFlags::empty())?))
}

/// Returns a path that opens a file descriptor of this process again, with its own offset and flags.
pub fn descriptor_path(fd: RawFd) -> PathBuf {
    format!("/proc/self/fd/{fd}").into()
}

/// Returns a file descriptor that becomes readable when a process writes to a file or terminal. Each write is one
/// event, and reading takes the events.
///
/// # Errors
/// If the file does not exist, or no file descriptor is left.
pub fn watch_writes(path: &Path) -> io::Result<OwnedFd> {
    let written = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    inotify::add_watch(&written, path, WatchFlags::MODIFY)?;
    Ok(written)
}

/// Prevents other processes of the same user from reading the memory and the file descriptors of this process.
///
/// # Errors
/// If the kernel refuses.
pub fn hide_memory() -> io::Result<()> {
    Ok(rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)?)
}
