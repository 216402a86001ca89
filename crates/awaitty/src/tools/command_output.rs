//! The result of a command: its outcome, exit status, and as much of its output as fits.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Command, CommandId, Exit, Frame, Outcome, Output, Progress, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::exit::ExitOutput;
use super::params::max_chars;
use super::pending::Retry;
use super::screen_output::{HOW_TO_READ, header};
use super::state::StateOutput;
use crate::export::words;
use crate::sessions::Entry;
use crate::{policy, text};
use awaitty_terminal::ToolError;
use awaitty_terminal::shell;
use awaitty_terminal::terminal::Driver;
use awaitty_test::trace::Verdict;

/// The end of the wait for a command.
pub(super) enum CommandEnd {
    Over(Outcome),
    Asks,
    FullScreen,
    Replaced,
    Pending,
}

/// The hint for a command that asks for input.
pub(super) const ASKS: &str = "the command waits for an answer: type it with send_input, then call wait_for_command \
with the same command_id";

/// The command in the result of a wait. Fields that do not apply are left out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct CommandSummary {
    /// The id of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    command_id: Option<u64>,
    /// Its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The working directory of its shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

impl CommandSummary {
    /// Returns the current data of a command.
    pub(super) fn new(driver: &Driver, command: &Command) -> CommandSummary {
        let output = driver.session().command_output(command.id);
        CommandSummary {
            command_id: Some(command.id.0),
            output: Some(OutputLimit::default().apply(&output).0),
            cwd: driver.directory_of(command).as_deref().map(text::visible),
        }
    }

    /// Returns the id of the command.
    pub(super) fn id(&self) -> Option<u64> {
        self.command_id
    }

    /// Returns the id and directory as text, with leading spaces.
    pub(super) fn words(&self) -> String {
        let id = self.command_id.map_or_else(String::new, |id| format!(" command_id={id}"));
        let cwd = self
            .cwd
            .as_ref()
            .map_or_else(String::new, |cwd| format!(" cwd={}", text::one_line(cwd)));
        id + &cwd
    }
}

/// The numbers of characters at the start and the end of a command's output that a result has.
#[derive(Clone, Copy, Debug)]
pub(super) struct OutputLimit {
    head: usize,
    tail: usize,
}

impl Default for OutputLimit {
    fn default() -> OutputLimit {
        OutputLimit { head: policy::OUTPUT_HEAD_CHARS, tail: policy::OUTPUT_TAIL_CHARS }
    }
}

impl OutputLimit {
    /// Returns the limit for `max_chars`. Even the smallest leaves room for the note about omitted text.
    pub(super) fn new(given: Option<usize>) -> Result<OutputLimit, ToolError> {
        let Some(given) = given else { return Ok(OutputLimit::default()) };
        let room = max_chars(Some(given))?.saturating_sub(NOTE_CHARS);
        Ok(OutputLimit { head: room / 4, tail: room - room / 4 })
    }

    /// Returns the number of characters that the session must keep.
    pub(super) fn chars(self) -> usize {
        2 * self.head.max(self.tail)
    }

    /// Returns the output within the limit, and the number of omitted characters.
    fn apply(self, output: &Output) -> (String, Option<usize>) {
        let (head, tail) = (text::visible(&output.head), text::visible(&output.tail));
        if output.missing == 0 {
            let mut left_out = None;
            let cut = text::cut_lines(head, self.head, self.tail, |_, missing| {
                left_out = Some(missing);
                left_out_note(missing)
            });
            return (cut, left_out);
        }
        // The text between the two was not kept.
        let all = head.chars().count() + tail.chars().count() + output.missing;
        let first = text::cut_lines(head, self.head, 0, |_, _| String::new());
        let last = text::cut_lines(tail, 0, self.tail, |_, _| String::new());
        let (first, last) = (first.trim_end_matches('\n'), last.trim_start_matches('\n'));
        let missing = all - first.chars().count() - last.chars().count();
        (format!("{first}\n{}{last}", left_out_note(missing)), Some(missing))
    }
}

