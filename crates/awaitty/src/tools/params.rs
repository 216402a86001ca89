//! Parsing of parameters that several tools share.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Pattern, Seq, Since, Styles};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::policy;
use awaitty_terminal::ToolError;

/// Parses a tool's parameters. An error names the parameter.
pub(crate) fn parse<P: DeserializeOwned>(arguments: Value) -> Result<P, ToolError> {
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        other => whole_numbers(other),
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let what = translate_error(&error.into_inner().to_string());
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        ToolError::argument(format!("{place}{what}"))
    })
}

/// Replaces the names of Rust types in an error of the parser.
fn translate_error(error: &str) -> String {
    let missing = error.strip_prefix("missing field `").and_then(|rest| rest.split_once('`'));
    if let Some((name, _)) = missing {
        return ToolError::missing(name).message;
    }
    let kinds = [
        ("expected u64", "expected a whole number from 0"),
        ("expected usize", "expected a whole number from 0"),
        ("expected u32", "expected a whole number from 0"),
        ("expected i64", "expected a whole number"),
        ("expected i32", "expected a whole number"),
        ("unknown field", "unknown parameter"),
        (
            "expected struct One",
            "expected an object such as {\"session_id\": \"s1\", \"text\": \"done\"}",
        ),
    ];
    kinds.iter().fold(error.to_owned(), |error, (from, to)| error.replace(from, to))
}

/// Converts numbers like `50.0` to integers, because some clients send them for 50.
fn whole_numbers(value: Value) -> Value {
    match value {
        Value::Number(number) => match number.as_f64() {
            Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => {
                Value::from(float as i64)
            }
            _ => Value::Number(number),
        },
        Value::Array(all) => all.into_iter().map(whole_numbers).collect(),
        Value::Object(all) => Value::Object(
            all.into_iter().map(|(name, value)| (name, whole_numbers(value))).collect(),
        ),
        other => other,
    }
}

/// The anchor of a wait: only later output counts.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum SinceParam {
    /// The `seq` of an earlier result.
    Seq(u64),
    /// "input", "frame", "now" or "screen".
    Word(String),
}

/// The style changes that count as a change.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum StylesParam {
    /// All, or none.
    All(bool),
    /// "selection".
    Word(String),
}

/// Returns the style changes that count; without a parameter, those of the selection.
pub(crate) fn styles(param: Option<&StylesParam>) -> Result<Styles, ToolError> {
    match param {
        None => Ok(Styles::Selection),
        Some(StylesParam::All(true)) => Ok(Styles::All),
        Some(StylesParam::All(false)) => Ok(Styles::Text),
        Some(StylesParam::Word(word)) if word == "selection" => Ok(Styles::Selection),
        Some(StylesParam::Word(word)) => Err(ToolError::argument(format!(
            "styles: {word:?} is invalid: use \"selection\" (the default), true (every style change counts) or false \
             (only text counts)"
        ))),
    }
}

/// Compiles the patterns of `ignore`.
pub(crate) fn ignored(patterns: &[String]) -> Result<Vec<Arc<Pattern>>, ToolError> {
    patterns.iter().map(|text| pattern(text, None)).collect()
}

/// Returns the anchor; without a parameter, the last input.
pub(crate) fn since(param: Option<&SinceParam>) -> Result<Since, ToolError> {
    match param {
        None => Ok(Since::Input),
        Some(SinceParam::Seq(seq)) => Ok(Since::Frame(Seq(*seq))),
        Some(SinceParam::Word(word)) => match word.as_str() {
            "input" => Ok(Since::Input),
            "frame" => Ok(Since::InputFrame),
            "now" => Ok(Since::Now),
            "screen" => Ok(Since::Screen),
            other => Err(ToolError::argument(format!(
                "since: {other:?} is invalid: use \"input\", \"frame\", \"now\", \"screen\" or a seq"
            ))),
        },
    }
}

/// Checks a timeout and applies its default.
pub(crate) fn timeout(ms: Option<u64>, default: Duration) -> Result<Duration, ToolError> {
    duration("timeout_ms", ms, default, policy::TIMEOUT_MAX)
}

/// Checks a duration and applies its default.
pub(crate) fn duration(
    name: &str,
    ms: Option<u64>,
    default: Duration,
    max: Duration,
) -> Result<Duration, ToolError> {
    let duration = ms.map_or(default, Duration::from_millis);
    if duration > max {
        return Err(ToolError::argument(format!(
            "{name}: {} ms is more than the maximum of {} ms: give a shorter time, and call again to wait longer",
            duration.as_millis(),
            max.as_millis()
        )));
    }
    Ok(duration)
}

/// Checks that a number is within its bounds.
pub(crate) fn within(name: &str, value: usize, from: usize, to: usize) -> Result<usize, ToolError> {
    if (from..=to).contains(&value) {
        return Ok(value);
    }
    Err(ToolError::argument(format!("{name}: {value} is not between {from} and {to}")))
}

/// Returns the maximum length of a result. Even the smallest leaves room for the note about omitted text.
pub(crate) fn max_chars(given: Option<usize>) -> Result<usize, ToolError> {
    match given {
        Some(0) => Err(ToolError::argument("max_chars: 0 shows nothing: give at least 1")),
        given => Ok(given.unwrap_or(policy::limits().result_chars).max(policy::RESULT_CHARS_MIN)),
    }
}

pub(crate) fn pattern(pattern: &str, flags: Option<&str>) -> Result<Arc<Pattern>, ToolError> {
    let limits = policy::limits();
    let flags = flags.unwrap_or_default();
    Ok(Arc::new(Pattern::limited(pattern, flags, limits.pattern, limits.pattern_compiled)?))
}
