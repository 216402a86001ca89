//! The tools, prompts and resources of the conformance suite with their results, from `fixtures.json`.

use rmcp::ErrorData;
use rmcp::model::{JsonObject, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// The contents of `fixtures.json`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixtures {
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) tools: Vec<Fixture<Tool>>,
    pub(crate) prompts: Vec<Fixture<Prompt>>,
    pub(crate) resources: Vec<Fixture<Resource>>,
    pub(crate) templates: Vec<Fixture<ResourceTemplate>>,
}

/// An entry of a list, and the result of using it.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture<T> {
    pub(crate) listed: T,
    /// Requests to the client before the result, in rounds; each request has a name.
    #[serde(default)]
    pub(crate) asks: Vec<JsonObject>,
    /// Whether clients of the newest protocol must return a state that names their round.
    #[serde(default)]
    pub(crate) has_state: bool,
    /// Whether the result is an error.
    #[serde(default)]
    pub(crate) fails: bool,
    /// The content of the result; `{name}` stands for an argument or a response of the client.
    pub(crate) answer: Value,
}

impl Fixtures {
    pub(crate) fn load() -> serde_json::Result<Fixtures> {
        serde_json::from_str(include_str!("fixtures.json"))
    }

    pub(crate) fn tool(&self, name: &str) -> Option<&Fixture<Tool>> {
        self.tools.iter().find(|tool| tool.listed.name == name)
    }

    pub(crate) fn prompt(&self, name: &str) -> Option<&Fixture<Prompt>> {
        self.prompts.iter().find(|prompt| prompt.listed.name == name)
    }

    /// Finds the content at a URI, and the values for its placeholders.
    pub(crate) fn resource(&self, uri: &str) -> Option<(&Value, JsonObject)> {
        let mut values = JsonObject::from_iter([("uri".to_owned(), uri.into())]);
        if let Some(resource) = self.resources.iter().find(|resource| resource.listed.uri == uri) {
            return Some((&resource.answer, values));
        }
        self.templates.iter().find_map(|template| {
            let (before, after) = template.listed.uri_template.split_once("{id}")?;
            let id = uri.strip_prefix(before)?.strip_suffix(after)?;
            values.insert("id".to_owned(), id.into());
            Some((&template.answer, values.clone()))
        })
    }
}

/// Replaces the placeholders of a fixture and converts it to its protocol type.
pub(crate) fn filled<T: DeserializeOwned>(
    part: &Value,
    values: &JsonObject,
) -> Result<T, ErrorData> {
    let wrong = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
    serde_json::from_value(fill(part, values)).map_err(wrong)
}

fn fill(part: &Value, values: &JsonObject) -> Value {
    match part {
        Value::String(text) => values
            .iter()
            .fold(text.clone(), |text, (name, value)| {
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                text.replace(&format!("{{{name}}}"), &value)
            })
            .into(),
        Value::Array(all) => all.iter().map(|one| fill(one, values)).collect(),
        Value::Object(all) => {
            all.iter().map(|(name, one)| (name.clone(), fill(one, values))).collect()
        }
        other => other.clone(),
    }
}
