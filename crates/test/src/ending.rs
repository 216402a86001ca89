//! The end of a test: its processes are ended, and its trace is written.

use std::panic::Location;

use awaitty_terminal::platform::processes::Survivor;

use crate::failure::Failure;
use crate::handle::Terminal;
use crate::judge::{Problem, Seen};
use crate::steps::Call;
use crate::trace::{self, Kind, Trace};
use crate::traces::{DIRECTORY_VARIABLE, MODE_VARIABLE, TraceMode};

impl Terminal {
    /// Ends the program and everything that it started, and writes the trace.
    ///
    /// # Errors
    /// If a process outlived the program: it ran on after the program had exited, or is a daemon. The error names it.
    /// It is killed. Also if the trace cannot be written.
    #[track_caller]
    pub fn close(mut self) -> Result<(), Failure> {
        self.end(Location::caller())
    }

    fn end(&mut self, location: &'static Location<'static>) -> Result<(), Failure> {
        let seen = self.seen();
        let Some(terminal) = self.terminal.take() else { return Ok(()) };
        // The trace has all output up to this moment.
        let flushed = terminal.flush_recording();
        let leaked = terminal.close_with_leaks();
        let problem = match leaked.is_empty() {
            true => None,
            false => Some(leak(&leaked, seen)),
        };
        let ended = problem.map_or(Ok(()), |problem| Err(self.fail_at_end(location, problem)));
        let is_written = match self.trace_mode {
            TraceMode::On => true,
            TraceMode::RetainOnFailure => self.steps().has_failed() || std::thread::panicking(),
            TraceMode::Off => false,
        };
        if !is_written {
            return ended;
        }
        let note = flushed.ok().flatten().and_then(|status| status.note);
        let written = self.write_trace();
        ended?;
        written.map_err(|error| {
            let note = note.map_or_else(String::new, |note| format!(" (recording: {note})"));
            let why = format!(
                "the trace cannot be written: {error}{note}: set {DIRECTORY_VARIABLE} to a directory, or \
                 {MODE_VARIABLE}=off"
            );
            self.fail_at_end(location, Problem::new(why))
        })
    }

    fn fail_at_end(&self, location: &'static Location<'static>, problem: Problem) -> Failure {
        let name = "close()".to_owned();
        let call = Call { kind: Kind::Wait, name: name.clone(), looked_for: None, location };
        let step = self.steps().add(call);
        self.fail(step, &name, None, location, problem)
    }

    fn write_trace(&self) -> std::io::Result<()> {
        let steps = self.steps();
        let trace = Trace {
            title: steps.masker().text(&self.title),
            steps: steps.of_trace(),
            recording: self.recording.clone().unwrap_or_default(),
            secrets: steps.secrets().to_vec(),
        };
        drop(steps);
        if let Some(directory) = self.trace.parent() {
            std::fs::create_dir_all(directory)?;
        }
        trace::write(&self.trace, &trace)
    }
}

/// Describes processes that outlived their program.
fn leak(leaked: &[Survivor], seen: Option<Seen>) -> Problem {
    let count = match leaked.len() {
        1 => "a process".to_owned(),
        count => format!("{count} processes"),
    };
    let notes = leaked.iter().map(|left| format!("PID {}: {}", left.pid, left.command));
    let why = format!("{count} outlived the program, and was killed: end it in the program");
    Problem { why, notes: notes.collect(), seen }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let ended = self.end(self.started);
        if let Err(failure) = ended
            && !std::thread::panicking()
        {
            panic!("{failure}");
        }
    }
}
