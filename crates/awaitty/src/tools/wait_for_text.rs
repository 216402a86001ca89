//! `wait_for_text`.

use awaitty_core::Condition;
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome::WaitOutput;
use super::params::{SinceParam, pattern, since, timeout};
use super::screen_output::ScreenMode;
use super::spec::{self, Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_call::start;
use super::wait_params::WaitRequest;
use super::{Context, Tool, ToolResult};
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
    /// "input" (default), "frame", "now", "screen" (also text that is there already), or a seq.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_word")]
    since: Option<SinceParam>,
    /// Default 10000. 0 checks once.
    timeout_ms: Option<u64>,
    /// Wait until no match is on the screen.
    #[serde(default)]
    gone: bool,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    is_core: true,
    callers: Callers::ReadersAndPrograms,
    described: &["flags", "timeout_ms"],
    command: CommandSpec {
        alias: None,
        positions: &["session_id", "pattern"],
        switches: &[],
        after_help: None,
    },
    describe_waits: |arguments| {
        let gone = if arguments["gone"] == true { " to be gone" } else { "" };
        spec::describe(arguments, spec::quoted(&arguments["pattern"]).map(|text| text + gone))
    },
    ..ToolSpec::new(
        "wait_for_text",
        "Waits until a regex matches text drawn after your last input (its echo does not count), however briefly.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<WaitOutput> {
    let pattern = pattern(&params.pattern, params.flags.as_deref())?;
    let condition = if params.gone { Condition::Gone(pattern) } else { Condition::Text(pattern) };
    let timeout = timeout(params.timeout_ms, policy::TEXT_TIMEOUT)?;
    let request = WaitRequest::one(condition, since(params.since.as_ref())?, timeout);
    let entry = context.find(params.session_id.as_deref()).await?;
    start(&context, &entry, &request, ScreenMode::Full).await
}
