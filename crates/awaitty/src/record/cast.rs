//! Asciicasts: the lines of version 3, in which times are counted from the event before, and of version 2, in which they
//! are counted from the beginning.

use std::time::Duration;

use serde_json::{Value, json};

use super::Head;

/// A version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Of 2018, which everything reads.
    Two,
    /// Of 2025.
    #[default]
    Three,
}

pub(super) fn header(head: &Head<'_>) -> String {
    let (cols, rows) = head.size;
    let term = json!({"cols": cols, "rows": rows, "type": "xterm-256color"});
    let header =
        json!({"version": 3, "term": term, "timestamp": head.timestamp, "command": head.command});
    format!("{header}\n")
}

pub(super) fn event(after: Duration, kind: char, data: &str) -> String {
    format!("[{:.6}, \"{kind}\", {}]\n", after.as_secs_f64(), json!(data))
}

/// A recording that was read.
#[derive(Clone, Debug, Default)]
pub(super) struct Cast {
    pub(super) cols: usize,
    pub(super) rows: usize,
    pub(super) timestamp: u64,
    pub(super) command: String,
    pub(super) events: Vec<Event>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// Seconds since the beginning.
    pub(super) at: f64,
    pub(super) kind: char,
    pub(super) data: String,
}

impl Cast {
    /// Reads a recording of ours; a last line that was cut is left out.
    pub(super) fn parse(text: &str) -> Option<Cast> {
        let mut lines = text.lines();
        let header: Value = serde_json::from_str(lines.next()?).ok()?;
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let mut at = 0.0;
        let events = lines.map_while(|line| {
            let (after, kind, data): (f64, char, String) = serde_json::from_str(line).ok()?;
            at += after;
            Some(Event { at, kind, data })
        });
        Some(Cast {
            cols: number(&header["term"]["cols"])?,
            rows: number(&header["term"]["rows"])?,
            timestamp: header["timestamp"].as_u64().unwrap_or_default(),
            command: header["command"].as_str().unwrap_or_default().to_owned(),
            events: events.collect(),
        })
    }

    pub(super) fn seconds(&self) -> f64 {
        self.events.last().map_or(0.0, |event| event.at)
    }

    /// The same in version 2, which knows of no exit.
    pub(super) fn version_2(&self) -> String {
        let header = json!({"version": 2, "width": self.cols, "height": self.rows,
            "timestamp": self.timestamp, "command": self.command, "env": {"TERM": "xterm-256color"}});
        let lines =
            self.events.iter().filter(|event| event.kind != 'x').map(|event| {
                format!("[{:.6}, \"{}\", {}]\n", event.at, event.kind, json!(event.data))
            });
        std::iter::once(format!("{header}\n")).chain(lines).collect()
    }

    /// The size that an event changes to.
    pub(super) fn size(event: &Event) -> Option<(usize, usize)> {
        let (cols, rows) = event.data.split_once('x').filter(|_| event.kind == 'r')?;
        Some((cols.parse().ok()?, rows.parse().ok()?))
    }
}
