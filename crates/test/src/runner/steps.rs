//! The steps of a tape.

use std::path::Path;
use std::time::Duration;

use super::goldens::{self, Comparison};
use super::set_up::{self, Settings};
use super::{Mode, RunOptions, Screenshot, TapeFailure, TapeRun, markers};
use crate::expectation::{Expectation, What};
use crate::failure::Failure;
use crate::golden::Golden;
use crate::handle::Terminal;
use crate::judge::Problem;
use crate::tape::{self, Action, Command, Setting, Tape, WaitScope};
use crate::trace::Place;

/// The time for the program of a tape to show its first prompt or screen before the first step.
const START_TIMEOUT: Duration = Duration::from_secs(5);

/// A tape that runs.
pub(super) struct Runner<'r> {
    path: &'r Path,
    options: &'r RunOptions,
    terminal: Terminal,
    settings: Settings,
    clipboard: String,
    run: &'r mut TapeRun,
}

impl<'r> Runner<'r> {
    /// Runs a tape to its end, or to the first step that fails.
    pub(super) fn run(
        path: &'r Path,
        tape: &'r Tape,
        options: &'r RunOptions,
        run: &'r mut TapeRun,
    ) -> Result<(), TapeFailure> {
        check_required(tape)?;
        // The program is that of `Set Shell`, or the default.
        let is_shell =
            |command: &&Command| matches!(command.action, Action::Set(Setting::Shell(_)));
        let starts = tape.flat().filter(is_shell).last().or_else(|| tape.flat().next());
        let at_start = |report: String| TapeFailure {
            source: starts.map_or_else(String::new, |command| command.source.clone()),
            report,
            trace: None,
            seed: options.seed,
            position: starts.map_or_else(start_of_tape, |command| command.position.clone()),
        };
        let builder = set_up::builder(path, tape, options).map_err(at_start)?;
        let terminal =
            builder.start().map_err(|failure| at_start(failure.report_without_place()))?;
        let settings = Settings::of(tape);
        let clipboard = String::new();
        // Keys that are typed before the first prompt would be echoed twice. A program that never waits for input is
        // not an error: the steps decide.
        let ready = crate::ready().within(START_TIMEOUT);
        let _ = terminal.is_met(&ready);
        let mut runner = Runner { path, options, terminal, settings, clipboard, run };
        let mut last = None;
        for command in tape.flat() {
            runner.set_line(command);
            if let Err(failure) = runner.act(&command.action) {
                let failed = runner.failure(command, &failure);
                // The step that failed is the result. The trace is written here.
                let _ = runner.terminal.close();
                return Err(failed);
            }
            last = Some(command);
        }
        runner.end(last)
    }

    /// Ends the program. A demo may leave processes behind, which are ended as well.
    fn end(self, last: Option<&Command>) -> Result<(), TapeFailure> {
        let Runner { terminal, options, .. } = self;
        // What the program prints when it is ended is not part of a demo.
        terminal.mark_recording(markers::HIDE);
        let closed = terminal.close();
        match (closed, last) {
            (Err(failure), Some(last)) if options.mode != Mode::Play => Err(TapeFailure {
                position: last.position.clone(),
                source: last.source.clone(),
                report: failure.report_without_place(),
                trace: failure.trace().map(Path::to_owned),
                seed: options.seed,
            }),
            _ => Ok(()),
        }
    }

    fn set_line(&self, command: &Command) {
        let file = command.position.file.as_deref().map(str::to_owned);
        let file = file.unwrap_or_else(|| self.path.display().to_string());
        let line = Place { file, line: command.position.line, text: command.source.clone() };
        self.terminal.steps().set_tape_line(line);
    }

    fn failure(&self, command: &Command, failure: &Failure) -> TapeFailure {
        TapeFailure {
            position: command.position.clone(),
            source: command.source.clone(),
            report: failure.report_without_place(),
            trace: failure.trace().map(Path::to_owned),
            seed: self.options.seed,
        }
    }

