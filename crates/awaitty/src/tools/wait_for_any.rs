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

use super::answer::start;
use super::outcome::{WaitOutput, summary};
use super::params::timeout;
use super::pending::Retry;
use super::shown::Show;
use super::wait_for_channel::{ChannelWait, wait_for};
use super::wanted::{WaitParam, Wanted};
use super::{Answer, Context, Kind, Tool};
use crate::policy;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;

/// Waits in one call.
const WAITS_IN_ONE_MAX: usize = 100;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Each as `wait` of send_input, with `session_id` and `since`.
    #[schemars(schema_with = "super::schema::objects")]
    waits: Vec<Value>,
    /// "first" (default): answer when one is met; "all": when all have ended.
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

/// How one of the waits stands.
#[derive(Debug, Serialize, JsonSchema)]
struct State {
    /// Which, from 0.
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
    /// How each stands; `running` is one that was not met yet.
    results: Vec<State>,
    #[serde(flatten)]
    again: Retry,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "wait_for_any",
        "Waits for the first of several conditions, or for all (mode \"all\"), across sessions and channels; says which one held.",
        Kind::Reads,
        run,
    )
}

/// A wait that is ready to run, and the arguments that would run it again later.
struct Prepared {
    entry: Option<Arc<Entry>>,
    wanted: Wanted,
    again: Value,
}

async fn prepare(
    context: &Context,
    index: usize,
    value: &Value,
    limit: Duration,
) -> Result<Prepared, ToolError> {
    let at =
        |error: ToolError| ToolError::new(error.code, format!("waits[{index}]: {}", error.message));
    let (session_id, wait) = split(value).map_err(at)?;
    let mut wanted = wait.wanted(&context.sessions.signals).map_err(at)?;
    wanted.timeout = limit;
    let is_channel_only = wanted.conditions.is_empty();
    if let Some(ChannelWait { channel, since, timeout }) = &mut wanted.channel {
        *timeout = limit;
        // Beside other conditions the anchor is theirs.
        let given = if is_channel_only { wait.signal_since().map_err(at)? } else { None };
        *since = given.unwrap_or_else(|| context.sessions.signals.given(&channel.name));
    }
    let entry = match session_id {
        None if is_channel_only => None,
        id => Some(context.find(id.as_deref()).await.map_err(at)?),
    };
    Ok(Prepared { entry, wanted, again: value.clone() })
}

/// Takes one of the waits apart: its session, and what `wait` of send_input takes.
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
            "timeout_ms: there is one for all waits: give it beside `waits`",
        ));
    }
    Ok((session_id, wait))
}

async fn run(context: Context, params: Params) -> Answer<Output> {
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
    // The waits have no limit of their own: this call answers for all of them.
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
    let states = results.into_iter().enumerate().map(|(index, result)| State {
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
        let waits: Vec<Value> = prepared.iter().map(|one| one.again.clone()).collect();
        let left = timeout.saturating_sub(limit).as_millis() as u64;
        let mode = if mode == Mode::All { "all" } else { "first" };
        let again = json!({"waits": waits, "mode": mode, "timeout_ms": left});
        output.again = Retry::with("wait_for_any", again);
    }
    let text = describe(&output);
    Ok((output, text))
}

/// The next wait that ends, until the deadline.
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
            // What is worth saying most: a timeout, else how the others ended.
            ends.fold("met", |said, end| match (said, end) {
                (said, "met") => said,
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

impl Prepared {
    /// Returns the session as the caller names it; its id if there is no name.
    fn session_id(&self) -> Option<String> {
        let given = self.again["session_id"].as_str().map(str::to_owned);
        given.or_else(|| self.entry.as_ref().map(|entry| entry.id.clone()))
    }

    /// Makes *now* a number, so that the wait means the same when it is called again.
    async fn fix_anchor(&mut self) -> Result<(), ToolError> {
        if let Some(entry) = self.entry.as_ref().filter(|_| self.wanted.since == Since::Now) {
            let seq = entry.handle.call(|driver| driver.session().frame().seq()).await;
            self.again["since"] = json!(seq.ok_or_else(ToolError::gone)?.0);
        }
        if let Some(channel) =
            self.wanted.channel.as_ref().filter(|_| self.wanted.conditions.is_empty())
        {
            self.again["since"] = json!(channel.since);
        }
        Ok(())
    }

    fn run<'p>(
        &'p self,
        context: &'p Context,
        index: usize,
    ) -> BoxFuture<'p, (usize, Result<WaitOutput, ToolError>)> {
        async move {
            let result = match (&self.wanted.channel, &self.entry) {
                (Some(channel), entry) if self.wanted.conditions.is_empty() => {
                    wait_for(context, entry.as_ref(), channel).await
                }
                (_, Some(entry)) => {
                    let started = start(context, entry, &self.wanted, Show::Nothing);
                    started.await.map(|(output, _)| output)
                }
                (_, None) => Err(ToolError::gone()),
            };
            (index, result)
        }
        .boxed()
    }
}
