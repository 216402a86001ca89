//! The one way in which a tool waits: it starts the waits of a call and answers with their end. All that the answer says
//! is taken from the terminal in the job that ends the wait, so it is of one moment.

use std::sync::{Arc, OnceLock};

use awaitty_core::{Condition, Finding, Frame, Seq};

use super::command_output::{ASKS, CommandDone};
use super::outcome::{WaitOutput, summary};
use super::pending::Retry;
use super::shown::{Show, header, show_frame};
use super::state::StateOutput;
use super::wait_for_channel::{ChannelWait, wait_for};
use super::wanted::{self, Wanted};
use super::{Answer, Context, why};
use crate::policy;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::{Driver, Ends, RunningWait};

/// Waits for the first of what is wanted.
pub(super) async fn start(
    context: &Context,
    entry: &Arc<Entry>,
    wanted: &Wanted,
    show: Show,
) -> Answer<WaitOutput> {
    let ((), answer) = act(context, entry, wanted, move |_| Ok(((), show))).await?;
    Ok(answer)
}

/// Acts on the terminal and waits for the first of what is wanted, in one step: nothing falls between the two. `act` says
/// how the screen is shown.
pub(super) async fn act<A: Send + 'static>(
    context: &Context,
    entry: &Arc<Entry>,
    wanted: &Wanted,
    act: impl FnOnce(&mut Driver) -> Result<(A, Show), ToolError> + Send + 'static,
) -> Result<(A, (WaitOutput, String)), ToolError> {
    let (tell, told) = tokio::sync::oneshot::channel();
    let (specs, timeout, count) = (wanted.specs(), wanted.timeout, wanted.len());
    let (shown, shows) = (Arc::new(OnceLock::new()), entry.handle.clone());
    let at_end = (Arc::clone(entry), Arc::clone(&shown));
    let start = move |driver: &mut Driver| {
        check_room(driver, specs.len())?;
        specs.iter().try_for_each(|spec| driver.session().check_wait(spec))?;
        let seq = driver.session().frame().seq();
        let (acted, show) = act(driver)?;
        let _ = shown.set(show);
        let _ = tell.send((acted, seq, show));
        Ok::<_, ToolError>(driver.start_waits(specs, timeout)?)
    };
    let collect = move |driver: &Driver, ends: Ends| {
        let (entry, shown) = at_end;
        report(driver, &entry, &ends, count, *shown.get().unwrap_or(&Show::Screen))
    };
    let running = shows.start_waits(start, collect).await.ok_or_else(ToolError::gone)??;
    let (acted, seq, show) = told.await.map_err(|_| ToolError::gone())?;
    let asked = Asked { wanted, seq, show };
    Ok((acted, wait(context, entry, running, &asked).await?))
}

/// What a call has asked for.
struct Asked<'a> {
    wanted: &'a Wanted,
    /// The frame at the start.
    seq: Seq,
    show: Show,
}

