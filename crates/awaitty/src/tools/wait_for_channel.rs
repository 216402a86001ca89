//! `wait_for_channel`, and the wait for a channel as a part of other calls.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Exit, Outcome, Signal, Signalled, Since, Spec, check_channel_name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use super::outcome::{WaitOutput, summary};
use super::params::timeout;
use super::pending::Retry;
use super::spec::{self, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_call::verdict;
use super::{Context, Tool, ToolResult};
use crate::access::Caller;
use crate::export::{Act, trace, words};
use crate::operator::Policy;
use crate::policy;
use crate::sessions::Entry;
use crate::text;
use awaitty_terminal::ToolError;
use awaitty_terminal::io::tmux;
use awaitty_terminal::io::tmux::channels::Channel;
use awaitty_terminal::rules::Rules as _;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// A name or tmux:NAME.
    channel: String,
    /// The same as `tmux:` before the name.
    #[serde(default)]
    #[schemars(skip)]
    tmux: bool,
    /// Wait for a higher count. Default: the last that a wait returned.
    since: Option<u64>,
    /// Also return if this session's program exits.
    session_id: Option<String>,
    /// Default 30000.
    timeout_ms: Option<u64>,
}

/// The sender of a signal.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SignalSource {
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pid: Option<u32>,
}

/// One of several signals.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SignalOutput {
    number: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

/// The result of a wait for a channel. Fields that do not apply are left out.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct ChannelOutput {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) signalled: Option<bool>,
    /// The number of signals so far: pass it as `since` to wait for the next.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<SignalSource>,
    /// All signals after `since`, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    signals: Option<Vec<SignalOutput>>,
}

impl ChannelOutput {
    fn new(signalled: &Signalled) -> ChannelOutput {
        let message = |signal: &Signal| signal.message.as_deref().map(text::visible);
        let Signalled { newest, all } = signalled;
        let one = |signal: &Signal| SignalOutput {
            number: signal.number,
            status: signal.status,
            message: message(signal),
        };
        let source = SignalSource { session_id: newest.session.clone(), pid: newest.pid };
        let has_source = source.session_id.is_some() || source.pid.is_some();
        ChannelOutput {
            signalled: Some(true),
            count: Some(newest.number),
            status: newest.status,
            message: message(newest),
            from: has_source.then_some(source),
            signals: (all.len() > 1).then(|| all.iter().map(one).collect()),
        }
    }

    /// Returns the result as text, with leading spaces.
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        if let Some(signalled) = self.signalled {
            words += &format!(" signalled={signalled}");
        }
        if let Some(count) = self.count {
            words += &format!(" count={count}");
        }
        if let Some(status) = self.status {
            words += &format!(" status={status}");
        }
        if let Some(message) = &self.message {
            words += &format!(" message={message:?}");
        }
        words
    }
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    command: CommandSpec { alias: None, positions: &["channel"], switches: &[], after_help: None },
    describe_waits: |arguments| {
        let channel = arguments["channel"].as_str();
        spec::describe(arguments, channel.map(|name| format!("a signal on {name}")))
    },
    ..ToolSpec::new(
        "wait_for_channel",
        "Waits for a signal, sent by `awaitty signal NAME --status $?` in a terminal or by signal_channel.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<WaitOutput> {
    let channel = ChannelName::new(&params.channel, params.tmux)?;
    let timeout = timeout(params.timeout_ms, policy::EXIT_TIMEOUT)?;
    let entry = match &params.session_id {
        Some(id) => Some(context.find(Some(id)).await?),
        None => None,
    };
    let since = params.since.unwrap_or_else(|| context.sessions.signals.given(&channel.name));
    let wait = ChannelWait { channel, since, timeout };
    let step = match &entry {
        Some(entry) if context.caller == Caller::User => {
            let words = words::wait([], Some(&wait.channel.given()), Since::Now, timeout);
            trace::start_wait(&context.sessions, entry, words).await
        }
        _ => trace::CallStep::default(),
    };
    let output = wait_for(&context, entry.as_ref(), &wait).await?;
    step.end(verdict(&output)).await;
    if let (Some(entry), Some("met"), Caller::User) = (&entry, output.outcome, context.caller) {
        context.sessions.logs.add(&entry.id, Act::Signalled(wait.channel.name.clone()));
    }
    let text = format!("[{}] {}", wait.channel.given(), summary(&output));
    Ok((output, text))
}

/// The checked name of a channel.
#[derive(Clone, Debug)]
pub(super) struct ChannelName {
    pub(super) name: String,
    /// The channel of a tmux server, for a `tmux:` name.
    pub(super) tmux: Option<Channel>,
}

