//! What is recorded of a terminal.

use awaitty_core::{CommandId, Exit, Time};

use super::Driver;
use crate::record::{Recorder, Standing};
use crate::text;

/// The commands that were told of: the last that has begun, and the last that has ended.
#[derive(Debug, Default)]
pub(super) struct Marked {
    begun: u64,
    ended: u64,
}

impl Driver {
    pub(super) fn record(&mut self, tell: impl FnOnce(&mut Recorder, Time)) {
        let now = self.now();
        if let Some(recorder) = &mut self.recorder {
            tell(recorder, now);
        }
    }

    /// The terminal has another size now.
    pub(super) fn take_size(&mut self, cols: usize, rows: usize) {
        let now = self.now();
        self.session.resize(now, cols, rows);
        self.record(|recorder, now| recorder.resize(now, cols, rows));
    }

    /// Marks where commands have begun and ended since the last time.
    pub(super) fn mark_commands(&mut self) {
        if self.recorder.is_none() {
            return;
        }
        let last = self.session.last_command().map_or(0, |command| command.id.0);
        for id in self.marked.ended + 1..=last {
            let Some(command) = self.session.command(CommandId(id)) else { continue };
            let (ran, status) = (command.ran, command.status);
            let label = text::visible(&command.text);
            if ran && id > self.marked.begun {
                self.marked.begun = id;
                self.record(|recorder, now| recorder.mark(now, &label));
            }
            if let Some(status) = status.filter(|_| ran) {
                self.marked.ended = id;
                self.record(|recorder, now| recorder.mark(now, &format!("exit {status}: {label}")));
            }
        }
    }

    /// The program ended: a shell's number stands for a signal.
    pub(super) fn record_exit(&mut self, exit: Exit) {
        let status = match exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
            Exit::Unknown => return,
        };
        self.record(|recorder, now| recorder.exit(now, status));
    }

    /// How the recording stands, if there is one.
    pub fn recording(&self) -> Option<Standing> {
        self.recorder.as_ref().map(Recorder::standing)
    }

    /// Resolves once what was recorded so far is in its file.
    pub fn recorded(&self) -> Option<tokio::sync::oneshot::Receiver<()>> {
        self.recorder.as_ref().map(Recorder::flushed)
    }
}
