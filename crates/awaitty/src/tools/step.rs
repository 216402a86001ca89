//! One step of `run_steps`. All steps are checked before anything is sent.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;

use super::Context;
use super::params::parse;
use super::send_input::{self, KeyParam};
use super::wait_params::WaitParam;
use crate::sessions::Entry;
use crate::text;
use awaitty_terminal::ToolError;
use awaitty_terminal::rules::Rules as _;
use awaitty_terminal::shell;

/// The maximum length of a step's input in its description, in characters.
const INPUT_CHARS: usize = 40;

/// The parameters of a step.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct StepParam {
    session_id: Option<String>,
    input: Option<String>,
    #[serde(default)]
    keys: Vec<KeyParam>,
    #[serde(default)]
    paste: bool,
    #[serde(default)]
    submit: bool,
    secret: Option<String>,
    run: Option<String>,
    wait: Option<WaitParam>,
}

/// The action of a step.
pub(super) enum StepAction {
    Input(Box<send_input::Params>),
    Run(String),
    WaitOnly,
}

/// A checked step.
pub(super) struct Step {
    pub(super) entry: Arc<Entry>,
    pub(super) action: StepAction,
    pub(super) wait: Option<WaitParam>,
    /// The unparsed parameters.
    pub(super) given: Value,
}

impl Step {
    /// Parses and checks a step.
    pub(super) async fn new(
        context: &Context,
        session_id: Option<&str>,
        given: &Value,
    ) -> Result<Step, ToolError> {
        let step: StepParam = parse(given.clone())?;
        let session_id = step.session_id.as_deref().or(session_id);
        let entry = context.find(session_id).await?;
        let has_input = step.input.is_some() || !step.keys.is_empty() || step.secret.is_some();
        if !matches!((&step.run, has_input), (None, false)) {
            context.sessions.policy().check_typing(&entry.names())?;
        }
        if let Some(wait) = &step.wait {
            wait.to_request(&context.sessions.signals)?;
        }
        let action = match step.run {
            Some(_) if has_input || step.submit || step.paste => {
                return Err(ToolError::argument(
                    "run: it cannot be combined with input, keys, paste, submit or secret: move them to another step",
                ));
            }
            Some(command) => {
                context.sessions.policy().check_tool("run_command")?;
                shell::check_command(&command)?;
                StepAction::Run(command)
            }
            None if has_input || step.submit || step.paste => {
                context.sessions.policy().check_tool("send_input")?;
                let params = send_input::Params {
                    input: step.input,
                    keys: step.keys,
                    paste: step.paste,
                    submit: step.submit,
                    secret: step.secret,
                    ..send_input::Params::default()
                };
                send_input::check(context, &params)?;
                StepAction::Input(Box::new(params))
            }
            None if step.wait.is_some() => StepAction::WaitOnly,
            None => {
                return Err(ToolError::argument(
                    "it is empty: give input, keys, secret, run or wait",
                ));
            }
        };
        Ok(Step { entry, action, wait: step.wait, given: given.clone() })
    }

    /// Describes the step in a few words.
    pub(super) fn describe(&self) -> String {
        let quoted = |text: &str| {
            let shown = text::visible(text).replace('\n', "\\n");
            let short: String = shown.chars().take(INPUT_CHARS).collect();
            let more = if short.len() < shown.len() { "…" } else { "" };
            format!("\"{short}{more}\"")
        };
        let words = match &self.action {
            StepAction::Run(command) => format!("run {}", quoted(command)),
            StepAction::WaitOnly => "wait".to_owned(),
            StepAction::Input(params) => {
                let secret = params.secret.as_ref().map(|name| format!("secret {name}"));
                let input = params.input.as_deref().map(quoted);
                let key = |key: &Value| key.as_str().map_or_else(|| key.to_string(), str::to_owned);
                let keys = self.given["keys"].as_array().into_iter().flatten().map(key);
                let all = secret.into_iter().chain(input).chain(keys);
                all.collect::<Vec<_>>().join(" ")
            }
        };
        words.chars().take(2 * INPUT_CHARS).collect()
    }
}
