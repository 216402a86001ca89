//! [`CommandResult`]: the result of a command that a test ran in a shell.

use std::panic::Location;
use std::time::Duration;

use awaitty_terminal::run::{CommandEnd, CommandRun};

use crate::failure::Failure;
use crate::handle::Terminal;
use crate::judge::{Problem, Seen};

/// The number of lines at the end of a command's output that a report shows.
const OUTPUT_LINES: usize = 20;

/// The result of a command that has ended.
#[derive(Clone, Debug)]
pub struct CommandResult<'t> {
    /// The exit status; `None` if the shell reported none.
    pub status: Option<i32>,
    /// The output as it looks on a screen, without trailing blanks.
    pub output: String,
    /// The duration.
    pub elapsed: Duration,
    terminal: &'t Terminal,
    step: usize,
    call: String,
}

impl<'t> CommandResult<'t> {
    pub(crate) fn new(
        terminal: &'t Terminal,
        step: usize,
        call: String,
        status: Option<i32>,
        run: CommandRun,
    ) -> CommandResult<'t> {
        let CommandRun { output, elapsed, .. } = run;
        CommandResult { status, output, elapsed, terminal, step, call }
    }

    /// Returns the result if the status is 0.
    ///
    /// # Errors
    /// If it is not. The report has the end of the output.
    #[track_caller]
    pub fn ok(self) -> Result<CommandResult<'t>, Failure> {
        if self.status == Some(0) {
            return Ok(self);
        }
        let status = self.status.map_or("unknown".to_owned(), |status| status.to_string());
        let lines: Vec<&str> = self.output.lines().collect();
        let last = &lines[lines.len().saturating_sub(OUTPUT_LINES)..];
        let notes = last.iter().map(|line| format!("output: {line}")).collect();
        let problem =
            Problem { why: format!("the exit status is {status}, not 0"), notes, seen: None };
        let call = format!("{}.ok()", self.call);
        Err(self.terminal.fail(self.step, &call, None, Location::caller(), problem))
    }

    /// Returns the terminal, for further steps.
    pub fn terminal(&self) -> &'t Terminal {
        self.terminal
    }
}

/// Returns the exit status of a command, or the reason why it has not ended.
pub(crate) fn status(run: &CommandRun, timeout: Duration) -> Result<Option<i32>, Problem> {
    let why = match run.end {
        CommandEnd::Ended(status) => return Ok(status),
        CommandEnd::Timeout => format!("the command has not ended after {timeout:?}"),
        CommandEnd::Asks => {
            "the command waits for input: type it with type_text, and expect its output".to_owned()
        }
        CommandEnd::FullScreen => {
            "the command shows a full screen: start it with type_text, and expect its output"
                .to_owned()
        }
        CommandEnd::Unclosed => {
            "a quote, bracket or block of the command is not closed, so nothing was run".to_owned()
        }
        CommandEnd::ShellExited(_) => "the shell exited".to_owned(),
        CommandEnd::Closed => "the terminal was closed".to_owned(),
    };
    let notes = vec![run.doing.clone()];
    let seen = Some(Seen { frame: run.frame.clone(), base: None });
    Err(Problem { why, notes, seen })
}
