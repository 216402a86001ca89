//! The channels of a server: what `awaitty-core` keeps of them, shared, and with a way to wait.

use std::sync::{Mutex, MutexGuard, PoisonError};

use awaitty_core::{ChannelError, Channels, Signal, Signalled};
use tokio::sync::watch;

/// Channels that are signalled and waited for.
#[derive(Debug)]
pub struct Signals {
    channels: Mutex<Channels>,
    /// Something was signalled. All waits look then; signals are rare, and looking costs nothing.
    changed: watch::Sender<()>,
}

impl Default for Signals {
    fn default() -> Signals {
        Signals { channels: Mutex::default(), changed: watch::Sender::new(()) }
    }
}

impl Signals {
    fn lock(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Signals, and says how many signals there have been.
    ///
    /// # Errors
    /// If the name or the message may not be; nothing has changed then.
    pub fn signal(&self, name: &str, signal: Signal) -> Result<u64, ChannelError> {
        let count = self.lock().signal(name, signal)?;
        self.changed.send_replace(());
        Ok(count)
    }

    /// The number above which a wait asks that names none.
    pub fn given(&self, name: &str) -> u64 {
        self.lock().given(name)
    }

    /// How many signals there have been.
    pub fn count(&self, name: &str) -> u64 {
        self.lock().count(name)
    }

    /// What there is above a number, handed to a wait.
    pub fn take_above(&self, name: &str, since: u64) -> Option<Signalled> {
        let mut channels = self.lock();
        let signalled = channels.above(name, since)?;
        channels.give(name, signalled.newest.number);
        Some(signalled)
    }

    /// Waits until there is something above a number. Nothing is taken by a wait that is dropped.
    pub async fn above(&self, name: &str, since: u64) -> Signalled {
        let mut changed = self.changed.subscribe();
        loop {
            if let Some(signalled) = self.take_above(name, since) {
                return signalled;
            }
            if changed.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}
