//! What a page is told: the sessions, their tiles, and one of them as large as it is. One stream for all of it, since
//! a browser opens only six connections to a server.
//!
//! Whoever reads slowly is told less often and never of the past: each line is made when there is room for it, of what is
//! there then. So nobody who looks on slows a program down.

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

use super::control::Presence;
use super::paint::{Painter, View};
use crate::mcp::Host;
use crate::sessions::{Entry, wall_clock_ms};
use crate::text;
use crate::tools::{list_sessions, styled};
use awaitty_terminal::people::Person;
use awaitty_terminal::terminal::{Past, Shown};

/// How often the sessions and their tiles are told, if they changed.
const TILES_PAUSE: Duration = Duration::from_millis(400);

/// How often tmux is asked for panes that nobody has used yet: each time is a process.
const PANES_PAUSE: Duration = Duration::from_secs(5);

/// How often something is said at least, so that a dead connection is found out.
const ALIVE_PAUSE: Duration = Duration::from_secs(10);

/// How often the large one is painted at most: as often as a usual screen.
const PAINT_PAUSE: Duration = Duration::from_millis(16);

/// What of a session changes all the time, or is told elsewhere.
const NOT_TOLD: [&str; 4] = ["idle_ms", "running_ms", "waits", "seq"];

/// Somebody who looks on.
#[derive(Debug)]
pub(super) struct Viewer {
    host: Arc<Host>,
    presence: Presence,
    can_control: bool,
    is_greeted: bool,
    /// The session that is to be large.
    wanted: Option<String>,
    big: Option<Big>,
    told: Value,
    tiles: HashMap<String, Arc<Frame>>,
    panes: Vec<Value>,
    panes_at: Option<Instant>,
    next: Instant,
    said_at: Instant,
}

/// The session that is shown as large as it is.
#[derive(Debug)]
struct Big {
    entry: Arc<Entry>,
    shown: watch::Receiver<Shown>,
    painter: Painter,
    painted_at: Option<Instant>,
    commands: Vec<Past>,
    /// While its viewer has control they can be asked for something.
    person: Option<Person>,
}

/// What is said at once, a line each.
#[derive(Debug, Default)]
struct Lines(String);

impl Lines {
    fn push(&mut self, kind: &str, of: impl Serialize) {
        let Ok(mut line) = serde_json::to_value(of) else { return };
        line["type"] = json!(kind);
        self.0 += &format!("{line}\n");
    }
}

impl Viewer {
    pub(super) fn new(
        host: Arc<Host>,
        presence: Presence,
        wanted: Option<String>,
        can_control: bool,
    ) -> Viewer {
        let now = Instant::now();
        Viewer {
            host,
            presence,
            can_control,
            is_greeted: false,
            wanted,
            big: None,
            told: Value::Null,
            tiles: HashMap::new(),
            panes: Vec::new(),
            panes_at: None,
            next: now,
            said_at: now,
        }
    }

    /// All that is said to them, as long as they listen.
    pub(super) fn stream(self) -> Body {
        Body::from_stream(futures::stream::unfold(self, |mut viewer| async {
            let said = viewer.next().await;
            Some((Ok::<Bytes, Infallible>(said), viewer))
        }))
    }

    /// Waits until there is something to say.
    async fn next(&mut self) -> Bytes {
        loop {
            let mut lines = Lines::default();
            self.greet(&mut lines);
            if Instant::now() >= self.next {
                self.tell_sessions(&mut lines).await;
                self.tell_commands(&mut lines).await;
                self.next = Instant::now() + TILES_PAUSE;
            }
            self.paint(&mut lines).await;
            if lines.0.is_empty() && self.said_at.elapsed() >= ALIVE_PAUSE {
                lines.push("alive", json!({}));
            }
            if !lines.0.is_empty() {
                self.said_at = Instant::now();
                return Bytes::from(lines.0);
            }
            self.wait().await;
        }
    }

    /// Waits until the large one changes, or it is time to look at the others.
    async fn wait(&mut self) {
        let changed = async {
            let Some(big) = &mut self.big else { return std::future::pending().await };
            if big.shown.changed().await.is_err() {
                // It is gone, as the list will say.
                return std::future::pending().await;
            }
            big.shown.mark_changed();
            if let Some(at) = big.painted_at {
                tokio::time::sleep_until(at + PAINT_PAUSE).await;
            }
        };
        tokio::select! {
            () = changed => {}
            () = tokio::time::sleep_until(self.next) => {}
        }
    }

    fn greet(&mut self, lines: &mut Lines) {
        if !std::mem::replace(&mut self.is_greeted, true) {
            let hello = json!({
                "version": env!("CARGO_PKG_VERSION"),
                "can_control": self.can_control,
            });
            lines.push("hello", hello);
        }
    }

