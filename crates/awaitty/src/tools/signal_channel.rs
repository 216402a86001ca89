//! `signal_channel`.

use std::path::Path;
use std::time::Duration;

use awaitty_core::Signal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::wait_for_channel::ChannelName;
use super::{Answer, Context, Kind, Tool};
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
    /// An exit status for the wait.
    status: Option<i64>,
    /// At most 4 KiB.
    message: Option<String>,
    /// The terminal it comes from; `awaitty signal` fills it in.
    #[schemars(skip)]
    session: Option<String>,
    /// The process it comes from; `awaitty signal` fills it in.
    #[schemars(skip)]
    pid: Option<u32>,
    /// Another server of this user had it first, and has told all the others.
    #[serde(default)]
    #[schemars(skip)]
    relayed: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    channel: String,
    /// How many signals there have been.
    count: u64,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "signal_channel",
        "Signals a channel: wait_for_channel on it returns, also one that is called later.",
        Kind::Acts,
        run,
    )
}

/// How long another server has to take a signal; one that is stopped must not hold up the rest.
const RELAY_MAX: Duration = Duration::from_millis(500);

/// Channels are the host's, so the other servers of this user hear of a signal too. One that does not
/// answer is gone or stuck, and nobody waits there.
fn relay(other: &Path, arguments: &Value) {
    if let Ok(mut client) = Client::connect(other)
        && client.limit(RELAY_MAX).is_ok()
    {
        let _ = client.call("signal_channel", arguments, &mut |_| {});
    }
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let Params { channel, tmux, status, message, session, pid, relayed } = params;
    let name = ChannelName::new(&channel, tmux)?;
    name.check_policy(context.sessions.policy())?;
    if let Some(of_tmux) = &name.tmux {
        return signal_tmux(&context, &name, of_tmux, status.is_some() || message.is_some()).await;
    }
    // A terminal's mark ends in its id, and begins with the number of the server it belongs to; a pane's is its id.
    let id = |mark: &str| match mark.split_once('-') {
        Some((_, id)) if !mark.starts_with("tmux:") => id.to_owned(),
        _ => mark.to_owned(),
    };
    let session = session.as_deref().map(id);
    let signal = Signal { number: 0, status, message, session, pid };
    let count = context.sessions.signals.signal(&channel, signal)?;
    // Without a pause in between: a client that goes away now has signalled, and everybody is to hear of it.
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

/// How long a signal may take by way of tmux to whoever waits here.
const ROUND_MAX: Duration = Duration::from_secs(1);

/// Signals a channel of a tmux server, which tells everybody who waits there, us too.
async fn signal_tmux(
    context: &Context,
    name: &ChannelName,
    of_tmux: &Channel,
    says_more: bool,
) -> Answer<Output> {
    if says_more {
        return Err(ToolError::argument(format!(
            "status, message: channels of tmux carry none; leave them out, or signal a channel without `tmux:` \
             instead of {:?}",
            name.given()
        )));
    }
    let signals = &context.sessions.signals;
    let before = signals.count(&name.name);
    of_tmux.signal().await?;
    if context.sessions.tmux_channels.running(of_tmux).is_some() {
        let _ = tokio::time::timeout(ROUND_MAX, signals.counted_above(&name.name, before)).await;
    }
    let (channel, count) = (name.given(), signals.count(&name.name));
    let text = format!("[{channel}] signalled count={count}");
    Ok((Output { channel, count }, text))
}
