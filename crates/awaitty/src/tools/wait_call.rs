//! Runs the waits of a call and builds the result. The result is read from the terminal in the driver job that ends the
//! wait, so it is consistent.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use awaitty_core::{Condition, Finding, Frame, Seq};

use super::command_output::{ASKS, CommandSummary};
use super::outcome::{WaitOutput, summary};
use super::pending::Retry;
use super::screen_output::{ScreenMode, header, show_frame};
use super::state::StateOutput;
use super::wait_for_channel::{ChannelWait, wait_for};
use super::wait_params::{self, WaitRequest};
use super::{Context, ToolResult};
use crate::access::Caller;
use crate::export::trace::CallStep;
use crate::export::{self, Act, words};
use crate::policy;
use crate::sessions::Entry;
use awaitty_terminal::terminal::{Driver, Ends, RunningWait};
use awaitty_terminal::{ToolError, WaitResult};
use awaitty_test::trace::Verdict;

/// Waits for the first condition of a request.
pub(super) async fn start(
    context: &Context,
    entry: &Arc<Entry>,
    request: &WaitRequest,
    mode: ScreenMode,
) -> ToolResult<WaitOutput> {
    let ((), result) = act(context, entry, request, move |_| Ok(((), mode))).await?;
    Ok(result)
}

/// Acts on the terminal and starts the waits in one driver job, so that no output is missed in between. `act` returns
/// the form of the screen in the result.
pub(super) async fn act<A: Send + 'static>(
    context: &Context,
    entry: &Arc<Entry>,
    request: &WaitRequest,
    act: impl FnOnce(&mut Driver) -> Result<(A, ScreenMode), ToolError> + Send + 'static,
) -> Result<(A, (WaitOutput, String)), ToolError> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let (specs, timeout, count) = (request.specs(), request.timeout, request.len());
    let (mode_cell, handle) = (Arc::new(OnceLock::new()), entry.handle.clone());
    let at_end = (Arc::clone(entry), Arc::clone(&mode_cell));
    let trace = Some(&context.caller).filter(|caller| **caller == Caller::User);
    let trace = trace.and_then(|_| context.sessions.traces.get(&entry.id));
    let words = trace.as_ref().and_then(|_| request.words());
    let step = Arc::new(OnceLock::new());
    let at_start = Arc::clone(&step);
    let step_at_end = Arc::clone(&step);
    let start = move |driver: &mut Driver| {
        check_wait_limit(driver, specs.len())?;
        specs.iter().try_for_each(|spec| driver.session().check_wait(spec))?;
        let seq = driver.session().frame().seq();
        let (acted, mode) = act(driver)?;
        if let (Some(trace), Some(words)) = (&trace, words)
            && let Some(started) = trace.start_wait(driver, words)
        {
            let _ = at_start.set(started);
        }
        let _ = mode_cell.set(mode);
        let _ = sender.send((acted, seq, mode));
        Ok::<_, ToolError>(driver.start_waits(specs, timeout)?)
    };
    let collect = move |driver: &mut Driver, ends: Ends| {
        let (entry, mode_cell) = at_end;
        let mode = *mode_cell.get().unwrap_or(&ScreenMode::Full);
        let result = report(driver, &entry, ends, count, mode);
        if let Some(step) = step_at_end.get() {
            step.end(driver, verdict(&result.0));
        }
        result
    };
    let running = handle.start_waits(start, collect).await.ok_or_else(ToolError::gone)??;
    let step = CallStep(step.get().cloned());
    let (acted, seq, mode) = receiver.await.map_err(|_| ToolError::gone())?;
    let call = WaitCall { request, seq, mode };
    let result = wait(context, entry, running, &call).await?;
    step.end(verdict(&result.0)).await;
    note(context, entry, request, &result.0).await;
    Ok((acted, result))
}

