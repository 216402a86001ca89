//! Waits until an expectation holds, and explains why it does not.

use std::sync::Arc;
use std::time::Duration;

use awaitty_terminal::blocking;
use awaitty_terminal::core::{
    Condition, Exit, Finding, Frame, Job, Outcome, Pattern, Row, TerminalWait, match_in_frame,
};
use awaitty_terminal::judged::{JudgedRequest, JudgedResult};
use awaitty_terminal::text::visible;
use awaitty_terminal::{ToolError, WaitRequest, WaitResult};

use crate::expectation::{Expectation, SETTLED, What};
use crate::style::{Style, words};

/// The time for which the screen must be unchanged before it is compared with a golden, if the kernel shows that the
/// program waits for input only. All of its output was read by then.
const GOLDEN_QUIET: Duration = Duration::from_millis(20);

/// The maximum number of spans or matches that a note lists.
const LISTED_MAX: usize = 5;

/// The reason why a step failed.
#[derive(Debug)]
pub(crate) struct Problem {
    /// The reason, in one line.
    pub(crate) why: String,
    /// Observations.
    pub(crate) notes: Vec<String>,
    /// The screen at the end of the step; `None` for the newest one.
    pub(crate) seen: Option<Seen>,
}

/// The screen at the end of a step, and the one before the last input.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) frame: Arc<Frame>,
    pub(crate) base: Option<Arc<Frame>>,
}

impl Problem {
    pub(crate) fn new(why: impl Into<String>) -> Problem {
        Problem { why: why.into(), notes: Vec::new(), seen: None }
    }
}

impl From<ToolError> for Problem {
    fn from(error: ToolError) -> Problem {
        Problem::new(error.message)
    }
}

/// Compiles a pattern of a test.
pub(crate) fn pattern(regex: &str) -> Result<Arc<Pattern>, Problem> {
    Ok(Arc::new(Pattern::new(regex, "").map_err(ToolError::from)?))
}

/// Waits until an expectation holds. Returns what a trace says about the end of the wait.
pub(crate) fn judge(
    terminal: &blocking::Terminal,
    expectation: &Expectation,
    timeout: Duration,
) -> Result<String, Problem> {
    let timeout = expectation.within.unwrap_or(timeout);
    match &expectation.what {
        What::Text(regex) => {
            let condition = Condition::Text(pattern(regex)?);
            wait(terminal, condition, expectation, timeout).map(|result| met(result.elapsed()))
        }
        &What::Settled(quiet) => {
            let condition = Condition::Settled(quiet);
            wait(terminal, condition, expectation, timeout).map(|result| met(result.elapsed()))
        }
        What::Ready => {
            let condition = Condition::Ready;
            wait(terminal, condition, expectation, timeout).map(|result| met(result.elapsed()))
        }
        &What::Exit(code) => {
            let result = wait(terminal, Condition::Exit, expectation, timeout)?;
            if result.exit_code() == Some(code) {
                return Ok(met(result.elapsed()));
            }
            Err(Problem {
                why: exited(result.exit()),
                notes: Vec::new(),
                seen: Some(seen(&result)),
            })
        }
        What::Gone(regex) => {
            Judged::gone(&Expectation { what: What::Text(regex.clone()), ..expectation.clone() })?
                .wait(terminal, timeout)
        }
        What::Selected(_)
        | What::Title(_)
        | What::CursorRow(_)
        | What::Cursor { .. }
        | What::Styled(..) => Judged::new(&expectation.what)?.wait(terminal, timeout),
    }
}

/// Waits until an expectation does not hold any more.
pub(crate) fn judge_gone(
    terminal: &blocking::Terminal,
    expectation: &Expectation,
    timeout: Duration,
) -> Result<String, Problem> {
    let timeout = expectation.within.unwrap_or(timeout);
    Judged::gone(expectation)?.wait(terminal, timeout)
}

fn met(elapsed: Duration) -> String {
    format!("met after {} ms", elapsed.as_millis())
}

/// Waits for a condition of the core.
fn wait(
    terminal: &blocking::Terminal,
    condition: Condition,
    expectation: &Expectation,
    timeout: Duration,
) -> Result<WaitResult, Problem> {
    let request = WaitRequest::new(condition).since(expectation.since).timeout(timeout);
    let result = terminal.wait(request)?;
    if result.is_met() {
        return Ok(result);
    }
    let mut notes = diagnosis(&result);
    if let Finding::Text { visible: true, in_newer_frame, .. } = result.ends.first.finding {
        notes.push(match in_newer_frame {
            true => "the frame is newer than the input: in_frame() accepts the text".to_owned(),
            false => "on_screen() accepts text from before the input".to_owned(),
        });
    }
    let why = unmet(result.outcome(), result.exit(), timeout);
    Err(Problem { why, notes, seen: Some(seen(&result)) })
}

