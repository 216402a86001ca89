//! Ending everything that a terminal's program started, and leaving nothing in the process table.
//!
//! Killing the group alone leaves background jobs; killing the session leaves daemons that made one of
//! their own. So we are the reaper of our descendants (`PR_SET_CHILD_SUBREAPER`): what loses its
//! parent becomes our child and can be found. What belongs to a terminal is its session, the
//! descendants of its leader, our own children that carry its mark in their environment, and those of
//! our children that `orphans` finds to be its.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};
use tokio::time::Instant;

use super::leaders::{self, Leader};
use super::orphans::{self, ClaimedOrphans};
use crate::runtime::SESSION_VARIABLE;
use crate::{limits, text, workers};

/// The leaders that have a driver to reap them.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// Whether all children are ours: not so in a library, whose process may have others.
static IS_REAPER: AtomicBool = AtomicBool::new(false);

/// What `/proc` says of a process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    pub(super) parent: i32,
    pub(super) session: i32,
    pub(super) is_zombie: bool,
    /// When it began, in the kernel's ticks since the machine did.
    pub(super) start_time: u64,
}

/// A process that was not ended with its terminal.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// Its number.
    pub pid: i32,
    /// Its words, as a line.
    pub command: String,
}

/// What a look at all processes found of a terminal.
#[derive(Debug, Default)]
struct TerminalProcesses {
    /// These belong to it.
    own: BTreeSet<i32>,
    /// These may belong to another.
    uncertain: BTreeSet<i32>,
}

/// Makes us the parent of descendants that lose theirs.
pub fn become_reaper() {
    // Without it daemons are not found at the end; nothing else depends on it.
    let done = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    IS_REAPER.store(done.is_ok(), Ordering::Relaxed);
}

/// Tells whether what loses its parent becomes our child.
pub(super) fn is_reaper() -> bool {
    IS_REAPER.load(Ordering::Relaxed)
}

/// Tells whether a process was started by us. Whoever is starting one is waited for.
pub(super) fn is_leader(pid: i32) -> bool {
    LEADERS.lock().unwrap_or_else(PoisonError::into_inner).contains(&pid)
}

/// Runs `start`, which makes a leader, with no chance for [`reap_orphans`] to take it for an orphan.
pub fn register<T>(start: impl FnOnce() -> std::io::Result<(T, Pid)>) -> std::io::Result<T> {
    let mut leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    open_spare_descriptors();
    let (made, pid) = start()?;
    leaders.insert(pid.as_raw_nonzero().get());
    Ok(made)
}

/// Says that a leader was reaped.
pub fn unregister(pid: Pid) {
    let mut leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    leaders.remove(&pid.as_raw_nonzero().get());
}

/// Reaps the children that are nobody's: descendants that lost their parent and then ended.
pub fn reap_orphans() {
    let leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
    for pid in children().into_iter().filter(|pid| !leaders.contains(pid)) {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = rustix::process::waitpid(Some(pid), WaitOptions::NOHANG);
        }
    }
}

