//! The tools: one file each, with its parameters, its result and what it does. This is the only list.

mod answer;
mod attend;
mod close_session;
mod command_line;
mod command_output;
mod exit;
mod lines;
pub(crate) mod list_sessions;
mod mouse;
mod outcome;
mod params;
mod pending;
mod read_output;
pub(crate) mod resize_session;
mod run_command;
mod run_steps;
mod save_recording;
mod schema;
mod screenshot;
mod search_output;
mod secret;
mod send_input;
mod shown;
mod signal_channel;
mod snapshot;
mod spawn;
mod state;
mod step;
pub(crate) mod styled;
mod submit;
mod wait_for_any;
mod wait_for_channel;
mod wait_for_command;
mod wait_for_exit;
mod wait_for_screen_change;
mod wait_for_text;
pub(crate) mod waiting;
mod wanted;
mod why;
mod writable;

pub use exit::signal_number;
pub use schema::any_output;

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

/// What a tool has to work with.
#[derive(Clone, Debug)]
pub struct Context {
    /// The terminals.
    pub sessions: Arc<Sessions>,
    /// Who calls.
    pub caller: Caller,
    /// The client, as the limits of the policy and the audit log know it.
    pub client: Arc<str>,
    /// Something was typed while the terminal hid it, so the audit log must not have it.
    pub is_typed_hidden: Arc<AtomicBool>,
    /// When a wait must answer although it did not end; `None` if the client hears of its progress.
    pub call_limit: Option<Duration>,
    /// The arguments as they came, for a result that says how to call again.
    pub arguments: Value,
}

impl Context {
    /// Returns the context of a call by the user, which may take as long as it wants.
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

    /// Returns the terminal of that id or name that the caller may use; without one, the only one that runs.
    ///
    /// # Errors
    /// If there is none, or the caller may not use it.
    pub(crate) async fn find(&self, id: Option<&str>) -> Result<Arc<Entry>, ToolError> {
        let Some(own) = self.caller.own_session(&self.sessions)? else {
            return self.sessions.find(id).await;
        };
        match id {
            Some(id) if !own.is_called(id) => Err(ToolError::new(
                "denied",
                format!(
                    "session_id: {id:?} is not the session of the program that asks, which is {:?}",
                    own.id
                ),
            )),
            _ => Ok(own),
        }
    }

    /// Returns all terminals that the caller may use.
    pub(crate) fn all(&self) -> Result<Vec<Arc<Entry>>, ToolError> {
        let own = self.caller.own_session(&self.sessions)?;
        Ok(own.map_or_else(|| self.sessions.all(), |own| vec![own]))
    }
}

/// What a tool answers: for programs, and for readers. Each is complete by itself.
#[derive(Clone, Debug)]
pub struct Reply {
    /// For programs.
    pub structured: Value,
    /// For readers.
    pub text: String,
    /// For eyes.
    pub image: Option<Image>,
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Image {
    /// What kind of picture, as the web calls it.
    pub mime: &'static str,
    /// The file.
    pub bytes: Vec<u8>,
}

/// A result and its text.
pub(crate) type Answer<O> = Result<(O, String), ToolError>;

/// What a tool makes: a result, its text, and a picture if it is one.
pub(crate) trait Made {
    /// The result.
    type Output: Serialize + JsonSchema + 'static;

    /// Takes it apart.
    fn parts(self) -> (Self::Output, String, Option<Image>);
}

impl<O: Serialize + JsonSchema + 'static> Made for (O, String) {
    type Output = O;

    fn parts(self) -> (O, String, Option<Image>) {
        (self.0, self.1, None)
    }
}

impl<O: Serialize + JsonSchema + 'static> Made for (O, String, Option<Image>) {
    type Output = O;

    fn parts(self) -> (O, String, Option<Image>) {
        self
    }
}

type Run = Box<dyn Fn(Context) -> BoxFuture<'static, Result<Reply, ToolError>> + Send + Sync>;

/// A tool.
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What it does, in a sentence or two for a model.
    pub description: &'static str,
    /// It changes nothing.
    pub read_only: bool,
    /// It can end something that was running.
    pub destructive: bool,
    /// Calling it twice is as good as once.
    pub idempotent: bool,
    /// What it takes.
    pub input: Arc<JsonObject>,
    /// The same, as the list of all tools has it.
    pub listed: Arc<JsonObject>,
    /// The same, as the list of a few tools has it.
    pub brief: Arc<JsonObject>,
    /// What it gives; nothing if that may be a picture, since clients insist on what is promised here.
    pub output: Option<Arc<JsonObject>>,
    run: Run,
}

impl std::fmt::Debug for Tool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tool").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Tool {
    /// Calls it, if the policy allows it.
    pub fn call(&self, context: Context) -> BoxFuture<'static, Result<Reply, ToolError>> {
        match context.sessions.policy().check_tool(self.name) {
            Ok(()) => (self.run)(context),
            Err(denied) => Box::pin(std::future::ready(Err(denied))),
        }
    }
}

