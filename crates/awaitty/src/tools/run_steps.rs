//! `run_steps`: several inputs in one call, each sent after the previous wait is met.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Frame, Since};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::command_output::OutputLimit;
use super::outcome::WaitOutput;
use super::params::timeout;
use super::pending::Retry;
use super::run_command::deliver;
use super::screen_output::{ScreenMode, header, show_since};
use super::send_input::{self, perform};
use super::spec::{self, CommandSpec, Effect, ToolSpec, Waits};
use super::state::StateOutput;
use super::step::{Step, StepAction};
use super::wait_call::start;
use super::wait_for_command;
use super::wait_params::WaitRequest;
use super::{Context, Tool, ToolResult};
use crate::{policy, text};
use awaitty_terminal::ToolError;

/// The maximum number of steps in one call: more than are useful without checking the screen.
const STEPS_MAX: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Up to 50, each with input, keys, paste, submit, secret, wait as in send_input (default wait: at rest), or `run`
    /// (a shell command), or only wait; session_id to change terminals.
    #[schemars(schema_with = "super::schema::objects")]
    steps: Vec<Value>,
    /// "last" (default): changes at the end; "each": also after each step.
    show: Option<ShowParam>,
    /// For all steps. Default 60000.
    timeout_ms: Option<u64>,
}

/// The steps whose changes are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum ShowParam {
    #[default]
    Last,
    Each,
}

impl JsonSchema for ShowParam {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Show".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// The result of a step.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct StepOutput {
    /// As in send_input and run_command, or `refused`.
    outcome: &'static str,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// The exit status of `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// The reason why its wait was not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    /// The number of steps whose wait was met.
    steps_done: usize,
    /// The step at which it stopped, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    steps: Vec<StepOutput>,
    #[serde(flatten)]
    wait: WaitOutput,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    is_core: true,
    command: CommandSpec { alias: None, positions: &["steps"], switches: &[], after_help: None },
    describe_waits: |arguments| {
        let count = arguments["steps"].as_array().map_or(0, Vec::len);
        spec::describe(arguments, Some(format!("the end of {count} steps")))
    },
    ..ToolSpec::new(
        "run_steps",
        "Sends several inputs in one call, each after the previous wait is met; stops at the first that is not. Saves turns.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let limit = timeout(params.timeout_ms, policy::STEPS_TIMEOUT)?;
    if !(1..=STEPS_MAX).contains(&params.steps.len()) {
        let count = params.steps.len();
        return Err(ToolError::argument(format!("steps: give 1 to {STEPS_MAX}, not {count}")));
    }
    let mut steps = Vec::new();
    for (index, given) in params.steps.iter().enumerate() {
        let step = Step::new(&context, params.session_id.as_deref(), given).await;
        steps.push(step.map_err(|error| error_at_step(index, error))?);
    }
    let started = Instant::now();
    let mut running = RunningSteps {
        deadline: started + limit,
        limit: context.call_limit.filter(|call| *call < limit).map(|call| started + call),
        show: params.show.unwrap_or_default(),
        before: first_frames(&steps).await?,
        context,
        done: Vec::new(),
        text: String::new(),
    };
    let (mut outcome, mut last) = ("met", None);
    for (index, step) in steps.iter().enumerate() {
        let result = running.step(index, step).await;
        let StepResult { output, text, detail } = result;
        outcome = output.outcome;
        running.add_line(index, step, &output, &text);
        running.done.push(output);
        last = Some((index, detail));
        if outcome != "met" {
            break;
        }
    }
    let (index, detail) = last.expect("there is a step");
    let stopped = (outcome != "met").then_some(index);
    running.finish(&steps, index, stopped, outcome, detail).await
}

/// Adds the index of the step to an error.
fn error_at_step(index: usize, error: ToolError) -> ToolError {
    // Some errors end with this sentence already.
    let message = error.message.trim_end_matches(". Nothing was sent");
    ToolError::new(error.code, format!("steps[{index}]: {message}. Nothing was sent"))
}

/// Returns the frame of each session before the first step.
async fn first_frames(steps: &[Step]) -> Result<BTreeMap<String, Arc<Frame>>, ToolError> {
    let mut frames = BTreeMap::new();
    for Step { entry, .. } in steps {
        if !frames.contains_key(&entry.id) {
            let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
            frames.insert(entry.id.clone(), frame.ok_or_else(ToolError::gone)?);
        }
    }
    Ok(frames)
}

/// The result of a step and its text.
struct StepResult {
    output: StepOutput,
    /// The text below its line.
    text: String,
    detail: StepDetail,
}

/// The data of a step that the result of the call needs, if it is the last one.
enum StepDetail {
    Wait(Box<WaitOutput>),
    Command(u64),
    NotSent,
}

/// A running call.
struct RunningSteps {
    context: Context,
    /// The time of the timeout.
    deadline: Instant,
    /// The time after which the call must return `pending`.
    limit: Option<Instant>,
    show: ShowParam,
    before: BTreeMap<String, Arc<Frame>>,
    done: Vec<StepOutput>,
    text: String,
}

impl RunningSteps {
    /// Runs a step and its wait.
    async fn step(&self, index: usize, step: &Step) -> StepResult {
        let now = Instant::now();
        let over = match self.limit {
            Some(limit) if now >= limit => Some("pending"),
            _ if now >= self.deadline && index > 0 => Some("timeout"),
            _ => None,
        };
        if let Some(outcome) = over {
            let why =
                (outcome == "timeout").then(|| "timeout_ms has expired; nothing was sent".into());
            let output = StepOutput { outcome, why, ..StepOutput::default() };
            return StepResult { output, text: String::new(), detail: StepDetail::NotSent };
        }
        let left = self.limit.map(|limit| limit.saturating_duration_since(now));
        let context = Context { call_limit: left, ..self.context.clone() };
        let result = match &step.action {
            StepAction::Run(command) => self.run_command(&context, step, command).await,
            StepAction::Input(params) => self.send(&context, step, params).await,
            StepAction::WaitOnly => self.wait(&context, step).await,
        };
        let mut result = result.unwrap_or_else(|error| {
            let why = Some(format!("{}: {}", error.code, error.message));
            // The program exited after the previous step.
            let outcome = if error.code == "exited" { "exited" } else { "refused" };
            let output = StepOutput { outcome, why, ..StepOutput::default() };
            StepResult { output, text: String::new(), detail: StepDetail::NotSent }
        });
        result.output.elapsed_ms = now.elapsed().as_millis() as u64;
        result
    }

