//! `attend`: what `awaitty attach` calls to say that a person is there, and to hear what they are asked for. It is
//! not listed, because no agent is a person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Answer, Context, Kind, Tool};
use crate::policy;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    session_id: Option<String>,
    /// The question that they know of.
    known: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    /// What they are asked to type, and into which program.
    asked: Option<String>,
}

pub(super) fn tool() -> Tool {
    super::tool("attend", "A person is there.", Kind::Acts, run)
}

async fn run(context: Context, params: Params) -> Answer<Output> {
    let entry = context.find(params.session_id.as_deref()).await?;
    let person = entry.people.attend();
    let asked = person.asked(params.known.as_deref());
    // A client that is gone without a word is not there for ever.
    let asked =
        tokio::time::timeout(policy::ATTEND_MAX, asked).await.unwrap_or(params.known.clone());
    Ok((Output { session_id: entry.id.clone(), asked }, String::new()))
}
