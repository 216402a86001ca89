//! Looks at the foreground job of a terminal: its name, and what its threads do.

use std::path::PathBuf;

use awaitty_core::{Activity, Job, TerminalWait};
use rustix::process::Pid;

use super::proc::{self, children_of, stat, tids};
use super::threads::{self, ThreadState};
use crate::io::pty::InputModes;

/// What has a terminal in the foreground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreground {
    /// The program's name, as the kernel has it.
    pub name: String,
    /// Its PID.
    pub pid: i32,
    /// The foreground process group.
    pub group: i32,
    /// What the threads of the whole job do.
    pub activity: Activity,
    /// How often threads of the job were given a processor so far, without those that only nap.
    pub runs: u64,
    is_stopped: bool,
}

impl Foreground {
    /// Returns a job that does not exist, for tests.
    #[cfg(test)]
    pub(crate) fn new(name: &str, activity: Activity, runs: u64) -> Foreground {
        Foreground { name: name.to_owned(), pid: 0, group: 0, activity, runs, is_stopped: false }
    }

    /// Returns the same job as a busy one.
    pub fn into_busy(self) -> Foreground {
        let activity =
            Activity { terminal: None, job: Job::Busy, reader_rests: false, ..self.activity };
        Foreground { activity, ..self }
    }

    /// Returns the path of its executable, if the kernel shows it: not of another user's program, such as sudo.
    pub fn executable(&self) -> Option<PathBuf> {
        proc::executable(self.pid)
    }

    /// Returns its executable, or else its name, and its PID, for a person.
    pub fn title(&self) -> String {
        let program = self.executable().map(|path| path.display().to_string());
        format!("{} (PID {})", program.unwrap_or_else(|| self.name.clone()), self.pid)
    }

    /// Describes in words what the job does.
    pub fn words(&self) -> &'static str {
        match self.activity {
            _ if self.is_stopped => "it is stopped: SIGCONT lets it go on",
            Activity { job: Job::Busy, terminal: None, .. } => "it is busy",
            Activity { terminal: Some(_), .. } => "it reads from the terminal: it waits for input",
            Activity { .. } => "it is waiting for something",
        }
    }
}

/// The flag of a process that has not executed another program since it was forked (the kernel's `PF_FORKNOEXEC`). It
/// is in the ninth field of `/proc/PID/stat`, also of a zombie.
const FORK_NO_EXEC: u64 = 0x40;

/// Returns whether the processes of a group are forks of a shell that run no other program, as those of its prompt are.
/// `None` if the group has no process that the shell started.
pub fn are_forks(group: i32, shell: i32) -> Option<bool> {
    let children = children_of(shell).into_iter().filter_map(stat);
    let members = children.filter(|fields| fields.get(2) == Some(&group.to_string()));
    let is_fork = |fields: Vec<String>| {
        let flags = fields.get(6).and_then(|flags| flags.parse::<u64>().ok());
        flags.is_some_and(|flags| flags & FORK_NO_EXEC != 0)
    };
    members.map(is_fork).reduce(|all, is_fork| all && is_fork)
}

/// Processes of a job that are looked at. A foreground job has few; a larger one counts as busy.
const PROCESSES_MAX: usize = 256;

/// Looks at a job with several threads until no thread ran during a look. Between two threads that hand work to each
/// other a single look could miss the one that runs.
const PROBES_MAX: usize = 3;

/// Returns what has the terminal of a leader in the foreground.
pub fn probe(leader: Pid, modes: &InputModes) -> Option<Foreground> {
    let leader = leader.as_raw_nonzero().get();
    let mut last = probe_once(leader, modes)?;
    for _ in 1..PROBES_MAX {
        if last.threads == 1 || last.found.activity.is_busy() {
            break;
        }
        let next = probe_once(leader, modes)?;
        if next.found.runs == last.found.runs {
            return Some(next.found);
        }
        last = next;
        last.ran_meanwhile = true;
    }
    if last.ran_meanwhile {
        last.found.activity.job = Job::Busy;
    }
    Some(last.found)
}

/// One look at all threads.
struct Probe {
    found: Foreground,
    threads: usize,
    ran_meanwhile: bool,
}

/// A thread, as it was seen.
struct Thread {
    pid: i32,
    is_main: bool,
    state: ThreadState,
    runs: u64,
}

