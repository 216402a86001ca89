//! `export_session`.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{CommandSpec, Effect, ToolSpec, Waits};
use super::{Context, Tool, ToolResult};
use crate::export::{self, Target};
use crate::policy;
use awaitty_terminal::ToolError;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// "tape" (default), "rust" or "pytest"; default by `path`.
    #[serde(rename = "as")]
    target: Option<String>,
    /// A new file; default: the test is in the result.
    path: Option<String>,
    /// The test is in the result, whatever its length: the command line writes the file itself.
    #[serde(default)]
    #[schemars(skip)]
    whole: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    #[serde(rename = "as")]
    target: &'static str,
    /// The number of inputs and waits.
    steps: usize,
    /// The path of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The test, without `path`.
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<String>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    command: CommandSpec {
        alias: Some("export"),
        positions: &["session_id"],
        switches: &[("force", "Overwrite an existing file")],
        after_help: Some("Without --path, the test goes to standard output."),
    },
    ..ToolSpec::new(
        "export_session",
        "Writes a session as a test. It has the inputs, the waits that were met, and what appeared after other inputs.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let target = Target::choose(params.target.as_deref(), params.path.as_deref().map(Path::new))
        .map_err(ToolError::argument)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let script = export::script(&context.sessions, &entry).await?;
    let test = target.write(&script).map_err(|why| ToolError::new("unsupported", why))?;
    let steps = script.steps.len();
    let mut text = format!("[{}] {steps} steps as {}", entry.label(), target.name());
    let (path, test) = match params.path {
        Some(path) => {
            let sessions = context.sessions;
            let write = move || sessions.directories().write(&path, test.as_bytes());
            let written = tokio::task::spawn_blocking(write).await;
            let path = written.map_err(|error| ToolError::new("internal", error.to_string()))??;
            text += &format!(": saved in {}", path.display());
            (Some(path.display().to_string()), None)
        }
        None => {
            let (count, limit) = (test.chars().count(), policy::limits().result_chars);
            if count > limit && !params.whole {
                let why = format!(
                    "path: the test has {count} characters, more than the {limit} of a result: give path"
                );
                return Err(ToolError::new("limit_reached", why));
            }
            text += &format!("\n{test}");
            (None, Some(test))
        }
    };
    let output = Output { session_id: entry.id.clone(), target: target.name(), steps, path, test };
    Ok((output, text))
}
