//! Ends everything that the program of a terminal started, and reaps its zombies.
//!
//! Killing the process group leaves background jobs; killing the session leaves daemons that created a session of their
//! own. So this process is a child subreaper (`PR_SET_CHILD_SUBREAPER`): orphans become its children and are found. The
//! processes of a terminal are those of its POSIX session, the descendants of its leader, our own children with its tag
//! (an entry of their environment), and the orphans that `orphans` attributes to it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::time::Instant;

use super::leaders::{self, Leader};
use super::orphans::{self, ClaimedOrphans};
use super::proc::{self, Process};
use crate::runtime::SESSION_VARIABLE;
use crate::{limits, text, workers};

/// Pause between two reads of the process table while a terminal is being ended: the first, and the maximum.
const SCAN_PAUSE: Duration = Duration::from_millis(5);
/// See [`SCAN_PAUSE`].
const SCAN_PAUSE_MAX: Duration = Duration::from_millis(100);

/// Maximum number of rounds of SIGKILL. A fork bomb needs several.
const KILL_ROUNDS: usize = 200;

/// Number of spare file descriptors: for the directory `/proc` and for a file in it.
const SPARE_FILES: usize = 2;

/// PIDs of session leaders that a task of a terminal will reap.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Whether this process is a child subreaper. Not in a library, whose process may have other children.
static IS_REAPER: AtomicBool = AtomicBool::new(false);

/// File descriptors that are closed while the process table is read, so that a server that has none left can still find
/// the processes that it ends.
static SPARE: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A process that was not ended with its terminal.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// PID.
    pub pid: i32,
    /// Its command line.
    pub command: String,
}

/// The processes of a terminal, as one read of the process table shows them.
#[derive(Debug, Default)]
struct TerminalProcesses {
    /// Processes that belong to the terminal.
    own: BTreeSet<i32>,
    /// Processes that may belong to another terminal.
    uncertain: BTreeSet<i32>,
}

/// Makes this process the child subreaper of its descendants.
pub fn become_reaper() {
    // If it fails, daemons are not found when their terminal is closed. Nothing else depends on it.
    let done = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    IS_REAPER.store(done.is_ok(), Ordering::Relaxed);
}

/// Returns whether orphans become children of this process.
pub fn is_reaper() -> bool {
    IS_REAPER.load(Ordering::Relaxed)
}

/// Returns whether a process is a session leader that we started. Blocks while one is being started.
pub(super) fn is_leader(pid: i32) -> bool {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
}

/// Runs `start`, which starts a session leader, and registers the leader before [`reap_orphans`] can reap it.
///
/// # Errors
/// As `start`.
pub fn register<T>(start: impl FnOnce() -> std::io::Result<(T, Pid)>) -> std::io::Result<T> {
    let mut leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    open_spare_descriptors();
    let (started, pid) = start()?;
    leaders.insert(pid.as_raw_nonzero().get());
    Ok(started)
}

/// Unregisters a leader that was reaped.
pub fn unregister(pid: Pid) {
    let mut leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    leaders.remove(&pid.as_raw_nonzero().get());
}

