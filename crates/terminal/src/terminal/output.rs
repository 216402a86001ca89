//! Reads output and feeds it to the session in turns of bounded work, so that no program delays other terminals.

use std::ops::Range;
use std::time::Duration;

use tokio::time::Instant;

use super::Driver;
use crate::io::Io;
use crate::io::pty::ReadOutcome;
use crate::io::tmux::Pane;
use crate::limits;

/// Bytes of one read: the most that one read of a PTY returns.
const READ_BYTES: usize = 4096;

/// The start of the mark at the end of a shell's prompt.
const PROMPT_END: &[u8] = b"]133;B";

/// Output that was read and not fed to the session yet.
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
    /// Returns whether all output was fed.
    pub(super) fn is_empty(&self) -> bool {
        self.range.is_empty()
    }

    /// Reads the next output. All previous output must have been fed.
    fn read(&mut self, read: impl FnOnce(&mut [u8]) -> ReadOutcome) -> ReadOutcome {
        debug_assert!(self.is_empty());
        let end = read(&mut self.buffer);
        if let ReadOutcome::Bytes(count) = end {
            self.range = 0..count;
        }
        end
    }
}

/// The reads and the work that a task may do before it yields to other tasks.
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

    /// Yields if the turn is over, and starts the next one.
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
                    ReadOutcome::Bytes(_) => self.follow_pane(),
                    ReadOutcome::Changed => self.capture_soon(),
                    ReadOutcome::Drained => return self.note_drained(has_read),
                    ReadOutcome::Closed => {
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
            // A program may wait for the reply before it goes on, so replies do not wait for the end of a flood.
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

    /// Reads until EOF, or until `patience` is over: a descendant may keep the terminal open and print without end.
    /// After that time a closed session reads no more, and an open one at most `LATE_READS_MAX` times.
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
                ReadOutcome::Bytes(_) => {
                    self.note_read();
                    late_reads += usize::from(is_late);
                }
                ReadOutcome::Closed | ReadOutcome::Changed => break,
                ReadOutcome::Drained => {
                    if tokio::time::timeout_at(deadline, io.readable()).await.is_err() {
                        break;
                    }
                }
            }
        }
    }

    /// Reads and feeds the available output of a pane, until the deadline.
    pub(super) async fn drain_pane(&mut self, pane: &Pane, deadline: Instant) {
        let mut turn = Turn::new();
        while Instant::now() < deadline {
            if self.unfed.is_empty() {
                let ReadOutcome::Bytes(_) = self.unfed.read(|buffer| pane.read(buffer)) else {
                    return;
                };
                self.note_read();
            }
            self.feed_some(&mut turn);
            turn.yield_if_over().await;
        }
    }

    /// Records and inspects output that was just read, before it is fed.
    fn note_read(&mut self) {
        let bytes = &self.unfed.buffer[self.unfed.range.clone()];
        if bytes.is_empty() {
            return;
        }
        self.pane_sync.fed += bytes.len() as u64;
        self.untouched = None;
        if let (Some(then), Some(io)) = (&self.typed_ahead, &self.io)
            && io.input_modes().show_editor_since(then)
        {
            self.session.handle_line_editor();
            self.typed_ahead = None;
        }
        // A shell that prints a prompt while input is unread does not wait for input.
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

    /// Feeds output that was read, as far as the turn allows.
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
        self.plan_probe(true);
    }

    /// Feeds bytes that the program did not print.
    pub(super) fn feed_own(&mut self, bytes: &[u8]) {
        let now = self.now();
        self.session.handle_output(now, bytes);
    }
}
