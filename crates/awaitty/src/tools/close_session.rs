//! `close_session`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exit::{ExitOutput, signal};
use super::params::duration;
use super::spec::{CommandSpec, Effect, ToolSpec, Waits};
use super::writable::ensure_not_controlled;
use super::{Context, Tool, ToolResult};
use crate::export::Act;
use crate::policy;
use crate::sessions::Ending;
use awaitty_terminal::platform::processes::Survivor;
use awaitty_terminal::terminal::exit_of;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Default HUP.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_word")]
    signal: Option<SignalParam>,
    /// Time until KILL. Default 2000.
    grace_ms: Option<u64>,
    /// Keep its last screen.
    #[serde(default)]
    keep: bool,
    /// Also end a tmux pane.
    #[serde(default)]
    kill: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum SignalParam {
    Number(i32),
    Name(String),
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    closed: bool,
    #[serde(flatten)]
    exit: ExitOutput,
    /// The path of the trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    /// The reason why the trace was not written.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_note: Option<String>,
    /// Processes that still run: they may belong to another session, or belong to another user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    survivors: Vec<SurvivorOutput>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct SurvivorOutput {
    pid: i32,
    command: String,
}

impl SurvivorOutput {
    /// Converts processes that could not be ended.
    pub(super) fn all(survivors: Vec<Survivor>) -> Vec<SurvivorOutput> {
        let survivors = survivors.into_iter();
        survivors.map(|Survivor { pid, command }| SurvivorOutput { pid, command }).collect()
    }

    /// Adds the processes to a text.
    pub(super) fn describe(all: &[SurvivorOutput], text: &mut String) {
        if all.is_empty() {
            return;
        }
        *text += "\nThese processes still run: they may belong to another session, or belong to another user. Kill those \
                  that are not needed:";
        for SurvivorOutput { pid, command } in all {
            *text += &format!("\n{pid} {command}");
        }
    }
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    is_core: true,
    command: CommandSpec {
        alias: Some("close"),
        positions: &["session_id"],
        switches: &[],
        after_help: None,
    },
    ..ToolSpec::new(
        "close_session",
        "Ends a program and everything it started (signal, then KILL after grace_ms) and forgets its terminal.",
        Effect::Ends,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let signal = match &params.signal {
        None => signal("HUP"),
        Some(SignalParam::Name(name)) => signal(name),
        Some(SignalParam::Number(number)) => signal(&number.to_string()),
    }?;
    let grace = duration("grace_ms", params.grace_ms, policy::GRACE, policy::GRACE_MAX)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    ensure_not_controlled(&context, &entry).await?;
    let ending = match entry.pane {
        Some(_) if !params.kill => Ending::Detach,
        _ => Ending::Kill(signal, grace),
    };
    let trace = context.sessions.traces.get(&entry.id);
    let is_running = entry.handle.call(exit_of).await == Some(None);
    if is_running {
        context.sessions.logs.add(&entry.id, Act::Closed);
    }
    let survivors = context.sessions.close(&entry, ending, params.keep).await;
    if !params.keep {
        context.sessions.logs.remove(&entry.id);
        context.sessions.traces.remove(&entry.id);
    }
    let page = match trace {
        Some(trace) => Some(trace.write().await),
        None => None,
    };
    let exit = entry.handle.call(exit_of).await.flatten();
    let exit = ExitOutput::from(exit);
    let mut text = format!("[{}] closed{}", entry.label(), exit.words());
    let survivors = SurvivorOutput::all(survivors);
    SurvivorOutput::describe(&survivors, &mut text);
    let (trace, trace_note) = match page {
        Some(Ok(page)) => (Some(page.display().to_string()), None),
        Some(Err(error)) => (None, Some(error.message)),
        None => (None, None),
    };
    for (name, value) in [("trace", &trace), ("no trace", &trace_note)] {
        text += &value.as_ref().map_or_else(String::new, |value| format!("\n{name}: {value}"));
    }
    let closed = !params.keep;
    let session_id = entry.id.clone();
    let output = Output { session_id, closed, exit, trace, trace_note, survivors };
    Ok((output, text))
}
