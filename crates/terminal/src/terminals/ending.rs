//! Ends the programs of terminals.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;

use super::Terminals;
use super::entry::Entry;
use crate::limits;
use crate::platform::leaks::{LEAK_GRACE, Traces};
use crate::platform::orphans;
use crate::platform::processes::{self, Survivor};
use crate::terminal::{Driver, exit_of};

/// How a terminal is closed.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// All its processes get the signal, and after the grace period SIGKILL.
    Kill(Signal, Duration),
    /// Its program runs on. For panes only.
    Detach,
    /// Its processes have exited already.
    Exited,
}

/// Ends a terminal that is removed from its set: its waits, its processes, and its pane if it is one. Returns the
/// processes that survived.
pub(super) async fn end_and_forget(entry: &Entry, ending: Ending) -> Vec<Survivor> {
    let _ = entry.handle.call(Driver::close).await;
    let survivors = end(entry, ending).await;
    orphans::forget(&entry.tag);
    if let (Some((server, pane)), Ending::Kill(..)) = (&entry.pane, ending) {
        let pid = entry.handle.call(|driver| driver.pid()).await;
        server.kill_pane(pane, pid.unwrap_or_default()).await;
    }
    survivors
}

/// Ends all processes of a terminal, and waits until its task has the exit status. Returns the processes that survived.
pub(super) async fn end(entry: &Entry, ending: Ending) -> Vec<Survivor> {
    match ending {
        Ending::Detach => {
            let _ = entry.handle.call(Driver::let_go).await;
            Vec::new()
        }
        Ending::Exited => Vec::new(),
        Ending::Kill(signal, grace) => {
            let survivors = processes::end_all(entry.pid, &entry.tag, signal, grace).await;
            // The task gets the exit status a moment later. tmux may report the exit of a pane with any delay.
            let timeout =
                if entry.pane.is_some() { limits::DRAIN_MAX } else { limits::EXIT_REPORT_MAX };
            if let Some(exited) = entry.handle.call(Driver::await_exit).await {
                let _ = tokio::time::timeout(timeout, exited).await;
            }
            survivors
        }
    }
}

/// Ends a terminal as [`Terminals::close`] does, and everything that outlives its program. Returns the processes that
/// did: those that were left after the program had exited, and those that are no descendants of it any more.
pub(crate) async fn close_with_leaks(
    terminals: &Arc<Terminals>,
    entry: &Arc<Entry>,
) -> Vec<Survivor> {
    let Some(traces) = Traces::of(&entry.tag) else { return Vec::new() };
    let has_exited = entry.handle.call(exit_of).await.flatten().is_some();
    let mut leaked = Vec::new();
    if has_exited {
        leaked = traces.wait(LEAK_GRACE).await;
        if !leaked.is_empty() {
            traces.kill().await;
        }
    }
    // Where orphans are no children of ours, killing would search for what `traces` has not found.
    let ending = match has_exited && leaked.is_empty() && !processes::is_reaper() {
        true => Ending::Exited,
        false => Ending::Kill(Signal::HUP, limits::GRACE),
    };
    let survivors = terminals.close(entry, ending, false).await;
    for left in traces.kill().await.into_iter().chain(survivors) {
        if leaked.iter().all(|known| known.pid != left.pid) {
            leaked.push(left);
        }
    }
    leaked
}
