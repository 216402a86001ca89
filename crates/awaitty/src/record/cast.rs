//! Reads recordings, and converts their lines to version 2.

use std::io::{self, BufRead, Read};

use serde_json::{Value, json};

/// A version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Of 2018, which everything reads.
    Two,
    /// Of 2025.
    #[default]
    Three,
}

/// Bytes of a line of a recording that are read: many times what one read of a terminal becomes as JSON.
const LINE_MAX: u64 = 1 << 20;

/// What a recording begins with, as it was read.
#[derive(Clone, Debug, Default)]
pub(super) struct CastHead {
    pub(super) cols: usize,
    pub(super) rows: usize,
    pub(super) timestamp: u64,
    pub(super) command: String,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// Seconds since the beginning.
    pub(super) at: f64,
    pub(super) kind: char,
    pub(super) data: String,
}

/// Reads a recording of ours event by event, so that its size does not matter.
pub(super) struct CastReader<R> {
    source: R,
    /// The line that was read last.
    line: String,
    pub(super) head: CastHead,
    at: f64,
    pub(super) events: usize,
}

impl<R: BufRead> CastReader<R> {
    /// Reads the head of a recording.
    ///
    /// # Errors
    /// If it cannot be read, or is no recording.
    pub(super) fn new(mut source: R) -> io::Result<CastReader<R>> {
        let mut line = String::new();
        (&mut source).take(LINE_MAX).read_line(&mut line)?;
        let header: Value = serde_json::from_str(&line).unwrap_or_default();
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let (cols, rows) = (number(&header["term"]["cols"]), number(&header["term"]["rows"]));
        let (Some(cols), Some(rows)) = (cols, rows) else {
            return Err(io::Error::other("the file is no recording any more"));
        };
        let timestamp = header["timestamp"].as_u64().unwrap_or_default();
        let command = header["command"].as_str().unwrap_or_default().to_owned();
        let head = CastHead { cols, rows, timestamp, command };
        Ok(CastReader { source, line, head, at: 0.0, events: 0 })
    }

    /// Reads the next event; a last line that was cut is left out.
    pub(super) fn next(&mut self) -> io::Result<Option<Event>> {
        let mut line = String::new();
        (&mut self.source).take(LINE_MAX).read_line(&mut line)?;
        let Ok((after, kind, data)) = serde_json::from_str::<(f64, char, String)>(&line) else {
            return Ok(None);
        };
        self.line = line;
        self.at += after;
        self.events += 1;
        Ok(Some(Event { at: self.at, kind, data }))
    }

    /// Returns the line of the head, or of the last event.
    pub(super) fn line(&self) -> &str {
        &self.line
    }

    /// Returns how long the events so far took.
    pub(super) fn seconds(&self) -> f64 {
        self.at
    }
}

impl CastHead {
    /// Returns the head in version 2.
    pub(super) fn version_2(&self) -> String {
        let header = json!({"version": 2, "width": self.cols, "height": self.rows,
            "timestamp": self.timestamp, "command": self.command, "env": {"TERM": "xterm-256color"}});
        format!("{header}\n")
    }
}

impl Event {
    /// Returns the event in version 2, which knows of no exit.
    pub(super) fn version_2(&self) -> Option<String> {
        let line = || format!("[{:.6}, \"{}\", {}]\n", self.at, self.kind, json!(self.data));
        (self.kind != 'x').then(line)
    }

    /// Returns the size that it changes to.
    pub(super) fn size(&self) -> Option<(usize, usize)> {
        let (cols, rows) = self.data.split_once('x').filter(|_| self.kind == 'r')?;
        Some((cols.parse().ok()?, rows.parse().ok()?))
    }
}
