//! Finds the processes that outlive the program of a terminal: they have its tag in their environment, or are in its
//! session. A process that has replaced its environment and created a session of its own is not found. The terminal
//! that a process has open is no evidence: the kernel gives the device to a terminal of another process as soon as it
//! is free.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::Instant;

use super::orphans;
use super::proc::{self, Process};
use super::processes::{Survivor, command};
use crate::limits::SURVIVORS_MAX;
use crate::workers;

/// Time that the other processes of a terminal get to exit after its program. A pipeline or a helper process takes
/// milliseconds.
pub const LEAK_GRACE: Duration = Duration::from_millis(500);

/// Pause between two scans of the process table: the first, and the maximum. The kernel reports no exits of processes
/// that are not our children.
const SCAN_PAUSE: Duration = Duration::from_millis(5);
/// See [`SCAN_PAUSE`].
const SCAN_PAUSE_MAX: Duration = Duration::from_millis(50);

/// Maximum number of rounds of SIGKILL.
const KILL_ROUNDS: usize = 100;

/// The processes of a terminal, as far as they can be found without their parents.
#[derive(Clone, Debug)]
pub struct Traces {
    tag: String,
    leader: i32,
    /// The start time of the leader.
    start_time: u64,
}

impl Traces {
    /// Returns the traces of a terminal that was not closed yet.
    pub fn of(tag: &str) -> Option<Traces> {
        let (leader, start_time) = orphans::leader_of(tag)?;
        Some(Traces { tag: tag.to_owned(), leader, start_time })
    }

    /// Waits until no process is left, for at most `grace`. Returns the rest.
    pub async fn wait(&self, grace: Duration) -> Vec<Survivor> {
        let deadline = Instant::now() + grace;
        let mut pause = SCAN_PAUSE;
        loop {
            let found = self.scan(None).await;
            if found.is_empty() || Instant::now() >= deadline {
                return found;
            }
            tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
            pause = (2 * pause).min(SCAN_PAUSE_MAX);
        }
    }

    /// Kills the processes. Returns those that existed.
    pub async fn kill(&self) -> Vec<Survivor> {
        let found = self.scan(Some(Signal::KILL)).await;
        let mut left = found.len();
        for _ in 0..KILL_ROUNDS {
            if left == 0 {
                break;
            }
            tokio::time::sleep_until(Instant::now() + SCAN_PAUSE).await;
            left = self.scan(Some(Signal::KILL)).await.len();
        }
        found
    }

    /// Returns the processes, and sends them a signal.
    async fn scan(&self, signal: Option<Signal>) -> Vec<Survivor> {
        // Reading the process table takes milliseconds, so it runs on another thread.
        let traces = self.clone();
        let scan = move || {
            let found = traces.find(&proc::table());
            // A process that was killed has no command line any more.
            let survivor = |&pid: &i32| Some(Survivor { pid, command: command(pid)? });
            let survivors = found.iter().take(SURVIVORS_MAX).filter_map(survivor).collect();
            for &pid in &found {
                if let (Some(pid), Some(signal)) = (Pid::from_raw(pid), signal) {
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
            survivors
        };
        workers::run(scan).await
    }

    fn find(&self, table: &BTreeMap<i32, Process>) -> Vec<i32> {
        let own = rustix::process::getpid().as_raw_nonzero().get();
        // The kernel gives the PID to another process once no process is in the session of that number.
        let is_recycled =
            table.get(&self.leader).is_some_and(|now| now.start_time != self.start_time);
        let is_left = |pid: i32, process: &Process| {
            pid != own
                && !process.is_zombie
                && process.start_time >= self.start_time
                && (!is_recycled && process.session == self.leader
                    || proc::has_variable(pid, self.tag.as_bytes()))
        };
        let found = table.iter().filter(|&(&pid, process)| is_left(pid, process));
        found.map(|(&pid, _)| pid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(session: i32, start_time: u64) -> Process {
        Process { parent: 1, session, is_zombie: false, start_time }
    }

    /// The processes do not exist, so none has the tag.
    #[test]
    fn processes_of_the_session_are_found_unless_its_number_was_given_out_again() {
        // Above the largest PID that the kernel gives out (2^22).
        const LEADER: i32 = 5_000_000;
        let traces = Traces { tag: "TAG=1".to_owned(), leader: LEADER, start_time: 50 };
        let mut table = BTreeMap::from([
            (LEADER + 1, process(LEADER, 60)),
            (LEADER + 2, process(LEADER, 49)),
            (LEADER + 3, process(LEADER + 3, 60)),
            (LEADER + 4, Process { is_zombie: true, ..process(LEADER, 60) }),
        ]);
        assert_eq!(traces.find(&table), [LEADER + 1]);
        table.insert(LEADER, process(LEADER, 50));
        assert_eq!(traces.find(&table), [LEADER, LEADER + 1]);
        table.insert(LEADER, process(LEADER, 55));
        assert!(traces.find(&table).is_empty());
    }
}
