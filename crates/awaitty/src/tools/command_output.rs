//! The result of a command: how it ended, its status, and as much of its output as fits.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Command, CommandId, Exit, Frame, Outcome, Output, Progress, Time};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;

use super::exit::ExitOutput;
use super::params::max_chars;
use super::pending::Retry;
use super::shown::{HOW_TO_READ, header};
use super::state::StateOutput;
use crate::driver::Driver;
use crate::error::ToolError;
use crate::sessions::Entry;
use crate::{policy, shell, text};

/// How the wait for a command ended.
pub(super) enum End {
    Over(Outcome),
    Asks,
    FullScreen,
    Replaced,
    Pending,
}

/// What to do about a command that asks.
pub(super) const ASKS: &str = "the command waits for an answer: type it with send_input, then wait_for_command goes on \
with the same command_id";

/// A command that a wait was for. What does not apply is left out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct CommandDone {
    /// The number of the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    command_id: Option<u64>,
    /// What it has printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    /// The directory of its shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
}

impl CommandDone {
    /// Returns what a terminal knows of a command.
    pub(super) fn new(driver: &Driver, command: &Command) -> CommandDone {
        let output = driver.session().command_output(command.id);
        CommandDone {
            command_id: Some(command.id.0),
            output: Some(Bound::default().apply(&output).0),
            cwd: driver.directory_of(command).as_deref().map(text::visible),
        }
    }

    /// For a reader, with a space before each.
    pub(super) fn words(&self) -> String {
        let id = self.command_id.map_or_else(String::new, |id| format!(" command_id={id}"));
        let cwd = self
            .cwd
            .as_ref()
            .map_or_else(String::new, |cwd| format!(" cwd={}", text::one_line(cwd)));
        id + &cwd
    }
}

/// How many characters of a command's output are shown, of its beginning and of its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    head: usize,
    tail: usize,
}

impl Default for Bound {
    fn default() -> Bound {
        Bound { head: policy::OUTPUT_HEAD_CHARS, tail: policy::OUTPUT_TAIL_CHARS }
    }
}

impl Bound {
    /// Returns the bound that a call asks for. A small one still leaves room for the note.
    pub(super) fn new(given: Option<usize>) -> Result<Bound, ToolError> {
        let Some(given) = given else { return Ok(Bound::default()) };
        let room = max_chars(Some(given))?.saturating_sub(NOTE_CHARS);
        Ok(Bound { head: room / 4, tail: room - room / 4 })
    }

    /// Returns how many characters the shell's session has to keep.
    pub(super) fn chars(self) -> usize {
        2 * self.head.max(self.tail)
    }

    /// Returns the output within the bound, and how many characters are left out.
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
        // What is between the two was not kept.
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
        "… {missing} characters left out: max_chars shows more, read_output has the lines that are kept …\n"
    )
}

/// Room for the note on what is left out.
const NOTE_CHARS: usize = 110;

/// The result of a command. What does not apply is left out.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct CommandOutput {
    session_id: String,
    pub(super) command_id: u64,
    /// `met`, `timeout`, `exited`, `closed`, `pending`, `asks`, `continuation_prompt`, `full_screen`, `replaced` or
    /// `shell_ended`.
    pub(super) outcome: &'static str,
    finished: bool,
    /// The command's status; the shell's, if that is what ended.
    #[serde(flatten)]
    pub(super) exit: ExitOutput,
    pub(super) output: String,
    /// Characters that are left out in the middle of `output`.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing_chars: Option<usize>,
    duration_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<String>,
    /// Something was not closed; the line was cancelled and nothing was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    continuation_prompt: Option<bool>,
    /// It replaced the shell.
    #[serde(skip_serializing_if = "Option::is_none")]
    replaced: Option<bool>,
    /// The shell that it ran in is gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    shell_exited: Option<bool>,
    #[serde(flatten)]
    state: StateOutput,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed: Option<bool>,
    #[serde(flatten)]
    again: Retry,
    pub(super) seq: u64,
    /// Of a command that did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) hint: Option<String>,
}

/// A command and its terminal at one moment.
pub(super) struct CommandView {
    command: Command,
    output: Output,
    kind: Option<shell::Kind>,
    exit: Option<Exit>,
    now: Time,
    state: StateOutput,
    pub(super) frame: Arc<Frame>,
}

impl CommandView {
    /// Returns what a terminal knows of a command, if it knows it.
    pub(super) fn of(driver: &Driver, id: CommandId) -> Option<CommandView> {
        let session = driver.session();
        let mut command = session.command(id)?.clone();
        command.cwd = driver.directory_of(&command);
        Some(CommandView {
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
    /// Returns the result of a wait for a command. `left` is the time that a call that goes on has.
    pub(super) fn new(
        entry: &Entry,
        view: &CommandView,
        end: &End,
        bound: Bound,
        left: Duration,
    ) -> CommandOutput {
        let CommandView { command, frame, .. } = view;
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
        // An empty command prints nothing; its status is the one before, as in $?.
        if command.ran || !shell::is_blank(&command.text) {
            (result.output, result.missing_chars) = bound.apply(&view.output);
        }
        result.set_end(command, end, view.kind);
        if let End::Pending = end {
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

    /// Tells whether a shell says that a command is not complete, and takes what it says of our own part away.
    fn is_unclosed(&mut self, command: &Command, kind: shell::Kind) -> bool {
        if command.is_sentinel() {
            return shell::is_sentinel_incomplete(kind, &command.text, &self.output);
        }
        if command.ran {
            return false;
        }
        let is_unclosed = shell::is_group_incomplete(kind, &command.text, &self.output);
        self.output = shell::strip_group_errors(kind, &self.output);
        is_unclosed
    }

    fn set_end(&mut self, command: &Command, end: &End, kind: Option<shell::Kind>) {
        let outcome = match end {
            End::Over(outcome) => *outcome,
            End::Asks => {
                self.outcome = "asks";
                self.hint = Some(ASKS.to_owned());
                return;
            }
            End::FullScreen => {
                self.outcome = "full_screen";
                self.hint = Some(
                    "a full-screen program runs: use send_input; wait_for_command tells of its end"
                        .to_owned(),
                );
                return;
            }
            End::Replaced => {
                self.outcome = "replaced";
                self.replaced = Some(true);
                self.hint =
                    Some("the command replaced the shell: its end is the session's".to_owned());
                return;
            }
            End::Pending => {
                self.outcome = "pending";
                return;
            }
        };
        let is_unclosed = kind.is_some_and(|kind| self.is_unclosed(command, kind));
        match (outcome, command.progress) {
            (Outcome::Closed, _) => {
                self.outcome = "closed";
                self.closed = Some(true);
                self.exit.exited = Some(true);
            }
            (_, Progress::Incomplete) | (_, Progress::Ended)
                if is_unclosed || command.progress == Progress::Incomplete =>
            {
                self.outcome = "continuation_prompt";
                self.continuation_prompt = Some(true);
                self.hint = Some(
                    "a quote, bracket or block is not closed; the line was cancelled and nothing was run: send all of it"
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
                // The shell may have exited since; what is asked for is the command's status.
                self.exit =
                    ExitOutput { exit_code: command.status, signal: None, ..self.exit.clone() };
            }
            (_, Progress::Lost) => {
                self.outcome = "shell_ended";
                self.shell_exited = Some(true);
                self.hint =
                    Some("the shell that ran it is gone; its status is not known".to_owned());
            }
            (_, _) => {
                self.outcome = "timeout";
                self.hint = Some(
                    "it goes on: wait_for_command waits for it, send_input can stop it".to_owned(),
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
