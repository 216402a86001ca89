//! Writes input to the terminal in order, as far as it takes it, at the pace that `pace.rs` decides.

use awaitty_core::EchoSource;
use tokio::time::Instant;

use super::pace::{Evidence, Part, PartKind};
use super::{Driver, SendError};
use crate::io::Io;
use crate::limits;

impl Driver {
    /// Sends the input of a person, also while that person has control.
    ///
    /// # Errors
    /// If the input is refused; nothing is queued then.
    pub fn send_as_person(&mut self, bytes: &[u8], text: &str) -> Result<usize, SendError> {
        self.type_in(vec![Part::text(bytes)], text)
    }

    /// Queues input, of which `text` can be echoed. The input mark is set before the first byte.
    ///
    /// # Errors
    /// If the input is refused; nothing is queued then.
    pub(super) fn type_in(&mut self, parts: Vec<Part>, text: &str) -> Result<usize, SendError> {
        let Some(io) = self.io.as_ref().filter(|_| !self.hung_up) else {
            return Err(SendError::Exited);
        };
        let count: usize = parts.iter().map(|part| part.bytes.len()).sum();
        if self.input.len() + count > self.input_queue {
            let (waiting, max) = (self.input.len(), self.input_queue);
            return Err(SendError::QueueFull { waiting, max });
        }
        let modes = io.input_modes();
        let before = self.input.typed;
        let mut typed = before;
        let mut ends_line = Vec::new();
        for part in &parts {
            let (after, line) = modes.line.take(typed, &part.bytes);
            if line > limits::CANONICAL_LINE_MAX {
                return Err(SendError::LineTooLong { line, before: before.line });
            }
            ends_line.push(after.line == 0);
            typed = after;
        }
        let now = self.now();
        self.shells.note_input(text, &self.session, io.foreground_group());
        self.session.handle_input(now, text, modes.echo_source);
        let is_ahead = modes.echo_source == EchoSource::Terminal;
        self.typed_ahead = is_ahead.then(|| self.untouched.unwrap_or(modes));
        self.input.typed = typed;
        for (part, ends_line) in parts.into_iter().zip(ends_line) {
            let is_signal = part.kind == PartKind::Key && modes.line.is_control(&part.bytes);
            self.input.push(part, ends_line);
            if is_signal {
                self.input.free();
            }
        }
        self.write_some();
        Ok(count)
    }

    /// Sets the input mark for an act that writes no bytes, such as a resize: waits count what the program draws after
    /// it.
    pub fn set_input_mark(&mut self) {
        let now = self.now();
        self.session.handle_input(now, "", EchoSource::None);
    }

    /// Sends keys that no caller has typed, without setting the input mark. Does nothing while a person has control.
    pub fn type_keys(&mut self, keys: &[u8]) {
        if self.control().is_some() {
            return;
        }
        self.push_internal(keys);
        self.write_some();
    }

    /// Queues bytes that no caller has typed. They count for the line buffer like all others.
    fn push_internal(&mut self, bytes: &[u8]) {
        if let Some(io) = &self.io {
            (self.input.typed, _) = io.input_modes().line.take(self.input.typed, bytes);
        }
        self.input.push_reply(bytes);
    }

    /// Returns whether flow control (Ctrl+S) stopped the output.
    pub fn is_output_stopped(&self) -> bool {
        let io = self.io.as_ref();
        io.is_some_and(|io| io.input_modes().line.is_stopped(self.input.typed))
    }

    /// Writes the input that is due, and reports to the session whether input is pending.
    pub(super) fn write_some(&mut self) {
        let before = self.input.len();
        loop {
            self.probe_next_part();
            let left = self.input.len();
            self.write_front();
            if self.input.len() == left {
                break;
            }
        }
        if self.input.len() < before {
            self.sync_input();
        }
        let is_pending = self.input.has_parts();
        if self.input.len() < before || is_pending != self.session.is_input_pending() {
            let now = self.now();
            self.session.handle_input_pending(now, is_pending);
        }
    }

    /// Writes the parts that are due, as far as the terminal takes them.
    fn write_front(&mut self) {
        if self.input.wants_runs() {
            let runs = self.foreground().map_or(0, |found| found.runs);
            self.input.note_runs(runs);
        }
        let Some(io) = &self.io else { return };
        let mut shown = Vec::new();
        while !self.input.front().is_empty() {
            // A recording has only input that the terminal itself echoes: a line editor may be reading a password, and
            // its terminal modes do not show it.
            let modes =
                (self.recorder.is_some() && self.input.is_front_typed()).then(|| io.input_modes());
            let is_shown = modes.is_some_and(|modes| modes.echo_source == EchoSource::Terminal);
            self.was_hidden |= modes.is_some_and(|modes| modes.is_secret());
            match io.write(self.input.front()) {
                Ok(0) => break,
                Ok(count) => {
                    if is_shown {
                        shown.extend_from_slice(&self.input.front()[..count]);
                    }
                    self.input.hand_over(count, Instant::now());
                }
                Err(_) => {
                    self.input.clear();
                    break;
                }
            }
        }
        if !shown.is_empty() {
            self.record(|recorder, now| recorder.input(now, &shown));
        }
    }

    /// Probes whether the next part of the input may be written, if the probe is due. The kernel does not announce when
    /// the program has read its input.
    fn probe_next_part(&mut self) {
        let now = Instant::now();
        if self.input.wake().is_none_or(|at| at > now) {
            return;
        }
        let Some(io) = &self.io else { return };
        let is_canonical = io.input_modes().is_canonical;
        // This order avoids a race: a part that is read between the two calls counts as unread.
        let is_unread = self.is_on_its_way() || self.io.as_ref().is_some_and(Io::has_unread_input);
        let found = self.foreground();
        let runs = found.as_ref().map_or(0, |found| found.runs);
        let activity = super::commands::activity_of(found.as_ref());
        let evidence = Evidence { is_unread, activity, runs, is_canonical };
        self.input.consider(now, &evidence);
    }

    /// Queues the session's replies to queries of the program.
    pub(super) fn take_replies(&mut self) {
        let replies = self.session.poll_replies();
        // A program that sends queries and never reads gets no more replies once the queue is full.
        if !replies.is_empty() && self.input.len() + replies.len() <= self.input_queue {
            self.push_internal(&replies);
        }
    }
}
