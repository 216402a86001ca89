//! `wait_for_text`.

use std::sync::Arc;

use awaitty_core::{Condition, Spec};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome::{Show, WaitOutput, wait};
use super::params::{SinceParam, pattern, since, timeout};
use super::pending::Asked;
use super::{Answer, Context, Kind, Tool};
use crate::driver::Driver;
use crate::error::ToolError;
use crate::policy;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Regex without look-around; `^` and `$` match at the ends of rows.
    pattern: String,
    /// Any of i, m, s, x, U.
    flags: Option<String>,
    /// "input" (default), "frame", "now", "screen": also what is there already, or a seq.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_word")]
    since: Option<SinceParam>,
    /// Default 10000. 0 checks once.
    timeout_ms: Option<u64>,
    /// Wait until no match is on the screen.
    #[serde(default)]
    gone: bool,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "wait_for_text",
        "Waits until a regex matches text drawn after your last input (not its echo), even if it flashes by. \
         Never sleep and poll.",
        Kind::Reads,
        run,
    )
}

async fn run(context: Context, params: Params) -> Answer<WaitOutput> {
    let pattern = pattern(&params.pattern, params.flags.as_deref())?;
    let condition = if params.gone { Condition::Gone(pattern) } else { Condition::Text(pattern) };
    let spec = Spec { condition, since: since(params.since.as_ref())?, deadline: None };
    let timeout = timeout(params.timeout_ms, policy::TEXT_TIMEOUT)?;
    let entry = context.sessions.find(params.session_id.as_deref()).await?;
    start(&context, &entry, spec, timeout, Show::Screen).await
}

/// Starts a wait and waits for its end; the limit on how many is kept here.
pub(super) async fn start(
    context: &Context,
    entry: &Arc<crate::sessions::Entry>,
    spec: Spec,
    timeout: std::time::Duration,
    show: Show,
) -> Answer<WaitOutput> {
    let (tell, told) = tokio::sync::oneshot::channel();
    let started = entry.handle.start_wait(move |driver| {
        check_room(driver)?;
        let mut asked = Asked::new(&spec, timeout, driver.session().frame().seq());
        asked.diff = matches!(show, Show::Diff(_));
        let _ = tell.send(asked);
        Ok::<_, ToolError>(driver.start_wait(spec, timeout)?)
    });
    let running = started.await.ok_or_else(ToolError::gone)??;
    let asked = told.await.map_err(|_| ToolError::gone())?;
    wait(context, entry, running, &asked, show).await
}

/// Looks whether one more wait may run on a session.
pub(super) fn check_room(driver: &Driver) -> Result<(), ToolError> {
    let limit = policy::limits().waits;
    if driver.session().waits_running() < limit {
        return Ok(());
    }
    Err(ToolError::new(
        "limit_reached",
        format!("{limit} waits run on this session, which is the limit: cancel some"),
    ))
}
