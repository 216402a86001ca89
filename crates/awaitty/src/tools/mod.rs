//! The tools: one file each, with its parameters, its result and its implementation. This is the only list of them.

mod close_session;
mod command_line;
mod command_output;
mod exit;
mod export_session;
mod lines;
pub(crate) mod list_sessions;
mod mouse;
mod outcome;
mod params;
mod pending;
mod presence;
mod read_output;
pub(crate) mod resize_session;
mod run_command;
mod run_steps;
mod save_recording;
mod schema;
mod screen_output;
mod screenshot;
mod search_output;
mod secret;
mod send_input;
mod signal_channel;
mod snapshot;
mod spawn;
pub mod spec;
mod state;
mod step;
pub(crate) mod styled;
mod submit;
mod wait_call;
mod wait_for_any;
mod wait_for_channel;
mod wait_for_command;
mod wait_for_exit;
mod wait_for_screen_change;
mod wait_for_text;
mod wait_params;
pub(crate) mod waiting;
mod writable;

pub use exit::signal_number;
pub use schema::any_output;
pub use spec::ToolSpec;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use futures::future::BoxFuture;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::access::Caller;
use crate::sessions::{Entry, Sessions};
use crate::text;
use awaitty_terminal::ToolError;

/// The client of calls that come from this process.
const LIBRARY: &str = "library";

/// The context of a call.
#[derive(Clone, Debug)]
pub struct Context {
    /// The sessions.
    pub sessions: Arc<Sessions>,
    /// The caller.
    pub caller: Caller,
    /// The name of the client in the policy's limits and in the audit log.
    pub client: Arc<str>,
    /// Whether input was typed with echo off, so that the audit log must not contain it.
    pub is_typed_hidden: Arc<AtomicBool>,
    /// The time after which a wait must return `pending`; `None` if the client gets progress notifications.
    pub call_limit: Option<Duration>,
    /// The unparsed arguments, for a result that says how to call again.
    pub arguments: Value,
}

impl Context {
    /// Returns the context of a call by the user, without a time limit.
    pub fn new(sessions: &Arc<Sessions>, arguments: Value) -> Context {
        Context {
            sessions: Arc::clone(sessions),
            caller: Caller::User,
            client: LIBRARY.into(),
            is_typed_hidden: Arc::default(),
            call_limit: None,
            arguments,
        }
    }

    /// Returns the session with an id or a name; without one, the only session that is running.
    ///
    /// # Errors
    /// If there is no such session, or the caller may not use it.
    pub(crate) async fn find(&self, id: Option<&str>) -> Result<Arc<Entry>, ToolError> {
        let Some(own) = self.caller.own_session(&self.sessions)? else {
            return self.sessions.find(id).await;
        };
        match id {
            Some(id) if !own.is_called(id) => Err(ToolError::new(
                "denied",
                format!(
                    "session_id: {id:?} is not the session of the calling program, which is {:?}",
                    own.id
                ),
            )),
            _ => Ok(own),
        }
    }

    /// Returns all sessions that the caller may use.
    pub(crate) fn all(&self) -> Result<Vec<Arc<Entry>>, ToolError> {
        let own = self.caller.own_session(&self.sessions)?;
        Ok(own.map_or_else(|| self.sessions.all(), |own| vec![own]))
    }
}

/// The result of a call: as JSON and as text. Each is complete without the other.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The result as JSON.
    pub structured: Value,
    /// The result as text.
    pub text: String,
    /// The picture, if the tool returns one.
    pub image: Option<ImageContent>,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct ImageContent {
    /// The MIME type.
    pub mime: &'static str,
    /// The contents of the file.
    pub bytes: Vec<u8>,
}

/// A result and its text.
pub(crate) type ToolResult<O> = Result<(O, String), ToolError>;

/// A result, its text and a picture, if there is one.
pub(crate) trait IntoReplyParts {
    /// The result.
    type Output: Serialize + JsonSchema + 'static;

    /// Returns the parts.
    fn into_parts(self) -> (Self::Output, String, Option<ImageContent>);
}

impl<O: Serialize + JsonSchema + 'static> IntoReplyParts for (O, String) {
    type Output = O;

    fn into_parts(self) -> (O, String, Option<ImageContent>) {
        (self.0, self.1, None)
    }
}

impl<O: Serialize + JsonSchema + 'static> IntoReplyParts for (O, String, Option<ImageContent>) {
    type Output = O;

    fn into_parts(self) -> (O, String, Option<ImageContent>) {
        self
    }
}

type Run = Box<dyn Fn(Context) -> BoxFuture<'static, Result<Reply, ToolError>> + Send + Sync>;

/// A tool.
pub struct Tool {
    /// The facts about it.
    pub spec: &'static ToolSpec,
    /// The full schema of its parameters.
    pub input: Arc<JsonObject>,
    /// The schema of its parameters in the full tool list.
    pub listed: Arc<JsonObject>,
    /// The schema of its parameters in the list of `--tools core`.
    pub brief: Arc<JsonObject>,
    /// The schema of its result. `None` if that may be a picture, since clients reject a result that does not match.
    pub output: Option<Arc<JsonObject>>,
    run: Run,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.spec.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// Calls the tool, if the policy allows it.
    pub fn call(&self, context: Context) -> BoxFuture<'static, Result<Reply, ToolError>> {
        match context.sessions.policy().check_tool(self.spec.name) {
            Ok(()) => (self.run)(context),
            Err(denied) => Box::pin(std::future::ready(Err(denied))),
        }
    }
}

