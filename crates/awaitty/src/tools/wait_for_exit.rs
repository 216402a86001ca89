//! `wait_for_exit`.

use awaitty_core::{Condition, Since};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome::WaitOutput;
use super::params::timeout;
use super::screen_output::ScreenMode;
use super::spec::{self, Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_call::start;
use super::wait_params::WaitRequest;
use super::{Context, Tool, ToolResult};
use crate::policy;
use crate::text;

/// The number of output lines in the result.
const LAST_LINES: usize = 20;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// Default 30000.
    timeout_ms: Option<u64>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    is_core: true,
    callers: Callers::ReadersAndPrograms,
    command: CommandSpec {
        alias: None,
        positions: &["session_id"],
        switches: &[],
        after_help: None,
    },
    describe_waits: |arguments| spec::describe(arguments, Some("the program to exit".to_owned())),
    ..ToolSpec::new(
        "wait_for_exit",
        "Waits until the program exits. Returns exit_code or signal, and the last lines of output.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<WaitOutput> {
    let timeout = timeout(params.timeout_ms, policy::EXIT_TIMEOUT)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let (mut output, text) = start(
        &context,
        &entry,
        &WaitRequest::one(Condition::Exit, Since::Now, timeout),
        ScreenMode::Full,
    )
    .await?;
    let lines = entry.handle.call(|driver| driver.session().last_lines(LAST_LINES)).await;
    output.last_lines = lines.map(|lines| lines.iter().map(|line| text::line(line)).collect());
    Ok((output, text))
}