fn left_out_note(missing: usize) -> String {
    format!(
        "… {missing} characters left out: max_chars shows more, read_output has the lines still kept …\n"
    )
}

/// The maximum length of the note about omitted text, in characters.
const NOTE_CHARS: usize = 110;

/// The result of a command. Fields that do not apply are left out.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct CommandOutput {
    session_id: String,
    pub(super) command_id: u64,
    /// `met`, `timeout`, `exited`, `closed`, `pending`, `asks`, `continuation_prompt`, `full_screen`, `replaced` or
    /// `shell_ended`.
    pub(super) outcome: &'static str,
    finished: bool,
    /// The exit status of the command, or of the shell if the shell ended.
    #[serde(flatten)]
    pub(super) exit: ExitOutput,
    pub(super) output: String,
    /// The number of characters left out in the middle of `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_chars: Option<usize>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// A quote, bracket or block was not closed; the command was cancelled and not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation_prompt: Option<bool>,
    /// The command replaced the shell (`exec`).
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<bool>,
    /// The shell that ran it has exited.
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_exited: Option<bool>,
    #[serde(flatten)]
    state: StateOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<bool>,
    #[serde(flatten)]
    again: Retry,
    pub(super) seq: u64,
    /// The screen, if the command did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// A command and its terminal at one moment.
pub(super) struct CommandSnapshot {
    command: Command,
    output: Output,
    kind: Option<shell::Kind>,
    exit: Option<Exit>,
    now: Time,
    state: StateOutput,
    pub(super) frame: Arc<Frame>,
}

impl CommandSnapshot {
    /// Returns a command and the state of its terminal; `None` if the id is not known.
    pub(super) fn of(driver: &Driver, id: CommandId) -> Option<CommandSnapshot> {
        let session = driver.session();
        let mut command = session.command(id)?.clone();
        command.cwd = driver.directory_of(&command);
        Some(CommandSnapshot {
            command,
            output: session.command_output(id),
            kind: driver.kind_of(id),
            exit: session.exit(),
            now: driver.now(),
            state: StateOutput::of(driver),
            frame: Arc::clone(session.frame()),
        })
    }
}

impl CommandOutput {
    /// Returns the end of the command, or of the wait for it, for the trace of the session.
    pub(super) fn verdict(&self) -> Verdict {
        let after = words::time(Duration::from_millis(self.duration_ms));
        let hint = self.hint.as_ref().map_or_else(String::new, |hint| format!(": {hint}"));
        match (self.outcome, self.exit.exit_code) {
            ("met", Some(status)) => Verdict::Passed(format!("exit status {status} after {after}")),
            ("met", None) => Verdict::Passed(format!("ended after {after}")),
            ("timeout" | "exited" | "closed" | "continuation_prompt", _) => {
                Verdict::Failed(format!("{} after {after}{hint}", self.outcome))
            }
            (outcome, _) => Verdict::Passed(format!("{outcome} after {after}")),
        }
    }

    /// Returns the result of a wait for a command. `left` is the timeout of a retry.
    pub(super) fn new(
        entry: &Entry,
        view: &CommandSnapshot,
        end: &CommandEnd,
        output_limit: OutputLimit,
        left: Duration,
    ) -> CommandOutput {
        let CommandSnapshot { command, frame, .. } = view;
        let ended = command.ended.unwrap_or(view.now);
        let mut result = CommandOutput {
            session_id: entry.id.clone(),
            command_id: command.id.0,
            duration_ms: ended.since(command.started).as_millis() as u64,
            cwd: command.cwd.as_deref().map(text::visible),
            seq: frame.seq().0,
            exit: view.exit.into(),
            state: view.state.clone(),
            ..CommandOutput::default()
        };
        // An empty command prints nothing and keeps the previous exit status, as in $?.
        if command.ran || !shell::is_blank(&command.text) {
            (result.output, result.missing_chars) = output_limit.apply(&view.output);
        }
        result.set_end(command, end, view.kind);
        if let CommandEnd::Pending = end {
            let (id, left) = (command.id.0, left.as_millis() as u64);
            let again = json!({"session_id": entry.id, "command_id": id, "timeout_ms": left});
            result.again = Retry::with("wait_for_command", again);
        }
        if !result.finished {
            let screen = text::visible(&frame.text());
            let chars_max = policy::limits().result_chars;
            result.screen_text = Some(text::cut(screen, chars_max, HOW_TO_READ));
        }
        result
    }

