//! The request for a wait and its result.
//!
//! A result is collected in the job that ends its wait, on the terminal's task. So its frame, state, selection, diff
//! and diagnosis belong to the same moment.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{
    Condition, Diff, Exit, Finding, Frame, Match, Outcome, Pattern, Ready, Selection, Seq, Since,
    Spec, Styles,
};

use crate::diagnosis;
use crate::error::ToolError;
use crate::terminal::{Driver, Ends, ProgramState};

/// The default timeout of a wait.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// A request to wait on one terminal for the first of several conditions. They are judged by what happened after the
/// anchor.
#[derive(Clone, Debug)]
pub struct WaitRequest {
    conditions: Vec<Condition>,
    since: Since,
    timeout: Duration,
}

impl WaitRequest {
    /// Waits for one condition, with the last input as the anchor and the default [`TIMEOUT`].
    pub fn new(condition: Condition) -> WaitRequest {
        WaitRequest { conditions: vec![condition], since: Since::Input, timeout: TIMEOUT }
    }

    /// Waits until a regular expression matches text that was drawn since the anchor.
    ///
    /// # Errors
    /// If the pattern is not a regular expression.
    pub fn text(pattern: &str) -> Result<WaitRequest, ToolError> {
        let pattern = Pattern::new(pattern, "")?;
        Ok(WaitRequest::new(Condition::Text(Arc::new(pattern))))
    }

    /// Waits until no match of a regular expression is visible.
    ///
    /// # Errors
    /// If the pattern is not a regular expression.
    pub fn gone(pattern: &str) -> Result<WaitRequest, ToolError> {
        let pattern = Pattern::new(pattern, "")?;
        Ok(WaitRequest::new(Condition::Gone(Arc::new(pattern))))
    }

    /// Waits until the text or the selection differs from the anchor's frame, and the text has been unchanged for
    /// `stable`.
    pub fn change(stable: Duration) -> WaitRequest {
        let (styles, ignore) = (Styles::Selection, Vec::new());
        WaitRequest::new(Condition::Change { stable, styles, ignore })
    }

    /// Waits until the program has read all input, is not busy, and the text has been unchanged for `quiet`.
    pub fn settled(quiet: Duration) -> WaitRequest {
        WaitRequest::new(Condition::Settled(quiet))
    }

    /// Waits until a shell is at its prompt, or the program has reacted to its input and waits for more.
    pub fn ready() -> WaitRequest {
        WaitRequest::new(Condition::Ready)
    }

    /// Waits until the program has exited.
    pub fn exit() -> WaitRequest {
        WaitRequest::new(Condition::Exit)
    }

    /// Adds the conditions of another request. The first condition that holds ends the wait.
    #[must_use]
    pub fn or(mut self, other: WaitRequest) -> WaitRequest {
        self.conditions.extend(other.conditions);
        self
    }

    /// Sets the anchor.
    #[must_use]
    pub fn since(self, since: Since) -> WaitRequest {
        WaitRequest { since, ..self }
    }

    /// Sets the timeout.
    #[must_use]
    pub fn timeout(self, timeout: Duration) -> WaitRequest {
        WaitRequest { timeout, ..self }
    }

    /// Returns the waits to start, and their timeout.
    pub(crate) fn specs(self) -> (Vec<Spec>, Duration) {
        let since = self.since;
        let spec = |condition| Spec { condition, since, deadline: None };
        (self.conditions.into_iter().map(spec).collect(), self.timeout)
    }
}

/// The result of a wait, with the state of the terminal at its end.
#[derive(Clone, Debug)]
pub struct WaitResult {
    /// The end of the wait that was met, or the ends of all waits if none was met.
    pub ends: Ends,
    /// The state of the program; `None` if it has exited.
    pub state: Option<ProgramState>,
    /// The reason why the wait was not met, in a few lines.
    pub diagnosis: Option<String>,
    /// The anchor's frame, or the main screen as it was before if the program has left the alternate screen.
    base: Arc<Frame>,
}

