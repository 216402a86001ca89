//! `wait_for_command`, and the wait for a command's end, which `run_command` and `run_steps` use too.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Command, CommandId, Condition, Outcome, Progress, Since, Spec, WaitError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::command_output::{CommandEnd, CommandOutput, CommandSnapshot, OutputLimit};
use super::params::timeout;
use super::spec::{self, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_call::check_wait_limit;
use super::{Context, Tool, ToolResult};
use crate::export;
use crate::export::trace::CallStep;
use crate::policy;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::shell;
use awaitty_terminal::terminal::{Driver, RunningWait};

/// The times after the start at which the server checks whether a command has replaced its shell. The kernel does not
/// report an exec.
const EXEC_CHECKS: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(250),
    Duration::from_secs(1),
    Duration::from_secs(5),
    Duration::from_secs(20),
];

/// The first interval between checks whether a shell reads and can be interrupted. It doubles each time.
const CANCEL_PAUSE: Duration = Duration::from_millis(2);
/// The time that a shell has to return to its prompt after an interrupt.
const CANCELLED_PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of checks.
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
    /// As in run_command.
    max_chars: Option<usize>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    command: CommandSpec {
        alias: None,
        positions: &["session_id"],
        switches: &[],
        after_help: None,
    },
    describe_waits: |arguments| spec::describe(arguments, Some("the command to end".to_owned())),
    ..ToolSpec::new(
        "wait_for_command",
        "Waits for a command that has not finished, or for one that was typed. Returns the same as run_command.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<CommandOutput> {
    let timeout = timeout(params.timeout_ms, policy::COMMAND_TIMEOUT)?;
    let output_limit = OutputLimit::new(params.max_chars)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let given_id = params.command_id.map(CommandId);
    let found = entry.handle.call(move |driver| {
        let session = driver.session();
        let command = match given_id {
            Some(id) => session.command(id),
            None => session.last_command(),
        };
        let is_full_screen = session.screen().is_alternate();
        command.map(|command| (command.id, is_full_screen))
    });
    let Some((id, is_full_screen)) = found.await.ok_or_else(ToolError::gone)? else {
        return Err(given_id.map_or(WaitError::NoCommand, WaitError::NoSuchCommand).into());
    };
    // With a full-screen program on the screen, the caller waits for its end.
    wait(&context, &entry, id, timeout, output_limit, !is_full_screen).await
}

/// Waits for a command and returns its result. With `stops_at_prompts` the wait also ends when the command asks for
/// input or becomes a full-screen program.
pub(super) async fn wait(
    context: &Context,
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
    output_limit: OutputLimit,
    stops_at_prompts: bool,
) -> ToolResult<CommandOutput> {
    let step = export::trace::wait_for_command(&context.sessions, entry, id.0, timeout).await;
    let step = CallStep(step);
    let end = wait_for_end(context, entry, id, timeout, stops_at_prompts).await?;
    let view = entry.handle.call(move |driver| CommandSnapshot::of(driver, id));
    let view = view.await.ok_or_else(ToolError::gone)?;
    let view = view.ok_or(WaitError::NoSuchCommand(id))?;
    let left = timeout.saturating_sub(context.call_limit.unwrap_or_default());
    let result = CommandOutput::new(entry, &view, &end, output_limit, left);
    step.end(result.verdict()).await;
    if result.outcome == "met" {
        export::ended_command(&context.sessions, entry, Some(id.0), result.exit.exit_code);
    }
    let text = result.describe(entry, &view.frame);
    Ok((result, text))
}

async fn wait_for_end(
    context: &Context,
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
    stops_at_prompts: bool,
) -> Result<CommandEnd, ToolError> {
    let mut over = start(entry, Condition::Command(id), timeout).await?;
    let mut unclosed = start(entry, Condition::Unclosed(id), timeout).await?;
    let (mut full_screen, mut asks) = match stops_at_prompts {
        true => (
            Some(start(entry, Condition::FullScreen(id), timeout).await?),
            Some(start(entry, Condition::Asks(Some(id)), timeout).await?),
        ),
        false => (None, None),
    };
    let started = Instant::now();
    let limit = context.call_limit.filter(|limit| *limit < timeout).map(|limit| started + limit);
    let mut checks = EXEC_CHECKS.iter().map(|&after| started + after);
    let mut next_check = checks.next();
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
                true => return Ok(CommandEnd::FullScreen),
                false => break,
            },
            asks = is_some_met(&mut asks) => match asks {
                true => return Ok(CommandEnd::Asks),
                false => break,
            },
            () = until(next_check) => {
                next_check = checks.next();
                let is_running = entry.handle.call(move |driver| is_running(driver, id)).await;
                if is_running == Some(true) && entry.is_replaced() {
                    return Ok(CommandEnd::Replaced);
                }
            }
            () = until(limit) => return Ok(CommandEnd::Pending),
        }
    }
    // Another wait ended for a reason that is in this one's outcome.
    ended(&mut over).await
}

async fn ended(over: &mut RunningWait) -> Result<CommandEnd, ToolError> {
    over.ended().await.map(|ended| CommandEnd::Over(ended.outcome)).ok_or_else(ToolError::gone)
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

/// Cancels an incomplete command. A shell that does not read yet loses an interrupt, so it is sent when the shell
/// reads, and again if it has no effect.
async fn cancel(entry: &Arc<Entry>, id: CommandId) {
    let mut pause = CANCEL_PAUSE;
    let is_open =
        move |driver: &Driver| driver.session().command(id).is_some_and(Command::is_unclosed);
    for _ in 0..CANCELS_MAX {
        let tried = entry.handle.call(move |driver| {
            let (is_open, keys) =
                (is_open(driver), driver.shell().map(|(_, kind)| shell::cancel_input(kind)));
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

/// Starts a wait on a session, within the limit of waits.
pub(super) async fn start_spec(
    entry: &Entry,
    spec: Spec,
    timeout: Duration,
) -> Result<RunningWait, ToolError> {
    let started = entry.handle.start_wait(move |driver| {
        check_wait_limit(driver, 1)?;
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