impl ChannelName {
    pub(super) fn new(given: &str, is_tmux: bool) -> Result<ChannelName, ToolError> {
        let tmux_name = given.strip_prefix("tmux:").or(is_tmux.then_some(given));
        let Some(tmux_name) = tmux_name else {
            check_channel_name(given)?;
            return Ok(ChannelName { name: given.to_owned(), tmux: None });
        };
        let (server, name) = tmux::split_server(tmux_name);
        let channel = Channel { server, name: name.to_owned() };
        check_channel_name(name)?;
        check_channel_name(&channel.key())?;
        Ok(ChannelName { name: channel.key(), tmux: Some(channel) })
    }

    /// Checks that the policy shows all panes of a tmux channel's server.
    pub(super) fn check_policy(&self, policy: &Policy) -> Result<(), ToolError> {
        // No pane has this id, so only a wildcard matches it.
        let any_pane = |channel: &Channel| channel.server.id_of("%4294967295");
        match &self.tmux {
            Some(channel) => policy.check_seeing(&[&any_pane(channel)]),
            None => Ok(()),
        }
    }

    /// Returns the name as callers write it.
    pub(super) fn given(&self) -> String {
        let full_name = |channel: &Channel| channel.server.id_of(&channel.name);
        self.tmux.as_ref().map_or_else(|| self.name.clone(), full_name)
    }
}

/// A wait for a channel.
#[derive(Clone, Debug)]
pub(super) struct ChannelWait {
    pub(super) channel: ChannelName,
    pub(super) since: u64,
    pub(super) timeout: Duration,
}

/// Waits until the program of a session exits, or the session is closed (`true`). Never returns without a session.
async fn exited(entry: Option<&Arc<Entry>>) -> (Option<Exit>, bool) {
    let Some(entry) = entry else { return std::future::pending().await };
    let wait = |driver: &mut awaitty_terminal::terminal::Driver| {
        let spec = Spec { condition: Condition::Exit, since: Since::Now, deadline: None };
        driver.start_wait(spec, policy::TIMEOUT_MAX)
    };
    match entry.handle.start_wait(wait).await {
        Some(Ok(mut running)) => running
            .ended()
            .await
            .map_or((None, true), |ended| (ended.exit, ended.outcome == Outcome::Closed)),
        _ => (None, true),
    }
}

/// Waits until a tmux server ends. Never returns without a server.
async fn server_lost(server: Option<watch::Receiver<bool>>) {
    match server {
        Some(mut lost) => drop(lost.wait_for(|&lost| lost).await),
        None => std::future::pending().await,
    }
}

pub(super) async fn wait_for(
    context: &Context,
    entry: Option<&Arc<Entry>>,
    wait: &ChannelWait,
) -> Result<WaitOutput, ToolError> {
    let signals = &context.sessions.signals;
    wait.channel.check_policy(context.sessions.policy())?;
    let ChannelWait { channel: ChannelName { name, tmux }, since, timeout } = wait;
    let started = Instant::now();
    let server = match tmux {
        Some(channel) => {
            Some(context.sessions.tmux_channels.start(&context.sessions, channel).await?)
        }
        None => None,
    };
    let limit = context.call_limit.filter(|limit| limit < timeout);
    let until = started + limit.unwrap_or(*timeout);
    let mut output = WaitOutput::default();
    let (outcome, signalled) = tokio::select! {
        biased;
        signalled = signals.above(name, *since) => ("met", Some(signalled)),
        (exit, closed) = exited(entry) => {
            output.exit = exit.into();
            output.exit.exited = Some(true);
            output.closed = closed.then_some(true);
            // A signal from before the exit has priority.
            let signalled = signals.take_above(name, *since);
            let end = if closed { "closed" } else { "exited" };
            (if signalled.is_some() { "met" } else { end }, signalled)
        }
        () = server_lost(server) => {
            output.why = Some("the tmux server has ended".to_owned());
            ("closed", None)
        }
        () = tokio::time::sleep_until(until) => {
            (if limit.is_some() { "pending" } else { "timeout" }, None)
        }
    };
    if let Some(entry) = entry.filter(|_| matches!(outcome, "timeout" | "exited")) {
        output.why = Some(match outcome {
            "exited" => "the program has exited without a signal".to_owned(),
            _ => {
                let foreground =
                    entry.handle.call(|driver| awaitty_terminal::diagnosis::doing(driver));
                foreground.await.unwrap_or_default()
            }
        });
    }
    output.outcome = Some(outcome);
    output.elapsed_ms = Some(started.elapsed().as_millis() as u64);
    output.channel = signalled.as_ref().map(ChannelOutput::new).unwrap_or_else(|| ChannelOutput {
        signalled: Some(false),
        count: Some(signals.count(name)),
        ..ChannelOutput::default()
    });
    if let Some(limit) = limit.filter(|_| outcome == "pending") {
        let left = timeout.saturating_sub(limit).as_millis() as u64;
        let mut retry =
            json!({"channel": wait.channel.given(), "since": since, "timeout_ms": left});
        if let Some(entry) = entry {
            retry["session_id"] = json!(entry.id);
        }
        output.again = Retry::with("wait_for_channel", retry);
    }
    Ok(output)
}