/// Reaps orphans: descendants that lost their parent and then exited. Does nothing in a process that is no child
/// subreaper, because its other children belong to its host.
pub fn reap_orphans() {
    if !is_reaper() {
        return;
    }
    let leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    for pid in children().into_iter().filter(|pid| !leaders.contains(pid)) {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Returns our own children. Called for each child that exits, so it must not read the whole process table.
fn children() -> Vec<i32> {
    proc::children_of(rustix::process::getpid().as_raw_nonzero().get())
}

/// Ends everything that belongs to a terminal: sends `signal`, waits for up to `grace`, then sends SIGKILL until no
/// process is left, at most `KILL_ROUNDS` times. Returns the processes that are still alive and may belong to it.
pub async fn end_all(leader: Pid, tag: &str, signal: Signal, grace: Duration) -> Vec<Survivor> {
    // Reading the process table takes milliseconds, so it runs on a worker thread.
    let scan = async |signal: Option<Signal>| {
        let tag = tag.to_owned();
        let scan = move || match signal {
            Some(signal) => signal_all(leader, &tag, signal),
            None => find_processes(leader, &tag),
        };
        workers::run(scan).await
    };
    let mut left = scan(Some(signal)).await;
    let deadline = Instant::now() + grace;
    let mut pause = SCAN_PAUSE;
    // The kernel reports the exit of the leader only, so this polls with increasing pauses.
    while !left.own.is_empty() && Instant::now() < deadline {
        tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
        pause = (2 * pause).min(SCAN_PAUSE_MAX);
        left = scan(None).await;
    }
    for _ in 0..KILL_ROUNDS {
        left = scan(Some(Signal::KILL)).await;
        if left.own.is_empty() {
            break;
        }
        // A killed process takes a moment to exit, and may have forked before.
        tokio::time::sleep_until(Instant::now() + SCAN_PAUSE).await;
        reap_orphans();
    }
    reap_orphans();
    orphans::mark_ended(tag);
    // A process of the terminal that survives SIGKILL usually belongs to another user: `sudo` started it.
    let left = left.own.union(&left.uncertain).take(limits::SURVIVORS_MAX);
    left.filter_map(|&pid| Some(Survivor { pid, command: command(pid)? })).collect()
}

/// Kills the children that are left when the server ends, except those that outlive it on purpose. Children without a
/// tag are orphans of a program that we started, so they are killed too.
pub async fn end_orphans() {
    for _ in 0..KILL_ROUNDS {
        reap_orphans();
        let left: Vec<i32> = children().into_iter().filter(|&pid| !outlives_us(pid)).collect();
        if left.is_empty() {
            break;
        }
        for pid in left.into_iter().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        tokio::time::sleep_until(Instant::now() + SCAN_PAUSE).await;
    }
}

/// Kills the processes that a killed server left: those with the server's socket in their environment, and those in the
/// sessions of its leaders. Returns their number.
pub async fn end_strays(variable: &str, socket: &Path, leaders: &[Leader]) -> usize {
    let tag = [variable.as_bytes(), b"=", socket.as_os_str().as_bytes()].concat();
    let mut ended = BTreeSet::new();
    for _ in 0..KILL_ROUNDS {
        let table = proc::table();
        // Our ancestors may run in a terminal of the killed server.
        let mut ancestors = BTreeSet::new();
        let mut pid = rustix::process::getpid().as_raw_nonzero().get();
        while ancestors.insert(pid) {
            pid = table.get(&pid).map_or(0, |process| process.parent);
        }
        // Programs in tmux outlive the server.
        let is_candidate = |pid: &i32, process: &Process| {
            !process.is_zombie
                && !ancestors.contains(pid)
                && !proc::has_variable_prefix(*pid, &session_tag("tmux:"))
        };
        let tagged = table
            .iter()
            .filter(|(pid, process)| is_candidate(pid, process) && proc::has_variable(**pid, &tag))
            .map(|(&pid, _)| pid)
            .collect();
        let mut found = leaders::strays(&table, leaders, &tagged);
        found.retain(|pid| table.get(pid).is_some_and(|process| is_candidate(pid, process)));
        if found.is_empty() {
            break;
        }
        for pid in found.iter().copied().filter_map(Pid::from_raw) {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
        ended.extend(found);
        tokio::time::sleep_until(Instant::now() + SCAN_PAUSE).await;
    }
    ended.len()
}

/// Returns whether a process outlives the server on purpose: a tmux server that `spawn` started, the programs in it,
/// and the `tmux-wait` process, which cancels its `tmux wait-for` after we have exited. A tmux server that a program
/// started in one of our terminals has the tag of that terminal, and is ended with it.
pub(super) fn outlives_us(pid: i32) -> bool {
    let words = proc::command_line(pid);
    let is_waiter = words.split(|&byte| byte == 0).nth(1) == Some(b"tmux-wait".as_slice());
    // An orphan that was started in a pane is our child only because we started that tmux server.
    is_waiter || is_tmux_server(pid) || proc::has_variable_prefix(pid, &session_tag("tmux:"))
}

/// Returns whether a process is a tmux server that `spawn` has started.
pub(super) fn is_tmux_server(pid: i32) -> bool {
    proc::name(pid).is_some_and(|name| name == "tmux: server")
        && !proc::has_variable_prefix(pid, &session_tag(""))
}

/// Sends a signal to all processes of a terminal, and returns the processes.
fn signal_all(leader: Pid, tag: &str, signal: Signal) -> TerminalProcesses {
    let found = find_processes(leader, tag);
    for &pid in &found.own {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, signal);
            if signal != Signal::KILL {
                // A stopped process handles the signal only after SIGCONT.
                let _ = rustix::process::kill_process(pid, Signal::CONT);
            }
        }
    }
    found
}

/// Returns the command line of a process, or `None` if it has exited.
pub(super) fn command(pid: i32) -> Option<String> {
    let words = Some(proc::command_line(pid)).filter(|words| !words.is_empty())?;
    let line = String::from_utf8_lossy(&words).replace(['\0', '\n'], " ");
    Some(text::visible(line.trim_end()).chars().take(text::LINE_CHARS).collect())
}

/// Returns the start of the tags whose value starts with `prefix`. The tag of a tmux pane starts with `tmux:`, that of
/// a PTY with the PID of the server.
fn session_tag(prefix: &str) -> Vec<u8> {
    format!("{SESSION_VARIABLE}={prefix}").into_bytes()
}

/// Returns the processes that belong to a terminal or may belong to it, without zombies. After the leader has been
/// reaped, another process may have its PID. From then on a process counts if it has the tag and is our child or in the
/// leader's session, or if [`orphans::claim`] attributes it; descendants of these count too.
fn find_processes(leader: Pid, tag: &str) -> TerminalProcesses {
    let leader = leader.as_raw_nonzero().get();
    let is_leader_alive = is_leader(leader);
    let own = rustix::process::getpid().as_raw_nonzero().get();
    with_spare_descriptors(|| {
        let table = proc::table();
        let ClaimedOrphans { certain, uncertain } = orphans::claim(tag, &table);
        let belongs = |pid: i32, process: &Process| {
            is_leader_alive && (pid == leader || process.session == leader)
                || (process.parent == own || process.session == leader)
                    && proc::has_variable(pid, tag.as_bytes())
        };
        let found = table.iter().filter(|&(&pid, process)| belongs(pid, process));
        let found = found.map(|(&pid, _)| pid).chain(certain).collect();
        let is_alive =
            |pid: &i32| *pid != own && table.get(pid).is_some_and(|process| !process.is_zombie);
        let mut found = TerminalProcesses {
            own: with_descendants(found, &table),
            uncertain: with_descendants(uncertain, &table),
        };
        found.own.retain(is_alive);
        found.uncertain.retain(|pid| is_alive(pid) && !found.own.contains(pid));
        found
    })
}

/// Returns processes and their descendants.
fn with_descendants(mut found: BTreeSet<i32>, table: &BTreeMap<i32, Process>) -> BTreeSet<i32> {
    loop {
        let before = found.len();
        let children: Vec<i32> =
            table.iter().filter(|(_, p)| found.contains(&p.parent)).map(|(&pid, _)| pid).collect();
        found.extend(children);
        if found.len() == before {
            return found;
        }
    }
}

/// Opens spare file descriptors, as many as the limit allows.
fn open_spare_descriptors() {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    while spare.len() < SPARE_FILES
        && let Ok(file) = File::open("/dev/null")
    {
        spare.push(file);
    }
}

/// Runs `scan` with the spare file descriptors closed.
fn with_spare_descriptors<T>(scan: impl FnOnce() -> T) -> T {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let found = scan();
    open_spare_descriptors();
    found
}
