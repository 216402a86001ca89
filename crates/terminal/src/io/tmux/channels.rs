//! Channels of a tmux server: what `tmux wait-for -S NAME` signals there is counted here.
//!
//! tmux keeps a signal only until the first wait, and a wait that is given up stays with the server and takes the next
//! signal away (read in tmux 3.3a, cmd-wait-for.c). So one waiter for each channel waits for as long as we run, and what
//! it gets is counted as any other signal is. The waiter is a process of its own, which hears when we are gone, however
//! that came about, and takes its wait back from the server.

use std::collections::HashMap;
use std::io;
use std::process::{Command as StdCommand, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use awaitty_core::Signal;
use rustix::event::{PollFd, PollFlags};
use rustix::process::{Pid, PidfdFlags};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use super::{Server, TmuxError};
use crate::terminals::Terminals;

/// Channels that are waited for at a time, each by two processes.
pub const CHANNELS_MAX: usize = 64;

/// A channel of a tmux server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Channel {
    /// The server.
    pub server: Server,
    /// What it is called there.
    pub name: String,
}

impl Channel {
    /// What the channel is called here: `tmux:NAME`, or `tmux:SERVER/NAME` with a `:` for the slash, which names of
    /// channels do not have.
    pub fn key(&self) -> String {
        self.server.id_of(&self.name).replace('/', ":")
    }
}

/// The channels that somebody has waited for.
#[derive(Debug, Default)]
pub struct Waiters {
    running: Mutex<HashMap<Channel, Waiter>>,
}

/// Who waits for a channel, and tells by `lost` that its server is gone.
#[derive(Debug)]
struct Waiter {
    lost: Arc<watch::Sender<bool>>,
    task: AbortHandle,
}

impl Waiters {
    /// Has a channel waited for from now on; what comes back changes to `true` when its server is gone.
    ///
    /// # Errors
    /// If there is no server, or there are too many channels.
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
            // One that nobody waits for any more makes room.
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
        let (key, channel, told) = (channel.clone(), channel.clone(), Arc::clone(&lost));
        let task = tokio::spawn(async move {
            while channel.is_signalled(&server).await
                && let Some(sessions) = sessions.upgrade()
            {
                // It has a name that channels may have.
                let _ = sessions.signals.signal(&channel.key(), Signal::default());
            }
            told.send_replace(true);
        });
        running.insert(key, Waiter { lost, task: task.abort_handle() });
        Ok(receiver)
    }

    /// The waiter for a channel, if it is waited for.
    pub fn running(&self, channel: &Channel) -> Option<watch::Receiver<bool>> {
        let running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let waiter = running.get(channel).filter(|waiter| !*waiter.lost.borrow())?;
        Some(waiter.lost.subscribe())
    }
}

impl Channel {
    /// Waits for a signal; says whether it was one, and not the end of the server, which wakes all who wait.
    async fn is_signalled(&self, server: &str) -> bool {
        let Ok((mut child, pid)) = self.start_waiter() else { return false };
        // Waiting for a child closes what it reads from, which is what it goes by.
        let held = child.stdin.take();
        let _reaped = super::Reaped(pid);
        let ended = child.wait().await;
        drop(held);
        let is_gone = || async {
            match self.server.pid().await {
                Ok(now) => now != server,
                // It may only be slow.
                Err(error) => matches!(error, TmuxError::NoServer(_)),
            }
        };
        ended.is_ok_and(|status| status.success()) && !is_gone().await
    }

    fn start_waiter(&self) -> io::Result<(Child, Pid)> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["tmux-wait", "--", &self.name]).args(self.server.name());
        // What ends us is not to end it.
        command.process_group(0);
        // Nothing is ever written: that it ends is what is heard.
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        super::start(command)
    }

    /// Signals it.
    ///
    /// # Errors
    /// If there is no server.
    pub async fn signal(&self) -> Result<(), TmuxError> {
        self.server.run(&["wait-for", "-S", "--", &self.name]).await.map(drop)
    }
}

/// What the waiter is: waits for a signal, or for whoever started it to be gone. Says whether there was a signal.
///
/// # Errors
/// If it cannot wait.
pub fn wait(name: &str, server: Option<&str>) -> io::Result<bool> {
    let tmux = |args: &[&str]| {
        let mut command = StdCommand::new("tmux");
        command.args(server.into_iter().flat_map(|server| ["-L", server])).args(args);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut child = tmux(&["wait-for", "--", name]).spawn()?;
    let pidfd = rustix::process::pidfd_open(Pid::from_child(&child), PidfdFlags::empty())?;
    let input = io::stdin();
    let mut sides = [PollFd::new(&pidfd, PollFlags::IN), PollFd::new(&input, PollFlags::IN)];
    while let Err(rustix::io::Errno::INTR) = rustix::event::poll(&mut sides, None) {}
    if sides[0].revents().is_empty() {
        // A wait that is only dropped would take the next signal away. If somebody else waits too, they would be
        // woken, and take the signal anyway.
        if !is_waited_for_by_others(name, child.id()) {
            tmux(&["wait-for", "-S", "--", name]).status()?;
        }
        child.kill()?;
    }
    Ok(child.wait()?.success())
}

/// Tells whether another process waits for a channel of that name, of whatever server.
fn is_waited_for_by_others(name: &str, own: u32) -> bool {
    let Ok(all) = std::fs::read_dir("/proc") else { return true };
    let pids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter(|&pid| pid != own).any(|pid| {
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|&byte| byte == 0).collect();
        let is_tmux = words[0].rsplit(|&byte| byte == b'/').next() == Some(b"tmux".as_slice());
        let has = |word: &[u8]| words.contains(&word);
        is_tmux && (has(b"wait-for") || has(b"wait")) && has(name.as_bytes())
    })
}
