//! What parameters have in common: reading them strictly, and turning them into what they mean.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{CommandId, Condition, Pattern, Seq, Since, Spec, Styles};
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::wait_for_channel::{ChannelName, ChannelWait};
use crate::error::ToolError;
use crate::policy;
use crate::signals::Signals;

/// Reads a tool's parameters; what is wrong is said with the name of the parameter.
pub(crate) fn parse<P: DeserializeOwned>(arguments: Value) -> Result<P, ToolError> {
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        other => whole_numbers(other),
    };
    serde_path_to_error::deserialize(arguments).map_err(|error| {
        let path = error.path().to_string();
        let what = in_words(&error.into_inner().to_string());
        let place = if path == "." { String::new() } else { format!("{path}: ") };
        ToolError::argument(format!("{place}{what}"))
    })
}

/// What the parser says, without the names that types have in Rust.
fn in_words(error: &str) -> String {
    let said = match error.strip_prefix("missing field `").and_then(|rest| rest.split_once('`')) {
        Some((name, _)) => return format!("{name}: it is missing, and must be given"),
        None => error,
    };
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
    kinds.iter().fold(said.to_owned(), |said, (from, to)| said.replace(from, to))
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
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum SinceParam {
    /// The `seq` of an earlier result.
    Seq(u64),
    /// "input", "frame", "now" or "screen".
    Word(String),
}

/// The changes of style that count as a change.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum StylesParam {
    /// All, or none.
    All(bool),
    /// "selection".
    Word(String),
}

/// Returns which changes of style count; without a parameter those of the selection.
pub(crate) fn styles(param: Option<&StylesParam>) -> Result<Styles, ToolError> {
    match param {
        None => Ok(Styles::Selection),
        Some(StylesParam::All(true)) => Ok(Styles::All),
        Some(StylesParam::All(false)) => Ok(Styles::Text),
        Some(StylesParam::Word(word)) if word == "selection" => Ok(Styles::Selection),
        Some(StylesParam::Word(word)) => Err(ToolError::argument(format!(
            "styles: {word:?} is none of \"selection\" (the default), true (every change of style counts) or false \
             (only text counts)"
        ))),
    }
}

/// Compiles the patterns of `ignore`.
pub(crate) fn ignored(patterns: &[String]) -> Result<Vec<Arc<Pattern>>, ToolError> {
    patterns.iter().map(|text| pattern(text, None)).collect()
}

/// What an anchor means; without one it is the last input.
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
                "since: {other:?} is none of \"input\", \"frame\", \"now\", \"screen\" or a seq"
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
    /// Unchanged for so many ms.
    pub(super) settled: Option<u64>,
    /// This regex matches new text.
    pub(super) text: Option<String>,
    /// Of `text`.
    pub(super) flags: Option<String>,
    /// Changed, then unchanged for so many ms.
    pub(super) change: Option<u64>,
    /// The program exited.
    pub(super) exit: Option<bool>,
    /// That channel was signalled.
    pub(super) channel: Option<String>,
    /// It is at a prompt or waits for input.
    pub(super) ready: Option<bool>,
    /// A shell's command ended: a command_id, or true for the one just typed.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_true")]
    pub(super) command: Option<CommandParam>,
    /// Default 10000.
    pub(super) timeout_ms: Option<u64>,
}

/// A command: by its number, or the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub(crate) enum CommandParam {
    Id(u64),
    Last(bool),
}

/// What is waited for.
#[derive(Clone, Debug)]
pub(crate) enum Wanted {
    /// Something on the screen, or the exit.
    Screen(Spec, Duration),
    /// A signal.
    Channel(ChannelWait),
}

impl WaitParam {
    /// What it means, looking at what comes after this call.
    pub(crate) fn wanted(&self, signals: &Signals) -> Result<Wanted, ToolError> {
        let is_long = self.exit.is_some() || self.channel.is_some() || self.command.is_some();
        let default = if is_long { policy::EXIT_TIMEOUT } else { policy::ACT_TIMEOUT };
        let timeout = timeout(self.timeout_ms, default)?;
        let ms =
            |name: &str, ms: u64| duration(name, Some(ms), Duration::ZERO, policy::TIMEOUT_MAX);
        let on_screen = |condition: Condition| {
            Wanted::Screen(Spec { condition, since: Since::Input, deadline: None }, timeout)
        };
        let conditions: [Option<Result<Wanted, ToolError>>; 7] = [
            self.settled.map(|quiet| Ok(on_screen(Condition::Settled(ms("wait.settled", quiet)?)))),
            self.text
                .as_deref()
                .map(|text| Ok(on_screen(Condition::Text(pattern(text, self.flags.as_deref())?)))),
            self.change.map(|stable| {
                let stable = ms("wait.change", stable)?;
                let styles = Styles::Selection;
                Ok(on_screen(Condition::Change { stable, styles, ignore: Vec::new() }))
            }),
            self.exit.filter(|&exit| exit).map(|_| Ok(on_screen(Condition::Exit))),
            self.ready.filter(|&ready| ready).map(|_| Ok(on_screen(Condition::Ready))),
            self.command.filter(|command| *command != CommandParam::Last(false)).map(|command| {
                Ok(on_screen(match command {
                    CommandParam::Id(id) => Condition::Command(CommandId(id)),
                    CommandParam::Last(_) => Condition::LastCommand { after: None },
                }))
            }),
            self.channel.as_deref().map(|name| {
                let channel = ChannelName::new(name, false)?;
                let since = signals.count(&channel.name);
                Ok(Wanted::Channel(ChannelWait { channel, since, timeout }))
            }),
        ];
        let mut given = conditions.into_iter().flatten();
        let (Some(wanted), None) = (given.next(), given.next()) else {
            return Err(ToolError::argument(
                "wait: give exactly one of settled, text, change, exit, ready, command or channel; for more, call wait_for_any",
            ));
        };
        wanted
    }
}