/// What kind of tool: it only reads, it acts, or it may end something.
#[derive(Clone, Copy)]
pub(crate) enum Kind {
    Reads,
    Acts,
    Ends,
}

pub(crate) fn tool<P, M, F>(
    name: &'static str,
    description: &'static str,
    kind: Kind,
    run: impl Fn(Context, P) -> F + Clone + Send + Sync + 'static,
) -> Tool
where
    P: DeserializeOwned + JsonSchema + Send + 'static,
    M: Made,
    F: Future<Output = Result<M, ToolError>> + Send + 'static,
{
    use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
    let input = schema::input(&schema_for_input::<P>().expect("parameters are an object"));
    let listed = schema::listed(name, &input);
    Tool {
        name,
        description,
        read_only: matches!(kind, Kind::Reads),
        destructive: matches!(kind, Kind::Ends),
        idempotent: matches!(kind, Kind::Reads | Kind::Ends),
        brief: schema::brief(name, &listed),
        listed,
        input,
        output: Some(schema::output(&schema_for_output::<M::Output>())),
        run: Box::new(move |context| {
            let run = run.clone();
            Box::pin(async move {
                let params = params::parse(context.arguments.clone())?;
                let (output, text, image) = run(context, params).await?.parts();
                let structured = serde_json::to_value(output)
                    .map_err(|error| ToolError::new("internal", error.to_string()))?;
                Ok(Reply { structured, text, image })
            })
        }),
    }
}

/// What a call waits for and the last line of the program, for whoever looks on.
pub async fn describe_wait(context: &Context, tool: &str) -> String {
    let given = |name: &str| context.arguments[name].as_str();
    let wanted = given("pattern")
        .or(given("channel"))
        .map_or_else(String::new, |wanted| format!(" {wanted:?}"));
    let mut text = format!("{}{wanted}", tool.replace('_', " "));
    if let Ok(entry) = context.find(given("session_id")).await
        && let Some(lines) = entry.handle.call(|driver| driver.session().last_lines(1)).await
        && let Some(line) = lines.first()
    {
        let shown: String = text::visible(line).chars().take(DESCRIBED_CHARS).collect();
        text += &format!(" in {}: {shown}", entry.label());
    }
    text
}

/// Characters of a program's last line that are told while it is waited for.
const DESCRIBED_CHARS: usize = 80;

/// All tools, sorted by name. Each is made when it is first asked for: its schemas take longer than most calls, and the command
/// line needs one of them.
static ALL: [(&str, LazyLock<Tool>); 19] = [
    ("close_session", LazyLock::new(close_session::tool)),
    ("list_sessions", LazyLock::new(list_sessions::tool)),
    ("read_output", LazyLock::new(read_output::tool)),
    ("resize_session", LazyLock::new(resize_session::tool)),
    ("run_command", LazyLock::new(run_command::tool)),
    ("run_steps", LazyLock::new(run_steps::tool)),
    ("save_recording", LazyLock::new(save_recording::tool)),
    ("screenshot", LazyLock::new(screenshot::tool)),
    ("search_output", LazyLock::new(search_output::tool)),
    ("send_input", LazyLock::new(send_input::tool)),
    ("signal_channel", LazyLock::new(signal_channel::tool)),
    ("snapshot", LazyLock::new(snapshot::tool)),
    ("spawn", LazyLock::new(spawn::tool)),
    ("wait_for_any", LazyLock::new(wait_for_any::tool)),
    ("wait_for_channel", LazyLock::new(wait_for_channel::tool)),
    ("wait_for_command", LazyLock::new(wait_for_command::tool)),
    ("wait_for_exit", LazyLock::new(wait_for_exit::tool)),
    ("wait_for_screen_change", LazyLock::new(wait_for_screen_change::tool)),
    ("wait_for_text", LazyLock::new(wait_for_text::tool)),
];

/// The names of all tools, sorted.
pub fn names() -> impl Iterator<Item = &'static str> {
    ALL.iter().map(|(name, _)| *name)
}

/// All tools, sorted by name.
pub fn all() -> impl Iterator<Item = &'static Tool> {
    ALL.iter().map(|(_, tool)| &**tool)
}

/// The tool of that name.
pub fn find(name: &str) -> Option<&'static Tool> {
    ALL.iter().find(|(known, _)| *known == name).map(|(_, tool)| &**tool)
}

/// The tool of that name which is for our own clients, and for nobody to choose.
pub fn find_own(name: &str) -> Option<&'static Tool> {
    static OWN: LazyLock<Tool> = LazyLock::new(attend::tool);
    Some(&*OWN).filter(|tool| tool.name == name)
}
