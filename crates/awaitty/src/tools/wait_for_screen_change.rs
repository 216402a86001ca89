//! `wait_for_screen_change`.

use awaitty_core::{Condition, Since};
use schemars::JsonSchema;
use serde::Deserialize;

use super::outcome::WaitOutput;
use super::params::{SinceParam, StylesParam, duration, ignored, since, styles, timeout};
use super::screen_output::ScreenMode;
use super::spec::{self, Callers, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_call::start;
use super::wait_params::WaitRequest;
use super::{Context, Tool, ToolResult};
use crate::policy;
use awaitty_terminal::ToolError;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// "input" (default), "frame", "now", "screen" or a seq.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_word")]
    since: Option<SinceParam>,
    /// Unchanged for this long. Default 300; 0: the first change.
    stable_ms: Option<u64>,
    /// Default 5000.
    timeout_ms: Option<u64>,
    /// "selection" (default), true: all styles count, false: none.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::true_or_selection")]
    styles: Option<StylesParam>,
    /// Regexes; rows that match are ignored: clocks, spinners.
    #[serde(default)]
    ignore: Vec<String>,
    /// Return the changed rows, not the screen.
    #[serde(default)]
    diff: bool,
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
    describe_waits: |arguments| spec::describe(arguments, Some("the screen to change".to_owned())),
    ..ToolSpec::new(
        "wait_for_screen_change",
        "Waits until the text or the selection has changed since your last input, and then settled. Names rows that keep changing.",
        Effect::Reads,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<WaitOutput> {
    let stable = duration("stable_ms", params.stable_ms, policy::STABLE, policy::TIMEOUT_MAX)?;
    let timeout = timeout(params.timeout_ms, policy::CHANGE_TIMEOUT)?;
    let ignore = ignored(&params.ignore)?;
    let styles = styles(params.styles.as_ref())?;
    let since = since(params.since.as_ref())?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let show = match (params.diff, since) {
        (false, _) => ScreenMode::Full,
        (true, Since::Frame(seq)) => ScreenMode::Diff(seq),
        (true, _) => {
            let seq = entry.handle.call(move |driver| driver.session().anchor_seq(since)).await;
            ScreenMode::Diff(seq.ok_or_else(ToolError::gone)?)
        }
    };
    let condition = Condition::Change { stable, styles, ignore };
    start(&context, &entry, &WaitRequest::one(condition, since, timeout), show).await
}
