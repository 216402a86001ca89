//! The `wait` parameter: conditions, the first of which to hold ends the call.

use std::time::Duration;

use awaitty_core::{CommandId, Condition, Pattern, Seq, Since, Spec, Styles};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::params::{SinceParam, StylesParam, duration, ignored, pattern, since, styles, timeout};
use super::wait_for_channel::{ChannelName, ChannelWait};
use crate::export::words;
use crate::policy;
use awaitty_terminal::ToolError;
use awaitty_terminal::channels::Signals;

/// The fields of `wait` that are not conditions.
pub(super) const MODIFIERS: [&str; 6] =
    ["flags", "styles", "ignore", "since", "timeout_ms", "session_id"];

/// Conditions to wait for. The first that holds ends the wait.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct WaitParam {
    /// Regex that matches new text.
    text: Option<String>,
    /// For `text` and `gone`.
    flags: Option<String>,
    /// Regex that no longer matches the screen.
    gone: Option<String>,
    /// Changed, then unchanged for N ms.
    change: Option<u64>,
    /// For `change`.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::true_or_selection")]
    styles: Option<StylesParam>,
    /// For `change`.
    #[serde(default)]
    ignore: Vec<String>,
    /// Unchanged for N ms, and not busy.
    settled: Option<u64>,
    /// At a prompt, or waits for input.
    ready: Option<bool>,
    /// The program exited.
    exit: Option<bool>,
    /// A command ended: true for the one just typed, or a command_id.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_true")]
    command: Option<CommandParam>,
    /// This channel was signalled.
    channel: Option<String>,
    /// As in wait_for_text.
    #[serde(default)]
    #[schemars(schema_with = "super::schema::number_or_word")]
    since: Option<SinceParam>,
    /// Default 10000; 30000 for exit, command and channel.
    timeout_ms: Option<u64>,
}

/// A command: by its id, or the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
enum CommandParam {
    Id(u64),
    Last(bool),
}

/// A checked wait. The first condition that holds ends it.
#[derive(Clone, Debug)]
pub(crate) struct WaitRequest {
    /// The conditions of the terminal.
    pub(super) conditions: Vec<Condition>,
    /// The anchor of the conditions.
    pub(super) since: Since,
    /// The channel whose signal ends the wait.
    pub(super) channel: Option<ChannelWait>,
    /// The timeout of the wait.
    pub(super) timeout: Duration,
}

impl WaitParam {
    /// Checks the parameter. Only signals after this call count.
    pub(crate) fn to_request(&self, signals: &Signals) -> Result<WaitRequest, ToolError> {
        let is_long = self.exit.is_some() || self.channel.is_some() || self.command.is_some();
        let default = if is_long { policy::EXIT_TIMEOUT } else { policy::ACT_TIMEOUT };
        let timeout = timeout(self.timeout_ms, default)?;
        let conditions = self.conditions()?;
        let channel = self.channel.as_deref().map(|name| {
            let channel = ChannelName::new(name, false)?;
            let since = signals.count(&channel.name);
            Ok::<_, ToolError>(ChannelWait { channel, since, timeout })
        });
        let (channel, since) = (channel.transpose()?, since(self.since.as_ref())?);
        if conditions.is_empty() && channel.is_none() {
            return Err(ToolError::argument(
                "wait: it has no condition: give one or more of text, gone, change, settled, ready, exit, command and \
                 channel",
            ));
        }
        Ok(WaitRequest { conditions, since, channel, timeout })
    }

    /// Returns whether the caller gave an anchor.
    pub(super) fn has_since(&self) -> bool {
        self.since.is_some()
    }

    /// Returns the anchor as the number of a signal. Only later signals count.
    pub(super) fn signal_since(&self) -> Result<Option<u64>, ToolError> {
        match &self.since {
            None => Ok(None),
            Some(SinceParam::Seq(number)) => Ok(Some(*number)),
            Some(SinceParam::Word(word)) => Err(ToolError::argument(format!(
                "since: {word:?} is not the number of a signal: leave it out, or give a count"
            ))),
        }
    }

    /// Returns whether the caller gave a timeout.
    pub(super) fn has_timeout(&self) -> bool {
        self.timeout_ms.is_some()
    }

    fn conditions(&self) -> Result<Vec<Condition>, ToolError> {
        let flags = self.flags.as_deref();
        let ms =
            |name: &str, ms: u64| duration(name, Some(ms), Duration::ZERO, policy::TIMEOUT_MAX);
        let mut conditions = Vec::new();
        if let Some(text) = &self.text {
            conditions.push(Condition::Text(pattern(text, flags)?));
        }
        if let Some(text) = &self.gone {
            conditions.push(Condition::Gone(pattern(text, flags)?));
        }
        let (styles, ignore) = (styles(self.styles.as_ref())?, ignored(&self.ignore)?);
        match self.change {
            Some(stable) => {
                let stable = ms("wait.change", stable)?;
                conditions.push(Condition::Change { stable, styles, ignore });
            }
            None if self.styles.is_some() || !self.ignore.is_empty() => {
                return Err(ToolError::argument(
                    "wait: styles and ignore apply only to change: add it, for example {\"change\": 300}",
                ));
            }
            None => {}
        }
        if flags.is_some() && self.text.is_none() && self.gone.is_none() {
            return Err(ToolError::argument(
                "wait: flags apply only to text and gone: give one of them",
            ));
        }
        if let Some(quiet) = self.settled {
            conditions.push(Condition::Settled(ms("wait.settled", quiet)?));
        }
        if self.ready == Some(true) {
            conditions.push(Condition::Ready);
        }
        if self.exit == Some(true) {
            conditions.push(Condition::Exit);
        }
        match self.command {
            Some(CommandParam::Id(id)) => {
                let id = CommandId(id);
                conditions.extend([Condition::Command(id), Condition::Asks(Some(id))]);
            }
            Some(CommandParam::Last(true)) => {
                conditions.extend([Condition::LastCommand { after: None }, Condition::Asks(None)]);
            }
            Some(CommandParam::Last(false)) | None => {}
        }
        Ok(conditions)
    }
}