    /// Returns whether the shell reported the command as incomplete. Removes its errors about the added braces.
    fn check_incomplete(&mut self, command: &Command, kind: shell::Kind) -> bool {
        if command.is_sentinel() {
            return shell::is_sentinel_incomplete(kind, &command.text, &self.output);
        }
        if command.ran {
            return false;
        }
        let is_incomplete = shell::is_group_incomplete(kind, &command.text, &self.output);
        self.output = shell::strip_group_errors(kind, &self.output);
        is_incomplete
    }

    fn set_end(&mut self, command: &Command, end: &CommandEnd, kind: Option<shell::Kind>) {
        let outcome = match end {
            CommandEnd::Over(outcome) => *outcome,
            CommandEnd::Asks => {
                self.outcome = "asks";
                self.hint = Some(ASKS.to_owned());
                return;
            }
            CommandEnd::FullScreen => {
                self.outcome = "full_screen";
                self.hint = Some(
                    "a full-screen program is running: use send_input; wait_for_command waits for its end"
                        .to_owned(),
                );
                return;
            }
            CommandEnd::Replaced => {
                self.outcome = "replaced";
                self.replaced = Some(true);
                self.hint =
                    Some("the command replaced the shell: the session ends with it".to_owned());
                return;
            }
            CommandEnd::Pending => {
                self.outcome = "pending";
                return;
            }
        };
        let is_incomplete = kind.is_some_and(|kind| self.check_incomplete(command, kind));
        match (outcome, command.progress) {
            (Outcome::Closed, _) => {
                self.outcome = "closed";
                self.closed = Some(true);
                self.exit.exited = Some(true);
            }
            (_, Progress::Incomplete) | (_, Progress::Ended)
                if is_incomplete || command.progress == Progress::Incomplete =>
            {
                self.outcome = "continuation_prompt";
                self.continuation_prompt = Some(true);
                self.hint = Some(
                    "a quote, bracket or block is not closed, so nothing was run: send the complete command"
                        .to_owned(),
                );
            }
            (Outcome::Exited, _) => {
                self.outcome = "exited";
                self.shell_exited = Some(true);
            }
            (_, Progress::Ended) => {
                self.outcome = "met";
                self.finished = true;
                // The shell may have exited since then, and the result has the command's exit status.
                self.exit =
                    ExitOutput { exit_code: command.status, signal: None, ..self.exit.clone() };
            }
            (_, Progress::Lost) => {
                self.outcome = "shell_ended";
                self.shell_exited = Some(true);
                self.hint = Some("its shell has exited; the exit status is unknown".to_owned());
            }
            (_, _) => {
                self.outcome = "timeout";
                self.hint = Some(
                    "it is still running: wait_for_command waits, send_input can stop it"
                        .to_owned(),
                );
            }
        }
    }

    /// Returns the text block.
    pub(super) fn describe(&self, entry: &Entry, frame: &Frame) -> String {
        let status = self.exit.words();
        let cwd = self
            .cwd
            .as_ref()
            .map_or_else(String::new, |cwd| format!(" cwd={}", text::one_line(cwd)));
        let what = format!(
            "{} command_id={}{status} duration_ms={}{cwd}{}",
            self.outcome,
            self.command_id,
            self.duration_ms,
            if self.finished { String::new() } else { self.state.words() }
        );
        let mut text = header(entry, frame, &what);
        if let Some(note) = &self.hint {
            text += &format!("\n{note}");
        }
        if let Some(how) = self.again.words() {
            text += &format!("\n{how}");
        }
        text + "\n" + text::framed(&self.output).trim_end_matches('\n')
    }
}
