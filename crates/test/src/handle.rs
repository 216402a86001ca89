//! [`Terminal`]: a program under test in a terminal.

use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use awaitty_terminal::core::{Frame, Since};
use awaitty_terminal::terminals::Record;
use awaitty_terminal::{Config, ToolError, WaitRequest, WaitResult, blocking};

use crate::builder::Builder;
use crate::command::{self, CommandResult};
use crate::expectation::{Expectation, What};
use crate::failure::{Failure, Report};
use crate::golden::Golden;
use crate::hermetic::Files;
use crate::judge::{self, Problem, Seen};
use crate::place::place;
use crate::screen;
use crate::steps::{Call, Steps};
use crate::trace::{Kind, MASK, Verdict};
use crate::traces::{self, TraceMode};

/// The timeout of [`Terminal::run`]: builds take minutes.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// The time for which input waits for a program that is busy. Output that is still a reaction to the input before would
/// count as a reaction to the new one. A program that is busy for longer, such as a build, gets the input anyway.
const REST_MAX: Duration = Duration::from_secs(1);

/// A program under test in a terminal. Dropping it ends the program and everything that it started.
///
/// Each input and each expectation is a step. A step that fails returns a [`Failure`], and a step that passes returns
/// the terminal, so that steps can be chained: `t.press("down")?.expect(selected("Two"))?`.
///
/// # Panics
/// Dropping it panics if a process outlived the program, unless the test panics already. [`close`](Terminal::close)
/// returns that as an error.
pub struct Terminal {
    /// `None` once it was closed.
    pub(crate) terminal: Option<blocking::Terminal>,
    steps: Mutex<Steps>,
    timeout: Duration,
    seed: Option<u64>,
    pub(crate) trace_mode: TraceMode,
    /// The path of the page of the trace.
    pub(crate) trace: PathBuf,
    /// The name of the test and the command.
    pub(crate) title: String,
    pub(crate) started: &'static Location<'static>,
    /// The set of the terminal, and the files of the program, are dropped after it.
    _set: blocking::Terminals,
    _files: Files,
    /// The recording, if there is one.
    pub(crate) recording: Option<PathBuf>,
}

impl Terminal {
    pub(crate) fn start(
        builder: Builder,
        location: &'static Location<'static>,
    ) -> Result<Terminal, Failure> {
        let failed = |why: String| {
            let place = Some(place(location));
            Failure::new(Report { call: builder.call(), place, why, ..Report::default() })
        };
        let io = |error: std::io::Error| failed(error.to_string());
        let (trace_mode, seed) =
            (builder.trace_mode().map_err(failed)?, builder.seed().map_err(failed)?);
        let files = Files::new(builder.prompt).map_err(io)?;
        let mut spec = builder.spec(&files.home()).map_err(failed)?;
        spec.disturbance = seed;
        let recording = match (&builder.recording, trace_mode) {
            (Some(path), _) => Some(path.clone()),
            (None, TraceMode::Off) => None,
            (None, TraceMode::On | TraceMode::RetainOnFailure) => Some(files.recording()),
        };
        if let Some(path) = &recording {
            spec.record = Some(Record { path: Some(path.clone()), with_input: true });
        }
        let set = blocking::Terminals::new(Config::default()).map_err(io)?;
        let terminal = set.open(spec).map_err(|error| failed(error.message))?;
        let started = Terminal {
            terminal: Some(terminal),
            steps: Mutex::default(),
            timeout: builder.timeout,
            seed,
            trace_mode,
            trace: builder
                .trace_path
                .clone()
                .unwrap_or_else(|| traces::directory().join(traces::file_name(location.line()))),
            recording,
            title: builder.title.clone().unwrap_or_else(|| {
                format!("{}: {}", traces::test_name(), shell_words::join(&builder.argv))
            }),
            started: location,
            _set: set,
            _files: files,
        };
        let call = Call { kind: Kind::Start, name: builder.call(), looked_for: None, location };
        started.step(call, |_| Ok(((), String::new())))?;
        Ok(started)
    }

