//! How to go on with a wait that did not end before the client would lose its patience.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// How to go on with what did not end.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Retry {
    /// It did not end: call again with `retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<bool>,
    /// The arguments to call again with.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Value>,
    /// The tool to call with them.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_tool: Option<&'static str>,
}

impl Retry {
    /// By calling a tool with these arguments.
    pub(crate) fn with(tool: &'static str, arguments: Value) -> Retry {
        Retry { pending: Some(true), retry: Some(arguments), retry_tool: Some(tool) }
    }

    /// For a reader.
    pub(crate) fn words(&self) -> Option<String> {
        let (tool, arguments) = (self.retry_tool?, self.retry.as_ref()?);
        Some(format!("call {tool} with {arguments}"))
    }
}
