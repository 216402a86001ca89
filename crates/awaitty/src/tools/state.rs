//! What a session's program is doing: at its prompt, running a command, waiting for input.

use awaitty_core::Ready;
use schemars::JsonSchema;
use serde::Serialize;

use crate::driver::{Driver, State};
use crate::text;

/// What a program is doing. Nothing of one that has exited.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StateOutput {
    /// A shell is at its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_prompt: Option<bool>,
    /// The command that a shell runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
    /// For how long.
    #[serde(skip_serializing_if = "Option::is_none")]
    running_ms: Option<u64>,
    /// The program waits for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for_input: Option<bool>,
    /// Who says so: `kernel` (it is in a read of its terminal) or `shell` (the end of its prompt was marked).
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'static str>,
    /// `off`: what it reads is not shown, as for a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<&'static str>,
    /// It uses the alternate screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_screen: Option<bool>,
}

impl StateOutput {
    /// What the driver sees.
    pub(crate) fn of(driver: &Driver) -> StateOutput {
        if driver.session().exit().is_some() {
            return StateOutput::default();
        }
        driver.state().into()
    }

    /// A wait has seen the program wait for input. An editor may do something else for a moment right after.
    pub(crate) fn note_ready(&mut self, ready: Ready) {
        if self.waiting_for_input == Some(false) {
            self.waiting_for_input = Some(true);
            self.evidence = Some(evidence(ready));
        }
    }

    /// For a reader, with a space before it.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        if self.at_prompt == Some(true) {
            words += " at_prompt";
        } else if self.waiting_for_input == Some(true) {
            words += " waiting_for_input";
        }
        if self.echo.is_some() {
            words += " echo=off";
        }
        if self.full_screen == Some(true) {
            words += " full_screen";
        }
        if let (Some(running), Some(ms)) = (&self.running, self.running_ms) {
            words += &format!(" running={running:?} for {ms} ms");
        }
        words
    }
}

impl From<State> for StateOutput {
    fn from(state: State) -> StateOutput {
        let (running, running_ms) = state
            .running
            .map(|(command, time)| (text::line(&command), time.as_millis() as u64))
            .unzip();
        StateOutput {
            at_prompt: Some(state.at_prompt),
            running,
            running_ms,
            waiting_for_input: Some(state.ready.is_some()),
            evidence: state.ready.map(evidence),
            echo: state.is_secret.then_some("off"),
            full_screen: state.is_full_screen.then_some(true),
        }
    }
}

fn evidence(ready: Ready) -> &'static str {
    match ready {
        Ready::Shell => "shell",
        Ready::Kernel => "kernel",
    }
}
