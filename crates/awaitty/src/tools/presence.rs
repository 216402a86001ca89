//! `attend`: `awaitty attach` calls it to report a person's presence and to receive questions for them. It is not
//! listed, because agents must not call it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::spec::{Effect, ToolSpec, Waits};
use super::{Context, Tool, ToolResult};
use crate::policy;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    session_id: Option<String>,
    /// The question that the client shows already.
    known: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    /// The question for the person: a secret and the program that reads it.
    asked: Option<String>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Never,
    ..ToolSpec::new("attend", "Reports that a person is attached.", Effect::Acts)
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

async fn run(context: Context, params: Params) -> ToolResult<Output> {
    let entry = context.find(params.session_id.as_deref()).await?;
    let person = entry.people.attend();
    let asked = person.asked(params.known.as_deref());
    // The timeout removes a client that vanished without closing the connection.
    let asked =
        tokio::time::timeout(policy::ATTEND_MAX, asked).await.unwrap_or(params.known.clone());
    Ok((Output { session_id: entry.id.clone(), asked }, String::new()))
}
