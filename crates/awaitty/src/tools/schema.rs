//! Shortened JSON schemas: every byte of the tool list costs tokens in each conversation.
//!
//! The schemas generated from the types contain more than a model needs: the format of integers, `null` for optional
//! parameters, a separate definition for each type.

use std::sync::Arc;

use rmcp::model::JsonObject;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::send_input;
use super::spec::ToolSpec;

/// The result fields that schemas list: the ones a model decides by. Results may have others.
const LISTED_FIELDS: [&str; 9] = [
    "exit_code",
    "lines",
    "matches",
    "outcome",
    "output",
    "results",
    "seq",
    "session_id",
    "sessions",
];

/// The parameters that need no description.
const SELF_EXPLANATORY: [&str; 21] = [
    "args",
    "channel",
    "clear_env",
    "cols",
    "command_id",
    "context",
    "cwd",
    "diff",
    "env",
    "exit",
    "flags",
    "grace_ms",
    "limit",
    "max_chars",
    "message",
    "mode",
    "scale",
    "shell_integration",
    "show_cursor",
    "timeout_ms",
    "ttl_ms",
];

/// Returns the schema of a number or a word.
pub(super) fn number_or_word(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"anyOf": [{"type": "integer"}, {"type": "string"}]})
}

/// Returns the schema of a number or true.
pub(super) fn number_or_true(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"anyOf": [{"type": "integer"}, {"type": "boolean"}]})
}

/// Returns the schema of true, false or "selection".
pub(super) fn true_or_selection(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"anyOf": [{"type": "boolean"}, {"type": "string", "enum": ["selection"]}]})
}

/// Returns the schema of a list of words and objects.
pub(super) fn words_or_objects(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({
        "type": "array",
        "items": {"anyOf": [{"type": "string"}, {"type": "object"}]}
    })
}

/// Returns the schema of a list of objects.
pub(super) fn objects(_: &mut SchemaGenerator) -> Schema {
    schemars::json_schema!({"type": "array", "items": {"type": "object"}})
}

/// Returns the full schema of a tool's parameters. The command line is generated from it.
pub(super) fn input(schema: &JsonObject) -> Arc<JsonObject> {
    Arc::new(object(shorten(&Value::Object(schema.clone()), schema.get("$defs"))))
}

/// Returns the schema of a tool's parameters in the full list. Only `send_input` describes `wait`.
pub(super) fn listed(spec: &ToolSpec, input: &Arc<JsonObject>) -> Arc<JsonObject> {
    let mut short = JsonObject::clone(input);
    let Some(fields) = short.get_mut("properties").and_then(Value::as_object_mut) else {
        return Arc::new(short);
    };
    if let Some(id) = fields.get_mut("session_id").and_then(Value::as_object_mut)
        && id.get("description") == Some(&json!("Id or name"))
    {
        id.remove("description");
    }
    // Rarely needed; the command line has them.
    for rare in ["font", "record_input", "version"] {
        fields.remove(rare);
    }
    if spec.name != send_input::SPEC.name
        && let Some(wait) = fields.get_mut("wait")
    {
        *wait = json!({"type": "object", "description": "As in send_input"});
    }
    Arc::new(short)
}

/// Returns the schema of a tool's parameters for `--tools core`: without rare parameters, and without descriptions of
/// self-explanatory ones.
pub(super) fn brief(spec: &ToolSpec, listed: &Arc<JsonObject>) -> Arc<JsonObject> {
    let mut short = JsonObject::clone(listed);
    let Some(fields) = short.get_mut("properties").and_then(Value::as_object_mut) else {
        return Arc::new(short);
    };
    for rare in ["clear_env", "record", "shell_integration", "trace", "ttl_ms"] {
        fields.remove(rare);
    }
    for (name, field) in fields.iter_mut() {
        let is_described_here = spec.described.contains(&name.as_str());
        if SELF_EXPLANATORY.contains(&name.as_str()) && !is_described_here {
            remove_description(field);
        }
    }
    if let Some(conditions) =
        fields.get_mut("wait").and_then(|wait| wait["properties"].as_object_mut())
    {
        let clear =
            conditions.iter_mut().filter(|(name, _)| SELF_EXPLANATORY.contains(&name.as_str()));
        clear.for_each(|(_, field)| remove_description(field));
    }
    Arc::new(short)
}