    fn act(&mut self, action: &Action) -> Result<(), Failure> {
        match action {
            // Read before the program was started, or by the caller.
            Action::Output { .. } | Action::Require(_) | Action::Env { .. } => {}
            Action::Source { .. } => {}
            // The view of a terminal in a test or a demo is always at its end.
            Action::Scroll { .. } => {}
            Action::Set(setting) => {
                if let Setting::TypingSpeed(speed) = setting {
                    self.settings.typing_speed = *speed;
                }
            }
            Action::Type { text, speed } => self.type_text(text, *speed)?,
            Action::Press { key, count, speed } => self.press(&key.name(), *count, *speed)?,
            Action::Sleep(time) => self.terminal.pause(*time),
            Action::Wait { scope, timeout, pattern } => {
                let pattern = pattern.as_ref().map(tape::Regex::as_str);
                let pattern = pattern.unwrap_or(&self.settings.wait_pattern);
                let expectation = match scope {
                    WaitScope::Line => crate::cursor_row(pattern),
                    WaitScope::Screen => crate::text(pattern).on_screen(),
                };
                self.expect(expectation, *timeout)?;
            }
            Action::Hide => self.terminal.mark_recording(markers::HIDE),
            Action::Show => self.terminal.mark_recording(markers::SHOW),
            Action::Screenshot { path, format } => {
                let (path, format, frame) = (path.clone(), *format, self.terminal.frame()?);
                self.run.screenshots.push(Screenshot { path, format, frame });
            }
            Action::Copy(text) => self.clipboard.clone_from(text),
            Action::Paste => {
                self.terminal.paste(&self.clipboard)?;
            }
            Action::Expect { expectation, timeout } => {
                self.expect(expectation_of(expectation), *timeout)?;
            }
            Action::Settle { quiet, timeout } => {
                let settled = Expectation { what: What::Settled(*quiet), ..crate::settled() };
                self.expect(settled, *timeout)?;
            }
            Action::Run { command, any_status, timeout } => {
                let timeout = timeout.unwrap_or(crate::COMMAND_TIMEOUT);
                let ran = self.terminal.run_within(command, timeout)?;
                if !any_status {
                    ran.ok()?;
                }
            }
            Action::Screen { name, masks, timeout } => self.compare(name, masks, *timeout)?,
            Action::Click { pattern, timeout } => {
                let target = crate::text(pattern.as_str()).within(self.timeout(*timeout));
                self.terminal.click(target)?;
            }
            Action::Resize { columns, rows } => {
                self.terminal.resize(usize::from(*columns), usize::from(*rows))?;
            }
        }
        Ok(())
    }

    fn timeout(&self, timeout: Option<Duration>) -> Duration {
        timeout.unwrap_or(self.settings.wait_timeout)
    }

    fn expect(&self, expectation: Expectation, timeout: Option<Duration>) -> Result<(), Failure> {
        self.terminal.expect(expectation.within(self.timeout(timeout))).map(drop)
    }

    /// Types text: at once in a test, character by character in a demo.
    fn type_text(&self, text: &str, speed: Option<Duration>) -> Result<(), Failure> {
        if self.options.mode != Mode::Play {
            return self.terminal.type_text(text).map(drop);
        }
        for c in text.chars() {
            self.terminal.type_text(c.encode_utf8(&mut [0; 4]))?;
            self.terminal.pause(speed.unwrap_or(self.settings.typing_speed));
        }
        Ok(())
    }

    fn press(&self, key: &str, count: u32, speed: Option<Duration>) -> Result<(), Failure> {
        if self.options.mode != Mode::Play {
            let keys = vec![key; count as usize].join(" ");
            return self.terminal.press(&keys).map(drop);
        }
        for _ in 0..count {
            self.terminal.press(key)?;
            self.terminal.pause(speed.unwrap_or(self.settings.typing_speed));
        }
        Ok(())
    }

    /// Compares the screen with a golden beside the tape. A demo has no goldens.
    fn compare(
        &mut self,
        name: &str,
        masks: &[tape::Regex],
        timeout: Option<Duration>,
    ) -> Result<(), Failure> {
        let Mode::Test { update } = self.options.mode else { return Ok(()) };
        let golden = Golden::new().mask(masks.iter().map(tape::Regex::as_str));
        let path = goldens::path(self.path, name);
        let timeout = self.timeout(timeout);
        self.terminal.compare_text(name, &golden, timeout, |screen| {
            let shown = path.display();
            let compared = goldens::compare(&path, screen, update)
                .map_err(|error| Problem::new(format!("the golden {shown}: {error}")))?;
            match compared {
                Comparison::Equal => Ok(()),
                Comparison::Written => {
                    self.run.written.push(path.clone());
                    Ok(())
                }
                Comparison::Differs(lines) => {
                    let why = format!("the screen differs from {shown}: --update accepts it");
                    Err(Problem { notes: lines, ..Problem::new(why) })
                }
                Comparison::Missing => {
                    Err(Problem::new(format!("there is no {shown}: --update writes it")))
                }
            }
        })
    }
}

fn expectation_of(expectation: &tape::Expectation) -> Expectation {
    match expectation {
        tape::Expectation::Text(pattern) => crate::text(pattern.as_str()),
        tape::Expectation::Gone(pattern) => crate::gone(pattern.as_str()),
        tape::Expectation::Selected(pattern) => crate::selected(pattern.as_str()),
        tape::Expectation::Title(pattern) => crate::title(pattern.as_str()),
        tape::Expectation::Frame(pattern) => crate::text(pattern.as_str()).in_frame(),
        tape::Expectation::Exit(status) => crate::exit(i32::from(*status)),
    }
}

fn start_of_tape() -> tape::Position {
    tape::Position { file: None, line: 1, column: 1 }
}

/// Checks that the programs of `Require` are in `PATH`.
fn check_required(tape: &Tape) -> Result<(), TapeFailure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for command in tape.flat() {
        let Action::Require(program) = &command.action else { continue };
        let is_there = |directory: std::path::PathBuf| directory.join(program).is_file();
        if !std::env::split_paths(&path).any(is_there) {
            return Err(TapeFailure {
                position: command.position.clone(),
                source: command.source.clone(),
                report: format!("{program:?} is not in PATH: install it"),
                trace: None,
                seed: None,
            });
        }
    }
    Ok(())
}