/// Returns the end of a wait for the trace of the session.
pub(super) fn verdict(output: &WaitOutput) -> Verdict {
    let outcome = output.outcome.unwrap_or_default();
    let after = words::time(Duration::from_millis(output.elapsed_ms.unwrap_or_default()));
    match (outcome, output.met_by) {
        ("met", None) => Verdict::Passed(format!("met after {after}")),
        ("met", Some(condition)) => Verdict::Passed(format!("met by {condition} after {after}")),
        ("pending", _) => {
            Verdict::Passed(format!("not met after {after}, when the call had to return"))
        }
        (outcome, _) => {
            let why = output.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            Verdict::Failed(format!("{outcome} after {after}{why}"))
        }
    }
}

/// Adds a wait of a user that was met to the log of the session.
async fn note(context: &Context, entry: &Arc<Entry>, request: &WaitRequest, output: &WaitOutput) {
    if output.outcome != Some("met") || context.caller != Caller::User {
        return;
    }
    if output.met_by == Some("channel") || request.conditions.is_empty() {
        if let Some(channel) = &request.channel {
            context.sessions.logs.add(&entry.id, Act::Signalled(channel.channel.name.clone()));
        }
        return;
    }
    let is_met = |condition: &&Condition| {
        output.met_by.is_none() || wait_params::name(condition) == output.met_by
    };
    match request.conditions.iter().find(is_met) {
        Some(Condition::Command(_) | Condition::LastCommand { .. }) => {
            let id = output.command.id();
            export::ended_command(&context.sessions, entry, id, output.exit.exit_code);
        }
        Some(condition) => {
            let (since, timeout) = (request.since, request.timeout);
            export::note_wait(&context.sessions, entry, condition, since, timeout).await;
        }
        None => {}
    }
}

/// A call that waits.
struct WaitCall<'a> {
    request: &'a WaitRequest,
    /// The frame at the start.
    seq: Seq,
    mode: ScreenMode,
}

