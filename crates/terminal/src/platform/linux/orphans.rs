//! Processes that lost their parent, and whose they are where neither their session nor their environment tells.
//!
//! We are their reaper, so they are our children, and what is not our leader was started in one of our terminals. It is of
//! a terminal that it still holds open. Else it is of one that was there when it began: if that is only one it can be
//! nobody else's, and if there are several nobody knows, so it is not killed but told of.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::{fs, io};

use rustix::process::Pid;

use super::processes::{
    Process, is_leader, is_reaper, is_tmux_server, outlives_us, read_start_time,
};

/// A terminal whose program was started.
#[derive(Debug)]
struct StartedTerminal {
    leader: i32,
    /// When that was, in the kernel's ticks.
    start_time: u64,
    /// Its file, until another terminal has it: that is not before all have let go of it.
    terminal: Option<PathBuf>,
    /// What it started was ended.
    is_ended: bool,
}

/// The terminals, by the mark that their processes carry.
static TERMINALS: Mutex<BTreeMap<String, StartedTerminal>> = Mutex::new(BTreeMap::new());

/// What a terminal may have left.
#[derive(Debug, Default)]
pub(super) struct ClaimedOrphans {
    /// These are of that terminal.
    pub(super) certain: BTreeSet<i32>,
    /// These may be another's.
    pub(super) uncertain: BTreeSet<i32>,
}

fn lock() -> MutexGuard<'static, BTreeMap<String, StartedTerminal>> {
    TERMINALS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Says that a program was started. It is called within `register`, so that whoever looks knows of it.
pub fn add_terminal(mark: &str, leader: Pid, terminal: &Path) {
    let leader = leader.as_raw_nonzero().get();
    let mut all = lock();
    for other in all.values_mut().filter(|other| other.terminal.as_deref() == Some(terminal)) {
        other.terminal = None;
    }
    let (start_time, terminal) =
        (read_start_time(leader).unwrap_or_default(), Some(terminal.to_owned()));
    all.insert(mark.to_owned(), StartedTerminal { leader, start_time, terminal, is_ended: false });
}

/// Says that what a program started was ended, as far as it is known.
pub(super) fn mark_ended(mark: &str) {
    if let Some(opened) = lock().get_mut(mark) {
        opened.is_ended = true;
    }
}

/// Says that nobody will ask for a terminal any more.
pub fn forget(mark: &str) {
    lock().remove(mark);
}

/// The orphans among all processes that are a terminal's, or may be.
pub(super) fn claim(mark: &str, all: &BTreeMap<i32, Process>) -> ClaimedOrphans {
    let mut claim = ClaimedOrphans::default();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let is_child = |process: &Process| process.parent == own && !process.is_zombie;
    // Whoever is being started is a leader once this has been asked, and its terminal is among those that are opened.
    let orphans = all.iter().filter(|(pid, process)| is_child(process) && !is_leader(**pid));
    let orphans: Vec<(i32, Process)> = orphans.map(|(&pid, &process)| (pid, process)).collect();
    let opened = lock();
    let Some(this) = opened.get(mark).filter(|_| is_reaper()) else { return claim };
    // What runs in a tmux server of ours outlives us, and what it leaves becomes our child as well.
    let servers = orphans.iter().filter(|(pid, _)| is_tmux_server(*pid));
    let servers: Vec<u64> = servers.map(|(_, process)| process.start_time).collect();
    let others = || opened.iter().filter(|(other, one)| *other != mark && !one.is_ended);
    for (pid, process) in orphans {
        if process.start_time < this.start_time || outlives_us(pid) {
            continue;
        }
        let Ok(marks) = environment(pid) else { continue };
        let carries = |mark: &str| marks.split(|&byte| byte == 0).any(|one| one == mark.as_bytes());
        let is_of = |mark: &str, one: &StartedTerminal| {
            let terminal = one.terminal.as_deref();
            carries(mark)
                || process.session == one.leader
                || terminal.is_some_and(|terminal| holds(pid, terminal))
        };
        let is_anothers = others().any(|(mark, one)| is_of(mark, one));
        let mut begun = others().map(|(_, one)| one.start_time).chain(servers.iter().copied());
        if is_of(mark, this)
            || !is_anothers && begun.all(|start_time| start_time > process.start_time)
        {
            claim.certain.insert(pid);
        } else if !is_anothers {
            claim.uncertain.insert(pid);
        }
    }
    claim
}

/// What a process has in its environment: nothing, if it is another user's.
fn environment(pid: i32) -> io::Result<Vec<u8>> {
    match fs::read(format!("/proc/{pid}/environ")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(Vec::new()),
        read => read,
    }
}

/// Tells whether a process has a terminal open, also one that has been hung up.
fn holds(pid: i32, terminal: &Path) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut gone = terminal.as_os_str().to_owned();
    gone.push(" (deleted)");
    let gone = PathBuf::from(gone);
    let mut links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|link| link == terminal || link == gone)
}