impl WaitRequest {
    /// Returns a wait for one condition of a terminal.
    pub(super) fn one(condition: Condition, since: Since, timeout: Duration) -> WaitRequest {
        WaitRequest { conditions: vec![condition], since, channel: None, timeout }
    }

    /// Returns the waits to start on a terminal.
    pub(super) fn specs(&self) -> Vec<Spec> {
        let spec = |condition: &Condition| Spec {
            condition: condition.clone(),
            since: self.since,
            deadline: None,
        };
        self.conditions.iter().map(spec).collect()
    }

    /// Returns its name and what it looks for, for the trace of the session; `None` for a wait of a viewer.
    pub(super) fn words(&self) -> Option<(String, String)> {
        let channel = self.channel.as_ref().map(|channel| channel.channel.given());
        words::wait(&self.conditions, channel.as_deref(), self.since, self.timeout)
    }

    /// Returns the number of conditions that the caller gave.
    pub(super) fn len(&self) -> usize {
        let is_given = |condition: &&Condition| name(condition).is_some();
        self.conditions.iter().filter(is_given).count() + usize::from(self.channel.is_some())
    }

    /// Returns the tool and the arguments that continue the wait. `seq` replaces the anchor "now".
    pub(super) fn retry_call(
        &self,
        session_id: &str,
        seq: Seq,
        left: Duration,
    ) -> (&'static str, Value) {
        let left = left.as_millis() as u64;
        let since = match self.since {
            Since::Input => json!("input"),
            Since::InputFrame => json!("frame"),
            Since::Screen => json!("screen"),
            Since::Now => json!(seq.0),
            Since::Frame(seq) => json!(seq.0),
        };
        let alone = if self.len() == 1 { self.conditions.first() } else { None };
        let on = |mut fields: Value| {
            fields["session_id"] = json!(session_id);
            fields["timeout_ms"] = json!(left);
            fields
        };
        match alone {
            Some(Condition::Text(pattern) | Condition::Gone(pattern)) => {
                let gone = matches!(alone, Some(Condition::Gone(_)));
                let (text, flags) = (pattern.text(), pattern.flags());
                let again = json!({"pattern": text, "flags": flags, "gone": gone, "since": since});
                ("wait_for_text", on(again))
            }
            Some(Condition::Change { stable, styles, ignore }) => {
                let ignore: Vec<&str> = ignore.iter().map(|pattern| pattern.text()).collect();
                let (stable, styles) = (stable.as_millis() as u64, styles_value(*styles));
                let again = json!({"stable_ms": stable, "styles": styles, "ignore": ignore, "since": since});
                ("wait_for_screen_change", on(again))
            }
            Some(Condition::Command(id)) => ("wait_for_command", on(json!({"command_id": id.0}))),
            Some(Condition::LastCommand { .. }) => ("wait_for_command", on(json!({}))),
            Some(Condition::Exit) => ("wait_for_exit", on(json!({}))),
            _ => {
                let fields = self.conditions.iter().flat_map(fields);
                let mut wait: Map<String, Value> =
                    fields.map(|(name, value)| (name.to_owned(), value)).collect();
                wait.insert("session_id".into(), json!(session_id));
                let has_anchor = self.channel.is_none() && self.since != Since::Input;
                if has_anchor {
                    wait.insert("since".into(), since);
                }
                if let Some(channel) = &self.channel {
                    wait.insert("channel".into(), json!(channel.channel.given()));
                }
                ("wait_for_any", json!({"waits": [wait], "timeout_ms": left}))
            }
        }
    }
}

/// Returns the parameter name of a condition; `None` for an internal condition.
pub(super) fn name(condition: &Condition) -> Option<&'static str> {
    fields(condition).first().map(|(name, _)| *name)
}

/// Returns the fields of `wait` that express a condition, its name first; none for an internal condition.
fn fields(condition: &Condition) -> Vec<(&'static str, Value)> {
    let ms = |time: &Duration| json!(time.as_millis() as u64);
    let pattern = |name, pattern: &Pattern| {
        let flags = Some(pattern.flags()).filter(|flags| !flags.is_empty());
        let flags = flags.map(|flags| ("flags", json!(flags)));
        [(name, json!(pattern.text()))].into_iter().chain(flags).collect()
    };
    match condition {
        Condition::Text(text) => pattern("text", text),
        Condition::Gone(text) => pattern("gone", text),
        Condition::Change { stable, styles, ignore } => {
            let ignore: Vec<&str> = ignore.iter().map(|pattern| pattern.text()).collect();
            vec![
                ("change", ms(stable)),
                ("styles", styles_value(*styles)),
                ("ignore", json!(ignore)),
            ]
        }
        Condition::Settled(quiet) => vec![("settled", ms(quiet))],
        Condition::Ready => vec![("ready", json!(true))],
        Condition::Exit => vec![("exit", json!(true))],
        Condition::Command(id) => vec![("command", json!(id.0))],
        Condition::LastCommand { .. } => vec![("command", json!(true))],
        Condition::Taken(_)
        | Condition::Unclosed(_)
        | Condition::Asks(_)
        | Condition::FullScreen(_)
        | Condition::Rest => Vec::new(),
    }
}

fn styles_value(styles: Styles) -> Value {
    match styles {
        Styles::All => json!(true),
        Styles::Text => json!(false),
        Styles::Selection => json!("selection"),
    }
}
