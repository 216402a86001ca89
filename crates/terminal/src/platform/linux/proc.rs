//! What `/proc` shows of a process.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::{fs, str};

use rustix::process::Pid;

/// Bytes that one read of a file in `/proc` asks for: more than a line of `stat` has. The kernel reports 0 as the size
/// of these files, so `std::fs::read` asks for 32 bytes, then for 64, and so on.
const READ_SIZE: usize = 2048;

/// Reads a file in `/proc`.
pub(super) fn read(path: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(READ_SIZE);
    // Without a limit, `File` would ask for the size.
    fs::File::open(path)?.take(u64::MAX).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads a file in `/proc` as text.
pub(super) fn read_text(path: &str) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(io::Error::other)
}

/// A process in the process table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) is_zombie: bool,
    /// Its start time, in the kernel's ticks since the boot.
    pub(super) start_time: u64,
}

/// What a process executes: the executable, and the address of its stack, which differs after each exec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramImage {
    executable: PathBuf,
    stack: Option<String>,
}

impl ProgramImage {
    /// Returns the image of a process, if the kernel shows it: not of another user's process.
    pub fn of(pid: Pid) -> Option<ProgramImage> {
        let pid = pid.as_raw_nonzero().get();
        let executable = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        // A package upgrade deletes the executable of a running program, and the kernel appends that to its name.
        let executable = match executable.to_str().and_then(|name| name.strip_suffix(" (deleted)"))
        {
            Some(name) => PathBuf::from(name),
            None => executable,
        };
        // `startstack`, field 28.
        Some(ProgramImage { executable, stack: stat(pid)?.get(25).cloned() })
    }
}

/// Returns the fields of `/proc/PID/stat` after the second one, which is the name in brackets and may contain any
/// character, brackets too. So field N of proc(5) has the index N - 3.
pub(super) fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = read(&format!("/proc/{pid}/stat")).ok()?;
    Some(fields(&stat)?.map(str::to_owned).collect())
}

/// Returns the fields of the content of `/proc/PID/stat` after the name, which may be no UTF-8.
pub(super) fn fields(stat: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let end = stat.iter().rposition(|&byte| byte == b')')?;
    Some(str::from_utf8(stat.get(end + 2..)?).ok()?.split(' '))
}

/// Returns the PID of a process's parent and the ID of its session.
pub fn parent_and_session(pid: i32) -> Option<(i32, i32)> {
    let process = process(pid)?;
    Some((process.parent, process.session))
}

/// Returns whether a process runs or waits for a processor, and not for anything else. True for a process that has
/// ended: tmux may report its end before we do.
pub fn is_running(pid: Pid) -> bool {
    stat(pid.as_raw_nonzero().get()).and_then(|fields| Some(fields.first()? != "S")).unwrap_or(true)
}

/// Returns whether a process exists.
pub fn exists(pid: i32) -> bool {
    fs::exists(format!("/proc/{pid}")).unwrap_or(false)
}

/// Returns the name of a process, up to 15 bytes.
pub fn name(pid: i32) -> Option<String> {
    let name = read_text(&format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim_end().to_owned())
}

/// Returns the working directory of a process, if the kernel shows it.
pub fn directory(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/cwd")).ok()
}

/// Returns the executable of a process, if the kernel shows it: not of another user's process, such as sudo.
pub fn executable(pid: i32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Returns the arguments of a process, each of which ends with a null byte. Empty for a zombie and a kernel thread.
pub fn command_line(pid: i32) -> Vec<u8> {
    read(&format!("/proc/{pid}/cmdline")).unwrap_or_default()
}

/// Returns the PIDs of all processes; `None` if `/proc` cannot be read.
pub fn pids() -> Option<impl Iterator<Item = i32>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()))
}

/// Returns the process table.
pub(super) fn table() -> BTreeMap<i32, Process> {
    pids().into_iter().flatten().filter_map(|pid| Some((pid, process(pid)?))).collect()
}