/// Returns the diagnosis of a wait, in terms of this crate: a test has no flags, and sets them in its pattern.
fn diagnosis(result: &WaitResult) -> Vec<String> {
    let diagnosis = result.diagnosis.as_deref();
    diagnosis
        .map(|text| text.replace("flags \"i\" ignores it", "(?i) ignores it"))
        .into_iter()
        .collect()
}

fn seen(result: &WaitResult) -> Seen {
    Seen { frame: Arc::clone(result.frame()), base: Some(Arc::clone(result.base())) }
}

/// Returns the reason why a wait ended without being met.
pub(crate) fn unmet(outcome: Outcome, exit: Option<Exit>, timeout: Duration) -> String {
    match (outcome, exit) {
        (Outcome::Closed, _) => "the terminal was closed".to_owned(),
        (Outcome::Exited, exit) => exited(exit),
        (Outcome::Met | Outcome::Timeout, _) => format!("timeout after {timeout:?}"),
    }
}

fn exited(exit: Option<Exit>) -> String {
    match exit {
        Some(Exit::Code(code)) => format!("the program exited with status {code}"),
        Some(Exit::Signal(signal)) => format!("signal {signal} ended the program"),
        Some(Exit::Unknown) | None => "the program exited with an unknown status".to_owned(),
    }
}

type Note = Box<dyn Fn(&JudgedResult) -> String>;

/// An expectation that the core has no condition for.
struct Judged {
    request: JudgedRequest,
    /// Describes the state that did not meet the expectation.
    note: Note,
}

impl Judged {
    fn new(what: &What) -> Result<Judged, Problem> {
        Ok(match what {
            What::Selected(regex) => {
                let pattern = pattern(regex)?;
                Judged {
                    request: JudgedRequest::frame(move |frame| is_selected(&pattern, frame)),
                    note: Box::new(|result| selections(&result.frame)),
                }
            }
            What::Title(regex) => {
                let pattern = pattern(regex)?;
                Judged {
                    request: JudgedRequest::change(move |seen| pattern.is_match(seen.title)),
                    note: Box::new(|result| format!("the title is {:?}", visible(&result.title))),
                }
            }
            What::CursorRow(regex) => {
                let pattern = pattern(regex)?;
                Judged {
                    request: JudgedRequest::frame(move |frame| {
                        let row = cursor_row(frame);
                        pattern.is_match(&row) || pattern.is_match(row.trim_end())
                    }),
                    note: Box::new(|result| {
                        format!(
                            "the row of the cursor is {:?}",
                            visible(&cursor_row(&result.frame))
                        )
                    }),
                }
            }
            &What::Cursor { row, col } => {
                let is_there = move |frame: &Frame| {
                    let cursor = frame.cursor();
                    (cursor.row + 1, cursor.col + 1) == (row, col)
                };
                Judged {
                    request: JudgedRequest::at_rest(move |seen| is_there(seen.frame)),
                    note: Box::new(|result| {
                        let cursor = result.frame.cursor();
                        format!(
                            "the cursor is at row {}, column {}",
                            cursor.row + 1,
                            cursor.col + 1
                        )
                    }),
                }
            }
            What::Styled(regex, style) => {
                let (spans, style) = (Spans::new(regex)?, *style);
                let of_note = spans.clone();
                Judged {
                    request: JudgedRequest::frame(move |frame| spans.are_styled(frame, &style)),
                    note: Box::new(move |result| of_note.styles(&result.frame)),
                }
            }
            What::Text(_) | What::Gone(_) | What::Exit(_) | What::Settled(_) | What::Ready => {
                return Err(Problem::new(format!(
                    "{what:?} cannot be gone: expect something else"
                )));
            }
        })
    }

    /// Returns the negation of an expectation.
    fn gone(expectation: &Expectation) -> Result<Judged, Problem> {
        if let What::Text(regex) = &expectation.what {
            let pattern = pattern(regex)?;
            let of_note = Arc::clone(&pattern);
            let is_gone = move |frame: &Frame| match_in_frame(&pattern, frame).is_none();
            let found = move |result: &JudgedResult| match match_in_frame(&of_note, &result.frame) {
                Some(found) => {
                    let row = found.row.map_or(0, |row| row + 1);
                    format!("row {row} still has {:?}", visible(&found.text))
                }
                None => "the text is not on the screen".to_owned(),
            };
            return Ok(Judged { request: JudgedRequest::frame(is_gone), note: Box::new(found) });
        }
        let Judged { request, note } = Judged::new(&expectation.what)?;
        Ok(Judged { request: request.negated(), note })
    }

    fn wait(self, terminal: &blocking::Terminal, timeout: Duration) -> Result<String, Problem> {
        let result = terminal.judged(self.request.timeout(timeout))?;
        if result.outcome == Outcome::Met {
            return Ok(met(result.elapsed));
        }
        let mut notes = vec![(self.note)(&result)];
        if result.is_suspect {
            notes.push(
                "the screen agrees, but the program has not come to rest since the last input, so this may be the \
                 screen from before its reaction"
                    .to_owned(),
            );
        }
        if result.exit.is_none() {
            notes.push(result.doing.clone());
        }
        let why = unmet(result.outcome, result.exit, timeout);
        Err(Problem { why, notes, seen: Some(Seen { frame: result.frame, base: result.base }) })
    }
}