    pub(crate) fn steps(&self) -> MutexGuard<'_, Steps> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a step. `act` returns a value and what the trace says about the result.
    fn step<T>(
        &self,
        call: Call,
        act: impl FnOnce(&blocking::Terminal) -> Result<(T, String), Problem>,
    ) -> Result<(T, usize), Failure> {
        let index = self.steps().add(call.clone());
        let closed = || Problem::new("the terminal was closed");
        self.mark(index, "start");
        let result = self.terminal.as_ref().ok_or_else(closed).and_then(act);
        self.mark(index, "end");
        match result {
            Ok((value, note)) => {
                self.steps().set_verdict(index, Verdict::Passed(note));
                Ok((value, index))
            }
            Err(problem) => {
                let Call { name, looked_for, location, .. } = call;
                Err(self.fail(index, &name, looked_for, location, problem))
            }
        }
    }

    /// Marks the start or the end of a step in the recording.
    fn mark(&self, step: usize, edge: &str) {
        if let Some(terminal) = &self.terminal {
            // A closed terminal has no recording, and its step fails for that reason.
            let _ = terminal.mark(&format!("step {step} {edge}"));
        }
    }

    /// Returns the path of the trace, which is written at the end of the test if the mode asks for it.
    pub fn trace_path(&self) -> Option<&Path> {
        (self.trace_mode != TraceMode::Off).then_some(self.trace.as_path())
    }

    /// Makes the report of a step that failed, and sets the result of the step.
    pub(crate) fn fail(
        &self,
        step: usize,
        call: &str,
        looked_for: Option<String>,
        location: &Location<'_>,
        problem: Problem,
    ) -> Failure {
        let Problem { why, notes, seen } = problem;
        let seen = seen.or_else(|| self.seen());
        let mut steps = self.steps();
        let masker = steps.masker();
        let mask = |text: &str| masker.text(text);
        let screen = seen
            .as_ref()
            .map(|seen| (screen::heading(&seen.frame), screen::framed(&seen.frame, &masker)));
        let changes = seen.and_then(|Seen { frame, base }| {
            let lines = screen::changes(base.as_deref()?, &frame);
            Some(lines.iter().map(|line| mask(line)).collect())
        });
        let failure = Failure::new(Report {
            // The report of a tape has its own words for its steps.
            call: mask(steps.tape_command().unwrap_or(call)),
            place: Some(steps.place(location)),
            why: mask(&why),
            looked_for: looked_for.as_deref().map(mask),
            notes: notes.iter().map(|note| mask(note)).collect(),
            screen,
            changes,
            trace: self.trace_path().map(Path::to_owned),
            seed: self.seed,
        });
        steps.set_verdict(step, Verdict::Failed(failure.report_without_place()));
        failure
    }

    /// Returns the newest screen and the one before the last input.
    pub(crate) fn seen(&self) -> Option<Seen> {
        let read = self.terminal.as_ref()?.inspect(|session| {
            let base = session.history().get(session.anchor_seq(Since::Input));
            Seen { frame: Arc::clone(session.frame()), base: base.cloned() }
        });
        read.ok()
    }

    fn input(
        &self,
        name: String,
        location: &'static Location<'static>,
        act: impl FnOnce(&blocking::Terminal) -> Result<(), ToolError>,
    ) -> Result<&Terminal, Failure> {
        let call = Call { kind: Kind::Input, name, looked_for: None, location };
        self.step(call, |terminal| {
            terminal.rest(REST_MAX)?;
            Ok((act(terminal)?, String::new()))
        })?;
        Ok(self)
    }

    /// Types text. A line feed is Enter.
    ///
    /// # Errors
    /// If the program has exited, or its input queue is full.
    #[track_caller]
    pub fn type_text(&self, text: &str) -> Result<&Terminal, Failure> {
        let name = format!("type_text({text:?})");
        self.input(name, Location::caller(), |terminal| terminal.type_text(text))
    }

