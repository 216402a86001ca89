//! The event stream of a page: the session list, tiles of all sessions, and the large view of one. All in one stream,
//! since browsers open only six connections to a server.
//!
//! Each message is built from the current state when there is room for it in the stream. So a slow reader gets fewer
//! updates, never outdated ones, and no viewer slows a program down.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::Frame;
use axum::body::{Body, Bytes};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::control::StreamGuard;
use super::paint::{Painter, ScreenView};
use crate::mcp::Host;
use crate::sessions::{Entry, wall_clock_ms};
use crate::text;
use crate::tools::{list_sessions, styled};
use awaitty_terminal::people::Person;
use awaitty_terminal::terminal::{TimelineEntry, ViewState};

/// Interval at which the session list and the tiles are updated.
const TILES_INTERVAL: Duration = Duration::from_millis(400);

/// Interval at which tmux is queried for unused panes: each query starts a process.
const PANES_INTERVAL: Duration = Duration::from_secs(5);

/// Interval between keep-alive messages, by which a dead connection is detected.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(10);

/// Minimum time between two updates of the large view: the refresh interval of a usual screen.
const PAINT_INTERVAL: Duration = Duration::from_millis(16);

/// Fields of a session that change constantly, or are sent in other messages.
const OMITTED_FIELDS: [&str; 4] = ["idle_ms", "running_ms", "waits", "seq"];

/// A viewer's stream.
#[derive(Debug)]
pub(super) struct Viewer {
    host: Arc<Host>,
    stream_guard: StreamGuard,
    can_control: bool,
    is_hello_sent: bool,
    /// Name or ID of the session for the large view.
    selected: Option<String>,
    large: Option<LargeView>,
    sent_list: Value,
    tiles: HashMap<String, Arc<Frame>>,
    panes: Vec<Value>,
    panes_at: Option<Instant>,
    next_refresh: Instant,
    sent_at: Instant,
}

/// The session in the large view.
#[derive(Debug)]
struct LargeView {
    entry: Arc<Entry>,
    shown: watch::Receiver<ViewState>,
    painter: Painter,
    painted_at: Option<Instant>,
    commands: Vec<TimelineEntry>,
    /// Present while the viewer has control, so that agents can request secrets from it.
    person: Option<Person>,
}

/// Messages to send together, one JSON object per line.
#[derive(Debug, Default)]
struct Messages(String);

impl Messages {
    fn push(&mut self, kind: &str, of: impl Serialize) {
        let Ok(mut line) = serde_json::to_value(of) else { return };
        line["type"] = json!(kind);
        self.0 += &format!("{line}\n");
    }
}

impl Viewer {
    pub(super) fn new(
        host: Arc<Host>,
        stream_guard: StreamGuard,
        selected: Option<String>,
        can_control: bool,
    ) -> Viewer {
        let now = Instant::now();
        Viewer {
            host,
            stream_guard,
            can_control,
            is_hello_sent: false,
            selected,
            large: None,
            sent_list: Value::Null,
            tiles: HashMap::new(),
            panes: Vec::new(),
            panes_at: None,
            next_refresh: now,
            sent_at: now,
        }
    }

    /// Returns the stream as a response body.
    pub(super) fn stream(self) -> Body {
        Body::from_stream(futures::stream::unfold(self, |mut viewer| async {
            let messages = viewer.next_messages().await;
            Some((Ok::<Bytes, Infallible>(messages), viewer))
        }))
    }

    /// Waits until there is something to send, and returns it.
    async fn next_messages(&mut self) -> Bytes {
        loop {
            let mut messages = Messages::default();
            self.push_hello(&mut messages);
            if Instant::now() >= self.next_refresh {
                self.push_sessions(&mut messages).await;
                self.push_commands(&mut messages).await;
                self.next_refresh = Instant::now() + TILES_INTERVAL;
            }
            self.paint(&mut messages).await;
            if messages.0.is_empty() && self.sent_at.elapsed() >= KEEPALIVE_INTERVAL {
                messages.push("alive", json!({}));
            }
            if !messages.0.is_empty() {
                self.sent_at = Instant::now();
                return Bytes::from(messages.0);
            }
            self.wait().await;
        }
    }