/// Waits for the end of the waits, for a signal, or until the time limit of the call.
async fn wait(
    context: &Context,
    entry: &Arc<Entry>,
    running: Option<RunningWait<(WaitOutput, String)>>,
    call: &WaitCall<'_>,
) -> ToolResult<WaitOutput> {
    let Some(mut running) = running else {
        let Some(channel) = &call.request.channel else { return Err(ToolError::gone()) };
        let output = wait_for(context, Some(entry), channel).await?;
        return add_screen(entry, output, call.mode).await;
    };
    let signalled = async {
        match &call.request.channel {
            Some(channel) => signalled(context, channel).await,
            None => std::future::pending().await,
        }
    };
    let limit = context.call_limit.filter(|limit| *limit < call.request.timeout);
    let limited = async {
        match limit {
            Some(limit) => tokio::time::sleep_until(tokio::time::Instant::now() + limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        ended = running.ended() => ended.ok_or_else(ToolError::gone),
        output = signalled => add_screen(entry, output?, call.mode).await,
        () = limited => pending(entry, limit.unwrap_or_default(), call).await,
    }
}

/// Waits for a signal that is one of several conditions. Never returns after a timeout: the other conditions end the
/// wait then.
async fn signalled(context: &Context, channel: &ChannelWait) -> Result<WaitOutput, ToolError> {
    let unlimited = Context { call_limit: None, ..context.clone() };
    let mut output = wait_for(&unlimited, None, channel).await?;
    if output.outcome != Some("met") {
        return std::future::pending().await;
    }
    output.met_by = Some("channel");
    Ok(output)
}

/// Adds the current screen to a result.
async fn add_screen(
    entry: &Arc<Entry>,
    mut output: WaitOutput,
    mode: ScreenMode,
) -> ToolResult<WaitOutput> {
    let at = Arc::clone(entry);
    let shown = entry.handle.call(move |driver| {
        let frame = Arc::clone(driver.session().frame());
        output.seq = Some(frame.seq().0);
        let screen = show_frame(driver, &frame, mode, &mut output);
        let text = format!("{}\n{screen}", header(&at, &frame, &summary(&output)));
        (output, text)
    });
    shown.await.ok_or_else(ToolError::gone)
}

/// Returns the result of the waits of a call. The caller gave `count` conditions.
fn report(
    driver: &Driver,
    entry: &Entry,
    ends: Ends,
    count: usize,
    mode: ScreenMode,
) -> (WaitOutput, String) {
    let result = WaitResult::collect(driver, ends);
    let ended = &result.ends.first;
    let mut output = WaitOutput::from(ended);
    // In reverse, because the first condition decides a field that several conditions set.
    for other in result.ends.others.iter().rev().chain([ended]) {
        output.add_finding(other);
    }
    if output.outcome == Some("met") && count > 1 {
        output.met_by = wait_params::name(&ended.condition);
    }
    output.why = result.diagnosis;
    output.state = StateOutput::with_program(result.state, driver);
    if let Finding::Command = ended.finding {
        output.note_command(driver, &ended.condition);
    }
    let screen = show_frame(driver, &ended.frame, mode, &mut output);
    let text = format!("{}\n{screen}", header(entry, &ended.frame, &summary(&output)));
    (output, text)
}

impl WaitOutput {
    /// Adds the command that the wait was for.
    fn note_command(&mut self, driver: &Driver, condition: &Condition) {
        let session = driver.session();
        let command = match condition {
            Condition::Command(id) | Condition::Asks(Some(id)) => session.command(*id),
            _ => session.last_command(),
        };
        let Some(command) = command else { return };
        self.command = CommandSummary::new(driver, command);
        if self.finished == Some(true) {
            // The shell may have exited since then, and the result has the command's exit status.
            self.exit.exit_code = command.status;
            self.exit.signal = None;
        }
        if self.outcome == Some("asks") {
            self.hint = Some(ASKS.to_owned());
        }
    }
}

/// Returns a result with the call that continues the wait. The retry loses no output, since it has the same anchor.
async fn pending(
    entry: &Arc<Entry>,
    limit: std::time::Duration,
    call: &WaitCall<'_>,
) -> ToolResult<WaitOutput> {
    let left = call.request.timeout.saturating_sub(limit);
    let (tool, mut arguments) = call.request.retry_call(&entry.id, call.seq, left);
    if tool == "wait_for_screen_change" {
        arguments["diff"] = matches!(call.mode, ScreenMode::Diff(_)).into();
    }
    let again = Retry::with(tool, arguments);
    let at = Arc::clone(entry);
    let shown = entry.handle.call(move |driver| {
        let frame = Arc::clone(driver.session().frame());
        let how = again.words().unwrap_or_default();
        let mut output = WaitOutput::at(&frame);
        output.outcome = Some("pending");
        output.again = again;
        output.elapsed_ms = Some(limit.as_millis() as u64);
        output.state = StateOutput::of(driver);
        let screen = show_frame(driver, &frame, ScreenMode::Full, &mut output);
        (output, format!("{}\n{how}\n{screen}", header(&at, &frame, "pending")))
    });
    shown.await.ok_or_else(ToolError::gone)
}

/// Returns the screen of a session and the state of its program, as the result of a call that did not wait.
pub(super) async fn show_screen(
    entry: &Arc<Entry>,
    mode: ScreenMode,
    outcome: &'static str,
) -> ToolResult<WaitOutput> {
    let at = Arc::clone(entry);
    let shown = entry.handle.call(move |driver| {
        let frame: Arc<Frame> = Arc::clone(driver.session().frame());
        let mut output = WaitOutput::at(&frame);
        output.outcome = Some(outcome);
        output.state = StateOutput::of(driver);
        let screen = show_frame(driver, &frame, mode, &mut output);
        (output, format!("{}\n{screen}", header(&at, &frame, outcome)))
    });
    shown.await.ok_or_else(ToolError::gone)
}

/// Checks that `more` waits can be added to a session.
pub(super) fn check_wait_limit(driver: &Driver, more: usize) -> Result<(), ToolError> {
    let limit = policy::limits().waits;
    if driver.session().waits_running() + more <= limit {
        return Ok(());
    }
    Err(ToolError::new(
        "limit_reached",
        format!("{limit} waits run on this session, which is the limit: cancel some"),
    ))
}
