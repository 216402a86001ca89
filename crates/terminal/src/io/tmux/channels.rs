//! Channels of a tmux server: counts the signals of `tmux wait-for -S NAME`.
//!
//! tmux keeps a signal only until the first wait, and an abandoned wait stays in the server and consumes the next
//! signal (read in tmux 3.3a, cmd-wait-for.c). So each channel has one waiter as long as this server runs, whose
//! signals are counted like any others. The waiter is a separate process: it sees EOF when this server ends, even by
//! SIGKILL, and then removes its wait from the tmux server.

use std::collections::HashMap;
use std::io;
use std::process::{Command as StdCommand, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use awaitty_core::Signal;
use rustix::process::Pid;
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{Server, TmuxError};
use crate::platform::{exit_watch, proc};
use crate::terminals::Terminals;

/// The maximum number of channels with a waiter. Each waiter is two processes.
pub const CHANNELS_MAX: usize = 64;

/// A channel of a tmux server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The tmux server.
    pub server: Server,
    /// The name of the channel in that server.
    pub name: String,
}

impl Channel {
    /// Returns the channel's name in awaitty: `tmux:NAME` or `tmux:SERVER:NAME`. Channel names cannot contain a slash.
    pub fn key(&self) -> String {
        self.server.id_of(&self.name).replace('/', ":")
    }
}

/// The channels that have a waiter.
#[derive(Debug, Default)]
pub struct Waiters {
    running: Mutex<HashMap<Channel, Waiter>>,
}

/// The waiter of a channel.
#[derive(Debug)]
struct Waiter {
    /// Becomes `true` when the tmux server is gone.
    lost: Arc<watch::Sender<bool>>,
    task: AbortHandle,
}

impl Waiters {
    /// Starts the waiter of a channel, unless it has one. The returned value becomes `true` when the tmux server is
    /// gone.
    ///
    /// # Errors
    /// If no tmux server is running, or there are too many channels.
    pub async fn start(
        &self,
        sessions: &Arc<Terminals>,
        channel: &Channel,
    ) -> Result<watch::Receiver<bool>, TmuxError> {
        if let Some(running) = self.running(channel) {
            return Ok(running);
        }
        let server = channel.server.pid().await?;
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, waiter| !*waiter.lost.borrow());
        if let Some(waiter) = running.get(channel) {
            return Ok(waiter.lost.subscribe());
        }
        if running.len() >= CHANNELS_MAX {
            // Stops a waiter without a receiver.
            let idle = running.iter().find(|(_, waiter)| waiter.lost.receiver_count() == 0);
            let idle =
                idle.map(|(channel, _)| channel.clone()).ok_or(TmuxError::TooManyChannels)?;
            if let Some(waiter) = running.remove(&idle) {
                waiter.task.abort();
            }
        }
        let (lost, receiver) = watch::channel(false);
        let lost = Arc::new(lost);
        let sessions = Arc::downgrade(sessions);
        let (key, channel, sender) = (channel.clone(), channel.clone(), Arc::clone(&lost));
        let task = tokio::spawn(async move {
            while channel.is_signalled(&server).await
                && let Some(sessions) = sessions.upgrade()
            {
                // Only an invalid name is an error, and it was checked.
                let _ = sessions.signals.signal(&channel.key(), Signal::default());
            }
            sender.send_replace(true);
        });
        running.insert(key, Waiter { lost, task: task.abort_handle() });
        Ok(receiver)
    }

    /// Returns the receiver of a channel's waiter, if it has one.
    pub fn running(&self, channel: &Channel) -> Option<watch::Receiver<bool>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let waiter = running.get(channel).filter(|waiter| !*waiter.lost.borrow())?;
        Some(waiter.lost.subscribe())
    }
}

impl Channel {
    /// Waits for a signal. Returns `false` if the server ended instead, which wakes all waits.
    async fn is_signalled(&self, server: &str) -> bool {
        let Ok((mut child, pid)) = self.start_waiter() else { return false };
        // `wait` closes the child's stdin, and the child ends at EOF.
        let stdin = child.stdin.take();
        let _registered = super::RegisteredChild(pid);
        let ended = child.wait().await;
        drop(stdin);
        let is_gone = || async {
            match self.server.pid().await {
                Ok(now) => now != server,
                // After a timeout the server may just be slow.
                Err(error) => matches!(error, TmuxError::NoServer(_)),
            }
        };
        ended.is_ok_and(|status| status.success()) && !is_gone().await
    }

    fn start_waiter(&self) -> io::Result<(Child, Pid)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["tmux-wait", "--", &self.name]).args(self.server.name());
        // A signal to this server's process group must not reach the waiter.
        command.process_group(0);
        // Nothing is written to it: EOF makes the waiter clean up and exit.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        super::start(command)
    }

    /// Signals the channel.
    ///
    /// # Errors
    /// If no tmux server is running.
    pub async fn signal(&self) -> Result<(), TmuxError> {
        self.server.run(&["wait-for", "-S", "--", &self.name]).await.map(drop)
    }
}

/// Runs the waiter process: waits for a signal, or for EOF on standard input when its parent ends. Returns whether
/// there was a signal.
///
/// # Errors
/// If tmux cannot be started or polled.
pub fn wait(name: &str, server: Option<&str>) -> io::Result<bool> {
    let tmux = |args: &[&str]| {
        let mut command = StdCommand::new("tmux");
        command.args(server.into_iter().flat_map(|server| ["-L", server])).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut child = tmux(&["wait-for", "--", name]).spawn()?;
    if !exit_watch::exits_before_input(Pid::from_child(&child), io::stdin())? {
        // An abandoned wait would consume the next signal, so this signal ends it. With another waiter on the channel
        // there is no need, and the signal would wake it.
        if !is_waited_for_by_others(name, child.id()) {
            tmux(&["wait-for", "-S", "--", name]).status()?;
        }
        child.kill()?;
    }
    Ok(child.wait()?.success())
}

/// Returns whether another process waits for a channel of that name, on any server.
fn is_waited_for_by_others(name: &str, own: u32) -> bool {
    let Some(mut pids) = proc::pids() else { return true };
    pids.any(|pid| {
        let line = proc::command_line(pid);
        let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
        let is_tmux = words[0].rsplit(|&byte| byte == b'/').next() == Some(b"tmux".as_slice());
        let has = |word: &[u8]| words.contains(&word);
        pid as u32 != own && is_tmux && (has(b"wait-for") || has(b"wait")) && has(name.as_bytes())
    })
}