fn remove_description(field: &mut Value) {
    if let Some(field) = field.as_object_mut() {
        field.remove("description");
    }
}

/// Returns the schema of a tool's result in the full list: the types of the most important fields.
pub(super) fn output(schema: &JsonObject) -> Arc<JsonObject> {
    let whole = shorten(&Value::Object(schema.clone()), schema.get("$defs"));
    let kind = |field: &Value| match field["type"].as_str() {
        Some(kind) => json!({ "type": kind }),
        None => json!({}),
    };
    let fields = whole["properties"].as_object().into_iter().flatten();
    let fields = fields.filter(|(name, _)| LISTED_FIELDS.contains(&name.as_str()));
    let fields: Map<String, Value> =
        fields.map(|(name, field)| (name.clone(), kind(field))).collect();
    let mut output = JsonObject::clone(&any_output());
    if !fields.is_empty() {
        output.insert("properties".to_owned(), Value::Object(fields));
    }
    Arc::new(output)
}

/// Returns the schema of any result for `--tools core`: an object.
pub fn any_output() -> Arc<JsonObject> {
    Arc::new(object(json!({"type": "object"})))
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Inlines definitions and removes fields that a model does not need.
fn shorten(schema: &Value, defs: Option<&Value>) -> Value {
    let Value::Object(fields) = schema else { return schema.clone() };
    let name = fields.get("$ref").and_then(|path| path.as_str()?.strip_prefix("#/$defs/"));
    let defined = name.and_then(|name| defs?.get(name));
    if let Some(meant) = defined.or_else(|| only_choice(fields)) {
        let mut found = shorten(meant, defs);
        if let (Some(description), Some(found)) = (fields.get("description"), found.as_object_mut())
        {
            found.insert("description".to_owned(), description.clone());
        }
        return found;
    }
    let mut short = Map::new();
    for (name, value) in fields {
        let value = match (name.as_str(), value) {
            ("description", Value::String(text)) => {
                json!(text.strip_suffix('.').unwrap_or(text).replace('\n', " "))
            }
            // The error for an unknown parameter is enough.
            ("additionalProperties", Value::Bool(_)) => continue,
            ("$defs" | "$schema" | "title" | "format" | "default", _) => continue,
            ("minimum", minimum) if minimum == &json!(0) => continue,
            // The name, or the error for a larger value, is enough.
            ("maximum", _) => continue,
            ("type", Value::Array(kinds)) => {
                let kind = kinds.iter().find(|kind| *kind != "null");
                kind.cloned().unwrap_or_else(|| json!("null"))
            }
            ("properties", Value::Object(all)) => {
                all.iter().map(|(name, field)| (name.clone(), shorten(field, defs))).collect()
            }
            ("items" | "additionalProperties", inner) => shorten(inner, defs),
            ("anyOf" | "oneOf", Value::Array(all)) => {
                all.iter().map(|choice| shorten(choice, defs)).collect()
            }
            (_, other) => other.clone(),
        };
        short.insert(name.clone(), value);
    }
    Value::Object(short)
}

/// Returns the other alternative of a choice between a type and null.
fn only_choice(fields: &Map<String, Value>) -> Option<&Value> {
    let all = fields.get("anyOf").or_else(|| fields.get("oneOf"))?.as_array()?;
    let mut real = all.iter().filter(|choice| choice["type"] != "null");
    let only = real.next()?;
    real.next().is_none().then_some(only)
}