    /// Returns the wait of a step: by default until the program is at rest.
    fn wait_request(&self, step: &Step) -> Result<WaitRequest, ToolError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut request = match &step.wait {
            Some(wait) => wait.to_request(&self.context.sessions.signals)?,
            None => WaitRequest::one(Condition::Rest, Since::Input, left),
        };
        request.timeout = request.timeout.min(left);
        if let Some(channel) = &mut request.channel {
            channel.timeout = request.timeout;
        }
        Ok(request)
    }

    fn screen_mode(&self) -> fn(awaitty_core::Seq) -> ScreenMode {
        match self.show {
            ShowParam::Last => |_| ScreenMode::Omitted,
            ShowParam::Each => ScreenMode::Diff,
        }
    }

    async fn send(
        &self,
        context: &Context,
        step: &Step,
        params: &send_input::Params,
    ) -> Result<StepResult, ToolError> {
        let request = self.wait_request(step)?;
        let (output, text) =
            perform(context, &step.entry, params, Some(request), self.screen_mode()).await?;
        let mut result = self.wait_result(output.wait, text);
        if let Some(word) = output.submit.filter(|word| *word != "submitted") {
            result.output.outcome = word;
        }
        Ok(result)
    }

    async fn wait(&self, context: &Context, step: &Step) -> Result<StepResult, ToolError> {
        let seq = step.entry.handle.call(|driver| driver.session().frame().seq()).await;
        let mode = (self.screen_mode())(seq.ok_or_else(ToolError::gone)?);
        let (output, text) = start(context, &step.entry, &self.wait_request(step)?, mode).await?;
        Ok(self.wait_result(output, text))
    }

    fn wait_result(&self, wait: WaitOutput, text: String) -> StepResult {
        let output = StepOutput {
            outcome: wait.outcome.unwrap_or("met"),
            elapsed_ms: 0,
            seq: wait.seq,
            exit_code: wait.exit.exit_code,
            why: wait.why.clone().or_else(|| wait.hint.clone()),
        };
        // The line of the step replaces the header.
        let text = match self.show {
            ShowParam::Last => String::new(),
            ShowParam::Each => text.split_once('\n').map_or("", |(_, rows)| rows).to_owned(),
        };
        StepResult { output, text, detail: StepDetail::Wait(Box::new(wait)) }
    }

