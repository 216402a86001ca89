//! What is typed, on its way to the program: in order, and as much as the terminal takes.

use std::collections::VecDeque;

use awaitty_core::EchoBy;

use super::{Driver, SendError};
use crate::backend::line::Typed;
use crate::policy;

/// What the program has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: VecDeque<u8>,
    /// What the terminal has of it.
    typed: Typed,
}

impl Input {
    /// Nothing of it is typed any more.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

impl Driver {
    /// Sends input, of which `text` is what can be echoed; the mark is set before the first byte.
    ///
    /// # Errors
    /// If it cannot be sent; nothing has changed then.
    pub fn send_as_person(&mut self, bytes: &[u8], text: &str) -> Result<usize, SendError> {
        let Some(io) = self.io.as_ref().filter(|_| !self.hung_up) else {
            return Err(SendError::Exited);
        };
        if self.input.bytes.len() + bytes.len() > policy::limits().input_queue {
            return Err(SendError::QueueFull(self.input.bytes.len()));
        }
        let modes = io.input_modes();
        let before = self.input.typed;
        let (typed, line) = modes.line.take(before, bytes);
        if line > policy::CANONICAL_LINE_MAX {
            return Err(SendError::LineTooLong { line, before: before.line });
        }
        let now = self.now();
        self.session.handle_input(now, text, modes.echo_by);
        let is_ahead = modes.echo_by == EchoBy::Terminal;
        self.typed_ahead = is_ahead.then(|| self.untouched.unwrap_or(modes));
        if !modes.is_secret() {
            self.record(|recorder, now| recorder.input(now, bytes));
        }
        self.input.typed = typed;
        self.input.bytes.extend(bytes);
        self.write_some();
        Ok(bytes.len())
    }

    /// Types keys that are not the caller's: no wait looks back to them. A person who has control is not disturbed.
    pub fn type_keys(&mut self, keys: &[u8]) {
        if self.control().is_some() {
            return;
        }
        self.push_unasked(keys);
        self.write_some();
    }

    /// Adds what no caller has typed. It counts as much as anything else in a line.
    fn push_unasked(&mut self, bytes: &[u8]) {
        if let Some(io) = &self.io {
            (self.input.typed, _) = io.input_modes().line.take(self.input.typed, bytes);
        }
        self.input.bytes.extend(bytes);
    }

    /// Tells whether output is stopped, as ctrl+s does it.
    pub fn is_output_stopped(&self) -> bool {
        let io = self.io.as_ref();
        io.is_some_and(|io| io.input_modes().line.is_stopped(self.input.typed))
    }

    pub(super) fn write_some(&mut self) {
        let before = self.input.bytes.len();
        self.write_more();
        if self.input.bytes.len() < before {
            self.sync_input();
        }
    }

    fn write_more(&mut self) {
        let Some(io) = &self.io else { return };
        while !self.input.bytes.is_empty() {
            let (front, _) = self.input.bytes.as_slices();
            match io.write(front) {
                Ok(0) => return,
                Ok(count) => drop(self.input.bytes.drain(..count)),
                Err(_) => return self.input.clear(),
            }
        }
    }

    pub(super) fn take_replies(&mut self) {
        let replies = self.session.poll_replies();
        // A program that asks and never reads gets no more answers.
        if !replies.is_empty()
            && self.input.bytes.len() + replies.len() <= policy::limits().input_queue
        {
            self.push_unasked(&replies);
        }
    }
}
