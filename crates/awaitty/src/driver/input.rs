//! What is typed, on its way to the program: in order, as much as the terminal takes, and with a pause after an escape,
//! which is the beginning of another key for whoever gets both at once.

use std::collections::VecDeque;
use std::time::Duration;

use awaitty_core::EchoBy;
use tokio::time::Instant;

use super::commands::{LOOK_FIRST, LOOK_MAX};
use super::{Driver, SendError};
use crate::backend::Io;
use crate::backend::line::Typed;
use crate::policy;

/// What the program has not taken yet.
#[derive(Debug, Default)]
pub(super) struct Input {
    bytes: VecDeque<u8>,
    /// Bytes that were handed over.
    handed: u64,
    /// The same, at the ends of escapes that are keys.
    escapes: VecDeque<u64>,
    /// The escape that was handed over last, until something may follow it.
    escape: Option<Escape>,
    /// What the terminal has of it.
    typed: Typed,
}

/// An escape that was handed over.
#[derive(Clone, Copy, Debug)]
struct Escape {
    /// When it was last known not to be read.
    unread: Instant,
    /// When to ask again, and how long after the last time.
    at: Instant,
    pause: Duration,
}

impl Input {
    /// Adds bytes; `escapes` says after which of them an escape ends that is a key.
    fn push(&mut self, bytes: impl IntoIterator<Item = u8>, escapes: &[usize]) {
        let before = self.handed + self.bytes.len() as u64;
        self.escapes.extend(escapes.iter().map(|&end| before + end as u64));
        self.bytes.extend(bytes);
    }

    /// Nothing of it is typed any more.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.escapes.clear();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Tells whether something of it may be handed over now.
    pub(super) fn is_due(&self) -> bool {
        !self.bytes.is_empty() && self.escape.is_none()
    }

    /// When to ask whether the escape was read, while something is to follow it.
    pub(super) fn wake(&self) -> Option<Instant> {
        self.escape.filter(|_| !self.bytes.is_empty()).map(|escape| escape.at)
    }

    /// What may be handed over now.
    fn front(&self) -> &[u8] {
        if self.escape.is_some() {
            return &[];
        }
        let (front, _) = self.bytes.as_slices();
        let until = self.escapes.front().map_or(u64::MAX, |end| end - self.handed);
        &front[..front.len().min(usize::try_from(until).unwrap_or(usize::MAX))]
    }

    /// So much was handed over.
    fn hand_over(&mut self, count: usize, now: Instant) {
        self.bytes.drain(..count);
        self.handed += count as u64;
        if self.escapes.front() == Some(&self.handed) {
            self.escapes.pop_front();
            self.escape = Some(Escape { unread: now, at: now + LOOK_FIRST, pause: LOOK_FIRST });
        }
    }

    /// Lets something follow the escape, once that was read and the program had its time to see that nothing comes.
    fn let_follow(&mut self, now: Instant, is_unread: bool) {
        let Some(escape) = &mut self.escape else { return };
        let until = escape.unread + policy::ESCAPE_PAUSE;
        if is_unread {
            escape.pause = (2 * escape.pause).min(LOOK_MAX);
            (escape.unread, escape.at) = (now, now + escape.pause);
        } else if now < until {
            escape.at = until;
        } else {
            self.escape = None;
        }
    }
}

impl Driver {
    /// Sends what a person types, as `type_in` does.
    ///
    /// # Errors
    /// If it cannot be sent; nothing has changed then.
    pub fn send_as_person(&mut self, bytes: &[u8], text: &str) -> Result<usize, SendError> {
        self.type_in(bytes, text, &[])
    }

    /// Sends input, of which `text` is what can be echoed; the mark is set before the first byte. `escapes` says after
    /// which of the bytes an escape ends that is a key.
    ///
    /// # Errors
    /// If it cannot be sent; nothing has changed then.
    pub(super) fn type_in(
        &mut self,
        bytes: &[u8],
        text: &str,
        escapes: &[usize],
    ) -> Result<usize, SendError> {
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
        self.input.push(bytes.iter().copied(), escapes);
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
        self.input.push(bytes.iter().copied(), &[]);
    }