/// Returns the text of the row of the cursor, with its blanks at least up to the cursor: a prompt often ends with one.
fn cursor_row(frame: &Frame) -> String {
    let cursor = frame.cursor();
    let Some(row) = frame.rows().get(cursor.row) else { return String::new() };
    let blanks = row.written().max(cursor.col).saturating_sub(row.width());
    row.text().to_owned() + &" ".repeat(blanks)
}

fn is_selected(pattern: &Pattern, frame: &Frame) -> bool {
    frame.selection().iter().any(|selection| pattern.is_match(&selection.text))
}

fn selections(frame: &Frame) -> String {
    let all = frame.selection();
    let shown = all.iter().take(LISTED_MAX);
    let shown = shown.map(|span| format!("{:?} in row {}", visible(&span.text), span.row + 1));
    match shown.collect::<Vec<_>>() {
        shown if shown.is_empty() => "nothing is selected".to_owned(),
        shown => format!("selected: {}", shown.join(", ")),
    }
}

/// A pattern that is matched within rows, for the columns of its matches.
#[derive(Clone, Debug)]
pub(crate) struct Spans(regex::Regex);

impl Spans {
    pub(crate) fn new(regex: &str) -> Result<Spans, Problem> {
        // The error of the core's pattern has the position.
        pattern(regex)?;
        regex::Regex::new(regex).map(Spans).map_err(|error| Problem::new(error.to_string()))
    }

    /// Returns the columns of the matches in a row that are not empty.
    pub(crate) fn in_row(&self, row: &Row) -> Vec<(usize, usize)> {
        let found = self.0.find_iter(row.text()).filter(|found| !found.is_empty());
        found.map(|found| (row.col_of(found.start()), row.col_of(found.end()))).collect()
    }

    fn are_styled(&self, frame: &Frame, style: &Style) -> bool {
        let is_styled = |row: &Row, (from, to): (usize, usize)| {
            let is_blank = |col: usize| row.slice(col, col + 1).trim().is_empty();
            (from..to).all(|col| is_blank(col) || style.agrees_with(&row.style_at(col)))
        };
        let mut rows = frame.rows().iter();
        rows.any(|row| self.in_row(row).into_iter().any(|span| is_styled(row, span)))
    }

    /// Describes the styles of the matches.
    fn styles(&self, frame: &Frame) -> String {
        let mut found = Vec::new();
        for (index, row) in frame.rows().iter().enumerate() {
            for (from, to) in self.in_row(row) {
                let mut styles: Vec<String> =
                    (from..to).map(|col| words(&row.style_at(col))).collect();
                styles.dedup();
                let text = visible(row.slice(from, to));
                found.push(format!("{text:?} in row {} is {}", index + 1, styles.join(", then ")));
            }
        }
        found.truncate(LISTED_MAX);
        match found.is_empty() {
            true => "no row has a match".to_owned(),
            false => found.join("; "),
        }
    }
}

/// Waits until the program is at rest and the screen has settled: for [`SETTLED`], or for less if the program waits for
/// input only and draws nothing on a timer.
pub(crate) fn at_rest(
    terminal: &blocking::Terminal,
    timeout: Duration,
) -> Result<WaitResult, Problem> {
    let wait = |condition| {
        let result = terminal.wait(WaitRequest::new(condition).timeout(timeout))?;
        if result.is_met() || result.exit().is_some() {
            return Ok(result);
        }
        let why = format!(
            "the screen has not settled and the program has not come to rest within {timeout:?}"
        );
        let notes = diagnosis(&result);
        Err(Problem { why, notes, seen: Some(seen(&result)) })
    };
    wait(Condition::Rest)?;
    let activity = terminal.inspect(|session| session.activity())?;
    let is_untimed = matches!(activity.terminal, Some(TerminalWait::Read | TerminalWait::Poll));
    let waits_only = is_untimed && activity.job == Job::AtRest;
    wait(Condition::Settled(if waits_only { GOLDEN_QUIET } else { SETTLED }))
}

/// Clicks on text, once the program is at rest, has requested mouse events and shows the text.
pub(crate) fn click(
    terminal: &blocking::Terminal,
    regex: &str,
    nth: Option<usize>,
    timeout: Duration,
) -> Result<(), ToolError> {
    let pattern = Pattern::new(regex, "")?;
    let of_rows = pattern.clone();
    let request = JudgedRequest::at_rest(move |seen| {
        seen.has_mouse && seen.frame.rows().iter().any(|row| of_rows.is_match(row.text()))
    });
    terminal.judged(request.timeout(timeout))?;
    // If the wait was not met, the error of the click has the reason.
    terminal.click(&pattern, nth)
}