    async fn run_command(
        &self,
        context: &Context,
        step: &Step,
        command: &str,
    ) -> Result<StepResult, ToolError> {
        let output_limit = OutputLimit::default();
        let id =
            deliver(&self.context, &step.entry, command.to_owned(), false, output_limit).await?;
        if step.wait.is_some() {
            return self.wait(context, step).await;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (output, _) =
            wait_for_command::wait(context, &step.entry, id, left, output_limit, true).await?;
        let shown = match self.show {
            ShowParam::Each => text::framed(&output.output),
            ShowParam::Last => String::new(),
        };
        let result = StepOutput {
            outcome: output.outcome,
            elapsed_ms: 0,
            seq: Some(output.seq),
            exit_code: output.exit.exit_code,
            why: output.hint,
        };
        let detail = StepDetail::Command(output.command_id);
        Ok(StepResult { output: result, text: shown, detail })
    }

    /// Adds the line of a step.
    fn add_line(&mut self, index: usize, step: &Step, output: &StepOutput, text: &str) {
        let StepOutput { outcome, elapsed_ms, exit_code, why, .. } = output;
        let code = exit_code.map_or_else(String::new, |code| format!(" exit_code={code}"));
        let _ = writeln!(
            self.text,
            "{}. {}: {outcome}{code} after {elapsed_ms} ms",
            index + 1,
            step.describe()
        );
        if let Some(why) = why.as_ref().filter(|_| *outcome != "met") {
            let _ = writeln!(self.text, "{why}");
        }
        self.text += text;
    }

    /// Returns the result: the changes on the terminal of the last step since before the first step.
    async fn finish(
        self,
        steps: &[Step],
        index: usize,
        stopped: Option<usize>,
        outcome: &'static str,
        detail: StepDetail,
    ) -> ToolResult<Output> {
        let entry = Arc::clone(&steps[index].entry);
        let again = (outcome == "pending").then(|| self.retry(steps, index, &detail));
        let before = self.before.get(&entry.id).cloned();
        let mut wait = match detail {
            StepDetail::Wait(wait) => *wait,
            StepDetail::Command(_) | StepDetail::NotSent => WaitOutput::default(),
        };
        wait.outcome = Some(outcome);
        wait.again = again.unwrap_or_default();
        wait.elapsed_ms = Some(self.done.iter().map(|step| step.elapsed_ms).sum());
        let steps_done = self.done.iter().filter(|step| step.outcome == "met").count();
        let count = steps.len();
        let steps_text = self.text;
        let at = Arc::clone(&entry);
        let shown = entry.handle.call(move |driver| {
            let frame = Arc::clone(driver.session().frame());
            wait.seq = Some(frame.seq().0);
            wait.exit = match wait.exit.exited {
                Some(true) => wait.exit,
                _ => driver.session().exit().into(),
            };
            wait.state = StateOutput::of(driver);
            (wait.screen_text, wait.history_truncated) = (None, None);
            let rows = show_since(driver, before.as_ref(), &frame, &mut wait);
            let place = stopped.map_or_else(String::new, |step| format!(" at step {}", step + 1));
            let mut what = format!("{outcome}{place} {steps_done} of {count} steps");
            what += &wait.exit.words();
            what += &wait.state.words();
            if let Some(how) = wait.again.words() {
                let _ = write!(what, "\n{how}");
            }
            let text = format!("{}\n{steps_text}{rows}", header(&at, &frame, &what));
            (wait, text)
        });
        let (wait, text) = shown.await.ok_or_else(ToolError::gone)?;
        let step = stopped.map(|index| index + 1);
        Ok((
            Output { session_id: entry.id.clone(), steps_done, step, steps: self.done, wait },
            text,
        ))
    }

    /// Returns the call that continues: the wait of the step that did not end, if it was sent, and the later steps.
    fn retry(&self, steps: &[Step], index: usize, detail: &StepDetail) -> Retry {
        let step = &steps[index];
        let wait = match detail {
            StepDetail::Wait(_) => Some(
                step.wait
                    .as_ref()
                    .map_or_else(|| json!({"ready": true}), |_| step.given["wait"].clone()),
            ),
            StepDetail::Command(id) => Some(json!({"command": id})),
            StepDetail::NotSent => None,
        };
        let sent = usize::from(wait.is_some());
        let wait = wait.map(|wait| json!({"session_id": step.entry.id, "wait": wait}));
        let rest = steps[index + sent..].iter().map(|step| {
            let mut given = step.given.clone();
            given["session_id"] = json!(step.entry.id);
            given
        });
        let steps: Vec<Value> = wait.into_iter().chain(rest).collect();
        let left = self.deadline.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_millis(1)).as_millis() as u64;
        Retry::with("run_steps", json!({"steps": steps, "timeout_ms": left}))
    }
}
