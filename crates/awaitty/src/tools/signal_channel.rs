//! `signal_channel`.

use awaitty_core::Signal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Context, Kind, Tool};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// 1 to 128 of A-Z a-z 0-9 . _ : -
    channel: String,
    /// What a wait is told of the outcome, such as an exit status.
    status: Option<i64>,
    /// At most 4 KiB.
    message: Option<String>,
    /// The terminal it comes from; `awaitty signal` fills it in.
    #[schemars(skip)]
    session: Option<String>,
    /// The process it comes from; `awaitty signal` fills it in.
    #[schemars(skip)]
    pid: Option<u32>,
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
        "Signals a channel: whoever waits for it by wait_for_channel, now or later, is answered.",
        Kind::Acts,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let Params { channel, status, message, session, pid } = params;
    // A terminal's mark ends in its id, and begins with the number of the server it belongs to.
    let session = session.map(|mark| mark.rsplit('-').next().unwrap_or_default().to_owned());
    let signal = Signal { number: 0, status, message, session, pid };
    let count = context.sessions.signals.signal(&channel, signal)?;
    let text = format!("[{channel}] signalled count={count}");
    Ok((Output { channel, count }, text))
}
