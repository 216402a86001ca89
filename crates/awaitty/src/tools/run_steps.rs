//! `run_steps`: several inputs in one call, each sent when the wait of the one before is met.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Frame, Since};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::answer::start;
use super::command_output::Bound;
use super::outcome::WaitOutput;
use super::params::timeout;
use super::pending::Retry;
use super::run_command::deliver;
use super::send_input::{self, perform};
use super::shown::{Show, header, show_since};
use super::state::StateOutput;
use super::step::{Act, Step};
use super::wait_for_command;
use super::wanted::Wanted;
use super::{Answer, Context, Kind, Tool};
use crate::{policy, text};
use awaitty_terminal::ToolError;

/// Steps in one call. More than a person would do without a look at the screen.
const STEPS_MAX: usize = 50;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Up to 50, each with input, keys, paste, submit, secret, wait as of send_input (default wait: at rest) or `run` (a
    /// shell command); session_id to change terminals; wait alone.
    #[schemars(schema_with = "super::schema::objects")]
    steps: Vec<Value>,
    /// "last" (default) or "each": what changed in all, or also after each.
    show: Option<ShowParam>,
    /// For all steps. Default 60000.
    timeout_ms: Option<u64>,
}

/// What is shown.
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

/// How a step ended.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct StepOutput {
    /// As of send_input and run_command, or `refused`.
    outcome: &'static str,
    elapsed_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<u64>,
    /// Of `run`.
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    /// Why it was not met.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    /// Steps whose wait was met.
    steps_done: usize,
    /// The step at which it stopped, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    step: Option<usize>,
    steps: Vec<StepOutput>,
    #[serde(flatten)]
    wait: WaitOutput,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "run_steps",
        "Sends several inputs in one call, each when the wait of the one before is met; stops at the first that is not. Saves turns.",
        Kind::Acts,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let limit = timeout(params.timeout_ms, policy::STEPS_TIMEOUT)?;
    if !(1..=STEPS_MAX).contains(&params.steps.len()) {
        let count = params.steps.len();
        return Err(ToolError::argument(format!("steps: give 1 to {STEPS_MAX}, not {count}")));
    }
    let mut steps = Vec::new();
    for (index, given) in params.steps.iter().enumerate() {
        let step = Step::new(&context, params.session_id.as_deref(), given).await;
        steps.push(step.map_err(|error| at(index, error))?);
    }
    let started = Instant::now();
    let mut running = Running {
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
        let StepResult { output, text, more } = result;
        outcome = output.outcome;
        running.note(index, step, &output, &text);
        running.done.push(output);
        last = Some((index, more));
        if outcome != "met" {
            break;
        }
    }
    let (index, more) = last.expect("there is a step");
    let stopped = (outcome != "met").then_some(index);
    running.finish(&steps, index, stopped, outcome, more).await
}

