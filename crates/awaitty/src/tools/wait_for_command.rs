//! `wait_for_command`, and what `run_command` says in common with it.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{
    Command, CommandId, Condition, Outcome, Output, Progress, Since, Spec, WaitError,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::time::Instant;

use super::answer::check_room;
use super::exit::ExitOutput;
use super::params::{max_chars, timeout};
use super::pending::Retry;
use super::shown::{HOW_TO_READ, header};
use super::state::StateOutput;
use super::{Answer, Context, Kind, Tool};
use crate::driver::{Driver, RunningWait};
use crate::error::ToolError;
use crate::sessions::Entry;
use crate::{policy, shell, text};

/// When it is looked whether a command has replaced its shell, after it began: nothing tells of it.
const EXEC_LOOKS: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
];

/// How soon it is looked whether a shell reads, so that it can be interrupted; then ever more rarely.
const CANCEL_PAUSE: Duration = Duration::from_millis(2);
/// How long a shell has to come back once it was interrupted.
const CANCELLED_PAUSE: Duration = Duration::from_millis(100);
/// How often that is tried.
const CANCELS_MAX: usize = 12;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Default: the last.
    command_id: Option<u64>,
    /// Default 120000.
    timeout_ms: Option<u64>,
    /// Of the output.
    max_chars: Option<usize>,
}

/// The result of a command. What does not apply is left out.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct CommandOutput {
    session_id: String,
    command_id: u64,
    /// `met`, `timeout`, `exited`, `closed`, `pending`, `continuation_prompt`, `full_screen`, `replaced` or
    /// `shell_ended`.
    outcome: &'static str,
    finished: bool,
    /// The command's status; the shell's, if that is what ended.
    #[serde(flatten)]
    exit: ExitOutput,
    output: String,
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
    seq: u64,
    /// Of a command that did not finish.
    #[serde(skip_serializing_if = "Option::is_none")]
    screen_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "wait_for_command",
        "Goes on with a command that did not finish, or waits for one that was typed; as run_command.",
        Kind::Reads,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<CommandOutput> {
    let timeout = timeout(params.timeout_ms, policy::COMMAND_TIMEOUT)?;
    let chars = max_chars(params.max_chars)?;
    let entry = context.sessions.find(params.session_id.as_deref()).await?;
    let asked = params.command_id.map(CommandId);
    let found = entry.handle.call(move |driver| {
        let session = driver.session();
        let command = match asked {
            Some(id) => session.command(id),
            None => session.last_command(),
        };
        let is_shown = session.screen().is_alternate();
        command.map(|command| (command.id, is_shown))
    });
    let Some((id, is_shown)) = found.await.ok_or_else(ToolError::gone)? else {
        return Err(asked.map_or(WaitError::NoCommand, WaitError::NoSuchCommand).into());
    };
    // Who waits for a program whose screen is shown already knows of it, and waits for its end.
    wait(&context, &entry, id, timeout, chars, !is_shown).await
}

/// How the wait for a command ended.
enum End {
    Over(Outcome),
    FullScreen,
    Replaced,
    Pending,
}

/// Waits for a command and says what became of it; also, if asked to, that it is a full-screen program.
pub(super) async fn wait(
    context: &Context,
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
    chars: usize,
    tells_screen: bool,
) -> Answer<CommandOutput> {
    let end = wait_for_end(context, entry, id, timeout, tells_screen).await?;
    let told = entry.handle.call(move |driver| {
        let session = driver.session();
        let command = session.command(id).cloned();
        let frame = Arc::clone(session.frame());
        let output = session.command_output(id);
        let (exit, now) = (session.exit(), driver.now());
        (command, output, frame, exit, now, driver.kind_of(id), StateOutput::of(driver))
    });
    let (command, output, frame, exit, now, kind, state) =
        told.await.ok_or_else(ToolError::gone)?;
    let Some(command) = command else {
        return Err(WaitError::NoSuchCommand(id).into());
    };
    let ended = command.ended.unwrap_or(now);
    let mut result = CommandOutput {
        session_id: entry.id.clone(),
        command_id: id.0,
        duration_ms: ended.since(command.started).as_millis() as u64,
        cwd: command.cwd.as_deref().map(text::visible),
        seq: frame.seq().0,
        exit: exit.into(),
        state,
        ..CommandOutput::default()
    };
    // Where there was nothing to run, nothing was printed; the status is the one before, as in $?.
    if command.ran || !shell::is_nothing(&command.text) {
        result.set_output(&output, chars);
    }
    result.set_end(&command, &end, kind);
    if let End::Pending = end {
        let limit = context.call_limit.unwrap_or_default();
        let left = timeout.saturating_sub(limit).as_millis() as u64;
        let again = json!({"session_id": entry.id, "command_id": id.0, "timeout_ms": left});
        result.again = Retry::with("wait_for_command", again);
    }
    if !result.finished {
        let screen = text::visible(&frame.text());
        result.screen_text = Some(text::cut(screen, policy::limits().result_chars, HOW_TO_READ));
    }
    let text = result.describe(entry, &frame);
    Ok((result, text))
}

