//! A wait that did not end before the client would lose its patience: how to go on with it.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Seq, Since, Spec, Styles};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::Answer;
use super::outcome::{HOW_TO_READ, WaitOutput, header, state_of};
use crate::error::ToolError;
use crate::policy;
use crate::sessions::Entry;
use crate::text;

/// The wait goes on at the caller's next call; since waits look back to their anchor nothing is lost.
pub(crate) async fn pending(
    entry: &Arc<Entry>,
    limit: Duration,
    asked: &Asked,
) -> Answer<WaitOutput> {
    let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
    let frame = frame.ok_or_else(ToolError::gone)?;
    let (tool, retry) = asked.again(&entry.id, limit);
    let again = Retry::with(tool, retry);
    let how = again.words().unwrap_or_default();
    let mut output = WaitOutput::at(&frame);
    output.outcome = Some("pending");
    output.again = again;
    output.elapsed_ms = Some(limit.as_millis() as u64);
    output.state = state_of(entry).await;
    output.screen_text =
        Some(text::cut(text::visible(&frame.text()), policy::limits().result_chars, HOW_TO_READ));
    let screen = text::cut(
        text::numbered(&text::frame_rows(&frame)),
        policy::limits().result_chars,
        HOW_TO_READ,
    );
    Ok((output, format!("{}\n{how}\n{screen}", header(entry, &frame, "pending"))))
}

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

/// What was asked for, to be asked again.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    condition: Condition,
    since: Value,
    timeout: Duration,
    /// What changed was asked for, and not the screen.
    pub(crate) diff: bool,
}

impl Asked {
    /// `seq` is the frame at the start, which stands for *now* later on.
    pub(crate) fn new(spec: &Spec, timeout: Duration, seq: Seq) -> Asked {
        let since = match spec.since {
            Since::Input => json!("input"),
            Since::InputFrame => json!("frame"),
            Since::Screen => json!("screen"),
            Since::Now => json!(seq.0),
            Since::Frame(seq) => json!(seq.0),
        };
        Asked { condition: spec.condition.clone(), since, timeout, diff: false }
    }

    /// The tool and the arguments that go on with the wait, having waited for so long.
    fn again(&self, session_id: &str, waited: Duration) -> (&'static str, Value) {
        let left = self.timeout.saturating_sub(waited).as_millis() as u64;
        let mut again = json!({"session_id": session_id, "since": self.since, "timeout_ms": left});
        let tool = match &self.condition {
            Condition::Text(pattern) | Condition::Gone(pattern) => {
                again["pattern"] = json!(pattern.text());
                again["flags"] = json!(pattern.flags());
                again["gone"] = json!(matches!(self.condition, Condition::Gone(_)));
                "wait_for_text"
            }
            Condition::Change { stable, styles, ignore } => {
                again["stable_ms"] = json!(stable.as_millis() as u64);
                again["styles"] = styles_value(*styles);
                again["ignore"] = ignore.iter().map(|pattern| pattern.text()).collect();
                again["diff"] = json!(self.diff);
                "wait_for_screen_change"
            }
            // There is no tool for these alone; one of several waits they can be.
            Condition::Settled(quiet) => {
                let settled =
                    json!({"session_id": session_id, "settled": quiet.as_millis() as u64});
                again = json!({"waits": [settled], "timeout_ms": left});
                "wait_for_any"
            }
            Condition::Ready | Condition::Rest => {
                again = json!({"waits": [{"session_id": session_id, "ready": true}], "timeout_ms": left});
                "wait_for_any"
            }
            Condition::LastCommand { .. } | Condition::Asks(None) => {
                again = json!({"session_id": session_id, "timeout_ms": left});
                "wait_for_command"
            }
            Condition::Command(id)
            | Condition::Taken(id)
            | Condition::Unclosed(id)
            | Condition::Asks(Some(id))
            | Condition::FullScreen(id) => {
                again = json!({"session_id": session_id, "command_id": id.0, "timeout_ms": left});
                "wait_for_command"
            }
            Condition::Exit => {
                again = json!({"session_id": session_id, "timeout_ms": left});
                "wait_for_exit"
            }
        };
        (tool, again)
    }
}

fn styles_value(styles: Styles) -> Value {
    match styles {
        Styles::All => json!(true),
        Styles::Text => json!(false),
        Styles::Selection => json!("selection"),
    }
}
