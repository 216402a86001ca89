//! Finds the processes that outlive the program of a terminal: they have its tag in their environment, or its terminal
//! open. A process that has replaced its environment and closed the terminal is not found.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::Instant;

use super::orphans::{self, holds};
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

/// A process, which its PID identifies only together with its start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Identity {
    pid: i32,
    start_time: u64,
}

/// The processes of a terminal, as far as they can be found without their parents.
#[derive(Clone, Debug)]
pub struct Traces {
    tag: String,
    start_time: u64,
    /// The device file, while no other terminal can have it.
    terminal: Option<PathBuf>,
    /// Processes that had the terminal open.
    holders: Vec<Identity>,
}

impl Traces {
    /// Returns the traces of a terminal that was not closed yet.
    pub fn of(tag: &str) -> Option<Traces> {
        let (start_time, terminal) = orphans::started(tag)?;
        Some(Traces { tag: tag.to_owned(), start_time, terminal, holders: Vec::new() })
    }

    /// Waits until no process is left, for at most `grace`. Returns the rest.
    pub async fn wait(&mut self, grace: Duration) -> Vec<Survivor> {
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

    /// Notes that the terminal was closed: another one may get its device file.
    pub fn note_closed(&mut self) {
        self.terminal = None;
    }

    /// Kills the processes. Returns those that existed.
    pub async fn kill(&mut self) -> Vec<Survivor> {
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
    async fn scan(&mut self, signal: Option<Signal>) -> Vec<Survivor> {
        // Reading the process table takes milliseconds, so it runs on another thread.
        let mut traces = self.clone();
        let scan = move || {
            let table = proc::table();
            traces.note_holders(&table);
            let found = traces.find(&table);
            for &pid in &found {
                if let (Some(pid), Some(signal)) = (Pid::from_raw(pid), signal) {
                    let _ = rustix::process::kill_process(pid, signal);
                }
            }
            let survivor = |pid| Some(Survivor { pid, command: command(pid)? });
            let found = found.into_iter().take(SURVIVORS_MAX).filter_map(survivor).collect();
            (traces, found)
        };
        let found;
        (*self, found) = workers::run(scan).await;
        found
    }

    /// Returns the processes that are not older than the program.
    fn candidates<'t>(
        &self,
        table: &'t BTreeMap<i32, Process>,
    ) -> impl Iterator<Item = Identity> + use<'t> {
        let (own, first) = (rustix::process::getpid().as_raw_nonzero().get(), self.start_time);
        let is_candidate = move |pid: i32, process: &Process| {
            pid != own && !process.is_zombie && process.start_time >= first
        };
        let found = table.iter().filter(move |&(&pid, process)| is_candidate(pid, process));
        found.map(|(&pid, process)| Identity { pid, start_time: process.start_time })
    }

    fn note_holders(&mut self, table: &BTreeMap<i32, Process>) {
        let Some(terminal) = &self.terminal else { return };
        self.holders = self.candidates(table).filter(|one| holds(one.pid, terminal)).collect();
    }

    fn find(&self, table: &BTreeMap<i32, Process>) -> Vec<i32> {
        let is_left = |one: &Identity| {
            self.holders.contains(one) || proc::has_variable(one.pid, self.tag.as_bytes())
        };
        self.candidates(table).filter(is_left).map(|one| one.pid).collect()
    }
}
