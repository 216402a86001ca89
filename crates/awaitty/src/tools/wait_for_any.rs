//! `wait_for_any`: several waits in one call, over several sessions and kinds.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::Since;
use futures::future::{BoxFuture, FutureExt};
use futures::stream::{FuturesUnordered, StreamExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::outcome::{WaitOutput, summary};
use super::params::timeout;
use super::pending::Retry;
use super::screen_output::ScreenMode;
use super::spec::{self, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_call::start;
use super::wait_for_channel::{ChannelWait, wait_for};
use super::wait_params::{WaitParam, WaitRequest};
use super::{Context, Tool, ToolResult};
use crate::policy;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;

/// The maximum number of waits in one call.
const WAITS_IN_ONE_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Each as `wait` of send_input, with `session_id` and `since`.
    #[schemars(schema_with = "super::schema::objects")]
    waits: Vec<Value>,
    /// "first" (default): return when one is met; "all": when all have ended.
    mode: Option<Mode>,
    /// Default 30000.
    timeout_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    First,
    All,
}

impl JsonSchema for Mode {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Mode".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({"type": "string"})
    }
}

/// The result of one of the waits.
#[derive(Debug, Serialize, JsonSchema)]
struct OneWaitOutput {
    /// Its index, from 0.
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(flatten)]
    result: WaitOutput,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    /// `met`, `timeout`, `exited`, `closed` or `pending`.
    outcome: &'static str,
    /// The wait that was met first, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    won: Option<usize>,
    elapsed_ms: u64,
    /// The results of all waits; `running` is one that has not ended.
    results: Vec<OneWaitOutput>,
    #[serde(flatten)]
    again: Retry,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    command: CommandSpec {
        alias: None,
        positions: &["waits"],
        switches: &[],
        after_help: Some(
            "Example: awaitty wait-for-any '{\"session_id\": \"build\", \"text\": \"error\"}' '{\"channel\": \"done\"}'",
        ),
    },
    describe_waits: |arguments| {
        let waits = arguments["waits"].as_array().map_or(&[][..], Vec::as_slice);
        waits.iter().flat_map(|wait| spec::describe(wait, spec::condition(wait))).collect()
    },
    ..ToolSpec::new(
        "wait_for_any",
        "Waits for the first of several conditions, or for all (mode \"all\"), across sessions and channels; returns which one held.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

/// A checked wait and the arguments of its retry.
struct PreparedWait {
    entry: Option<Arc<Entry>>,
    request: WaitRequest,
    retry: Value,
}

async fn prepare(
    context: &Context,
    index: usize,
    value: &Value,
    limit: Duration,
) -> Result<PreparedWait, ToolError> {
    let at =
        |error: ToolError| ToolError::new(error.code, format!("waits[{index}]: {}", error.message));
    let (session_id, wait) = split(value).map_err(at)?;
    let mut request = wait.to_request(&context.sessions.signals).map_err(at)?;
    request.timeout = limit;
    let is_channel_only = request.conditions.is_empty();
    if let Some(ChannelWait { channel, since, timeout }) = &mut request.channel {
        *timeout = limit;
        // With other conditions, `since` is their anchor.
        let given = if is_channel_only { wait.signal_since().map_err(at)? } else { None };
        *since = given.unwrap_or_else(|| context.sessions.signals.given(&channel.name));
    }
    let entry = match session_id {
        None if is_channel_only => None,
        id => Some(context.find(id.as_deref()).await.map_err(at)?),
    };
    Ok(PreparedWait { entry, request, retry: value.clone() })
}

/// Splits one of the waits into its session and its conditions.
fn split(value: &Value) -> Result<(Option<String>, WaitParam), ToolError> {
    let mut fields = value.clone();
    let session_id = fields.as_object_mut().and_then(|fields| fields.remove("session_id"));
    let session_id = match session_id {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) => Some(id),
        Some(other) => {
            let what = format!("session_id: expected a string such as \"s1\", not {other}");
            return Err(ToolError::argument(what));
        }
    };
    let wait: WaitParam = super::params::parse(fields)?;
    if wait.has_timeout() {
        return Err(ToolError::argument(
            "timeout_ms: one timeout applies to all waits: give it next to `waits`",
        ));
    }
    Ok((session_id, wait))
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let mode = params.mode.unwrap_or(Mode::First);
    let timeout = timeout(params.timeout_ms, policy::EXIT_TIMEOUT)?;
    if !(1..=WAITS_IN_ONE_MAX).contains(&params.waits.len()) {
        return Err(ToolError::argument(format!(
            "waits: give 1 to {WAITS_IN_ONE_MAX}, not {}",
            params.waits.len()
        )));
    }
    let mut prepared = Vec::new();
    for (index, value) in params.waits.iter().enumerate() {
        prepared.push(prepare(&context, index, value, timeout).await?);
    }
    for one in &mut prepared {
        one.fix_anchor().await?;
    }
    let started = Instant::now();
    let limit = context.call_limit.filter(|limit| *limit < timeout);
    // The call has one time limit for all of its waits.
    let unlimited = Context { call_limit: None, ..context };
    let mut running: FuturesUnordered<_> =
        prepared.iter().enumerate().map(|(index, one)| one.run(&unlimited, index)).collect();
    let mut results: Vec<Option<WaitOutput>> = prepared.iter().map(|_| None).collect();
    let mut won = None;
    let deadline = limit.map(|limit| started + limit);
    while let Some((index, result)) = next(&mut running, deadline).await {
        let result = result?;
        let is_met = result.outcome == Some("met");
        results[index] = Some(result);
        if is_met && won.is_none() {
            won = Some(index);
        }
        if won.is_some() && mode == Mode::First {
            break;
        }
    }
    let left = running.len();
    drop(running);
    let outcome = outcome(mode, won, &results, left);
    let states = results.into_iter().enumerate().map(|(index, result)| OneWaitOutput {
        index,
        session_id: prepared[index].session_id(),
        result: result.unwrap_or_else(WaitOutput::running),
    });
    let mut output = Output {
        outcome,
        won,
        elapsed_ms: started.elapsed().as_millis() as u64,
        results: states.collect(),
        again: Retry::default(),
    };
    if let Some(limit) = limit.filter(|_| outcome == "pending") {
        let waits: Vec<Value> = prepared.iter().map(|one| one.retry.clone()).collect();
        let left = timeout.saturating_sub(limit).as_millis() as u64;
        let mode = if mode == Mode::All { "all" } else { "first" };
        let again = json!({"waits": waits, "mode": mode, "timeout_ms": left});
        output.again = Retry::with("wait_for_any", again);
    }
    let text = describe(&output);
    Ok((output, text))
}

