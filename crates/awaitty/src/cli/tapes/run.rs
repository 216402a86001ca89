//! Runs tapes in parallel.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use awaitty_test::burners::Burners;
use awaitty_test::runner::{self, Mode, RunOptions, TapeFailure};
use tokio::time::Instant;

use super::files::TapeFile;
use super::{TestOptions, look};

/// The result of all runs of one tape.
#[derive(Debug)]
pub(super) struct TapeResult<'t> {
    pub(super) path: &'t Path,
    pub(super) runs: u32,
    pub(super) elapsed: Duration,
    /// The failures, in the order of their ends.
    pub(super) failures: Vec<TapeFailure>,
    /// Golden screens that were written.
    pub(super) written: Vec<PathBuf>,
}

impl TapeResult<'_> {
    /// Returns whether all runs passed.
    pub(super) fn is_passed(&self) -> bool {
        self.failures.is_empty()
    }
}

/// What happened in a test run.
#[derive(Debug)]
pub(super) enum Event<'r, 't> {
    /// A run of the tape with this index was started.
    Started(usize),
    /// A run of the tape with this index has ended. It was the last run of the tape if there is a result.
    Ended(usize, Option<&'r TapeResult<'t>>),
}

enum Message {
    Started(usize),
    Ended(usize, Duration, runner::TapeRun),
}

/// Runs all tapes, `jobs` of them at the same time, and calls `handle` for each event.
///
/// # Errors
/// If a report cannot be written.
pub(super) fn run_all<'t>(
    tapes: &'t [TapeFile],
    options: &TestOptions,
    jobs: usize,
    mut handle: impl FnMut(Event<'_, 't>) -> io::Result<()>,
) -> io::Result<Vec<TapeResult<'t>>> {
    let _burners = options.slow.then(Burners::on_all_processors);
    let repeat = options.repeat as usize;
    let next = AtomicUsize::new(0);
    let all = tapes.len() * repeat;
    let (sender, messages) = mpsc::channel();
    let new_result = |tape: &'t TapeFile| TapeResult {
        path: &tape.path,
        runs: 0,
        elapsed: Duration::ZERO,
        failures: Vec::new(),
        written: Vec::new(),
    };
    let mut results: Vec<TapeResult<'t>> = tapes.iter().map(new_result).collect();
    std::thread::scope(|scope| {
        for _ in 0..jobs.min(all) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= all || sender.send(Message::Started(index / repeat)).is_err() {
                        return;
                    }
                    let started = Instant::now();
                    let run = run_one(&tapes[index / repeat], options, index);
                    let ended = Message::Ended(index / repeat, started.elapsed(), run);
                    if sender.send(ended).is_err() {
                        return;
                    }
                }
            });
        }
        drop(sender);
        for message in messages {
            match message {
                Message::Started(index) => handle(Event::Started(index))?,
                Message::Ended(index, elapsed, run) => {
                    let result = &mut results[index];
                    result.runs += 1;
                    result.elapsed += elapsed;
                    result.failures.extend(run.failure);
                    result.written.extend(run.written);
                    let is_last = result.runs == options.repeat;
                    handle(Event::Ended(index, is_last.then_some(&*result)))?;
                }
            }
        }
        Ok(results)
    })
}

fn run_one(tape: &TapeFile, options: &TestOptions, index: usize) -> runner::TapeRun {
    let options = RunOptions {
        mode: Mode::Test { update: options.update },
        seed: options.slow.then(|| seed(options.seed, index)),
        size: look::cells(&look::look(&tape.tape).0),
        trace: options.trace,
        trace_path: options.traces.join(trace_name(&tape.path)),
        recording: None,
    };
    runner::run(&tape.path, &tape.tape, &options)
}

/// Returns the file name of the trace of a tape: its path with other characters than letters and digits replaced.
fn trace_name(tape: &Path) -> String {
    let name = tape.with_extension("").to_string_lossy().into_owned();
    name.replace(|c: char| !c.is_ascii_alphanumeric() && !"._-".contains(c), "_") + ".html"
}

/// Returns the seed of a run: the given one, or a new one for each run.
fn seed(given: Option<u64>, index: usize) -> u64 {
    given.unwrap_or_else(|| {
        let clock = awaitty_terminal::terminals::wall_clock_ms();
        clock.wrapping_mul(1_000_003).wrapping_add(index as u64)
    })
}

#[cfg(test)]
pub(super) mod tests {
    use awaitty_test::tape::Position;

    use super::*;

    /// Returns a failure of a step with a report.
    pub(in crate::cli::tapes) fn failure(report: &str) -> TapeFailure {
        TapeFailure {
            position: Position { file: None, line: 3, column: 1 },
            source: "Expect /menu/".to_owned(),
            report: report.to_owned(),
            trace: None,
            seed: None,
        }
    }

    /// Returns the result of one run of a tape.
    pub(in crate::cli::tapes) fn result(path: &str, failures: Vec<TapeFailure>) -> TapeResult<'_> {
        let elapsed = Duration::from_millis(1_500);
        TapeResult { path: Path::new(path), runs: 1, elapsed, failures, written: Vec::new() }
    }
}
