//! `signal_channel`.

use std::path::Path;
use std::time::Duration;

use awaitty_core::Signal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::spec::{Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_for_channel::ChannelName;
use super::{Context, Tool, ToolResult};
use crate::client::Client;
use crate::socket;
use awaitty_terminal::ToolError;
use awaitty_terminal::io::tmux::channels::Channel;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// 1 to 128 of A-Z a-z 0-9 . _ : -
    channel: String,
    /// The same as `tmux:` before the name.
    #[serde(default)]
    #[schemars(skip)]
    tmux: bool,
    /// An exit status to pass on.
    status: Option<i64>,
    /// At most 4 KiB.
    message: Option<String>,
    /// The session that sends it; `awaitty signal` fills it in.
    #[schemars(skip)]
    session: Option<String>,
    /// The process that sends it; `awaitty signal` fills it in.
    #[schemars(skip)]
    pid: Option<u32>,
    /// Another server of this user received it first and relays it to all others.
    #[serde(default)]
    #[schemars(skip)]
    relayed: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    channel: String,
    /// The number of signals so far.
    count: u64,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    callers: Callers::Programs,
    command: CommandSpec {
        alias: Some("signal"),
        positions: &["channel"],
        switches: &[],
        after_help: None,
    },
    ..ToolSpec::new(
        "signal_channel",
        "Signals a channel: a wait_for_channel on it returns, even one that is called later.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

/// The time that another server has to take a signal: a stopped server must not delay the others.
const RELAY_MAX: Duration = Duration::from_millis(500);

/// Relays a signal to another server of this user, because channels are common to all of them. A server that does not
/// reply has ended or hangs, so it has no waits to wake.
fn relay(other: &Path, arguments: &Value) {
    if let Ok(mut client) = Client::connect(other)
        && client.limit(RELAY_MAX).is_ok()
    {
        let _ = client.call("signal_channel", arguments, &mut |_| {});
    }
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let Params { channel, tmux, status, message, session, pid, relayed } = params;
    let name = ChannelName::new(&channel, tmux)?;
    name.check_policy(context.sessions.policy())?;
    if let Some(channel) = &name.tmux {
        return signal_tmux(&context, &name, channel, status.is_some() || message.is_some()).await;
    }
    // The mark of a session is `PID-ID`, with the PID of its server; that of a tmux pane is its id.
    let id = |mark: &str| match mark.split_once('-') {
        Some((_, id)) if !mark.starts_with("tmux:") => id.to_owned(),
        _ => mark.to_owned(),
    };
    let session = session.as_deref().map(id);
    let signal = Signal { number: 0, status, message, session, pid };
    let count = context.sessions.signals.signal(&channel, signal)?;
    // No await before the relay starts: if the client disconnects now, the signal must still reach all servers.
    let own = context.sessions.socket().filter(|_| !relayed);
    let others = own.map(socket::others).unwrap_or_default();
    if !others.is_empty() {
        let mut arguments = context.arguments.clone();
        arguments["relayed"] = json!(true);
        let relay = move || others.iter().for_each(|other| relay(other, &arguments));
        let _ = tokio::task::spawn_blocking(relay).await;
    }
    let text = format!("[{channel}] signalled count={count}");
    Ok((Output { channel, count }, text))
}

/// The time that a signal may take through tmux to this server's waiter.
const ROUND_MAX: Duration = Duration::from_secs(1);

/// Signals a channel of a tmux server, which wakes all waits there, including this server's waiter.
async fn signal_tmux(
    context: &Context,
    name: &ChannelName,
    channel: &Channel,
    has_payload: bool,
) -> ToolResult<Output> {
    if has_payload {
        return Err(ToolError::argument(format!(
            "status, message: tmux channels carry neither: leave them out, or signal a channel without `tmux:` \
             instead of {:?}",
            name.given()
        )));
    }
    let signals = &context.sessions.signals;
    let before = signals.count(&name.name);
    channel.signal().await?;
    if context.sessions.tmux_channels.running(channel).is_some() {
        let _ = tokio::time::timeout(ROUND_MAX, signals.counted_above(&name.name, before)).await;
    }
    let (channel, count) = (name.given(), signals.count(&name.name));
    let text = format!("[{channel}] signalled count={count}");
    Ok((Output { channel, count }, text))
}
