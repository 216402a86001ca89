//! The state of a session's program: at its prompt, running a command, waiting for input.

use awaitty_core::Ready;
use schemars::JsonSchema;
use serde::Serialize;

use crate::text;
use awaitty_terminal::terminal::{Driver, ProgramState};

/// The state of a program. Empty after it has exited.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct StateOutput {
    /// A shell is at its prompt.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_prompt: Option<bool>,
    /// The command that a shell runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    running: Option<String>,
    /// Its running time.
    #[serde(skip_serializing_if = "Option::is_none")]
    running_ms: Option<u64>,
    /// The program waits for input.
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_for_input: Option<bool>,
    /// `kernel` (a thread waits for the terminal), `shell` (it marked the end of its prompt) or `quiet` (only the
    /// screen is quiet).
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<&'static str>,
    /// `off`: input is not echoed, as for a password.
    #[serde(skip_serializing_if = "Option::is_none")]
    echo: Option<&'static str>,
    /// The program uses the alternate screen.
    #[serde(skip_serializing_if = "Option::is_none")]
    full_screen: Option<bool>,
    /// A person has control: input is denied until they give it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    human_has_control: Option<bool>,
    /// A person had control since your last input: `snapshot` since `from` shows what they did.
    #[serde(skip_serializing_if = "Option::is_none")]
    human_had_control: Option<FrameRangeOutput>,
}

/// A range of frames.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct FrameRangeOutput {
    from: u64,
    to: u64,
}

impl StateOutput {
    /// Returns the state of a driver's program.
    pub(crate) fn of(driver: &Driver) -> StateOutput {
        StateOutput::with_program(driver.program_state(), driver)
    }

    /// Returns the state of a program, or of one that has exited, and whether a person has control of its terminal.
    pub(crate) fn with_program(state: Option<ProgramState>, driver: &Driver) -> StateOutput {
        state.map_or_else(StateOutput::default, |state| {
            StateOutput::from(state).with_control(driver)
        })
    }

    /// Returns only whether a person has or had control.
    pub(crate) fn of_control(driver: &Driver) -> StateOutput {
        StateOutput::default().with_control(driver)
    }

    fn with_control(mut self, driver: &Driver) -> StateOutput {
        self.human_has_control = driver.control().map(|_| true);
        let had = driver.last_control_period().filter(|_| driver.control().is_none());
        self.human_had_control = had.map(|had| FrameRangeOutput { from: had.from.0, to: had.to.0 });
        self
    }

    /// Returns the state as text, with a leading space.
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
        if self.human_has_control.is_some() {
            words += " human_has_control";
        }
        if let Some(FrameRangeOutput { from, to }) = self.human_had_control {
            words += &format!(" human_had_control=seq {from} to {to}");
        }
        if let (Some(running), Some(ms)) = (&self.running, self.running_ms) {
            words += &format!(" running={running:?} for {ms} ms");
        }
        words
    }
}

impl From<ProgramState> for StateOutput {
    fn from(state: ProgramState) -> StateOutput {
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
            human_has_control: None,
            human_had_control: None,
        }
    }
}

fn evidence(ready: Ready) -> &'static str {
    match ready {
        Ready::Shell => "shell",
        Ready::Kernel => "kernel",
        Ready::Quiet => "quiet",
    }
}
