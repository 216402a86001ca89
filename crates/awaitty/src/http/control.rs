//! A person who takes control from a page: a lease that lasts as long as the page is there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awaitty_core::{Signal, check_channel_name};
use tokio::time::Instant;

use crate::driver::Had;
use crate::error::ToolError;
use crate::sessions::{Entry, Sessions};

/// How long a page that is gone keeps control: it may only be loading again, or its network.
const LEASE_GRACE: Duration = Duration::from_secs(10);

/// Those who look on, by what they call themselves, and how many streams each has.
#[derive(Debug)]
pub(super) struct Viewers {
    sessions: Arc<Sessions>,
    streams: Mutex<HashMap<String, usize>>,
}

/// Somebody who looks on, until it is dropped.
#[derive(Debug)]
pub(super) struct Presence {
    viewers: Arc<Viewers>,
    viewer: String,
}

impl Presence {
    pub(super) fn viewer(&self) -> &str {
        &self.viewer
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let mut streams = self.viewers.lock();
        let Some(count) = streams.get_mut(&self.viewer) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        streams.remove(&self.viewer);
        let (viewers, viewer) = (Arc::clone(&self.viewers), std::mem::take(&mut self.viewer));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { viewers.end_lease(&viewer).await });
        }
    }
}

impl Viewers {
    pub(super) fn new(sessions: Arc<Sessions>) -> Arc<Viewers> {
        Arc::new(Viewers { sessions, streams: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody looks on.
    pub(super) fn enter(self: &Arc<Self>, viewer: &str) -> Presence {
        *self.lock().entry(viewer.to_owned()).or_default() += 1;
        Presence { viewers: Arc::clone(self), viewer: viewer.to_owned() }
    }

    /// Takes everything back from somebody who does not come again.
    async fn end_lease(&self, viewer: &str) {
        tokio::time::sleep_until(Instant::now() + LEASE_GRACE).await;
        if self.lock().contains_key(viewer) {
            return;
        }
        for entry in self.sessions.all() {
            give_back(&self.sessions, &entry, viewer).await;
        }
    }

    /// Gives a terminal to somebody who looks on; says since which frame people have it.
    pub(super) async fn take(&self, entry: &Entry, viewer: &str) -> Result<u64, ToolError> {
        if !self.lock().contains_key(viewer) {
            return Err(ToolError::argument("viewer: control goes to those who look on"));
        }
        let (viewer, channel) = (viewer.to_owned(), channel(&entry.id));
        let taken = entry.handle.call(move |driver| driver.take_control(&viewer, &channel));
        taken.await.map(|seq| seq.0).ok_or_else(ToolError::gone)
    }
}

/// Gives a terminal back to the agents, and tells those who wait for it.
pub(super) async fn give_back(sessions: &Sessions, entry: &Entry, viewer: &str) -> Option<Had> {
    let viewer = viewer.to_owned();
    let had = entry.handle.call(move |driver| driver.give_back(&viewer)).await.flatten()?;
    let message = Some(format!("seq {} to {}", had.from.0, had.to.0));
    let signal = Signal { message, ..Signal::default() };
    // The name is one, and so is the message.
    let _ = sessions.signals.signal(&channel(&entry.id), signal);
    Some(had)
}

/// The channel that tells when a terminal is given back.
fn channel(id: &str) -> String {
    let allowed =
        |c: char| if check_channel_name(c.encode_utf8(&mut [0; 4])).is_ok() { c } else { '-' };
    format!("control:{}", id.chars().map(allowed).collect::<String>())
}
