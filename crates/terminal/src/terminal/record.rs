//! Writes events of a terminal to its recording.

use awaitty_core::{CommandId, Exit, Time};

use super::Driver;
use crate::record::{Recorder, RecordingStatus};
use crate::text;

/// The commands that are marked in the recording: the last one that started, and the last one that ended.
#[derive(Debug, Default)]
pub(super) struct MarkedCommands {
    started: u64,
    ended: u64,
}

impl Driver {
    /// Writes to the recording, if there is one.
    pub(super) fn record(&mut self, write: impl FnOnce(&mut Recorder, Time)) {
        let now = self.now();
        if let Some(recorder) = &mut self.recorder {
            write(recorder, now);
        }
    }

    /// Sets the size of the screen, and records it.
    pub(super) fn take_size(&mut self, cols: usize, rows: usize) {
        let now = self.now();
        self.session.resize(now, cols, rows);
        self.record(|recorder, now| recorder.resize(now, cols, rows));
    }

    /// Marks the commands that started or ended since the last call.
    pub(super) fn mark_commands(&mut self) {
        if self.recorder.is_none() {
            return;
        }
        let last = self.session.last_command().map_or(0, |command| command.id.0);
        for id in self.marked.ended + 1..=last {
            let Some(command) = self.session.command(CommandId(id)) else { continue };
            let (ran, status) = (command.ran, command.status);
            let label = text::visible(&command.text);
            if ran && id > self.marked.started {
                self.marked.started = id;
                self.record(|recorder, now| recorder.mark(now, &label));
            }
            if let Some(status) = status.filter(|_| ran) {
                self.marked.ended = id;
                self.record(|recorder, now| recorder.mark(now, &format!("exit {status}: {label}")));
            }
        }
    }

    /// Records the exit status; for a signal, 128 plus its number, as shells do.
    pub(super) fn record_exit(&mut self, exit: Exit) {
        let status = match exit {
            Exit::Code(code) => code,
            Exit::Signal(signal) => 128 + signal,
            Exit::Unknown => return,
        };
        self.record(|recorder, now| recorder.exit(now, status));
    }

    /// Writes a marker to the recording, if there is one.
    pub fn mark_recording(&mut self, label: &str) {
        self.record(|recorder, now| recorder.mark(now, label));
    }

    /// Returns whether input was written while echo was off since the last call, if the terminal is recorded. Input
    /// that is queued behind Enter may be: its first line can lead to a password prompt.
    pub fn take_hidden(&mut self) -> bool {
        std::mem::take(&mut self.was_hidden)
    }

    /// Returns the status of the recording, if there is one.
    pub fn recording(&self) -> Option<RecordingStatus> {
        self.recorder.as_ref().map(Recorder::status)
    }

    /// Returns a channel that resolves once all events so far are in the file.
    pub fn recorded(&self) -> Option<tokio::sync::oneshot::Receiver<()>> {
        self.recorder.as_ref().map(Recorder::flushed)
    }
}
