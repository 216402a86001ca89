//! The tools as a library, for Rust programs and tests. Calls have the same meaning as over MCP.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::sessions::Sessions;
use crate::tools::{self, Context, ImageContent, Reply};
use awaitty_terminal::ToolError;

/// A set of sessions. It is cheap to clone, and must be used inside a Tokio runtime.
///
/// ```
/// # #[tokio::main]
/// # async fn main() -> Result<(), awaitty::ToolError> {
/// use awaitty::Awaitty;
///
/// let awaitty = Awaitty::new();
/// let shell = awaitty.spawn("sh").await?;
/// shell.send("echo RE''ADY\n").await?;
/// let found = shell.wait_for_text("READY").await?;
/// assert!(found.is_met());
/// assert!(found.screen().contains("READY"));
/// let exited = shell.send_and_wait("exit 3\n", "exit").await?;
/// assert_eq!(exited.exit_code(), Some(3));
/// awaitty.shut_down().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Awaitty {
    sessions: Arc<Sessions>,
}

/// A program in a terminal. It keeps running when this is dropped; [`close`](Self::close) ends it.
#[derive(Clone, Debug)]
pub struct Session {
    awaitty: Awaitty,
    id: String,
}

/// The result of a call.
#[derive(Clone, Debug)]
pub struct CallResult {
    json: Value,
    text: String,
    image: Option<ImageContent>,
}

impl Awaitty {
    /// Creates an empty set of sessions.
    pub fn new() -> Awaitty {
        Awaitty::default()
    }

    /// Calls a tool by its name, with the same parameters as over MCP.
    ///
    /// # Errors
    /// If there is no such tool, or the arguments are invalid. A failed call changes nothing.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, ToolError> {
        let Some(tool) = tools::find(tool) else {
            return Err(ToolError::argument(format!("there is no tool {tool:?}")));
        };
        let context = Context::new(&self.sessions, arguments);
        let Reply { structured, text, image } = tool.call(context).await?;
        Ok(CallResult { json: structured, text, image })
    }

    /// Starts a program from a command line, which is split by the quoting rules of a shell.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn spawn(&self, command: &str) -> Result<Session, ToolError> {
        self.spawn_with(json!({ "command": command })).await
    }

    /// Starts a program with the parameters of the tool `spawn`.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn spawn_with(&self, arguments: Value) -> Result<Session, ToolError> {
        let spawned = self.call("spawn", arguments).await?;
        let id = spawned.json()["session_id"].as_str().unwrap_or_default().to_owned();
        Ok(Session { awaitty: self.clone(), id })
    }

    /// Returns the session with an id or a name, or a tmux pane (`tmux:%3`).
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn session(&self, id: &str) -> Result<Session, ToolError> {
        let id = self.sessions.find(Some(id)).await?.id.clone();
        Ok(Session { awaitty: self.clone(), id })
    }

    /// Ends all programs and the processes that they started.
    pub async fn shut_down(&self) {
        self.sessions.shut_down().await;
    }
}

impl Session {
    /// Returns the session id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Calls a tool on this session.
    ///
    /// # Errors
    /// If the arguments are invalid. A failed call changes nothing.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, ToolError> {
        let mut all = Map::from_iter([("session_id".to_owned(), json!(self.id))]);
        if let Value::Object(arguments) = arguments {
            all.extend(arguments);
        }
        self.awaitty.call(tool, Value::Object(all)).await
    }

    /// Types text; `\n` is Enter.
    ///
    /// # Errors
    /// If the program has exited, or does not read its input.
    pub async fn send(&self, input: &str) -> Result<CallResult, ToolError> {
        self.call("send_input", json!({ "input": input })).await
    }

    /// Presses keys, by their names.
    ///
    /// # Errors
    /// If a name is unknown. Nothing is sent then.
    pub async fn press(&self, keys: &[&str]) -> Result<CallResult, ToolError> {
        self.call("send_input", json!({ "keys": keys })).await
    }

    /// Types text and waits for `"exit"`, for `"settled"`, or for text that matches any other value as a pattern.
    ///
    /// # Errors
    /// Like [`send`](Self::send), and if the pattern is invalid.
    pub async fn send_and_wait(&self, input: &str, until: &str) -> Result<CallResult, ToolError> {
        let wait = match until {
            "exit" => json!({"exit": true}),
            "settled" => json!({"settled": 300}),
            pattern => json!({ "text": pattern }),
        };
        self.call("send_input", json!({"input": input, "wait": wait, "diff": false})).await
    }

    /// Waits until text that was drawn since the last input matches.
    ///
    /// # Errors
    /// If the pattern is invalid. A timeout is not an error.
    pub async fn wait_for_text(&self, pattern: &str) -> Result<CallResult, ToolError> {
        self.call("wait_for_text", json!({ "pattern": pattern })).await
    }

    /// Waits until the screen has changed since the last input and then settled.
    ///
    /// # Errors
    /// If the session was closed.
    pub async fn wait_for_screen_change(&self) -> Result<CallResult, ToolError> {
        self.call("wait_for_screen_change", json!({})).await
    }

    /// Waits until the program has exited.
    ///
    /// # Errors
    /// If the session was closed.
    pub async fn wait_for_exit(&self) -> Result<CallResult, ToolError> {
        self.call("wait_for_exit", json!({})).await
    }

    /// Returns the current screen.
    ///
    /// # Errors
    /// If the session was closed.
    pub async fn snapshot(&self) -> Result<CallResult, ToolError> {
        self.call("snapshot", json!({})).await
    }

    /// Ends the program and the processes that it started.
    ///
    /// # Errors
    /// If the session was closed before.
    pub async fn close(self) -> Result<CallResult, ToolError> {
        self.call("close_session", json!({})).await
    }
}

impl CallResult {
    /// Returns the structured content of the result, as over MCP.
    pub fn json(&self) -> &Value {
        &self.json
    }

    /// Returns the result as text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the picture of a `screenshot`.
    pub fn image(&self) -> Option<&ImageContent> {
        self.image.as_ref()
    }

    /// Returns the outcome of a wait: `met`, `timeout`, `exited` or `closed`.
    pub fn outcome(&self) -> Option<&str> {
        self.json["outcome"].as_str()
    }

    /// Returns whether the wait was met.
    pub fn is_met(&self) -> bool {
        self.outcome() == Some("met")
    }

    /// Returns the number of the frame: pass it as `since` to get later changes.
    pub fn seq(&self) -> Option<u64> {
        self.json["seq"].as_u64()
    }

    /// Returns the text on the screen, if the result has it.
    pub fn screen(&self) -> &str {
        self.json["screen_text"].as_str().or(self.json["text"].as_str()).unwrap_or_default()
    }

    /// Returns the text that matched.
    pub fn matched(&self) -> Option<&str> {
        self.json["match"]["text"].as_str()
    }

    /// Returns the exit status, if the program has exited with one.
    pub fn exit_code(&self) -> Option<i32> {
        self.json["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok())
    }

    /// Returns the likely reason why a wait was not met.
    pub fn why(&self) -> Option<&str> {
        self.json["why"].as_str()
    }
}
