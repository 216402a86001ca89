//! Waits for a condition that a closure of the caller judges, such as the title or the selected entry of a menu.
//!
//! The closure runs on the terminal's task. It judges the newest frame at the start, when the frame, the cursor or the
//! title changes, and when the program comes to rest. Between these events the wait does nothing.
//!
//! A frame that shows the condition may be older than the reaction to the last input. So the condition counts at once
//! only if it is an effect of the input: all input is written and read, the frame is newer than the last write, and the
//! condition did not hold before the input. Otherwise it counts once the program is at rest.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{BUSY_MAX, Condition, Exit, Frame, Outcome, Since, Spec, Time};

use crate::diagnosis;
use crate::error::ToolError;
use crate::handle::Terminal;
use crate::terminal::{Driver, Ends, Handle, RunningWait};
use crate::wait::TIMEOUT;

/// The state of a terminal that a closure judges.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'s> {
    /// The newest frame.
    pub frame: &'s Arc<Frame>,
    /// The title of the window.
    pub title: &'s str,
    /// Whether the program has requested mouse events.
    pub has_mouse: bool,
}

type Judge = Arc<dyn Fn(&Observed<'_>) -> bool + Send + Sync>;

/// When a condition that holds counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counts {
    /// At once if it is an effect of the input. It depends on the frame only, so the frame before the input shows
    /// whether it held before.
    Frame,
    /// At once if it did not hold before, in this wait, with all input read.
    Change,
    /// When the program is at rest.
    AtRest,
}

/// A request to wait until a closure returns true.
#[derive(Clone)]
pub struct JudgedRequest {
    judge: Judge,
    counts: Counts,
    timeout: Duration,
}

impl JudgedRequest {
    fn new(counts: Counts, judge: Judge) -> JudgedRequest {
        JudgedRequest { judge, counts, timeout: TIMEOUT }
    }

    /// Waits for a condition on frames.
    pub fn frame(judge: impl Fn(&Frame) -> bool + Send + Sync + 'static) -> JudgedRequest {
        JudgedRequest::new(Counts::Frame, Arc::new(move |seen| judge(seen.frame)))
    }

    /// Waits for a condition on state that makes no frame, such as the title.
    pub fn change(judge: impl Fn(&Observed<'_>) -> bool + Send + Sync + 'static) -> JudgedRequest {
        JudgedRequest::new(Counts::Change, Arc::new(judge))
    }

    /// Waits for a condition that is meaningful only while the program is at rest, such as the place of the cursor,
    /// which a redraw moves.
    pub fn at_rest(judge: impl Fn(&Observed<'_>) -> bool + Send + Sync + 'static) -> JudgedRequest {
        JudgedRequest::new(Counts::AtRest, Arc::new(judge))
    }

    /// Sets the timeout.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> JudgedRequest {
        JudgedRequest { timeout, ..self }
    }

    /// Waits until the closure returns false instead.
    #[must_use]
    pub fn negated(self) -> JudgedRequest {
        let judge = self.judge;
        JudgedRequest { judge: Arc::new(move |seen| !judge(seen)), ..self }
    }

    fn holds(&self, driver: &Driver) -> bool {
        let session = driver.session();
        let screen = session.screen();
        let has_mouse = screen.mouse_tracking() != awaitty_core::MouseTracking::Off;
        (self.judge)(&Observed { frame: session.frame(), title: screen.title(), has_mouse })
    }

    /// Returns whether the condition held in the frame of the input mark, or may have held.
    fn may_have_held(&self, driver: &Driver) -> bool {
        let session = driver.session();
        let frame = session.history().get(session.anchor_seq(Since::Input));
        frame.is_none_or(|frame| (self.judge)(&Observed { frame, title: "", has_mouse: false }))
    }

    fn judge(&self, driver: &Driver, has_been_false: bool) -> Judgement {
        if !self.holds(driver) {
            return if is_input_open(driver) { Judgement::Open } else { Judgement::False };
        }
        if is_input_open(driver) {
            return Judgement::Suspect;
        }
        let session = driver.session();
        let is_newer = session.frame().time() == session.active_at();
        let is_effect = match self.counts {
            Counts::Frame => is_newer && (has_been_false || !self.may_have_held(driver)),
            Counts::Change => has_been_false,
            Counts::AtRest => false,
        };
        if is_effect { Judgement::True } else { Judgement::Suspect }
    }
}

impl std::fmt::Debug for JudgedRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let JudgedRequest { counts, timeout, .. } = self;
        f.debug_struct("JudgedRequest").field("counts", counts).field("timeout", timeout).finish()
    }
}

/// The result of judging once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Judgement {
    /// The condition does not hold, and input is not written or read yet.
    Open,
    /// The condition does not hold.
    False,
    /// The condition holds, but may be from before the reaction to the input.
    Suspect,
    /// The condition holds.
    True,
}