    /// Presses keys, separated by spaces: `"down enter"`, `"ctrl+c"`. Each key is written once the program has read the
    /// one before and is at rest again.
    ///
    /// # Errors
    /// If a name is unknown, or the program has exited.
    #[track_caller]
    pub fn press(&self, keys: &str) -> Result<&Terminal, Failure> {
        let name = format!("press({keys:?})");
        self.input(name, Location::caller(), |terminal| terminal.press(keys))
    }

    /// Pastes text: between marks, if the program has requested them (bracketed paste).
    ///
    /// # Errors
    /// If the program has exited, or the text has the mark at the end of a paste.
    #[track_caller]
    pub fn paste(&self, text: &str) -> Result<&Terminal, Failure> {
        let name = format!("paste({text:?})");
        self.input(name, Location::caller(), |terminal| terminal.paste(text))
    }

    /// Types a secret. Its value is masked in reports, goldens and traces, wherever it stands in one row.
    ///
    /// # Errors
    /// As [`type_text`](Self::type_text).
    #[track_caller]
    pub fn type_secret(&self, secret: &str) -> Result<&Terminal, Failure> {
        self.steps().add_secret(secret.trim_end_matches('\n'));
        let name = format!("type_secret({MASK:?})");
        self.input(name, Location::caller(), |terminal| terminal.type_text(secret))
    }

    /// Changes the size of the terminal. Expectations count what the program draws after that, as after an input.
    ///
    /// # Errors
    /// If the size is out of range, or the program has exited.
    #[track_caller]
    pub fn resize(&self, cols: usize, rows: usize) -> Result<&Terminal, Failure> {
        let name = format!("resize({cols}, {rows})");
        self.input(name, Location::caller(), |terminal| terminal.resize(cols, rows))
    }

    /// Clicks with the left button on the middle of a text, once the program is at rest, has requested mouse events and
    /// shows the text. The pattern of [`text`](crate::text) must match once, within a row;
    /// [`nth`](Expectation::nth) chooses one of several matches.
    ///
    /// # Errors
    /// If the text does not appear, matches several times, or the program has not requested mouse events.
    #[track_caller]
    pub fn click(&self, target: Expectation) -> Result<&Terminal, Failure> {
        let name = format!("click({target})");
        let timeout = target.within.unwrap_or(self.timeout);
        self.input(name, Location::caller(), |terminal| {
            let What::Text(regex) = &target.what else {
                return Err(ToolError::argument(
                    "click needs text(…): other expectations have no place",
                ));
            };
            judge::click(terminal, regex, target.nth, timeout)
        })
    }

    fn wait_step(
        &self,
        name: String,
        looked_for: String,
        location: &'static Location<'static>,
        act: impl FnOnce(&blocking::Terminal) -> Result<String, Problem>,
    ) -> Result<&Terminal, Failure> {
        let call = Call { kind: Kind::Wait, name, looked_for: Some(looked_for), location };
        self.step(call, |terminal| Ok(((), act(terminal)?)))?;
        Ok(self)
    }

    /// Waits until an expectation holds.
    ///
    /// # Errors
    /// If it does not hold within the timeout, or cannot hold any more because the program has exited.
    #[track_caller]
    pub fn expect(&self, expectation: Expectation) -> Result<&Terminal, Failure> {
        let (name, words) = (format!("expect({expectation})"), expectation.words());
        self.wait_step(name, words, Location::caller(), |terminal| {
            judge::judge(terminal, &expectation, self.timeout)
        })
    }

    /// Waits until an expectation does not hold: a text, selection, title, style or place of the cursor is gone. If it
    /// did not hold before the last input either, the program must have come to rest.
    ///
    /// # Errors
    /// If it still holds at the timeout.
    #[track_caller]
    pub fn expect_gone(&self, expectation: Expectation) -> Result<&Terminal, Failure> {
        let name = format!("expect_gone({expectation})");
        let words = format!("the end of {}", expectation.words());
        self.wait_step(name, words, Location::caller(), |terminal| {
            judge::judge_gone(terminal, &expectation, self.timeout)
        })
    }