async fn wait_for_end(
    context: &Context,
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
    tells_screen: bool,
) -> Result<End, ToolError> {
    let mut over = start(entry, Condition::Command(id), timeout).await?;
    let mut unclosed = start(entry, Condition::Unclosed(id), timeout).await?;
    let mut full_screen = match tells_screen {
        true => Some(start(entry, Condition::FullScreen(id), timeout).await?),
        false => None,
    };
    let started = Instant::now();
    let limit = context.call_limit.filter(|limit| *limit < timeout).map(|limit| started + limit);
    let mut looks = EXEC_LOOKS.iter().map(|&after| started + after);
    let mut next_look = looks.next();
    loop {
        tokio::select! {
            biased;
            end = ended(&mut over) => return end,
            ended = is_met(&mut unclosed) => {
                if ended {
                    cancel(entry, id).await;
                }
                break;
            }
            is_full_screen = is_some_met(&mut full_screen) => match is_full_screen {
                true => return Ok(End::FullScreen),
                false => break,
            },
            () = until(next_look) => {
                next_look = looks.next();
                let is_running = entry.handle.call(move |driver| is_running(driver, id)).await;
                if is_running == Some(true) && entry.is_replaced() {
                    return Ok(End::Replaced);
                }
            }
            () = until(limit) => return Ok(End::Pending),
        }
    }
    // One of the others ended for a reason that this one tells.
    ended(&mut over).await
}

async fn ended(over: &mut RunningWait) -> Result<End, ToolError> {
    over.ended().await.map(|ended| End::Over(ended.outcome)).ok_or_else(ToolError::gone)
}

async fn is_met(wait: &mut RunningWait) -> bool {
    wait.ended().await.is_some_and(|ended| ended.outcome == Outcome::Met)
}

async fn is_some_met(wait: &mut Option<RunningWait>) -> bool {
    match wait {
        Some(wait) => is_met(wait).await,
        None => std::future::pending().await,
    }
}

/// Cancels a command that is not closed. An interrupt is lost on a shell that does not read yet, so it is sent
/// when it does, and again if nothing came of it.
async fn cancel(entry: &Arc<Entry>, id: CommandId) {
    let mut pause = CANCEL_PAUSE;
    let is_open =
        move |driver: &Driver| driver.session().command(id).is_some_and(Command::is_unclosed);
    for _ in 0..CANCELS_MAX {
        let tried = entry.handle.call(move |driver| {
            let (is_open, keys) =
                (is_open(driver), driver.shell().map(|(_, kind)| shell::cancel(kind)));
            let is_reading = is_open && driver.reader().is_some();
            if is_reading {
                driver.type_keys(keys.unwrap_or(b"\x03"));
            }
            (is_open, is_reading)
        });
        match tried.await {
            Some((true, true)) => pause = (4 * pause).max(CANCELLED_PAUSE),
            Some((true, false)) => pause *= 2,
            _ => return,
        }
        let Ok(mut over) = start(entry, Condition::Command(id), pause).await else { return };
        over.ended().await;
    }
}

fn is_running(driver: &mut Driver, id: CommandId) -> bool {
    driver.session().command(id).is_some_and(|command| command.progress == Progress::Running)
}

/// Starts a wait on a session.
pub(super) async fn start(
    entry: &Entry,
    condition: Condition,
    timeout: Duration,
) -> Result<RunningWait, ToolError> {
    start_spec(entry, Spec { condition, since: Since::Input, deadline: None }, timeout).await
}

/// Starts a wait on a session, within the limit on how many.
pub(super) async fn start_spec(
    entry: &Entry,
    spec: Spec,
    timeout: Duration,
) -> Result<RunningWait, ToolError> {
    let started = entry.handle.start_wait(move |driver| {
        check_room(driver, 1)?;
        Ok(driver.start_wait(spec, timeout)?)
    });
    started.await.ok_or_else(ToolError::gone)?
}

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}

impl CommandOutput {
    /// The output within its bound, with a note where something is missing.
    fn set_output(&mut self, output: &Output, chars: usize) {
        let (head, tail) = (text::visible(&output.head), text::visible(&output.tail));
        let (all, missing) = (head.chars().count() + tail.chars().count(), output.missing);
        if missing == 0 && all <= chars {
            self.output = head;
            return;
        }
        let note = |missing: usize| {
            format!(
                "\n… {missing} characters left out: read_output has the lines that are kept …\n"
            )
        };
        let room = chars.saturating_sub(note(all + missing).chars().count());
        let for_tail = room / 2;
        let last = if missing > 0 { &tail } else { &head };
        let end: String =
            last.chars().skip(last.chars().count().saturating_sub(for_tail)).collect();
        let start: String = head.chars().take(room - for_tail).collect();
        let left_out = all + missing - start.chars().count() - end.chars().count();
        self.missing_chars = Some(left_out);
        self.output = start + &note(left_out) + &end;
    }

    /// Tells whether a shell says that a command is not complete, and takes what it says of our own part away.
    fn is_unclosed(&mut self, command: &Command, kind: shell::Kind) -> bool {
        if command.is_sentinel() {
            return shell::unclosed(kind, &command.text, &self.output);
        }
        if command.ran {
            return false;
        }
        let is_unclosed = shell::unclosed_group(kind, &command.text, &self.output);
        self.output = shell::without_group(kind, &self.output);
        is_unclosed
    }

    fn set_end(&mut self, command: &Command, end: &End, kind: Option<shell::Kind>) {
        let outcome = match end {
            End::Over(outcome) => *outcome,
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

    fn describe(&self, entry: &Entry, frame: &awaitty_core::Frame) -> String {
        let status = self.exit.words();
        let cwd = self.cwd.as_ref().map_or_else(String::new, |cwd| format!(" cwd={cwd}"));
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
        text + "\n" + &self.output
    }
}