    /// Tells whether output is stopped, as ctrl+s does it.
    pub fn is_output_stopped(&self) -> bool {
        let io = self.io.as_ref();
        io.is_some_and(|io| io.input_modes().line.is_stopped(self.input.typed))
    }

    pub(super) fn write_some(&mut self) {
        self.follow_escape();
        let before = self.input.bytes.len();
        self.write_more();
        if self.input.bytes.len() < before {
            self.sync_input();
        }
        let is_pending = !self.input.is_empty();
        if self.input.bytes.len() < before || is_pending != self.session.is_input_pending() {
            let now = self.now();
            self.session.handle_input_pending(now, is_pending);
        }
    }

    fn write_more(&mut self) {
        let Some(io) = &self.io else { return };
        while !self.input.front().is_empty() {
            match io.write(self.input.front()) {
                Ok(0) => return,
                Ok(count) => self.input.hand_over(count, Instant::now()),
                Err(_) => return self.input.clear(),
            }
        }
    }

    /// Asks whether the escape was read that something is to follow, if it is time to. Nobody tells when it is.
    fn follow_escape(&mut self) {
        let now = Instant::now();
        if self.input.wake().is_some_and(|at| at <= now) {
            let is_unread =
                self.is_on_its_way() || self.io.as_ref().is_some_and(Io::has_unread_input);
            self.input.let_follow(now, is_unread);
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Hands over what may be, and says what that was.
    fn hand_over(input: &mut Input, now: Instant) -> Vec<u8> {
        let mut handed = Vec::new();
        while !input.front().is_empty() {
            // As a terminal that takes a byte at a time.
            handed.push(input.front()[0]);
            input.hand_over(1, now);
        }
        handed
    }

    #[test]
    fn what_follows_an_escape_comes_later() {
        let (mut input, start) = (Input::default(), Instant::now());
        input.push(*b"a\x1bb\x1b", &[2, 4]);
        input.push(*b"c\x1b[A", &[]);
        assert_eq!(hand_over(&mut input, start), b"a\x1b");
        assert!(!input.is_due() && !input.is_empty());
        // Not before it was read, and then not before the pause is over.
        let read = start + 1000 * MS;
        input.let_follow(read, true);
        assert!(input.wake().is_some_and(|at| at > read));
        input.let_follow(read + MS, false);
        assert_eq!(input.wake(), Some(read + policy::ESCAPE_PAUSE));
        input.let_follow(read + policy::ESCAPE_PAUSE - MS, false);
        assert_eq!(hand_over(&mut input, read), b"");
        let over = read + policy::ESCAPE_PAUSE;
        input.let_follow(over, false);
        assert_eq!(hand_over(&mut input, over), b"b\x1b");
        input.let_follow(over + policy::ESCAPE_PAUSE, false);
        assert_eq!(hand_over(&mut input, over), b"c\x1b[A");
        assert_eq!(input.wake(), None);
    }

    #[test]
    fn an_escape_at_the_end_is_waited_for_by_the_next() {
        let (mut input, start) = (Input::default(), Instant::now());
        input.push(*b"\x1b", &[1]);
        assert_eq!(hand_over(&mut input, start), b"\x1b");
        assert_eq!(input.wake(), None, "nothing is to follow");
        input.push(*b"x", &[]);
        assert!(input.wake().is_some() && !input.is_due());
        input.let_follow(start + policy::ESCAPE_PAUSE, false);
        assert_eq!(hand_over(&mut input, start), b"x");
        // What is not typed any more leaves nothing behind.
        input.push(*b"\x1bx", &[1]);
        input.clear();
        input.push(*b"yz", &[]);
        assert_eq!(hand_over(&mut input, start), b"yz");
    }
}
