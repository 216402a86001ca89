//! Reads output and feeds it to the session in turns of bounded work, so that no program delays other sessions.

use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

use super::Driver;
use crate::io::Io;
use crate::io::pty::ReadEnd;
use crate::io::tmux::Pane;
use crate::limits;

/// Bytes of one read: as many as the kernel returns of a PTY at once.
const READ_BYTES: usize = 4096;

/// What is in the mark that ends a shell's prompt.
const PROMPT_END: &[u8] = b"]133;B";

/// Output that was read and is not fed yet.
pub(super) struct Unfed {
    buffer: Box<[u8]>,
    range: Range<usize>,
}

impl Default for Unfed {
    fn default() -> Unfed {
        Unfed { buffer: vec![0; READ_BYTES].into(), range: 0..0 }
    }
}

impl Unfed {
    /// Returns whether all was fed.
    pub(super) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Reads the next output. All before must have been fed.
    fn read(&mut self, read: impl FnOnce(&mut [u8]) -> ReadEnd) -> ReadEnd {
        debug_assert!(self.is_empty());
        let end = read(&mut self.buffer);
        if let ReadEnd::Bytes(count) = end {
            self.range = 0..count;
        }
        end
    }
}

/// What a task may do before it yields to the tasks of other sessions.
pub(super) struct Turn {
    reads: usize,
    work: u64,
}

impl Turn {
    pub(super) fn new() -> Turn {
        Turn { reads: limits::READS_IN_A_ROW, work: limits::WORK_IN_A_ROW }
    }

    fn is_over(&self) -> bool {
        self.reads == 0 || self.work == 0
    }

    /// Yields if the turn is over, and begins the next one.
    async fn yield_if_over(&mut self) {
        if self.is_over() {
            *self = Turn::new();
            tokio::task::yield_now().await;
        }
    }
}

impl Driver {
    /// Reads and feeds until all output was read, or the turn is over.
    pub(super) fn read_some(&mut self) {
        self.is_drained = false;
        let mut turn = Turn::new();
        let mut has_read = false;
        while !turn.is_over() {
            if self.unfed.is_empty() {
                let Some(io) = self.io.as_ref().filter(|_| !self.hung_up) else { return };
                match self.unfed.read(|buffer| io.read(buffer)) {
                    ReadEnd::Bytes(_) => self.follow_pane(),
                    ReadEnd::Changed => self.capture_soon(),
                    ReadEnd::Drained => return self.note_drained(has_read),
                    ReadEnd::Closed => {
                        self.hung_up = true;
                        let now = self.now();
                        self.session.handle_drained(now);
                        return;
                    }
                }
                self.note_read();
                has_read = true;
            }
            self.feed_some(&mut turn);
            self.compare_later();
            // Replies are wanted now, not when the flood ends.
            self.take_replies();
            self.write_some();
        }
    }

    fn note_drained(&mut self, has_read: bool) {
        self.is_drained = true;
        let now = self.now();
        self.session.handle_drained(now);
        if self.session.is_command_end_unconfirmed() && !self.must_confirm() {
            self.session.confirm_command_end();
        }
        if has_read && self.input.has_parts() {
            self.input.note_output(Instant::now());
            self.write_some();
        }
    }

    /// Reads until no process holds the terminal open any more, but not for long: a process may hold it forever, and
    /// print. The output of a closed session is not worth more than that time.
    pub(super) async fn drain(&mut self, io: &Io, patience: Duration) {
        let deadline = Instant::now() + patience;
        let mut turn = Turn::new();
        let mut late_reads = 0;
        loop {
            let is_late = Instant::now() >= deadline;
            if is_late && self.session.is_closed() {
                break;
            }
            if !self.unfed.is_empty() {
                self.feed_some(&mut turn);
                turn.yield_if_over().await;
                continue;
            }
            if self.hung_up || late_reads == limits::LATE_READS_MAX {
                break;
            }
            match self.unfed.read(|buffer| io.read(buffer)) {
                ReadEnd::Bytes(_) => {
                    self.note_read();
                    late_reads += usize::from(is_late);
                }
                ReadEnd::Closed | ReadEnd::Changed => break,
                ReadEnd::Drained => {
                    if tokio::time::timeout_at(deadline, io.readable()).await.is_err() {
                        break;
                    }
                }
            }
        }
    }

    /// Reads and feeds what there is of a pane, until the deadline.
    pub(super) async fn drain_pane(&mut self, pane: &Pane, deadline: Instant) {
        let mut turn = Turn::new();
        while Instant::now() < deadline {
            if self.unfed.is_empty() {
                let ReadEnd::Bytes(_) = self.unfed.read(|buffer| pane.read(buffer)) else { return };
                self.note_read();
            }
            self.feed_some(&mut turn);
            turn.yield_if_over().await;
        }
    }

    /// Notes what is in the output that was just read, before it is fed.
    fn note_read(&mut self) {
        let bytes = &self.unfed.buffer[self.unfed.range.clone()];
        if bytes.is_empty() {
            return;
        }
        self.watch.fed += bytes.len() as u64;
        self.untouched = None;
        if let (Some(then), Some(io)) = (&self.typed_ahead, &self.io)
            && io.input_modes().show_editor_since(then)
        {
            self.session.handle_line_editor();
            self.typed_ahead = None;
        }
        // A prompt that comes while something typed is unread is none that waits for input.
        let has_prompt = self.session.shell_depth() > 0
            && bytes.contains(&0x1b)
            && bytes.windows(PROMPT_END.len()).any(|at| at == PROMPT_END);
        let bytes = self.nonces.redact(bytes);
        let surplus = (self.raw.len() + bytes.len()).saturating_sub(limits::RAW_MAX);
        self.raw.drain(..surplus.min(self.raw.len()));
        self.raw.extend(bytes.iter());
        let now = self.now();
        if let Some(recorder) = &mut self.recorder {
            recorder.output(now, &bytes);
        }
        if has_prompt {
            self.session.handle_input_unread(now, self.has_unread_by_kernel());
        }
    }

    /// Feeds some of what was read, as the turn allows.
    fn feed_some(&mut self, turn: &mut Turn) {
        let now = self.now();
        let Driver { unfed, session, shells, io, .. } = self;
        let mut rest = &unfed.buffer[unfed.range.clone()];
        let mut is_by_shell = |nonce: &str| shells.has_terminal(nonce, io.as_ref());
        session.handle_some_output(now, &mut rest, turn.work, &mut is_by_shell);
        unfed.range.start = unfed.range.end - rest.len();
        turn.work = session.screen().work_left();
        turn.reads -= usize::from(unfed.is_empty());
        self.shells.remove_file_if_read(&self.session);
        self.note_commands();
        self.mark_commands();
        self.plan_looks(true);
    }

    /// Feeds bytes that the program did not print itself.
    pub(super) fn feed_own(&mut self, bytes: &[u8]) {
        let now = self.now();
        self.session.handle_output(now, bytes);
    }
}
