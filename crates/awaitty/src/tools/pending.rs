//! The call that continues a wait after the time limit of the client's call.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// The call that continues a wait.
#[derive(Clone, Debug, Default, Serialize, JsonSchema)]
pub(crate) struct Retry {
    /// The wait has not ended: call `retry_tool` with `retry`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending: Option<bool>,
    /// The arguments of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<Value>,
    /// The tool of the next call.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_tool: Option<&'static str>,
}

impl Retry {
    /// Returns the call of a tool with these arguments.
    pub(crate) fn with(tool: &'static str, arguments: Value) -> Retry {
        Retry { pending: Some(true), retry: Some(arguments), retry_tool: Some(tool) }
    }

    /// Returns the call as text.
    pub(crate) fn words(&self) -> Option<String> {
        let (tool, arguments) = (self.retry_tool?, self.retry.as_ref()?);
        Some(format!("call {tool} with {arguments}"))
    }
}