    /// Waits until the large view changes or the next update of the list is due.
    async fn wait(&mut self) {
        let changed = async {
            let Some(large) = &mut self.large else { return std::future::pending().await };
            if large.shown.changed().await.is_err() {
                // The session is gone; the next list shows that.
                return std::future::pending().await;
            }
            large.shown.mark_changed();
            if let Some(at) = large.painted_at {
                tokio::time::sleep_until(at + PAINT_INTERVAL).await;
            }
        };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(self.next_refresh) => {}
        }
    }

    fn push_hello(&mut self, messages: &mut Messages) {
        if !std::mem::replace(&mut self.is_hello_sent, true) {
            let hello = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "can_control": self.can_control,
            });
            messages.push("hello", hello);
        }
    }

    async fn push_sessions(&mut self, messages: &mut Messages) {
        let entries = self.host.sessions.all();
        let now = self.sessions(&entries).await;
        if now != self.sent_list {
            messages.push("sessions", &now);
            self.sent_list = now;
        }
        self.find_large(&entries).await;
        self.tiles.retain(|id, _| entries.iter().any(|entry| entry.id == *id));
        for entry in entries {
            let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
            let Some(frame) = frame else { continue };
            let last = self.tiles.insert(entry.id.clone(), Arc::clone(&frame));
            if let Some(tile) = tile(last.as_deref(), &frame) {
                messages.push("tile", Tile { session_id: &entry.id, tile });
            }
        }
    }

    /// Returns the current session list.
    async fn sessions(&mut self, entries: &[Arc<Entry>]) -> Value {
        let mut known = list_sessions::known(&self.host.sessions).await;
        if self.panes_at.is_none_or(|at| at.elapsed() >= PANES_INTERVAL) {
            let count = known.len();
            list_sessions::add_panes(&self.host.sessions, &mut known).await;
            let panes = known.drain(count..).filter_map(|pane| serde_json::to_value(pane).ok());
            self.panes = panes.collect();
            self.panes.iter_mut().for_each(|pane| pane["waits"] = json!([]));
            self.panes_at = Some(Instant::now());
        }
        let mut waits = self.host.waits.all();
        let mut sessions = Vec::new();
        for (entry, session) in known.iter().filter_map(|session| {
            let entry = entries.iter().find(|entry| entry.id == session.session_id)?;
            Some((entry, serde_json::to_value(session).ok()?))
        }) {
            let Value::Object(mut session) = session else { continue };
            OMITTED_FIELDS.iter().for_each(|name| drop(session.remove(*name)));
            // Marks the session as one with a screen.
            session.insert("seq".to_owned(), json!(0));
            let is_only = entries.len() == 1;
            let own = waits.extract_if(.., |wait| match wait.session.as_deref() {
                Some(name) => name == entry.id || Some(name) == entry.name.as_deref(),
                None => is_only,
            });
            session.insert("waits".to_owned(), json!(own.collect::<Vec<_>>()));
            self.add_control(entry, &mut session).await;
            sessions.push(Value::Object(session));
        }
        let is_known = |pane: &&Value| entries.iter().any(|entry| pane["session_id"] == entry.id);
        sessions.extend(self.panes.iter().filter(|pane| !is_known(pane)).cloned());
        json!({"sessions": sessions, "waits": waits})
    }

    /// Adds who has control. A viewer sees only its own viewer ID.
    async fn add_control(&self, entry: &Entry, session: &mut Map<String, Value>) {
        let control = entry.handle.call(|driver| driver.control().cloned()).await.flatten();
        if let Some(control) = control {
            let is_own = control.viewer == self.stream_guard.viewer();
            let viewer = if is_own { self.stream_guard.viewer() } else { "" };
            session.insert(
                "control".to_owned(),
                json!({"viewer": viewer, "from_seq": control.from.0}),
            );
        }
    }

    /// Opens the large view once the selected session is listed.
    async fn find_large(&mut self, entries: &[Arc<Entry>]) {
        let is_there =
            |large: &LargeView| entries.iter().any(|entry| Arc::ptr_eq(entry, &large.entry));
        self.large.take_if(|large| !is_there(large));
        let Some(selected) = self.selected.as_deref().filter(|_| self.large.is_none()) else {
            return;
        };
        // Other names are not looked up: each lookup asks tmux.
        let is_listed = self.panes.iter().any(|pane| pane["session_id"] == selected)
            || entries
                .iter()
                .any(|entry| entry.id == selected || entry.name.as_deref() == Some(selected));
        if !is_listed {
            return;
        }
        // `find` attaches a tmux pane.
        let Ok(entry) = self.host.sessions.find(Some(selected)).await else { return };
        let Some(mut shown) = entry.handle.call(|driver| driver.subscribe_view()).await else {
            return;
        };
        shown.mark_changed();
        let painter = Painter::default();
        let large = LargeView {
            entry,
            shown,
            painter,
            painted_at: None,
            commands: Vec::new(),
            person: None,
        };
        self.large = Some(large);
    }

    async fn push_commands(&mut self, messages: &mut Messages) {
        let Some(large) = &mut self.large else { return };
        let state = large
            .entry
            .handle
            .call(|driver| (driver.timeline().cloned().collect::<Vec<_>>(), driver.now()));
        let Some((commands, now)) = state.await else { return };
        if commands == large.commands {
            return;
        }
        let now_ms = wall_clock_ms();
        let of = |past: &TimelineEntry| {
            let ms = past.ended.map(|ended| ended.since(past.started).as_millis() as u64);
            json!({
                "command": text::visible(&past.text),
                "exit_code": past.status,
                "running": past.ended.is_none(),
                "started": now_ms.saturating_sub(now.since(past.started).as_millis() as u64),
                "ms": ms,
            })
        };
        let all: Vec<Value> = commands.iter().map(of).collect();
        messages.push("commands", json!({"session_id": large.entry.id, "commands": all}));
        large.commands = commands;
    }

    async fn paint(&mut self, messages: &mut Messages) {
        let Some(large) = self.large.as_mut() else { return };
        if !large.shown.has_changed().unwrap_or(false) {
            return;
        }
        large.shown.mark_unchanged();
        let (progress, viewer) = (large.painter.progress(), self.stream_guard.viewer().to_owned());
        let view = large.entry.handle.call(move |driver| {
            let has_control = driver.is_controlled_by(&viewer);
            (ScreenView::of(driver.session(), progress, has_control), has_control)
        });
        let Some((view, has_control)) = view.await else { return };
        if has_control != large.person.is_some() {
            large.person = has_control.then(|| large.entry.people.attend());
            // Sends the change of control at once.
            self.next_refresh = Instant::now();
        }
        large.painted_at = Some(Instant::now());
        let (seq, (cols, rows)) = (view.seq(), view.size());
        if let Some(paint) = large.painter.paint(view) {
            let of = json!({"session_id": large.entry.id, "seq": seq, "cols": cols, "rows": rows,
                "reset": paint.reset, "data": paint.data});
            messages.push("paint", of);
        }
    }
}

/// The changed rows of a tile.
#[derive(Debug, Serialize)]
struct TileRows {
    seq: u64,
    cols: usize,
    rows: usize,
    cursor: Value,
    changed: HashMap<usize, Vec<styled::Run>>,
}

#[derive(Debug, Serialize)]
struct Tile<'a> {
    session_id: &'a str,
    #[serde(flatten)]
    tile: TileRows,
}

fn tile(last: Option<&Frame>, frame: &Frame) -> Option<TileRows> {
    let last =
        last.filter(|last| last.cols() == frame.cols() && last.rows().len() == frame.rows().len());
    if last.is_some_and(|last| last.seq() == frame.seq()) {
        return None;
    }
    let is_same = |i: usize| last.is_some_and(|last| last.rows()[i].looks_like(&frame.rows()[i]));
    let rows = frame.rows().iter().enumerate().filter(|(i, _)| !is_same(*i));
    let changed = rows.map(|(i, row)| (i, styled::row(row))).collect();
    let cursor = frame.cursor();
    let cursor = json!({"row": cursor.row, "col": cursor.col, "visible": cursor.visible});
    let (cols, rows) = (frame.cols(), frame.rows().len());
    Some(TileRows { seq: frame.seq().0, cols, rows, cursor, changed })
}