/// Returns the IDs of the threads of a process.
pub(super) fn tids(pid: i32) -> Vec<i32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect()
}

/// Returns the children of a process. The kernel lists them by the thread that created them.
pub(super) fn children_of(pid: i32) -> Vec<i32> {
    let mut found = Vec::new();
    for tid in tids(pid) {
        let children = read_text(&format!("/proc/{pid}/task/{tid}/children"));
        let children = children.unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|pid| pid.parse::<i32>().ok()));
    }
    found
}

/// Returns the start time of a process, in the kernel's ticks since the boot.
pub(super) fn start_time(pid: i32) -> Option<u64> {
    Some(process(pid)?.start_time)
}

/// Returns whether a process has an entry in its environment. False for another user's process.
pub(super) fn has_variable(pid: i32, entry: &[u8]) -> bool {
    environment(pid).split(|&byte| byte == 0).any(|found| found == entry)
}

/// Returns whether a process has an entry in its environment that starts with these bytes. False for another user's
/// process.
pub(super) fn has_variable_prefix(pid: i32, prefix: &[u8]) -> bool {
    environment(pid).split(|&byte| byte == 0).any(|found| found.starts_with(prefix))
}

fn environment(pid: i32) -> Vec<u8> {
    read(&format!("/proc/{pid}/environ")).unwrap_or_default()
}

fn process(pid: i32) -> Option<Process> {
    let stat = read(&format!("/proc/{pid}/stat")).ok()?;
    let mut fields = fields(&stat)?;
    // State, parent, group, session; the start time is the 20th after the name.
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    let start_time = fields.nth(15)?.parse().ok()?;
    Some(Process { parent, session, is_zombie, start_time })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_shown() {
        let pid = rustix::process::getpid();
        let raw = pid.as_raw_nonzero().get();
        assert!(exists(raw) && pids().unwrap().any(|found| found == raw));
        assert_eq!(executable(raw), std::env::current_exe().ok());
        assert_eq!(directory(raw), std::env::current_dir().ok());
        let parent = rustix::process::getppid().unwrap().as_raw_nonzero().get();
        assert_eq!(parent_and_session(raw).unwrap().0, parent);
        let first = std::env::args().next().unwrap();
        assert!(command_line(raw).starts_with(first.as_bytes()));
        assert_eq!(ProgramImage::of(pid), ProgramImage::of(pid));
        assert!(ProgramImage::of(pid).is_some());
    }

    #[test]
    fn a_process_has_the_fields_of_its_line_whatever_its_name_is() {
        let line = b"7 (a) b\xff) S 1 2 3 4";
        assert_eq!(fields(line).unwrap().collect::<Vec<_>>(), ["S", "1", "2", "3", "4"]);
        assert!(fields(b"7 (a)").is_none() && fields(b"").is_none());
        let pid = rustix::process::getpid().as_raw_nonzero().get();
        let (all, found) = (stat(pid).unwrap(), process(pid).unwrap());
        assert_eq!((found.parent.to_string(), found.is_zombie), (all[1].clone(), false));
        assert_eq!(found.session.to_string(), all[3]);
        assert_eq!(found.start_time.to_string(), all[19]);
    }

    /// The kernel's own file is longer than one read.
    #[test]
    fn a_file_is_read_to_its_end() {
        let maps = read_text("/proc/self/maps").unwrap();
        assert!(maps.len() > READ_SIZE && maps.ends_with('\n'), "{}", maps.len());
    }

    #[test]
    fn a_process_that_does_not_exist_has_nothing() {
        // Above the largest PID that the kernel gives out (2^22).
        let pid = i32::MAX;
        assert!(!exists(pid) && command_line(pid).is_empty());
        assert_eq!((name(pid), directory(pid), executable(pid)), (None, None, None));
        assert!(is_running(Pid::from_raw(pid).unwrap()));
    }
}
