//! Reports a test run: lines and a progress line for people, JSON for programs, annotations for GitHub.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

use awaitty_test::runner::TapeFailure;
use awaitty_test::tape::WarningKind;
use serde_json::{Value, json};

use super::TestOptions;
use super::files::{LoadError, TapeFile};
use super::run::{Event, TapeResult};
use crate::cli::{self, Waiting};
use crate::text;

/// Columns of the progress line: it must not wrap.
const PROGRESS_COLUMNS: usize = 78;

/// Reports a test run while it goes on, and at its end.
pub(super) struct Reporter<'t> {
    tapes: &'t [TapeFile],
    as_json: bool,
    /// Annotations for GitHub Actions are printed as well.
    annotates: bool,
    /// The progress line, if standard error is a terminal.
    progress: Waiting,
    /// Standard output is a terminal that shows colours.
    is_coloured: bool,
    runs: u32,
    /// The number of runs in progress of each tape.
    running: BTreeMap<usize, u32>,
    ended: usize,
}

impl<'t> Reporter<'t> {
    pub(super) fn new(tapes: &'t [TapeFile], options: &TestOptions) -> Reporter<'t> {
        Reporter {
            tapes,
            as_json: options.json,
            annotates: std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true"),
            progress: Waiting::default(),
            is_coloured: cli::use_colour(),
            runs: options.repeat,
            running: BTreeMap::new(),
            ended: 0,
        }
    }

    /// Reports the warnings of the tapes that concern tests.
    pub(super) fn start(&mut self) -> io::Result<()> {
        for TapeFile { path, tape } in self.tapes {
            let concerns = |kind| {
                matches!(kind, WarningKind::Sleep | WarningKind::Place | WarningKind::Repeated)
            };
            for warning in tape.warnings.iter().filter(|warning| concerns(warning.kind)) {
                let shown = path.display();
                crate::log(&format!("{shown}:{}: warning: {}", warning.position, warning.message));
                let at = (warning.position.line, warning.position.column);
                self.annotate("warning", path, Some(at), &warning.message)?;
            }
        }
        Ok(())
    }

    /// Reports an event.
    pub(super) fn handle(&mut self, event: &Event<'_, '_>) -> io::Result<()> {
        match event {
            Event::Started(index) => *self.running.entry(*index).or_default() += 1,
            Event::Ended(index, result) => {
                self.ended += 1;
                if let Some(count) = self.running.get_mut(index) {
                    *count -= 1;
                }
                self.running.retain(|_, count| *count > 0);
                if let Some(result) = result {
                    self.progress.clear();
                    self.print_result(result)?;
                }
            }
        }
        self.show_progress();
        Ok(())
    }

    fn print_result(&self, result: &TapeResult<'_>) -> io::Result<()> {
        if !self.as_json {
            cli::write(self.line(result).as_bytes())?;
        }
        for failure in &result.failures {
            if !self.as_json {
                cli::write(details(result, failure).as_bytes())?;
            }
            let at = (failure.position.line, failure.position.column);
            let first = failure.report.lines().next().unwrap_or_default();
            self.annotate("error", result.path, Some(at), first)?;
            if result.failures.len() > 1 {
                // The others are the same step in most cases. The summary counts them.
                break;
            }
        }
        Ok(())
    }

    /// Returns the line of a tape: `ok    0.42 s  tests/menu.tape`.
    fn line(&self, result: &TapeResult<'_>) -> String {
        let (word, color) = if result.is_passed() { ("ok", 32) } else { ("FAIL", 31) };
        let word = match self.is_coloured {
            true => format!("\x1b[{color}m{word:4}\x1b[m"),
            false => format!("{word:4}"),
        };
        let seconds = result.elapsed.as_secs_f64() / f64::from(result.runs.max(1));
        let mut line = format!("{word} {seconds:6.2} s  {}", result.path.display());
        if self.runs > 1 {
            let passed = result.runs as usize - result.failures.len();
            let _ = write!(line, " ({passed} of {} runs passed)", result.runs);
        }
        for golden in &result.written {
            let _ = write!(line, "\n     wrote {}", golden.display());
        }
        line + "\n"
    }

    /// Draws the progress line.
    fn show_progress(&mut self) {
        if self.as_json {
            return;
        }
        let all = self.tapes.len() * self.runs as usize;
        let names = self.running.keys().map(|&index| {
            let path = &self.tapes[index].path;
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        });
        let names: Vec<String> = names.collect();
        let line = format!("[{}/{all}] {}", self.ended, text::visible(&names.join(", ")));
        let line: String = line.chars().take(PROGRESS_COLUMNS).collect();
        self.progress.show(&line);
    }

    /// Reports the end of the run.
    pub(super) fn finish(&mut self, results: &[TapeResult<'_>]) -> io::Result<()> {
        self.progress.clear();
        if self.as_json {
            return cli::write(format!("{}\n", as_json(results)).as_bytes());
        }
        let failed = results.iter().filter(|result| !result.is_passed()).count();
        let passed = results.len() - failed;
        cli::write(format!("{passed} passed, {failed} failed\n").as_bytes())
    }

    /// Prints an annotation that GitHub shows beside the line.
    fn annotate(
        &self,
        level: &str,
        path: &Path,
        at: Option<(usize, usize)>,
        message: &str,
    ) -> io::Result<()> {
        if !self.annotates || self.as_json {
            return Ok(());
        }
        cli::write(annotation(level, path, at, message).as_bytes())
    }
}

/// Returns a workflow command of GitHub Actions.
fn annotation(level: &str, path: &Path, at: Option<(usize, usize)>, message: &str) -> String {
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escape(text).replace(':', "%3A").replace(',', "%2C");
    let file = property(&path.to_string_lossy());
    let at = at.map_or_else(String::new, |(line, column)| format!(",line={line},col={column}"));
    format!("::{level} file={file}{at}::{}\n", escape(&text::visible(message)))
}

/// Returns the report of a failure, indented below the line of its tape.
fn details(result: &TapeResult<'_>, failure: &TapeFailure) -> String {
    let mut details = format!(
        "     {}:{}: {}\n",
        result.path.display(),
        failure.position,
        text::visible(&failure.source)
    );
    for line in failure.report.lines() {
        let _ = writeln!(details, "     {line}");
    }
    if let Some(seed) = failure.seed {
        let _ = writeln!(details, "     repeat with: --slow --seed {seed}");
    }
    if let Some(trace) = &failure.trace {
        let _ = writeln!(details, "     trace: {}", trace.display());
    }
    details
}

/// Returns the results as JSON.
fn as_json(results: &[TapeResult<'_>]) -> Value {
    let failed = results.iter().filter(|result| !result.is_passed()).count();
    let result = |result: &TapeResult<'_>| {
        let failures: Vec<Value> = result
            .failures
            .iter()
            .map(|failure| {
                json!({
                    "line": failure.position.line,
                    "column": failure.position.column,
                    "file": failure.position.file.as_deref(),
                    "step": failure.source,
                    "report": failure.report,
                    "seed": failure.seed,
                    "trace": failure.trace,
                })
            })
            .collect();
        json!({
            "tape": result.path,
            "passed": result.is_passed(),
            "runs": result.runs,
            "elapsed_ms": result.elapsed.as_millis() as u64,
            "failures": failures,
            "written": result.written,
        })
    };
    let tapes: Vec<Value> = results.iter().map(result).collect();
    json!({"passed": results.len() - failed, "failed": failed, "tapes": tapes})
}

/// Prints the failure of a demo.
pub(super) fn print_failure(path: &Path, failure: &TapeFailure, as_json: bool) -> io::Result<()> {
    if as_json {
        let output = json!({
            "line": failure.position.line,
            "column": failure.position.column,
            "step": failure.source,
            "message": failure.report,
        });
        return cli::write(format!("{output}\n").as_bytes());
    }
    let (shown, report) = (path.display(), &failure.report);
    crate::log(&format!("{shown}:{}: {}\n{report}", failure.position, failure.source));
    Ok(())
}

/// Prints the errors that keep tapes from being run.
pub(super) fn print_errors(errors: &[LoadError], as_json: bool) -> io::Result<()> {
    if as_json {
        let error = |error: &LoadError| {
            let (line, column) = error.position.unzip();
            json!({"tape": error.path, "line": line, "column": column, "message": error.message})
        };
        let errors: Vec<Value> = errors.iter().map(error).collect();
        return cli::write(format!("{}\n", json!({ "errors": errors })).as_bytes());
    }
    let annotates = std::env::var("GITHUB_ACTIONS").is_ok_and(|value| value == "true");
    for LoadError { path, position, message } in errors {
        let at = position.map_or_else(String::new, |(line, column)| format!("{line}:{column}:"));
        match path {
            Some(path) => crate::log(&format!("{}:{at} {message}", path.display())),
            None => crate::log(message),
        }
        if let (true, Some(path)) = (annotates, path) {
            cli::write(annotation("error", path, *position, message).as_bytes())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tapes::run::tests::{failure, result};

    #[test]
    fn an_annotation_names_the_line_and_escapes_its_text() {
        let text = annotation("error", Path::new("a,b.tape"), Some((3, 1)), "50%\nof it");
        assert_eq!(text, "::error file=a%2Cb.tape,line=3,col=1::50%25%0Aof it\n");
    }

    #[test]
    fn the_details_of_a_failure_have_the_step_the_seed_and_the_trace() {
        let mut failed = failure("timeout\n| menu |");
        (failed.seed, failed.trace) = (Some(7), Some("t/a.html".into()));
        let shown = details(&result("a.tape", Vec::new()), &failed);
        let wanted = [
            "     a.tape:3:1: Expect /menu/",
            "     timeout",
            "     | menu |",
            "     repeat with: --slow --seed 7",
            "     trace: t/a.html",
        ];
        assert_eq!(shown.lines().collect::<Vec<_>>(), wanted);
    }

    #[test]
    fn the_json_counts_tapes() {
        let results = [result("a.tape", Vec::new()), result("b.tape", vec![failure("x")])];
        let json = as_json(&results);
        assert_eq!((&json["passed"], &json["failed"]), (&json!(1), &json!(1)));
        assert_eq!(json["tapes"][1]["failures"][0]["line"], 3);
    }
}