pub(crate) fn tool<P, M, F>(
    spec: &'static ToolSpec,
    run: impl Fn(Context, P) -> F + Clone + Send + Sync + 'static,
) -> Tool
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    M: IntoReplyParts,
    F: Future<Output = Result<M, ToolError>> + Send + 'static,
{
    use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
    let input = schema::input(&schema_for_input::<P>().expect("parameters are an object"));
    let listed = schema::listed(spec, &input);
    let output = || schema::output(&schema_for_output::<M::Output>());
    Tool {
        spec,
        brief: schema::brief(spec, &listed),
        listed,
        input,
        output: (!spec.returns_image).then(output),
        run: Box::new(move |context| {
            let run = run.clone();
            Box::pin(async move {
                let params = params::parse(context.arguments.clone())?;
                let (output, text, image) = run(context, params).await?.into_parts();
                let structured = serde_json::to_value(output)
                    .map_err(|error| ToolError::new("internal", error.to_string()))?;
                Ok(Reply { structured, text, image })
            })
        }),
    }
}

/// Describes the condition of a wait and the program's last line, for progress notifications.
pub async fn describe_wait(context: &Context, tool: &str) -> String {
    let argument = |name: &str| context.arguments[name].as_str();
    let condition = argument("pattern")
        .or(argument("channel"))
        .map_or_else(String::new, |condition| format!(" {condition:?}"));
    let mut text = format!("{}{condition}", tool.replace('_', " "));
    if let Ok(entry) = context.find(argument("session_id")).await
        && let Some(lines) = entry.handle.call(|driver| driver.session().last_lines(1)).await
        && let Some(line) = lines.first()
    {
        let shown: String = text::visible(line).chars().take(DESCRIBED_CHARS).collect();
        text += &format!(" in {}: {shown}", entry.label());
    }
    text
}

/// The maximum length of the program's last line in the description of a wait, in characters.
const DESCRIBED_CHARS: usize = 80;

/// All tools, sorted by name. Each is created at its first use: its schemas take longer than most calls, and a command
/// line needs only one of them.
static ALL: [(&ToolSpec, LazyLock<Tool>); 20] = [
    (&close_session::SPEC, LazyLock::new(close_session::tool)),
    (&export_session::SPEC, LazyLock::new(export_session::tool)),
    (&list_sessions::SPEC, LazyLock::new(list_sessions::tool)),
    (&read_output::SPEC, LazyLock::new(read_output::tool)),
    (&resize_session::SPEC, LazyLock::new(resize_session::tool)),
    (&run_command::SPEC, LazyLock::new(run_command::tool)),
    (&run_steps::SPEC, LazyLock::new(run_steps::tool)),
    (&save_recording::SPEC, LazyLock::new(save_recording::tool)),
    (&screenshot::SPEC, LazyLock::new(screenshot::tool)),
    (&search_output::SPEC, LazyLock::new(search_output::tool)),
    (&send_input::SPEC, LazyLock::new(send_input::tool)),
    (&signal_channel::SPEC, LazyLock::new(signal_channel::tool)),
    (&snapshot::SPEC, LazyLock::new(snapshot::tool)),
    (&spawn::SPEC, LazyLock::new(spawn::tool)),
    (&wait_for_any::SPEC, LazyLock::new(wait_for_any::tool)),
    (&wait_for_channel::SPEC, LazyLock::new(wait_for_channel::tool)),
    (&wait_for_command::SPEC, LazyLock::new(wait_for_command::tool)),
    (&wait_for_exit::SPEC, LazyLock::new(wait_for_exit::tool)),
    (&wait_for_screen_change::SPEC, LazyLock::new(wait_for_screen_change::tool)),
    (&wait_for_text::SPEC, LazyLock::new(wait_for_text::tool)),
];

/// Returns the facts about all tools, sorted by name.
pub fn specs() -> impl Iterator<Item = &'static ToolSpec> {
    ALL.iter().map(|(spec, _)| *spec)
}

/// Returns the names of all tools, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    specs().map(|spec| spec.name)
}

/// Returns all tools, sorted by name.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    ALL.iter().map(|(_, tool)| &**tool)
}

/// Returns the tool with a name.
pub fn find(name: &str) -> Option<&'static Tool> {
    ALL.iter().find(|(spec, _)| spec.name == name).map(|(_, tool)| &**tool)
}

/// Returns the internal tool with a name. Internal tools are for awaitty's own clients and are not listed.
pub fn find_own(name: &str) -> Option<&'static Tool> {
    static INTERNAL: LazyLock<Tool> = LazyLock::new(presence::tool);
    Some(&*INTERNAL).filter(|tool| tool.spec.name == name)
}