impl WaitResult {
    /// Collects the result of waits that have just ended.
    pub fn collect(driver: &Driver, ends: Ends) -> WaitResult {
        let session = driver.session();
        let mut state = driver.program_state();
        if let (Some(state), &Finding::Ready(Some(ready))) = (&mut state, &ends.first.finding)
            && (state.ready.is_none() || ready == Ready::Quiet)
        {
            // The probe that met the wait counts: an editor may be busy for a moment right after it.
            state.ready = Some(ready);
        }
        let diagnosis = diagnosis::explain(driver, &ends);
        let base = Arc::clone(session.comparable(&ends.first.anchor));
        WaitResult { ends, state, diagnosis, base }
    }

    /// Returns how the wait ended.
    pub fn outcome(&self) -> Outcome {
        self.ends.first.outcome
    }

    /// Returns whether a condition held.
    pub fn is_met(&self) -> bool {
        self.outcome() == Outcome::Met
    }

    /// Returns the condition that held.
    pub fn met_by(&self) -> Option<&Condition> {
        self.is_met().then_some(&self.ends.first.condition)
    }

    /// Returns the result if a condition held.
    ///
    /// # Errors
    /// If none held. The error has the outcome, the diagnosis and the screen.
    pub fn met(self) -> Result<WaitResult, ToolError> {
        if self.is_met() {
            return Ok(self);
        }
        let outcome = match self.outcome() {
            Outcome::Met | Outcome::Timeout => "timeout",
            Outcome::Exited => "exited",
            Outcome::Closed => "closed",
        };
        let diagnosis = self.diagnosis.as_deref().unwrap_or_default();
        let message = format!("the wait was not met ({outcome})\n{diagnosis}\n{}", self.text());
        Err(ToolError::new(outcome, message))
    }

    /// Returns the frame at the end of the wait.
    pub fn frame(&self) -> &Arc<Frame> {
        &self.ends.first.frame
    }

    /// Returns the number of the frame. Pass it as [`Since::Frame`] to wait for text and changes after this frame.
    pub fn seq(&self) -> Seq {
        self.frame().seq()
    }

    /// Returns the text of the screen.
    pub fn text(&self) -> String {
        self.frame().text()
    }

    /// Returns the text that matched.
    pub fn matched(&self) -> Option<&Match> {
        match &self.ends.first.finding {
            Finding::Text { found, .. } if self.is_met() => found.as_ref(),
            Finding::Text { .. }
            | Finding::Gone(_)
            | Finding::Change { .. }
            | Finding::Settled { .. }
            | Finding::Exit
            | Finding::Command
            | Finding::Ready(_) => None,
        }
    }

    /// Returns the highlighted spans, such as the current entry of a menu.
    pub fn selection(&self) -> Vec<Selection> {
        self.frame().selection()
    }

    /// Returns the text of the first highlighted span.
    pub fn selected(&self) -> Option<String> {
        self.selection().into_iter().next().map(|selection| selection.text)
    }

    /// Returns the anchor's frame, or the main screen as it was before if the program has left the alternate screen.
    pub fn base(&self) -> &Arc<Frame> {
        &self.base
    }

    /// Returns the difference to the anchor's frame; `None` if the size of the screen has changed.
    pub fn diff(&self) -> Option<Diff> {
        Diff::new(&self.base, self.frame())
    }

    /// Returns how the program ended.
    pub fn exit(&self) -> Option<Exit> {
        self.ends.first.exit
    }

    /// Returns the exit code, if the program has exited with one.
    pub fn exit_code(&self) -> Option<i32> {
        match self.exit() {
            Some(Exit::Code(code)) => Some(code),
            Some(Exit::Signal(_) | Exit::Unknown) | None => None,
        }
    }

    /// Returns how long the wait took.
    pub fn elapsed(&self) -> Duration {
        self.ends.first.elapsed
    }
}
