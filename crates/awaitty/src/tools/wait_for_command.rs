//! `wait_for_command`, and the wait for a command's end that `run_command` and `run_steps` share with it.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Command, CommandId, Condition, Outcome, Progress, Since, Spec, WaitError};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::answer::check_room;
use super::command_output::{Bound, CommandOutput, CommandView, End};
use super::params::timeout;
use super::{Answer, Context, Kind, Tool};
use crate::driver::{Driver, RunningWait};
use crate::error::ToolError;
use crate::sessions::Entry;
use crate::{policy, shell};

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
    /// As of run_command.
    max_chars: Option<usize>,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "wait_for_command",
        "Waits on for a command that did not finish, or for one that was typed. Returns the same as run_command.",
        Kind::Reads,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<CommandOutput> {
    let timeout = timeout(params.timeout_ms, policy::COMMAND_TIMEOUT)?;
    let bound = Bound::new(params.max_chars)?;
    let entry = context.find(params.session_id.as_deref()).await?;
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
    wait(&context, &entry, id, timeout, bound, !is_shown).await
}

/// Waits for a command and says what became of it; also, if asked to, that it is a full-screen program.
pub(super) async fn wait(
    context: &Context,
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
    bound: Bound,
    tells_screen: bool,
) -> Answer<CommandOutput> {
    let end = wait_for_end(context, entry, id, timeout, tells_screen).await?;
    let view = entry.handle.call(move |driver| CommandView::of(driver, id));
    let view = view.await.ok_or_else(ToolError::gone)?;
    let view = view.ok_or(WaitError::NoSuchCommand(id))?;
    let left = timeout.saturating_sub(context.call_limit.unwrap_or_default());
    let result = CommandOutput::new(entry, &view, &end, bound, left);
    let text = result.describe(entry, &view.frame);
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
    let (mut full_screen, mut asks) = match tells_screen {
        true => (
            Some(start(entry, Condition::FullScreen(id), timeout).await?),
            Some(start(entry, Condition::Asks(Some(id)), timeout).await?),
        ),
        false => (None, None),
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
            asks = is_some_met(&mut asks) => match asks {
                true => return Ok(End::Asks),
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
