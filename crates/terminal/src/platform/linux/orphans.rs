//! Attributes orphans to terminals where neither their session nor their environment does.
//!
//! This process is their subreaper, so they are its children, and a child that is no session leader of ours was started
//! in one of our terminals. It belongs to the terminal that it has open. Otherwise it belongs to a terminal that
//! existed when it started: if that is only one, the orphan is attributed to it; if there are several, the orphan is
//! uncertain, so it is not killed but reported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use rustix::process::Pid;

use super::proc::{self, Process};
use super::processes::{is_leader, is_reaper, is_tmux_server, outlives_us};

/// A terminal whose program was started.
#[derive(Debug)]
struct StartedTerminal {
    leader: i32,
    /// Start time of the leader, in the kernel's ticks since the boot.
    start_time: u64,
    /// Its device file. `None` once the kernel has given the same path to another terminal, which it does only after
    /// all processes have closed this one.
    terminal: Option<PathBuf>,
    /// Its processes were ended.
    is_ended: bool,
}

/// The terminals, by the tag in the environment of their processes.
static TERMINALS: Mutex<BTreeMap<String, StartedTerminal>> = Mutex::new(BTreeMap::new());

/// The orphans of a terminal.
#[derive(Debug, Default)]
pub(super) struct ClaimedOrphans {
    /// Orphans that belong to the terminal.
    pub(super) certain: BTreeSet<i32>,
    /// Orphans that may belong to another terminal.
    pub(super) uncertain: BTreeSet<i32>,
}

fn lock() -> MutexGuard<'static, BTreeMap<String, StartedTerminal>> {
    TERMINALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a terminal whose program was started. Called within `register`, so that a concurrent scan sees both or neither.
pub fn add_terminal(tag: &str, leader: Pid, terminal: &Path) {
    let leader = leader.as_raw_nonzero().get();
    let mut all = lock();
    for other in all.values_mut().filter(|other| other.terminal.as_deref() == Some(terminal)) {
        other.terminal = None;
    }
    let (start_time, terminal) =
        (proc::start_time(leader).unwrap_or_default(), Some(terminal.to_owned()));
    all.insert(tag.to_owned(), StartedTerminal { leader, start_time, terminal, is_ended: false });
}

/// Returns the leader of a terminal, and its start time.
pub(super) fn leader_of(tag: &str) -> Option<(i32, u64)> {
    lock().get(tag).map(|terminal| (terminal.leader, terminal.start_time))
}

/// Marks a terminal whose processes were ended.
pub(super) fn mark_ended(tag: &str) {
    if let Some(terminal) = lock().get_mut(tag) {
        terminal.is_ended = true;
    }
}

/// Removes a terminal that was closed.
pub fn forget(tag: &str) {
    lock().remove(tag);
}

/// Returns the orphans in the process table that belong to a terminal or may belong to it.
pub(super) fn claim(tag: &str, table: &BTreeMap<i32, Process>) -> ClaimedOrphans {
    let mut claim = ClaimedOrphans::default();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_child = |process: &Process| process.parent == own && !process.is_zombie;
    // `is_leader` blocks while a program is being started, and its terminal is in `TERMINALS` before it returns.
    let orphans = table.iter().filter(|(pid, process)| is_child(process) && !is_leader(**pid));
    let orphans: Vec<(i32, Process)> = orphans.map(|(&pid, &process)| (pid, process)).collect();
    let terminals = lock();
    let Some(this) = terminals.get(tag).filter(|_| is_reaper()) else { return claim };
    // Programs in a tmux server that we started outlive us, and their orphans become our children too.
    let servers = orphans.iter().filter(|(pid, _)| is_tmux_server(*pid));
    let servers: Vec<u64> = servers.map(|(_, process)| process.start_time).collect();
    let others = || terminals.iter().filter(|(other, one)| *other != tag && !one.is_ended);
    for (pid, process) in orphans {
        if process.start_time < this.start_time || outlives_us(pid) {
            continue;
        }
        let Ok(tags) = environment(pid) else { continue };
        let carries = |tag: &str| tags.split(|&byte| byte == 0).any(|one| one == tag.as_bytes());
        let is_of = |tag: &str, one: &StartedTerminal| {
            let terminal = one.terminal.as_deref();
            carries(tag)
                || process.session == one.leader
                || terminal.is_some_and(|terminal| holds(pid, terminal))
        };
        let is_anothers = others().any(|(tag, one)| is_of(tag, one));
        let mut started = others().map(|(_, one)| one.start_time).chain(servers.iter().copied());
        if is_of(tag, this)
            || !is_anothers && started.all(|start_time| start_time > process.start_time)
        {
            claim.certain.insert(pid);
        } else if !is_anothers {
            claim.uncertain.insert(pid);
        }
    }
    claim
}

/// Reads the environment of a process; empty for a process of another user.
fn environment(pid: i32) -> io::Result<Vec<u8>> {
    match fs::read(format!("/proc/{pid}/environ")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Vec::new()),
        read => read,
    }
}

/// Returns whether a process has a terminal open, even one that was hung up.
fn holds(pid: i32, terminal: &Path) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut gone = terminal.as_os_str().to_owned();
    gone.push(" (deleted)");
    let gone = PathBuf::from(gone);
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link == terminal || link == gone)
}
