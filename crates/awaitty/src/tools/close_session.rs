//! `close_session`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::exit::{ExitOutput, signal};
use super::params::duration;
use super::{Answer, Context, Kind, Tool};
use crate::driver::exit_of;
use crate::policy;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// By name or number. Default HUP.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_word")]
    signal: Option<SignalParam>,
    /// How long until KILL. Default 2000.
    grace_ms: Option<u64>,
    /// Keep its last screen.
    #[serde(default)]
    keep: bool,
    /// For tmux panes, which are not there yet; a program of ours is always ended.
    #[serde(default)]
    #[schemars(skip)]
    #[expect(dead_code, reason = "a parameter of the contract whose backend is still to come")]
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
}

pub(super) fn tool() -> Tool {
    super::tool(
        "close_session",
        "Ends a program and everything it started (signal, then KILL after grace_ms) and forgets its terminal.",
        Kind::Ends,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let signal = match &params.signal {
        None => signal("HUP"),
        Some(SignalParam::Name(name)) => signal(name),
        Some(SignalParam::Number(number)) => signal(&number.to_string()),
    }?;
    let grace = duration("grace_ms", params.grace_ms, policy::GRACE, policy::GRACE_MAX)?;
    let entry = context.sessions.find(params.session_id.as_deref())?;
    context.sessions.close(&entry, signal, grace, params.keep).await;
    // The task hears of the exit a moment after everything is gone.
    let known =
        entry.handle.start_wait(|driver| driver.start_wait(super::exit_spec(), policy::DRAIN_MAX));
    if let Some(Ok(mut known)) = known.await {
        known.ended().await;
    }
    let exit = entry.handle.call(exit_of).await.flatten();
    let exit = ExitOutput::from(exit);
    let text = format!("[{}] closed{}", entry.label(), exit.words());
    let output = Output { session_id: entry.id.clone(), closed: !params.keep, exit };
    Ok((output, text))
}
