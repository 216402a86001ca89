//! What parameters have in common: reading them strictly, and turning them into what they mean.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Pattern, Seq, Since, Spec};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::ToolError;
use crate::policy;

/// Reads a tool's parameters; what is wrong is said with the name of the parameter.
pub(crate) fn parse<P: DeserializeOwned>(arguments: Value) -> Result<P, ToolError> {
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        other => whole_numbers(other),
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let what = error.into_inner().to_string();
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        ToolError::argument(format!("{place}{what}"))
    })
}

/// Some clients send `50.0` where they mean 50.
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

/// The anchor: a wait looks only at what came after it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum SinceParam {
    /// The moment the screen stopped being that frame: the `seq` of an earlier result.
    Seq(u64),
    /// "input": just before the last input; "now": this call; "screen": whatever is visible counts.
    Word(String),
}

/// What an anchor means; without one it is the last input.
pub(crate) fn since(param: Option<&SinceParam>) -> Result<Since, ToolError> {
    match param {
        None => Ok(Since::Input),
        Some(SinceParam::Seq(seq)) => Ok(Since::Frame(Seq(*seq))),
        Some(SinceParam::Word(word)) => match word.as_str() {
            "input" => Ok(Since::Input),
            "now" => Ok(Since::Now),
            "screen" => Ok(Since::Screen),
            other => Err(ToolError::argument(format!(
                "since: {other:?} is none of \"input\", \"now\", \"screen\" or a seq"
            ))),
        },
    }
}

/// A timeout within its bounds.
pub(crate) fn timeout(ms: Option<u64>, default: Duration) -> Result<Duration, ToolError> {
    duration("timeout_ms", ms, default, policy::TIMEOUT_MAX)
}

/// A time within its bounds.
pub(crate) fn duration(
    name: &str,
    ms: Option<u64>,
    default: Duration,
    max: Duration,
) -> Result<Duration, ToolError> {
    let duration = ms.map_or(default, Duration::from_millis);
    if duration > max {
        return Err(ToolError::argument(format!(
            "{name}: {} is more than {} ms: give the time in milliseconds, and call again if it is not enough",
            duration.as_millis(),
            max.as_millis()
        )));
    }
    Ok(duration)
}

/// A number within its bounds.
pub(crate) fn within(name: &str, value: usize, from: usize, to: usize) -> Result<usize, ToolError> {
    if (from..=to).contains(&value) {
        return Ok(value);
    }
    Err(ToolError::argument(format!("{name}: {value} is not between {from} and {to}")))
}

/// The bound of a result. A small one still leaves room for the note that says what is missing.
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

/// What to wait for after acting: exactly one of the conditions.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitParam {
    /// Until the screen has been unchanged for so many ms, whether or not it changed.
    settled: Option<u64>,
    /// Until this regex matches text drawn after the input.
    text: Option<String>,
    /// Flags of `text`.
    flags: Option<String>,
    /// Until the screen changed and then was unchanged for so many ms.
    change: Option<u64>,
    /// Until the program exits.
    exit: Option<bool>,
    /// Not there yet.
    channel: Option<String>,
    /// Give up after so many ms.
    timeout_ms: Option<u64>,
}

impl WaitParam {
    /// What it means, with its timeout.
    pub(crate) fn spec(&self) -> Result<(Spec, Duration), ToolError> {
        if self.channel.is_some() {
            let message = "wait.channel: channels are not there yet: wait for text";
            return Err(ToolError::new("unsupported", message));
        }
        let ms =
            |name: &str, ms: u64| duration(name, Some(ms), Duration::ZERO, policy::TIMEOUT_MAX);
        let conditions: [Option<Result<Condition, ToolError>>; 4] = [
            self.settled.map(|quiet| Ok(Condition::Settled(ms("wait.settled", quiet)?))),
            self.text
                .as_deref()
                .map(|text| Ok(Condition::Text(pattern(text, self.flags.as_deref())?))),
            self.change.map(|stable| {
                let stable = ms("wait.change", stable)?;
                Ok(Condition::Change { stable, styles: false, ignore: Vec::new() })
            }),
            self.exit.filter(|&exit| exit).map(|_| Ok(Condition::Exit)),
        ];
        let mut given = conditions.into_iter().flatten();
        let (Some(condition), None) = (given.next(), given.next()) else {
            return Err(ToolError::argument(
                "wait: give exactly one of settled, text, change or exit; for more, call a wait afterwards",
            ));
        };
        let default = if self.exit.is_some() { policy::EXIT_TIMEOUT } else { policy::ACT_TIMEOUT };
        let timeout = timeout(self.timeout_ms, default)?;
        Ok((Spec { condition: condition?, since: Since::Input, deadline: None }, timeout))
    }
}