fn probe_once(leader: i32, modes: &InputModes) -> Option<Probe> {
    // Of what follows the name: state, parent, group, session, terminal, the terminal's foreground group.
    let group = stat(leader)?.get(5)?.clone();
    let family = family_of(leader);
    let is_member = |pid: &i32| stat(*pid).is_some_and(|fields| fields.get(2) == Some(&group));
    let members: Vec<i32> = family.iter().copied().filter(is_member).collect();
    let threads: Vec<Thread> = members.iter().flat_map(|&pid| probe_process(pid, modes)).collect();
    let terminal =
        threads.iter().filter_map(waits_for_terminal).min_by_key(|&(_, wait)| wait as u8);
    // A child that is waited for may be in a process group of its own.
    let has_busy_child = || {
        let waiting = threads.iter().filter(|thread| thread.state == ThreadState::Child);
        let children =
            waiting.flat_map(|thread| family_of(thread.pid)).filter(|pid| !members.contains(pid));
        let is_busy = |thread: Thread| thread.state == ThreadState::Busy;
        children.flat_map(|pid| probe_process(pid, modes)).any(is_busy)
    };
    let mut job = job(&threads, terminal.is_some());
    if family.len() >= PROCESSES_MAX || job != Job::Busy && has_busy_child() {
        job = Job::Busy;
    }
    // The one that waits for the terminal, or else the busiest, speaks for the job.
    let busiest = threads.iter().min_by_key(|thread| match thread.state {
        ThreadState::Terminal(_) => 0,
        ThreadState::Busy | ThreadState::Nap => 1,
        ThreadState::Stopped => 2,
        _ => 3,
    })?;
    let pid = terminal.map_or(busiest.pid, |(pid, _)| pid);
    let name = proc::name(pid)?;
    let is_awake = |thread: &&Thread| thread.state != ThreadState::Nap;
    let found = Foreground {
        name,
        pid,
        group: group.parse().ok()?,
        activity: Activity {
            terminal: terminal.map(|(_, wait)| wait),
            job,
            reader_rests: terminal.is_some_and(|(reader, _)| rests(reader, &threads)),
            reads_keys: !modes.is_canonical,
        },
        runs: threads.iter().filter(is_awake).map(|thread| thread.runs).sum(),
        is_stopped: busiest.state == ThreadState::Stopped,
    };
    Some(Probe { found, threads: threads.len(), ran_meanwhile: false })
}

/// Returns whether no thread of a process is busy.
fn rests(pid: i32, threads: &[Thread]) -> bool {
    let is_busy = |thread: &Thread| {
        thread.state == ThreadState::Busy || thread.state == ThreadState::Nap && thread.is_main
    };
    !threads.iter().any(|thread| thread.pid == pid && is_busy(thread))
}

fn waits_for_terminal(thread: &Thread) -> Option<(i32, TerminalWait)> {
    match thread.state {
        ThreadState::Terminal(wait) => Some((thread.pid, wait)),
        _ => None,
    }
}

/// Returns what a job does by what its threads do.
fn job(threads: &[Thread], has_reader: bool) -> Job {
    // A runtime's monitor thread naps all the time, also while the program waits for input.
    let is_busy = |thread: &Thread| match thread.state {
        ThreadState::Busy => true,
        ThreadState::Nap => thread.is_main || !has_reader,
        _ => false,
    };
    let is = |state: ThreadState| threads.iter().any(|thread| thread.state == state);
    if threads.iter().any(is_busy) {
        Job::Busy
    } else if is(ThreadState::Unknown) && !has_reader {
        Job::Unknown
    } else if [
        ThreadState::Timed,
        ThreadState::Nap,
        ThreadState::Unknown,
        ThreadState::Terminal(TerminalWait::TimedPoll),
    ]
    .into_iter()
    .any(is)
    {
        Job::Timed
    } else {
        Job::AtRest
    }
}

/// Looks at the threads of a process.
fn probe_process(pid: i32, modes: &InputModes) -> Vec<Thread> {
    let probe = |tid: i32| {
        let (state, runs) = threads::probe(pid, tid, modes)?;
        Some(Thread { pid, is_main: tid == pid, state, runs })
    };
    tids(pid).into_iter().filter_map(probe).collect()
}

/// Returns a process and its descendants. The kernel lists children by the thread that made them.
fn family_of(leader: i32) -> Vec<i32> {
    let mut found = vec![leader];
    let mut next = 0;
    while let Some(&pid) = found.get(next).filter(|_| found.len() < PROCESSES_MAX) {
        found.extend(children_of(pid));
        next += 1;
    }
    found
}