    /// Waits until the program has read its input, is not busy, and the text has been unchanged for `quiet`.
    ///
    /// # Errors
    /// If that does not happen within the timeout.
    #[track_caller]
    pub fn settle(&self, quiet: Duration) -> Result<&Terminal, Failure> {
        let expectation = Expectation { what: What::Settled(quiet), ..crate::settled() };
        let (name, words) = (format!("settle({quiet:?})"), expectation.words());
        self.wait_step(name, words, Location::caller(), |terminal| {
            judge::judge(terminal, &expectation, self.timeout)
        })
    }

    /// Runs any wait. Its result may be a timeout; only a wait that cannot be started is an error.
    ///
    /// # Errors
    /// If the request is invalid.
    #[track_caller]
    pub fn wait(&self, request: WaitRequest) -> Result<WaitResult, Failure> {
        let (name, location) = ("wait(…)".to_owned(), Location::caller());
        let call = Call { kind: Kind::Wait, name, looked_for: None, location };
        let waited = self.step(call, |terminal| {
            let result = terminal.wait(request)?;
            let note = format!("{:?} after {} ms", result.outcome(), result.elapsed().as_millis());
            Ok((result, note))
        });
        Ok(waited?.0)
    }

    /// Runs a command in the shell under test, for at most [`COMMAND_TIMEOUT`]. Any exit status is a result;
    /// [`CommandResult::ok`] makes one other than 0 an error.
    ///
    /// # Errors
    /// If no shell is at its prompt, or the command does not end: it waits for input, shows a full screen, or takes too
    /// long.
    #[track_caller]
    pub fn run(&self, command: &str) -> Result<CommandResult<'_>, Failure> {
        self.run_step(format!("run({command:?})"), command, COMMAND_TIMEOUT, Location::caller())
    }

    /// Runs a command with a timeout; see [`run`](Self::run).
    ///
    /// # Errors
    /// As there.
    #[track_caller]
    pub fn run_within(
        &self,
        command: &str,
        timeout: Duration,
    ) -> Result<CommandResult<'_>, Failure> {
        let name = format!("run_within({command:?}, {timeout:?})");
        self.run_step(name, command, timeout, Location::caller())
    }

    fn run_step(
        &self,
        name: String,
        command: &str,
        timeout: Duration,
        location: &'static Location<'static>,
    ) -> Result<CommandResult<'_>, Failure> {
        let call = Call { kind: Kind::Command, name: name.clone(), looked_for: None, location };
        let (run, step) = self.step(call, |terminal| {
            let run = terminal.run_command(command, timeout)?;
            let status = command::status(&run, timeout)?;
            let shown = status.map_or("unknown".to_owned(), |status| status.to_string());
            let note = format!("status {shown} after {} ms", run.elapsed.as_millis());
            Ok(((run, status), note))
        })?;
        let (run, status) = run;
        Ok(CommandResult::new(self, step, name, status, run))
    }

    fn read<T: Send + 'static>(
        &self,
        location: &Location<'_>,
        name: &str,
        read: impl FnOnce(&awaitty_terminal::core::Session) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let closed = || {
            Failure::new(Report {
                call: name.to_owned(),
                place: Some(place(location)),
                why: "the terminal was closed".to_owned(),
                ..Report::default()
            })
        };
        let terminal = self.terminal.as_ref().ok_or_else(closed)?;
        terminal.inspect(read).map_err(|_| closed())
    }

    /// Returns the newest frame, at once. Wait before: it may be any screen.
    ///
    /// # Errors
    /// If the terminal was closed.
    #[track_caller]
    pub fn frame(&self) -> Result<Arc<Frame>, Failure> {
        self.read(Location::caller(), "frame()", |session| Arc::clone(session.frame()))
    }

    /// Returns the text of the newest frame, at once: rows joined by line feeds, without blanks at their ends.
    ///
    /// # Errors
    /// If the terminal was closed.
    #[track_caller]
    pub fn screen(&self) -> Result<String, Failure> {
        self.read(Location::caller(), "screen()", |session| session.frame().text())
    }

    /// Writes the screen as a golden, once it has settled and the program is at rest. Secrets are masked.
    ///
    /// # Errors
    /// If that does not happen within the timeout, or a mask is not a regular expression.
    #[track_caller]
    pub fn golden(&self, name: &str, golden: &Golden) -> Result<String, Failure> {
        Ok(self.golden_step(name, golden, self.timeout, Location::caller())?.0)
    }

    fn golden_step(
        &self,
        name: &str,
        golden: &Golden,
        timeout: Duration,
        location: &'static Location<'static>,
    ) -> Result<(String, usize), Failure> {
        let looked_for = Some("a settled screen that equals its golden".to_owned());
        let name = format!("assert_screen!({name:?})");
        let call = Call { kind: Kind::Golden, name, looked_for, location };
        let (text, step) = self.step(call, |terminal| {
            let result = judge::at_rest(terminal, timeout)?;
            Ok((golden.write(result.frame())?, String::new()))
        })?;
        Ok((self.steps().masker().chars(&text), step))
    }

    /// Writes the screen as a golden, once it has settled, and compares it by `compare`.
    pub(crate) fn compare_text(
        &self,
        name: &str,
        golden: &Golden,
        timeout: Duration,
        compare: impl FnOnce(&str) -> Result<(), Problem>,
    ) -> Result<(), Failure> {
        let location = Location::caller();
        let (text, step) = self.golden_step(name, golden, timeout, location)?;
        compare(&text).map_err(|problem| {
            self.fail(step, &format!("Screen {name:?}"), None, location, problem)
        })
    }

    /// Returns whether an expectation holds within its timeout. It is no step of the test.
    pub(crate) fn is_met(&self, expectation: &Expectation) -> bool {
        let judge = |terminal| judge::judge(terminal, expectation, self.timeout).is_ok();
        self.terminal.as_ref().is_some_and(judge)
    }

    /// Waits for a duration while the program goes on.
    pub(crate) fn pause(&self, duration: Duration) {
        if let Some(terminal) = &self.terminal {
            terminal.pause(duration);
        }
    }

    /// Writes a marker to the recording.
    pub(crate) fn mark_recording(&self, label: &str) {
        if let Some(terminal) = &self.terminal {
            // A terminal that is closed has no recording.
            let _ = terminal.mark(label);
        }
    }

    /// Compares the screen with a golden by `compare`, which panics if they differ. For
    /// [`assert_screen!`](crate::assert_screen).
    ///
    /// # Panics
    /// If they differ, or the screen has not settled within the timeout.
    #[doc(hidden)]
    #[track_caller]
    pub fn compare_golden(&self, name: &str, golden: &Golden, compare: &dyn Fn(&str)) {
        let location = Location::caller();
        let (text, step) = match self.golden_step(name, golden, self.timeout, location) {
            Ok(written) => written,
            Err(failure) => panic!("{failure}"),
        };
        // insta prints the difference and panics. The report adds the screen and the path of the trace.
        if catch_unwind(AssertUnwindSafe(|| compare(&text))).is_err() {
            let call = format!("assert_screen!({name:?})");
            let problem = Problem::new(
                "the screen differs from its golden; insta has printed the difference, and `cargo insta review` accepts it",
            );
            panic!("{}", self.fail(step, &call, None, location, problem));
        }
    }
}

/// Writes the program and the number of steps: `unwrap_err` prints the terminal of a step that passed.
impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Terminal")
            .field("program", &self.title)
            .field("steps", &self.steps().len())
            .finish_non_exhaustive()
    }
}