/// Our own children. The kernel lists them by the thread that made them; this is called for each child
/// that ends, so it must not look at all processes there are.
fn children() -> Vec<i32> {
    let Ok(threads) = fs::read_dir("/proc/self/task") else { return Vec::new() };
    let lists = threads
        .flatten()
        .filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists
        .flat_map(|list| {
            list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

/// Sends a signal to everything that belongs to a terminal, and says what there was.
fn signal_all(leader: Pid, mark: &str, signal: Signal) -> TerminalProcesses {
    let found = find_processes(leader, mark);
    for &pid in &found.own {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, signal);
            if signal != Signal::KILL {
                // One that is stopped would not hear of it.
                let _ = rustix::process::kill_process(pid, Signal::CONT);
            }
        }
    }
    found
}

/// Ends everything that belongs to a terminal: the signal, then KILL until nothing is left. Returns what lives still
/// and may belong to it.
pub async fn end_all(leader: Pid, mark: &str, signal: Signal, grace: Duration) -> Vec<Survivor> {
    // Looking at the process table takes a moment, in which others are to be served.
    let look = async |signal: Option<Signal>| {
        let mark = mark.to_owned();
        let look = move || match signal {
            Some(signal) => signal_all(leader, &mark, signal),
            None => find_processes(leader, &mark),
        };
        workers::run(look).await
    };
    let mut left = look(Some(signal)).await;
    let deadline = Instant::now() + grace;
    let mut pause = SCAN_PAUSE;
    // The kernel tells of the leader's end, but of nobody else's; so this looks, ever more rarely.
    while !left.own.is_empty() && Instant::now() < deadline {
        tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
        pause = (2 * pause).min(SCAN_PAUSE_MAX);
        left = look(None).await;
    }
    for _ in 0..KILL_ROUNDS {
        left = look(Some(Signal::KILL)).await;
        if left.own.is_empty() {
            break;
        }
        // Killed processes need a moment to be gone, and may have forked meanwhile.
        tokio::time::sleep_until(Instant::now() + SCAN_PAUSE).await;
        reap_orphans();
    }
    reap_orphans();
    orphans::mark_ended(mark);
    // What belongs to it and lives is another user's, such as what `sudo` started.
    let left = left.own.union(&left.uncertain).take(limits::SURVIVORS_MAX);
    left.filter_map(|&pid| Some(Survivor { pid, command: command(pid)? })).collect()
}

/// The words of a process as a line; nothing, if it is gone.
fn command(pid: i32) -> Option<String> {
    let words = fs::read(format!("/proc/{pid}/cmdline")).ok().filter(|words| !words.is_empty())?;
    let line = String::from_utf8_lossy(&words).replace(['\0', '\n'], " ");
    Some(text::visible(line.trim_end()).chars().take(text::LINE_CHARS).collect())
}

/// Kills every child that is left, because the server ends: what carries no mark was started by one that
/// did, and lost its parent.
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

/// Tells whether a process is one of those that are meant to: the tmux server that `spawn` starts, and what takes a wait
/// back from a tmux server once we are gone. A tmux server that a program started in a terminal of ours carries its mark.
pub(super) fn outlives_us(pid: i32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let is_waiter = words.split(|&byte| byte == 0).nth(1) == Some(b"tmux-wait".as_slice());
    // What was started in a pane and has lost its parent is ours only because that server is.
    is_waiter || is_tmux_server(pid) || carries_any(pid, &session_mark("tmux:"))
}

/// Tells whether a process is a tmux server that `spawn` has started.
pub(super) fn is_tmux_server(pid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    name.trim_end() == "tmux: server" && !carries_any(pid, &session_mark(""))
}

/// Kills what a server left that was killed itself: the processes that carry its socket in their environment
/// and are not ours, and those of the sessions that its leaders led. Returns how many there were.
pub async fn end_strays(variable: &str, socket: &Path, leaders: &[Leader]) -> usize {
    let mark = [variable.as_bytes(), b"=", socket.as_os_str().as_bytes()].concat();
    let mut ended = BTreeSet::new();
    for _ in 0..KILL_ROUNDS {
        let all = all();
        // Whoever started us may sit in one of the terminals that are gone.
        let mut ours = BTreeSet::new();
        let mut pid = rustix::process::getpid().as_raw_nonzero().get();
        while ours.insert(pid) {
            pid = all.get(&pid).map_or(0, |process| process.parent);
        }
        // What runs in tmux goes on there.
        let lives = |pid: &i32, process: &Process| {
            !process.is_zombie && !ours.contains(pid) && !carries_any(*pid, &session_mark("tmux:"))
        };
        let marked = all.iter().filter(|(pid, p)| lives(pid, p) && carries(**pid, &mark));
        let marked = marked.map(|(&pid, _)| pid).collect();
        let mut found = leaders::strays(&all, leaders, &marked);
        found.retain(|pid| all.get(pid).is_some_and(|process| lives(pid, process)));
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

/// Tells whether a process has that entry in its environment.
fn carries(pid: i32, entry: &[u8]) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|&byte| byte == 0).any(|found| found == entry)
}

/// Tells whether a process has an entry in its environment that begins so.
fn carries_any(pid: i32, start: &[u8]) -> bool {
    let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environ.split(|&byte| byte == 0).any(|found| found.starts_with(start))
}

/// How the mark of a terminal begins whose id begins so.
fn session_mark(id: &str) -> Vec<u8> {
    format!("{SESSION_VARIABLE}={id}").into_bytes()
}

/// How often the process table is looked at while something is being ended, at first and in the end.
const SCAN_PAUSE: Duration = Duration::from_millis(5);
/// See [`SCAN_PAUSE`].
const SCAN_PAUSE_MAX: Duration = Duration::from_millis(100);

/// How often KILL is sent; a fork bomb may need several.
const KILL_ROUNDS: usize = 200;

/// The processes that belong to a terminal, or may, and are not zombies. When its leader is gone its number may
/// have become another's, so that only what carries the mark, or is our child, belongs to it.
fn find_processes(leader: Pid, mark: &str) -> TerminalProcesses {
    let leader = leader.as_raw_nonzero().get();
    let lives = is_leader(leader);
    let own = rustix::process::getpid().as_raw_nonzero().get();
    with_spare_descriptors(|| {
        let all = all();
        let ClaimedOrphans { certain, uncertain } = orphans::claim(mark, &all);
        let belongs = |pid: i32, process: &Process| {
            lives && (pid == leader || process.session == leader)
                || (process.parent == own || process.session == leader)
                    && carries(pid, mark.as_bytes())
        };
        let found = all.iter().filter(|&(&pid, process)| belongs(pid, process));
        let found = found.map(|(&pid, _)| pid).chain(certain).collect();
        let lives =
            |pid: &i32| *pid != own && all.get(pid).is_some_and(|process| !process.is_zombie);
        let mut found = TerminalProcesses {
            own: descendants(found, &all),
            uncertain: descendants(uncertain, &all),
        };
        found.own.retain(lives);
        found.uncertain.retain(|pid| lives(pid) && !found.own.contains(pid));
        found
    })
}

/// These and what they started.
fn descendants(mut found: BTreeSet<i32>, all: &BTreeMap<i32, Process>) -> BTreeSet<i32> {
    loop {
        let before = found.len();
        let children: Vec<i32> =
            all.iter().filter(|(_, p)| found.contains(&p.parent)).map(|(&pid, _)| pid).collect();
        found.extend(children);
        if found.len() == before {
            return found;
        }
    }
}

/// What follows the name in `/proc/PID/stat`; the name is in brackets and may hold anything, brackets too.
pub(crate) fn stat(pid: i32) -> Option<Vec<String>> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    Some(stat.get(stat.rfind(')')? + 2..)?.split(' ').map(str::to_owned).collect())
}

