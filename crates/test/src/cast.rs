//! Reads recordings (asciicasts of version 3) event by event, and converts their lines to version 2.

use std::io::{self, BufRead, Read};

use serde_json::{Value, json};

/// Version of the format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// From 2018, supported by all players.
    Two,
    /// From 2025.
    #[default]
    Three,
}

/// Maximum bytes of a line: many times the JSON of one read from a terminal.
const LINE_MAX: u64 = 1 << 20;

/// Metadata read from a recording.
#[derive(Clone, Debug, Default)]
pub struct CastHeader {
    /// Columns of the terminal at the start.
    pub cols: usize,
    /// Rows of the terminal at the start.
    pub rows: usize,
    /// Seconds since 1970.
    pub timestamp: u64,
    /// The command line.
    pub command: String,
}

/// An event of a recording.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// Seconds since the start.
    pub at: f64,
    /// `o` output, `i` input, `r` resize, `m` marker, `x` exit.
    pub kind: char,
    /// The bytes as text, the new size, the label or the exit status.
    pub data: String,
}

/// Reads a recording event by event, with constant memory.
#[derive(Debug)]
pub struct CastReader<R> {
    source: R,
    /// The line read last.
    line: String,
    /// The metadata.
    pub header: CastHeader,
    at: f64,
    /// The number of events that were read.
    pub events: usize,
}

impl<R: BufRead> CastReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// If it cannot be read, or the file is not a recording.
    pub fn new(mut source: R) -> io::Result<CastReader<R>> {
        let mut line = String::new();
        (&mut source).take(LINE_MAX).read_line(&mut line)?;
        let header: Value = serde_json::from_str(&line).unwrap_or_default();
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let (cols, rows) = (number(&header["term"]["cols"]), number(&header["term"]["rows"]));
        let (Some(cols), Some(rows)) = (cols, rows) else {
            return Err(io::Error::other("the file is not a recording"));
        };
        let timestamp = header["timestamp"].as_u64().unwrap_or_default();
        let command = header["command"].as_str().unwrap_or_default().to_owned();
        let header = CastHeader { cols, rows, timestamp, command };
        Ok(CastReader { source, line, header, at: 0.0, events: 0 })
    }

    /// Reads the next event; skips an incomplete last line.
    ///
    /// # Errors
    /// If the source cannot be read.
    pub fn next_event(&mut self) -> io::Result<Option<Event>> {
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

    /// Returns the line of the last event, or of the header.
    pub fn line(&self) -> &str {
        &self.line
    }

    /// Returns the duration of the events so far.
    pub fn seconds(&self) -> f64 {
        self.at
    }
}

impl CastHeader {
    /// Returns the header line in version 2.
    pub fn version_2(&self) -> String {
        let header = json!({"version": 2, "width": self.cols, "height": self.rows,
            "timestamp": self.timestamp, "command": self.command, "env": {"TERM": "xterm-256color"}});
        format!("{header}\n")
    }
}

impl Event {
    /// Returns the event line in version 2; `None` for an exit, which that version lacks.
    pub fn version_2(&self) -> Option<String> {
        let line = || format!("[{:.6}, \"{}\", {}]\n", self.at, self.kind, json!(self.data));
        (self.kind != 'x').then(line)
    }

    /// Returns the new size of a resize event.
    pub fn size(&self) -> Option<(usize, usize)> {
        let (cols, rows) = self.data.split_once('x').filter(|_| self.kind == 'r')?;
        Some((cols.parse().ok()?, rows.parse().ok()?))
    }
}
