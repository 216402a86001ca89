//! Ending everything that a terminal's program started, and leaving nothing in the process table.
//!
//! Killing the group alone leaves background jobs; killing the session leaves daemons that made one of
//! their own. So we are the reaper of our descendants (`PR_SET_CHILD_SUBREAPER`): what loses its
//! parent becomes our child and can be found. What belongs to a terminal is its session, the
//! descendants of its leader, and our own children that carry its mark in their environment.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions};

/// The leaders that have a driver to reap them.
static LEADERS: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

/// What `/proc` says of a process.
#[derive(Clone, Copy, Debug)]
struct Process {
    parent: i32,
    session: i32,
    zombie: bool,
}

/// Makes us the parent of descendants that lose theirs.
pub fn become_reaper() {
    // Without it daemons are not found at the end; nothing else depends on it.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Runs `start`, which makes a leader, with no chance for [`reap_orphans`] to take it for an orphan.
pub fn register<T>(start: impl FnOnce() -> std::io::Result<(T, Pid)>) -> std::io::Result<T> {
    let mut leaders = LEADERS.lock().unwrap_or_else(PoisonError::into_inner);
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

/// Sends a signal to everything that belongs to a terminal, and says whether there was anything.
pub fn signal_all(leader: Pid, mark: &str, signal: Signal) -> bool {
    let found = belonging(leader, mark);
    for &pid in &found {
        if let Some(pid) = Pid::from_raw(pid) {
            let _ = rustix::process::kill_process(pid, signal);
            if signal != Signal::KILL {
                // One that is stopped would not hear of it.
                let _ = rustix::process::kill_process(pid, Signal::CONT);
            }
        }
    }
    !found.is_empty()
}

/// Ends everything that belongs to a terminal: the signal, then KILL until nothing is left.
pub async fn end_all(leader: Pid, mark: &str, signal: Signal, grace: Duration) {
    signal_all(leader, mark, signal);
    let deadline = tokio::time::Instant::now() + grace;
    // The kernel tells of the leader's end, but of nobody else's; so this looks, a few times.
    while !belonging(leader, mark).is_empty() && tokio::time::Instant::now() < deadline {
        tokio::time::sleep_until((tokio::time::Instant::now() + LOOK_AGAIN).min(deadline)).await;
    }
    for _ in 0..KILL_ROUNDS {
        if !signal_all(leader, mark, Signal::KILL) {
            break;
        }
        // Killed processes need a moment to be gone, and may have forked meanwhile.
        tokio::time::sleep_until(tokio::time::Instant::now() + LOOK_AGAIN).await;
        reap_orphans();
    }
    reap_orphans();
}

/// How often the process table is looked at while something is being ended.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How often KILL is sent; a fork bomb may need several.
const KILL_ROUNDS: usize = 200;

/// The processes that belong to a terminal and are not zombies.
fn belonging(leader: Pid, mark: &str) -> BTreeSet<i32> {
    let leader = leader.as_raw_nonzero().get();
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let all = all();
    let is_marked = |pid: i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|&byte| byte == 0).any(|entry| entry == mark.as_bytes())
    };
    let mut found: BTreeSet<i32> = all
        .iter()
        .filter(|&(&pid, process)| {
            pid == leader || process.session == leader || process.parent == own && is_marked(pid)
        })
        .map(|(&pid, _)| pid)
        .collect();
    loop {
        let before = found.len();
        found.extend(
            all.iter()
                .filter(|(_, p)| found.contains(&p.parent))
                .map(|(&pid, _)| pid)
                .collect::<Vec<_>>(),
        );
        if found.len() == before {
            break;
        }
    }
    found.retain(|pid| *pid != own && all.get(pid).is_some_and(|process| !process.zombie));
    found
}

/// Tells whether a process is on a processor or waits for one, and not for anything else.
pub fn is_running(pid: Pid) -> bool {
    let stat =
        fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    stat.rfind(')').and_then(|at| stat.get(at + 2..at + 3)).is_some_and(|state| state != "S")
}

/// All processes there are.
fn all() -> BTreeMap<i32, Process> {
    let Ok(entries) = fs::read_dir("/proc") else { return BTreeMap::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: i32| Some((pid, process(pid)?))).collect()
}

fn process(pid: i32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything, brackets too.
    let mut fields = stat.get(stat.rfind(')')? + 2..)?.split(' ');
    let zombie = matches!(fields.next()?, "Z" | "X");
    let parent = fields.next()?.parse().ok()?;
    let session = fields.nth(1)?.parse().ok()?;
    Some(Process { parent, session, zombie })
}