/// The result of a judged wait, with the state of the terminal at its end.
#[derive(Clone, Debug)]
pub struct JudgedResult {
    /// How it ended.
    pub outcome: Outcome,
    /// The condition held at the end, but the program had not come to rest since the last input.
    pub is_suspect: bool,
    /// The newest frame.
    pub frame: Arc<Frame>,
    /// The frame of the input mark, if it is still kept.
    pub base: Option<Arc<Frame>>,
    /// The title of the window.
    pub title: String,
    /// How the program ended, if it has.
    pub exit: Option<Exit>,
    /// The duration of the wait.
    pub elapsed: Duration,
    /// What the foreground program does, in words.
    pub doing: String,
}

impl JudgedResult {
    fn collect(driver: &Driver, started: Time, outcome: Outcome, holds: bool) -> JudgedResult {
        let session = driver.session();
        let base = session.history().get(session.anchor_seq(Since::Input));
        JudgedResult {
            outcome: if holds { Outcome::Met } else { outcome },
            is_suspect: false,
            frame: Arc::clone(session.frame()),
            base: base.map(|base| Arc::clone(session.comparable(base))),
            title: session.screen().title().to_owned(),
            exit: session.exit(),
            elapsed: driver.now().since(started),
            doing: diagnosis::doing(driver),
        }
    }
}

fn is_input_open(driver: &Driver) -> bool {
    driver.session().is_input_pending() || driver.has_unread_input()
}

/// Starts a wait whose result `collect` returns.
async fn start(
    handle: &Handle,
    condition: Condition,
    timeout: Duration,
    collect: impl FnOnce(&Driver, Ends) -> JudgedResult + Send + 'static,
) -> Result<RunningWait<JudgedResult>, ToolError> {
    let spec = Spec { condition, since: Since::Input, deadline: None };
    let start = move |driver: &mut Driver| driver.start_waits(vec![spec], timeout);
    let collect = |driver: &mut Driver, ends: Ends| collect(driver, ends);
    let started = handle.start_waits(start, collect).await.ok_or_else(ToolError::gone)??;
    started.ok_or_else(ToolError::gone)
}

impl Terminal {
    /// Waits until a closure returns true. A timeout is a result, not an error.
    ///
    /// # Errors
    /// If the terminal was closed before.
    pub async fn judged(&self, request: JudgedRequest) -> Result<JudgedResult, ToolError> {
        wait(self.handle(), request).await
    }
}

/// Waits until a closure returns true.
async fn wait(handle: &Handle, request: JudgedRequest) -> Result<JudgedResult, ToolError> {
    let subscribed = handle.call(|driver| (driver.subscribe_view(), driver.now())).await;
    let (mut view, started) = subscribed.ok_or_else(ToolError::gone)?;
    let at_end = request.clone();
    let mut end = start(handle, Condition::Exit, request.timeout, move |driver, ends| {
        let (holds, outcome) = (at_end.holds(driver), ends.first.outcome);
        // After the exit nothing changes any more.
        let has_exited = driver.session().exit().is_some();
        let outcome = if outcome == Outcome::Met { Outcome::Exited } else { outcome };
        let result = JudgedResult::collect(driver, started, outcome, holds && has_exited);
        JudgedResult { is_suspect: holds && !has_exited, ..result }
    })
    .await?;
    let mut rest = None;
    let mut has_been_false = false;
    loop {
        view.mark_unchanged();
        let now = request.clone();
        let judged = handle.call(move |driver| {
            let judgement = now.judge(driver, has_been_false);
            let is_met = judgement == Judgement::True;
            let result = || JudgedResult::collect(driver, started, Outcome::Met, true);
            (judgement, is_met.then(result))
        });
        let (judgement, result) = judged.await.ok_or_else(ToolError::gone)?;
        if let Some(result) = result {
            return Ok(result);
        }
        has_been_false |= judgement == Judgement::False;
        if judgement != Judgement::Suspect {
            rest = None;
        } else if rest.is_none() {
            rest = Some(start_rest(handle, request.clone(), started).await?);
        }
        tokio::select! {
            biased;
            ended = end.ended() => return ended.ok_or_else(ToolError::gone),
            ended = ended(&mut rest) => match ended {
                Some(result) if result.outcome == Outcome::Met => return Ok(result),
                _ => rest = None,
            },
            changed = view.changed() => changed.map_err(|_| ToolError::gone())?,
        }
    }
}

/// Starts a wait until the program is at rest, or for the time after which a program that never rests counts as
/// settled.
async fn start_rest(
    handle: &Handle,
    request: JudgedRequest,
    started: Time,
) -> Result<RunningWait<JudgedResult>, ToolError> {
    start(handle, Condition::Rest, BUSY_MAX, move |driver, ends| {
        let holds = request.holds(driver) && !is_input_open(driver);
        let outcome = match ends.first.outcome {
            Outcome::Met => Outcome::Timeout,
            other => other,
        };
        JudgedResult::collect(driver, started, outcome, holds)
    })
    .await
}

async fn ended(rest: &mut Option<RunningWait<JudgedResult>>) -> Option<JudgedResult> {
    match rest {
        Some(rest) => rest.ended().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests;
