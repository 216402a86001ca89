//! Control of a terminal by a person on the page: a lease that lasts as long as the page is connected.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awaitty_core::{Signal, check_channel_name};
use tokio::time::Instant;

use crate::sessions::{Entry, Sessions};
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::ControlPeriod;

/// How long a disconnected page keeps control. It may be reloading, or its network may be down briefly.
const LEASE_GRACE: Duration = Duration::from_secs(10);

/// Streams at a time. Each page has one, which holds a connection.
const STREAMS_MAX: usize = 128;

/// The connected viewers by viewer ID.
#[derive(Debug)]
pub(super) struct Viewers {
    sessions: Arc<Sessions>,
    streams: Mutex<HashMap<String, StreamCount>>,
}

/// The streams of one viewer.
#[derive(Debug, Default)]
struct StreamCount {
    count: usize,
    /// Total number of streams so far.
    opened: u64,
}

/// An open stream of a viewer, counted until this is dropped.
#[derive(Debug)]
pub(super) struct StreamGuard {
    viewers: Arc<Viewers>,
    viewer: String,
}

impl StreamGuard {
    pub(super) fn viewer(&self) -> &str {
        &self.viewer
    }
}

impl Drop for StreamGuard {
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, StreamCount>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a new stream of a viewer; `None` at the limit.
    pub(super) fn open_stream(self: &Arc<Self>, viewer: &str) -> Option<StreamGuard> {
        let mut all = self.lock();
        if all.values().map(|streams| streams.count).sum::<usize>() >= STREAMS_MAX {
            return None;
        }
        let streams = all.entry(viewer.to_owned()).or_default();
        streams.count += 1;
        streams.opened += 1;
        Some(StreamGuard { viewers: Arc::clone(self), viewer: viewer.to_owned() })
    }

    /// Releases the terminals of a viewer that does not reconnect within the grace period.
    async fn end_lease(&self, viewer: &str, opened: u64) {
        tokio::time::sleep_until(Instant::now() + LEASE_GRACE).await;
        {
            let mut all = self.lock();
            // The viewer has reconnected, and its next disconnect starts a grace period of its own.
            if all.get(viewer).is_none_or(|streams| streams.opened != opened) {
                return;
            }
            all.remove(viewer);
        }
        for entry in self.sessions.all() {
            give_back(&self.sessions, &entry, viewer).await;
        }
    }

    /// Gives a connected viewer control of a terminal. Returns the seq of the frame at which control starts.
    pub(super) async fn take_control(&self, entry: &Entry, viewer: &str) -> Result<u64, ToolError> {
        if self.lock().get(viewer).is_none_or(|streams| streams.count == 0) {
            let why = "viewer: it has no open /api/live stream: open one before taking control";
            return Err(ToolError::argument(why));
        }
        let (viewer, channel) = (viewer.to_owned(), control_channel(&entry.id));
        let count = self.sessions.signals.count(&channel);
        let taken = entry.handle.call(move |driver| driver.take_control(&viewer, &channel, count));
        taken.await.map(|seq| seq.0).ok_or_else(ToolError::gone)
    }
}

/// Returns control of a terminal to the agents, and signals its control channel.
pub(super) async fn give_back(
    sessions: &Sessions,
    entry: &Entry,
    viewer: &str,
) -> Option<ControlPeriod> {
    let viewer = viewer.to_owned();
    let had = entry.handle.call(move |driver| driver.give_back(&viewer)).await.flatten()?;
    let message = Some(format!("seq {} to {}", had.from.0, had.to.0));
    let signal = Signal { message, ..Signal::default() };
    // Cannot fail: channel name and message are valid.
    let _ = sessions.signals.signal(&control_channel(&entry.id), signal);
    Some(had)
}

/// Returns the name of the channel that is signalled when control is given back.
fn control_channel(id: &str) -> String {
    let allowed =
        |c: char| if check_channel_name(c.encode_utf8(&mut [0; 4])).is_ok() { c } else { '-' };
    format!("control:{}", id.chars().map(allowed).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn streams_have_a_limit() {
        let viewers = Viewers::new(Arc::default());
        let mut all: Vec<_> =
            (0..STREAMS_MAX).map(|i| viewers.open_stream(&i.to_string())).collect();
        assert!(all.iter().all(Option::is_some));
        assert!(viewers.open_stream("0").is_none());
        all.pop();
        assert!(viewers.open_stream("0").is_some());
    }
}
