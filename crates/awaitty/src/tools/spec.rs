//! [`ToolSpec`]: every fact about a tool that is not its parameters, its result or its implementation.
//!
//! The MCP list, the subcommands, the rights of callers, backpressure and the list of running waits read these facts,
//! so a tool states them once, in its own file.

use serde_json::Value;

/// The facts about a tool.
#[derive(Clone, Copy, Debug)]
pub struct ToolSpec {
    /// Its name.
    pub name: &'static str,
    /// Its description for a model, in one or two sentences.
    pub description: &'static str,
    /// Whether it changes anything.
    pub effect: Effect,
    /// When a call waits for an event.
    pub waits: Waits,
    /// Whether `--tools core` offers it.
    pub is_core: bool,
    /// Who may call it besides the user.
    pub callers: Callers,
    /// Parameters that keep their description in the list of `--tools core`, which leaves it out for the same parameter
    /// of other tools.
    pub described: &'static [&'static str],
    /// Whether its result may be a picture, which has no schema.
    pub returns_image: bool,
    /// Its subcommand.
    pub command: CommandSpec,
    /// Describes the waits of a call, for people.
    pub describe_waits: fn(&Value) -> Vec<WaitDescription>,
}

/// Whether a tool changes anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It changes nothing.
    Reads,
    /// It has an effect each time it is called: it starts a program, types, writes a file or signals.
    Acts,
    /// It ends a program. A second call has no further effect.
    Ends,
}

/// When a call waits for an event, and so may take as long as its timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// Never.
    Never,
    /// Always.
    Always,
    /// With one of these parameters.
    With(&'static [&'static str]),
}

/// Callers besides the user that may call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Callers {
    /// No other caller.
    User,
    /// Holders of a read-only token.
    Readers,
    /// Programs in a terminal.
    Programs,
    /// Holders of a read-only token, and programs for their own session.
    ReadersAndPrograms,
}

/// The subcommand of a tool, besides the options that follow from its parameters.
#[derive(Clone, Copy, Debug)]
pub struct CommandSpec {
    /// A shorter name.
    pub alias: Option<&'static str>,
    /// The parameters that are positional.
    pub positions: &'static [&'static str],
    /// Options that only the command line has: name and help.
    pub switches: &'static [(&'static str, &'static str)],
    /// Text at the end of its help.
    pub after_help: Option<&'static str>,
}

/// A wait of a call, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitDescription {
    /// The session id or name in the arguments, if there is one.
    pub session: Option<String>,
    /// What the call waits for.
    pub what: String,
}

impl ToolSpec {
    /// Returns the facts about a tool that waits with the parameter `wait`, is not in the core list, is for the user
    /// only, and has a subcommand without positional parameters.
    pub(super) const fn new(name: &'static str, description: &'static str, effect: Effect) -> Self {
        ToolSpec {
            name,
            description,
            effect,
            waits: Waits::With(&["wait"]),
            is_core: false,
            callers: Callers::User,
            described: &[],
            returns_image: false,
            command: CommandSpec { alias: None, positions: &[], switches: &[], after_help: None },
            describe_waits: |arguments| describe(arguments, condition(&arguments["wait"])),
        }
    }

    /// Returns whether it changes nothing.
    pub fn is_read_only(&self) -> bool {
        self.effect == Effect::Reads
    }

    /// Returns whether it can end a running program.
    pub fn is_destructive(&self) -> bool {
        self.effect == Effect::Ends
    }

    /// Returns whether a second call has no further effect.
    pub fn is_idempotent(&self) -> bool {
        self.effect != Effect::Acts
    }

    /// Returns whether a call with these arguments may take as long as its timeout.
    pub fn may_wait(&self, has_argument: impl Fn(&str) -> bool) -> bool {
        match self.waits {
            Waits::Never => false,
            Waits::Always => true,
            Waits::With(names) => names.iter().any(|name| has_argument(name)),
        }
    }
}

impl Callers {
    /// Returns whether the holder of a read-only token may call the tool.
    pub fn include_readers(self) -> bool {
        matches!(self, Callers::Readers | Callers::ReadersAndPrograms)
    }

    /// Returns whether a program in a terminal may call the tool.
    pub fn include_programs(self) -> bool {
        matches!(self, Callers::Programs | Callers::ReadersAndPrograms)
    }
}

/// Describes one wait of a call; none if there is no condition.
pub(super) fn describe(arguments: &Value, what: Option<String>) -> Vec<WaitDescription> {
    let session = arguments["session_id"].as_str().map(str::to_owned);
    what.map(|what| WaitDescription { session, what }).into_iter().collect()
}

/// Quotes a text. Not escaped, because people read it.
pub(super) fn quoted(value: &Value) -> Option<String> {
    value.as_str().map(|text| format!("\"{text}\""))
}

/// Describes conditions such as `{"text": "passed", "exit": true}`; `None` if there is none.
pub(super) fn condition(wait: &Value) -> Option<String> {
    let fields = wait.as_object()?.iter();
    let fields = fields.filter(|(name, value)| {
        !super::wait_params::MODIFIERS.contains(&name.as_str()) && !value.is_null()
    });
    let described: Vec<String> = fields
        .map(|(name, value)| match value {
            Value::String(text) => format!("{name} \"{text}\""),
            Value::Number(number) => format!("{name} {number}"),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => name.clone(),
        })
        .collect();
    (!described.is_empty()).then(|| described.join(" or "))
}
