//! What is listed, asked for and answered, all of which is in `fixtures.json`.

use rmcp::ErrorData;
use rmcp::model::{JsonObject, Prompt, Resource, ResourceTemplate, ServerCapabilities, Tool};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Everything in `fixtures.json`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixtures {
    pub(crate) capabilities: ServerCapabilities,
    pub(crate) tools: Vec<Fixture<Tool>>,
    pub(crate) prompts: Vec<Fixture<Prompt>>,
    pub(crate) resources: Vec<Fixture<Resource>>,
    pub(crate) templates: Vec<Fixture<ResourceTemplate>>,
}

/// Something that is listed, and what comes of using it.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Fixture<T> {
    pub(crate) listed: T,
    /// What the client is asked for first, round by round; each request has a name.
    #[serde(default)]
    pub(crate) asks: Vec<JsonObject>,
    /// Clients of the newest protocol are to hand back in which round they are.
    #[serde(default)]
    pub(crate) has_state: bool,
    /// The answer is a failure.
    #[serde(default)]
    pub(crate) fails: bool,
    /// What the result holds, with `{name}` where an argument or an answer of the client goes.
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

    /// What is at an address, and what is to be filled in.
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

/// A part of the fixtures with the values in it, as what it is in the protocol.
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