    async fn tell_sessions(&mut self, lines: &mut Lines) {
        let entries = self.host.sessions.all();
        let now = self.sessions(&entries).await;
        if now != self.told {
            lines.push("sessions", &now);
            self.told = now;
        }
        self.find_big(&entries).await;
        self.tiles.retain(|id, _| entries.iter().any(|entry| entry.id == *id));
        for entry in entries {
            let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
            let Some(frame) = frame else { continue };
            let last = self.tiles.insert(entry.id.clone(), Arc::clone(&frame));
            if let Some(tile) = tile(last.as_deref(), &frame) {
                lines.push("tile", Tile { session_id: &entry.id, tile });
            }
        }
    }

    /// The list as it is now.
    async fn sessions(&mut self, entries: &[Arc<Entry>]) -> Value {
        let mut known = list_sessions::known(&self.host.sessions).await;
        if self.panes_at.is_none_or(|at| at.elapsed() >= PANES_PAUSE) {
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
            NOT_TOLD.iter().for_each(|name| drop(session.remove(*name)));
            // So that a page knows that it has a screen.
            session.insert("seq".to_owned(), json!(0));
            let is_only = entries.len() == 1;
            let own = waits.extract_if(.., |wait| match wait.session.as_deref() {
                Some(name) => name == entry.id || Some(name) == entry.name.as_deref(),
                None => is_only,
            });
            session.insert("waits".to_owned(), json!(own.collect::<Vec<_>>()));
            self.tell_control(entry, &mut session).await;
            sessions.push(Value::Object(session));
        }
        let is_known = |pane: &&Value| entries.iter().any(|entry| pane["session_id"] == entry.id);
        sessions.extend(self.panes.iter().filter(|pane| !is_known(pane)).cloned());
        json!({"sessions": sessions, "waits": waits})
    }

    /// Who has control; whoever it is, a viewer learns only of itself.
    async fn tell_control(&self, entry: &Entry, session: &mut Map<String, Value>) {
        let control = entry.handle.call(|driver| driver.control().cloned()).await.flatten();
        if let Some(control) = control {
            let is_own = control.viewer == self.presence.viewer();
            let viewer = if is_own { self.presence.viewer() } else { "" };
            session.insert(
                "control".to_owned(),
                json!({"viewer": viewer, "from_seq": control.from.0}),
            );
        }
    }

    /// Finds the session that is to be large, once it is there.
    async fn find_big(&mut self, entries: &[Arc<Entry>]) {
        let is_there = |big: &Big| entries.iter().any(|entry| Arc::ptr_eq(entry, &big.entry));
        self.big.take_if(|big| !is_there(big));
        let Some(wanted) = self.wanted.as_deref().filter(|_| self.big.is_none()) else { return };
        // Whatever else it may be would be looked for in tmux each time.
        let is_listed = self.panes.iter().any(|pane| pane["session_id"] == wanted)
            || entries
                .iter()
                .any(|entry| entry.id == wanted || entry.name.as_deref() == Some(wanted));
        if !is_listed {
            return;
        }
        // A pane is attached when it is first looked at.
        let Ok(entry) = self.host.sessions.find(Some(wanted)).await else { return };
        let Some(mut shown) = entry.handle.call(|driver| driver.look_on()).await else { return };
        shown.mark_changed();
        let painter = Painter::default();
        let big =
            Big { entry, shown, painter, painted_at: None, commands: Vec::new(), person: None };
        self.big = Some(big);
    }

    async fn tell_commands(&mut self, lines: &mut Lines) {
        let Some(big) = &mut self.big else { return };
        let told = big
            .entry
            .handle
            .call(|driver| (driver.timeline().cloned().collect::<Vec<_>>(), driver.now()));
        let Some((commands, now)) = told.await else { return };
        if commands == big.commands {
            return;
        }
        let now_ms = wall_clock_ms();
        let of = |past: &Past| {
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
        lines.push("commands", json!({"session_id": big.entry.id, "commands": all}));
        big.commands = commands;
    }

    async fn paint(&mut self, lines: &mut Lines) {
        let Some(big) = self.big.as_mut() else { return };
        if !big.shown.has_changed().unwrap_or(false) {
            return;
        }
        big.shown.mark_unchanged();
        let (painted, viewer) = (big.painter.painted(), self.presence.viewer().to_owned());
        let view = big.entry.handle.call(move |driver| {
            let types = driver.is_controlled_by(&viewer);
            (View::of(driver.session(), painted, types), types)
        });
        let Some((view, types)) = view.await else { return };
        if types != big.person.is_some() {
            big.person = types.then(|| big.entry.people.attend());
            // Who has control is told at once.
            self.next = Instant::now();
        }
        big.painted_at = Some(Instant::now());
        let (seq, (cols, rows)) = (view.seq(), view.size());
        if let Some(paint) = big.painter.paint(view) {
            let of = json!({"session_id": big.entry.id, "seq": seq, "cols": cols, "rows": rows,
                "reset": paint.reset, "data": paint.data});
            lines.push("paint", of);
        }
    }
}

/// A small picture of a session: the rows that changed.
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
