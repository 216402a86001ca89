//! A terminal without a program, for tests of the task loop. The test sets its output, exit, unread input and
//! foreground job. It is used with the paused clock of the runtime.

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use awaitty_core::{Activity, EchoSource, Exit, Job, TerminalWait};
use tokio::sync::Notify;

use super::pty::{InputModes, ReadOutcome};
use crate::platform::foreground::Foreground;

/// The default size of the input buffer in bytes: that of the kernel's line discipline in raw mode.
const ROOM: usize = 4095;

/// The state of a fake terminal.
#[derive(Debug)]
struct State {
    output: VecDeque<u8>,
    /// The terminal does not report that it is readable.
    is_silent: bool,
    /// Pieces of output. Each read returns the next one.
    script: VecDeque<Vec<u8>>,
    /// The byte that fills each read once all other output was read, so that the output is never drained.
    flood: Option<u8>,
    is_hung_up: bool,
    exit: Option<Exit>,
    /// All input that was written.
    written: Vec<u8>,
    /// The number of bytes that the program has not read.
    unread: usize,
    /// The size of the input buffer in bytes.
    room: usize,
    is_canonical: bool,
    activity: Activity,
    /// The number of times that the program's threads were scheduled.
    runs: u64,
    is_running: bool,
}

/// The test's end of a fake terminal. A clone is the same terminal.
#[derive(Clone, Debug)]
pub(crate) struct FakeTerminal {
    state: Arc<Mutex<State>>,
    changed: Arc<Notify>,
}

/// The task's end of a fake terminal.
#[derive(Debug)]
pub struct FakeIo(FakeTerminal);

impl FakeTerminal {
    /// Creates a terminal whose program blocks in a read, in raw mode.
    pub(crate) fn new() -> (FakeTerminal, FakeIo) {
        let activity = Activity {
            terminal: Some(TerminalWait::Read),
            job: Job::AtRest,
            reader_rests: true,
            reads_keys: true,
        };
        let state = State {
            output: VecDeque::new(),
            is_silent: false,
            script: VecDeque::new(),
            flood: None,
            is_hung_up: false,
            exit: None,
            written: Vec::new(),
            unread: 0,
            room: ROOM,
            is_canonical: false,
            activity,
            runs: 0,
            is_running: false,
        };
        let terminal = FakeTerminal { state: Arc::new(Mutex::new(state)), changed: Arc::default() };
        (terminal.clone(), FakeIo(terminal))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.lock());
        self.changed.notify_waiters();
    }

    /// Prints output.
    pub(crate) fn print(&self, output: impl AsRef<[u8]>) {
        self.change(|state| state.output.extend(output.as_ref()));
    }

    /// Prints output without reporting readiness, so that the task reads it only when it reads for another reason. The
    /// kernel may likewise have output in its buffer before it reports readiness.
    pub(crate) fn print_silently(&self, output: impl AsRef<[u8]>) {
        let mut state = self.lock();
        state.is_silent = true;
        state.output.extend(output.as_ref());
    }

    /// Prints a byte without end, until it is set to `None`.
    pub(crate) fn flood(&self, byte: Option<u8>) {
        self.change(|state| state.flood = byte);
    }

    /// Prints pieces of output, one for each read. An empty piece reports once that the output is drained.
    pub(crate) fn print_pieces(&self, pieces: impl IntoIterator<Item = Vec<u8>>) {
        self.change(|state| state.script.extend(pieces));
    }

    /// Closes the terminal: the program's end has no open file descriptor any more.
    pub(crate) fn hang_up(&self) {
        self.change(|state| state.is_hung_up = true);
    }

    /// Ends the program. Its terminal stays open until [`hang_up`](Self::hang_up).
    pub(crate) fn exit(&self, exit: Exit) {
        self.change(|state| state.exit = Some(exit));
    }

    /// Reads all unread input, as the program would.
    pub(crate) fn read_input(&self) {
        self.change(|state| {
            state.unread = 0;
            state.runs += 1;
        });
    }

    /// Sets the activity of the program: busy, or at rest in a read of the terminal.
    pub(crate) fn set_busy(&self, is_busy: bool) {
        self.change(|state| {
            state.is_running = is_busy;
            state.activity.job = if is_busy { Job::Busy } else { Job::AtRest };
            state.activity.terminal = (!is_busy).then_some(TerminalWait::Read);
            state.activity.reader_rests = !is_busy;
        });
    }

    /// Sets the size of the input buffer in bytes.
    pub(crate) fn set_room(&self, room: usize) {
        self.change(|state| state.room = room);
    }

    /// Returns all input that was written so far.
    pub(crate) fn written(&self) -> Vec<u8> {
        self.lock().written.clone()
    }
}

impl FakeIo {
    async fn until(&self, holds: impl Fn(&State) -> bool) -> io::Result<()> {
        loop {
            let changed = self.0.changed.notified();
            if holds(&self.0.lock()) {
                return Ok(());
            }
            changed.await;
        }
    }

    pub(super) async fn readable(&self) -> io::Result<()> {
        self.until(|state| {
            !state.output.is_empty() && !state.is_silent
                || state.flood.is_some()
                || !state.script.is_empty()
                || state.is_hung_up
        })
        .await
    }

    pub(super) async fn writable(&self) -> io::Result<()> {
        self.until(|state| state.unread < state.room).await
    }

    pub(super) async fn exited(&self) -> io::Result<()> {
        self.until(|state| state.exit.is_some()).await
    }

    pub(super) fn read(&self, buffer: &mut [u8]) -> ReadOutcome {
        let mut state = self.0.lock();
        let count = state.output.len().min(buffer.len());
        if count > 0 {
            for (to, byte) in buffer.iter_mut().zip(state.output.drain(..count)) {
                *to = byte;
            }
            return ReadOutcome::Bytes(count);
        }
        if let Some(piece) = state.script.pop_front() {
            buffer[..piece.len()].copy_from_slice(&piece);
            return if piece.is_empty() {
                ReadOutcome::Drained
            } else {
                ReadOutcome::Bytes(piece.len())
            };
        }
        match state.flood {
            Some(byte) => {
                buffer.fill(byte);
                ReadOutcome::Bytes(buffer.len())
            }
            None if state.is_hung_up => ReadOutcome::Closed,
            None => ReadOutcome::Drained,
        }
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.0.lock();
        let count = bytes.len().min(state.room - state.unread.min(state.room));
        state.written.extend(&bytes[..count]);
        state.unread += count;
        Ok(count)
    }

    pub(super) fn input_modes(&self) -> InputModes {
        let is_canonical = self.0.lock().is_canonical;
        InputModes { echo_source: EchoSource::LineEditor, is_canonical, ..InputModes::unknown() }
    }

    pub(super) fn has_unread_input(&self) -> bool {
        self.0.lock().unread > 0
    }

    pub(super) fn foreground(&self) -> Foreground {
        let state = self.0.lock();
        Foreground::new("fake", state.activity, state.runs)
    }

    pub(super) fn is_running(&self) -> bool {
        let state = self.0.lock();
        state.is_running || state.exit.is_some()
    }

    pub(crate) fn exit(&self) -> Exit {
        self.0.lock().exit.unwrap_or(Exit::Unknown)
    }
}