/// Waits for the end of the waits, for a signal, or until the client would lose its patience.
async fn wait(
    context: &Context,
    entry: &Arc<Entry>,
    running: Option<RunningWait<(WaitOutput, String)>>,
    asked: &Asked<'_>,
) -> Answer<WaitOutput> {
    let Some(mut running) = running else {
        let Some(channel) = &asked.wanted.channel else { return Err(ToolError::gone()) };
        let output = wait_for(context, Some(entry), channel).await?;
        return show_now(entry, output, asked.show).await;
    };
    let signalled = async {
        match &asked.wanted.channel {
            Some(channel) => signalled(context, channel).await,
            None => std::future::pending().await,
        }
    };
    let limit = context.call_limit.filter(|limit| *limit < asked.wanted.timeout);
    let limited = async {
        match limit {
            Some(limit) => tokio::time::sleep_until(tokio::time::Instant::now() + limit).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        biased;
        ended = running.ended() => ended.ok_or_else(ToolError::gone),
        output = signalled => show_now(entry, output?, asked.show).await,
        () = limited => pending(entry, limit.unwrap_or_default(), asked).await,
    }
}

/// Waits for a signal that is one of several conditions. The others end the wait at its timeout.
async fn signalled(context: &Context, channel: &ChannelWait) -> Result<WaitOutput, ToolError> {
    let unlimited = Context { call_limit: None, ..context.clone() };
    let mut output = wait_for(&unlimited, None, channel).await?;
    if output.outcome != Some("met") {
        return std::future::pending().await;
    }
    output.met_by = Some("channel");
    Ok(output)
}

/// Adds the screen to what is known.
async fn show_now(entry: &Arc<Entry>, mut output: WaitOutput, show: Show) -> Answer<WaitOutput> {
    let at = Arc::clone(entry);
    let shown = entry.handle.call(move |driver| {
        let frame = Arc::clone(driver.session().frame());
        output.seq = Some(frame.seq().0);
        let screen = show_frame(driver, &frame, show, &mut output);
        let text = format!("{}\n{screen}", header(&at, &frame, &summary(&output)));
        (output, text)
    });
    shown.await.ok_or_else(ToolError::gone)
}

/// Returns the result of the waits of a call, of which a caller has given `count`.
fn report(
    driver: &Driver,
    entry: &Entry,
    ends: &Ends,
    count: usize,
    show: Show,
) -> (WaitOutput, String) {
    let ended = &ends.first;
    let mut output = WaitOutput::from(ended);
    // What was asked for first is said of a field that several conditions have.
    for other in ends.others.iter().rev().chain([ended]) {
        output.find(other);
    }
    if output.outcome == Some("met") && count > 1 {
        output.met_by = wanted::name(&ended.condition);
    }
    output.why = why::explain(driver, ends);
    output.state = StateOutput::of(driver);
    if let Finding::Ready(Some(ready)) = ended.finding {
        output.state.note_ready(ready);
    }
    if let Finding::Command = ended.finding {
        output.note_command(driver, &ended.condition);
    }
    let screen = show_frame(driver, &ended.frame, show, &mut output);
    let text = format!("{}\n{screen}", header(entry, &ended.frame, &summary(&output)));
    (output, text)
}

impl WaitOutput {
    /// Says what became of the command that was waited for.
    fn note_command(&mut self, driver: &Driver, condition: &Condition) {
        let session = driver.session();
        let command = match condition {
            Condition::Command(id) | Condition::Asks(Some(id)) => session.command(*id),
            _ => session.last_command(),
        };
        let Some(command) = command else { return };
        self.command = CommandDone::new(driver, command);
        if self.finished == Some(true) {
            // The shell may have exited since; what is asked for is the command's status.
            self.exit.exit_code = command.status;
            self.exit.signal = None;
        }
        if self.outcome == Some("asks") {
            self.hint = Some(ASKS.to_owned());
        }
    }
}

/// Returns a result that says how to go on. Since waits look back to their anchor nothing is lost until then.
async fn pending(
    entry: &Arc<Entry>,
    limit: std::time::Duration,
    asked: &Asked<'_>,
) -> Answer<WaitOutput> {
    let left = asked.wanted.timeout.saturating_sub(limit);
    let (tool, mut retry) = asked.wanted.again(&entry.id, asked.seq, left);
    if tool == "wait_for_screen_change" {
        retry["diff"] = matches!(asked.show, Show::Diff(_)).into();
    }
    let again = Retry::with(tool, retry);
    let at = Arc::clone(entry);
    let shown = entry.handle.call(move |driver| {
        let frame = Arc::clone(driver.session().frame());
        let how = again.words().unwrap_or_default();
        let mut output = WaitOutput::at(&frame);
        output.outcome = Some("pending");
        output.again = again;
        output.elapsed_ms = Some(limit.as_millis() as u64);
        output.state = StateOutput::of(driver);
        let screen = show_frame(driver, &frame, Show::Screen, &mut output);
        (output, format!("{}\n{how}\n{screen}", header(&at, &frame, "pending")))
    });
    shown.await.ok_or_else(ToolError::gone)
}

/// Returns the screen of a session and what its program does, as the answer of a call that did not wait.
pub(super) async fn show_screen(
    entry: &Arc<Entry>,
    show: Show,
    outcome: &'static str,
) -> Answer<WaitOutput> {
    let at = Arc::clone(entry);
    let shown = entry.handle.call(move |driver| {
        let frame: Arc<Frame> = Arc::clone(driver.session().frame());
        let mut output = WaitOutput::at(&frame);
        output.outcome = Some(outcome);
        output.state = StateOutput::of(driver);
        let screen = show_frame(driver, &frame, show, &mut output);
        (output, format!("{}\n{screen}", header(&at, &frame, outcome)))
    });
    shown.await.ok_or_else(ToolError::gone)
}

/// Checks that so many more waits may run on a session.
pub(super) fn check_room(driver: &Driver, more: usize) -> Result<(), ToolError> {
    let limit = policy::limits().waits;
    if driver.session().waits_running() + more <= limit {
        return Ok(());
    }
    Err(ToolError::new(
        "limit_reached",
        format!("{limit} waits run on this session, which is the limit: cancel some"),
    ))
}