/// Tells whether a process is on a processor or waits for one, and not for anything else; or is gone, of which tmux may
/// know before we do.
pub fn is_running(pid: Pid) -> bool {
    stat(pid.as_raw_nonzero().get()).and_then(|fields| Some(fields.first()? != "S")).unwrap_or(true)
}

/// Descriptors that are let go while the process table is read, for its folder and for a file in it: what is to be ended
/// must be found also by a server that has none left.
static SPARE: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// How many those are.
const SPARE_FILES: usize = 2;

/// Has spare descriptors, as far as there are any.
fn open_spare_descriptors() {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    while spare.len() < SPARE_FILES
        && let Ok(file) = File::open("/dev/null")
    {
        spare.push(file);
    }
}

/// Looks at processes with descriptors to do so.
fn with_spare_descriptors<T>(look: impl FnOnce() -> T) -> T {
    SPARE.lock().unwrap_or_else(PoisonError::into_inner).clear();
    let found = look();
    open_spare_descriptors();
    found
}

/// All processes there are.
fn all() -> BTreeMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, process(pid)?))).collect()
}

fn process(pid: i32) -> Option<Process> {
    let fields = stat(pid)?;
    let is_zombie = matches!(fields.first()?.as_str(), "Z" | "X");
    let parent = fields.get(1)?.parse().ok()?;
    let session = fields.get(3)?.parse().ok()?;
    Some(Process { parent, session, is_zombie, start_time: start_time(&fields)? })
}

/// When a process began.
pub(super) fn read_start_time(pid: i32) -> Option<u64> {
    start_time(&stat(pid)?)
}

/// The 22nd field, of which the first two are not among these.
fn start_time(fields: &[String]) -> Option<u64> {
    fields.get(19)?.parse().ok()
}
