//! A person who takes control from a page: a lease that lasts as long as the page is there.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awaitty_core::{Signal, check_channel_name};
use tokio::time::Instant;

use crate::sessions::{Entry, Sessions};
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::Had;

/// How long a page that is gone keeps control: it may only be loading again, or its network.
const LEASE_GRACE: Duration = Duration::from_secs(10);

/// Streams at a time: each page has one, and each holds a connection.
const STREAMS_MAX: usize = 128;

/// Those who look on, by what they call themselves.
#[derive(Debug)]
pub(super) struct Viewers {
    sessions: Arc<Sessions>,
    streams: Mutex<HashMap<String, Streams>>,
}

/// The streams of one who looks on.
#[derive(Debug, Default)]
struct Streams {
    count: usize,
    /// How many there have been.
    opened: u64,
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
        let mut all = self.viewers.lock();
        let Some(streams) = all.get_mut(&self.viewer) else { return };
        streams.count -= 1;
        if streams.count > 0 {
            return;
        }
        let opened = streams.opened;
        let (viewers, viewer) = (Arc::clone(&self.viewers), std::mem::take(&mut self.viewer));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move { viewers.end_lease(&viewer, opened).await });
        }
    }
}

impl Viewers {
    pub(super) fn new(sessions: Arc<Sessions>) -> Arc<Viewers> {
        Arc::new(Viewers { sessions, streams: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Streams>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody looks on; nobody if there are too many.
    pub(super) fn enter(self: &Arc<Self>, viewer: &str) -> Option<Presence> {
        let mut all = self.lock();
        if all.values().map(|streams| streams.count).sum::<usize>() >= STREAMS_MAX {
            return None;
        }
        let streams = all.entry(viewer.to_owned()).or_default();
        streams.count += 1;
        streams.opened += 1;
        Some(Presence { viewers: Arc::clone(self), viewer: viewer.to_owned() })
    }

    /// Takes everything back from somebody who does not come again.
    async fn end_lease(&self, viewer: &str, opened: u64) {
        tokio::time::sleep_until(Instant::now() + LEASE_GRACE).await;
        {
            let mut all = self.lock();
            // Whoever came again has a grace of their own.
            if all.get(viewer).is_none_or(|streams| streams.opened != opened) {
                return;
            }
            all.remove(viewer);
        }
        for entry in self.sessions.all() {
            give_back(&self.sessions, &entry, viewer).await;
        }
    }

    /// Gives a terminal to somebody who looks on; says since which frame people have it.
    pub(super) async fn take(&self, entry: &Entry, viewer: &str) -> Result<u64, ToolError> {
        if self.lock().get(viewer).is_none_or(|streams| streams.count == 0) {
            return Err(ToolError::argument("viewer: control goes to those who look on"));
        }
        let (viewer, channel) = (viewer.to_owned(), channel(&entry.id));
        let count = self.sessions.signals.count(&channel);
        let taken = entry.handle.call(move |driver| driver.take_control(&viewer, &channel, count));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn so_many_look_on_and_no_more() {
        let viewers = Viewers::new(Arc::default());
        let mut all: Vec<_> = (0..STREAMS_MAX).map(|i| viewers.enter(&i.to_string())).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(viewers.enter("0").is_none());
        all.pop();
        assert!(viewers.enter("0").is_some());
    }
}