/// Says which step is wrong.
fn at(index: usize, error: ToolError) -> ToolError {
    // Some errors say it themselves.
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

/// The end of a step.
struct StepResult {
    output: StepOutput,
    /// What is shown of it besides its line.
    text: String,
    more: More,
}

/// What else the last step gives.
enum More {
    Wait(Box<WaitOutput>),
    Command(u64),
    Nothing,
}

/// The call, while it runs.
struct Running {
    context: Context,
    /// When the whole gives up.
    deadline: Instant,
    /// When the client would lose its patience.
    limit: Option<Instant>,
    show: ShowParam,
    before: BTreeMap<String, Arc<Frame>>,
    done: Vec<StepOutput>,
    text: String,
}

impl Running {
    /// Takes a step and waits.
    async fn step(&self, index: usize, step: &Step) -> StepResult {
        let now = Instant::now();
        let over = match self.limit {
            Some(limit) if now >= limit => Some("pending"),
            _ if now >= self.deadline && index > 0 => Some("timeout"),
            _ => None,
        };
        if let Some(outcome) = over {
            let why = (outcome == "timeout").then(|| "timeout_ms is over; nothing was sent".into());
            let output = StepOutput { outcome, why, ..StepOutput::default() };
            return StepResult { output, text: String::new(), more: More::Nothing };
        }
        let left = self.limit.map(|limit| limit.saturating_duration_since(now));
        let context = Context { call_limit: left, ..self.context.clone() };
        let taken = match &step.act {
            Act::Run(command) => self.run_command(&context, step, command).await,
            Act::Input(params) => self.send(&context, step, params).await,
            Act::Nothing => self.wait(&context, step).await,
        };
        let mut result = taken.unwrap_or_else(|error| {
            let why = Some(format!("{}: {}", error.code, error.message));
            // The program ended after the step before.
            let outcome = if error.code == "exited" { "exited" } else { "refused" };
            let output = StepOutput { outcome, why, ..StepOutput::default() };
            StepResult { output, text: String::new(), more: More::Nothing }
        });
        result.output.elapsed_ms = now.elapsed().as_millis() as u64;
        result
    }

    /// Returns what a step waits for: by default until the program is at rest.
    fn wanted(&self, step: &Step) -> Result<Wanted, ToolError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let mut wanted = match &step.wait {
            Some(wait) => wait.wanted(&self.context.sessions.signals)?,
            None => Wanted::one(Condition::Rest, Since::Input, left),
        };
        wanted.timeout = wanted.timeout.min(left);
        if let Some(channel) = &mut wanted.channel {
            channel.timeout = wanted.timeout;
        }
        Ok(wanted)
    }

    fn show(&self) -> fn(awaitty_core::Seq) -> Show {
        match self.show {
            ShowParam::Last => |_| Show::Nothing,
            ShowParam::Each => Show::Diff,
        }
    }

    async fn send(
        &self,
        context: &Context,
        step: &Step,
        params: &send_input::Params,
    ) -> Result<StepResult, ToolError> {
        let wanted = self.wanted(step)?;
        let (output, text) =
            perform(context, &step.entry, params, Some(wanted), self.show()).await?;
        let mut result = self.waited(output.wait, text);
        if let Some(word) = output.submit.filter(|word| *word != "submitted") {
            result.output.outcome = word;
        }
        Ok(result)
    }

    async fn wait(&self, context: &Context, step: &Step) -> Result<StepResult, ToolError> {
        let seq = step.entry.handle.call(|driver| driver.session().frame().seq()).await;
        let show = (self.show())(seq.ok_or_else(ToolError::gone)?);
        let (output, text) = start(context, &step.entry, &self.wanted(step)?, show).await?;
        Ok(self.waited(output, text))
    }

    fn waited(&self, wait: WaitOutput, text: String) -> StepResult {
        let output = StepOutput {
            outcome: wait.outcome.unwrap_or("met"),
            elapsed_ms: 0,
            seq: wait.seq,
            exit_code: wait.exit.exit_code,
            why: wait.why.clone().or_else(|| wait.hint.clone()),
        };
        // The line of the step says what the header would.
        let text = match self.show {
            ShowParam::Last => String::new(),
            ShowParam::Each => text.split_once('\n').map_or("", |(_, rows)| rows).to_owned(),
        };
        StepResult { output, text, more: More::Wait(Box::new(wait)) }
    }

    async fn run_command(
        &self,
        context: &Context,
        step: &Step,
        command: &str,
    ) -> Result<StepResult, ToolError> {
        let bound = Bound::default();
        let id = deliver(&self.context, &step.entry, command.to_owned(), false, bound).await?;
        if step.wait.is_some() {
            return self.wait(context, step).await;
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        let (output, _) =
            wait_for_command::wait(context, &step.entry, id, left, bound, true).await?;
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
        Ok(StepResult { output: result, text: shown, more: More::Command(output.command_id) })
    }

    /// Adds the line of a step.
    fn note(&mut self, index: usize, step: &Step, output: &StepOutput, text: &str) {
        let StepOutput { outcome, elapsed_ms, exit_code, why, .. } = output;
        let code = exit_code.map_or_else(String::new, |code| format!(" exit_code={code}"));
        let _ = writeln!(
            self.text,
            "{}. {}: {outcome}{code} after {elapsed_ms} ms",
            index + 1,
            step.words()
        );
        if let Some(why) = why.as_ref().filter(|_| *outcome != "met") {
            let _ = writeln!(self.text, "{why}");
        }
        self.text += text;
    }

    /// Answers: what changed on the terminal of the last step since before the first.
    async fn finish(
        self,
        steps: &[Step],
        index: usize,
        stopped: Option<usize>,
        outcome: &'static str,
        more: More,
    ) -> Answer<Output> {
        let entry = Arc::clone(&steps[index].entry);
        let again = (outcome == "pending").then(|| self.again(steps, index, &more));
        let before = self.before.get(&entry.id).cloned();
        let mut wait = match more {
            More::Wait(wait) => *wait,
            More::Command(_) | More::Nothing => WaitOutput::default(),
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

    /// Returns how to go on: with the wait of the step that did not end, if it was sent, and with those after it.
    fn again(&self, steps: &[Step], index: usize, more: &More) -> Retry {
        let step = &steps[index];
        let wait = match more {
            More::Wait(_) => Some(
                step.wait
                    .as_ref()
                    .map_or_else(|| json!({"ready": true}), |_| step.given["wait"].clone()),
            ),
            More::Command(id) => Some(json!({"command": id})),
            More::Nothing => None,
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