/// Returns the next wait that ends before the deadline.
async fn next<T>(running: &mut FuturesUnordered<T>, deadline: Option<Instant>) -> Option<T::Output>
where
    T: Future,
{
    let Some(deadline) = deadline else { return running.next().await };
    tokio::time::timeout_at(deadline, running.next()).await.ok().flatten()
}

fn outcome(
    mode: Mode,
    won: Option<usize>,
    results: &[Option<WaitOutput>],
    left: usize,
) -> &'static str {
    match mode {
        Mode::First if won.is_some() => "met",
        _ if left > 0 => "pending",
        _ => {
            let ends = results.iter().flatten().filter_map(|result| result.outcome);
            // A timeout has priority over the other outcomes, and those over `met`.
            ends.fold("met", |overall, end| match (overall, end) {
                (overall, "met") => overall,
                (_, "timeout") | ("timeout", _) => "timeout",
                (_, end) => end,
            })
        }
    }
}

fn describe(output: &Output) -> String {
    let won = output.won.map_or_else(String::new, |won| format!(" won={won}"));
    let mut text = format!("{}{won} after {} ms\n", output.outcome, output.elapsed_ms);
    for state in &output.results {
        let what = match state.result.outcome {
            Some("running") => "running".to_owned(),
            _ => summary(&state.result),
        };
        let session = state.session_id.as_deref().unwrap_or("channel");
        text += &format!("{}\t[{session}] {what}\n", state.index);
    }
    text
}

impl PreparedWait {
    /// Returns the session id or name that the caller gave; otherwise its id.
    fn session_id(&self) -> Option<String> {
        let given = self.retry["session_id"].as_str().map(str::to_owned);
        given.or_else(|| self.entry.as_ref().map(|entry| entry.id.clone()))
    }

    /// Replaces the anchor "now" by a number, so that a retry has the same anchor.
    async fn fix_anchor(&mut self) -> Result<(), ToolError> {
        if let Some(entry) = self.entry.as_ref().filter(|_| self.request.since == Since::Now) {
            let seq = entry.handle.call(|driver| driver.session().frame().seq()).await;
            self.retry["since"] = json!(seq.ok_or_else(ToolError::gone)?.0);
        }
        if let Some(channel) =
            self.request.channel.as_ref().filter(|_| self.request.conditions.is_empty())
        {
            self.retry["since"] = json!(channel.since);
        }
        Ok(())
    }

    fn run<'p>(
        &'p self,
        context: &'p Context,
        index: usize,
    ) -> BoxFuture<'p, (usize, Result<WaitOutput, ToolError>)> {
        async move {
            let result = match (&self.request.channel, &self.entry) {
                (Some(channel), entry) if self.request.conditions.is_empty() => {
                    wait_for(context, entry.as_ref(), channel).await
                }
                (_, Some(entry)) => {
                    let started = start(context, entry, &self.request, ScreenMode::Omitted);
                    started.await.map(|(output, _)| output)
                }
                (_, None) => Err(ToolError::gone()),
            };
            (index, result)
        }
        .boxed()
    }
}
