//! A blocking variant of [`Awaitty`](crate::Awaitty), for programs without a Tokio runtime.

use std::io;
use std::sync::Arc;

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::api::{self, CallResult};
use awaitty_terminal::ToolError;

/// A set of sessions. Dropping the last clone ends all programs.
///
/// ```
/// use awaitty::blocking::Awaitty;
///
/// let awaitty = Awaitty::new()?;
/// let cat = awaitty.spawn("cat")?;
/// let shown = cat.send_and_wait("hello\n", "^hello$")?;
/// assert!(shown.is_met());
/// cat.press(&["ctrl+d"])?;
/// assert_eq!(cat.wait_for_exit()?.exit_code(), Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Awaitty(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    awaitty: api::Awaitty,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.runtime.block_on(self.awaitty.shut_down());
    }
}

/// A program in a terminal. It keeps running when this is dropped; [`close`](Self::close) ends it.
#[derive(Clone, Debug)]
pub struct Session {
    host: Arc<Inner>,
    session: api::Session,
}

impl Awaitty {
    /// Creates an empty set of sessions.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new() -> io::Result<Awaitty> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Awaitty(Arc::new(Inner { runtime, awaitty: api::Awaitty::new() })))
    }

    /// Calls a tool by its name; see [`api::Awaitty::call`].
    ///
    /// # Errors
    /// The same.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, ToolError> {
        self.0.runtime.block_on(self.0.awaitty.call(tool, arguments))
    }

    /// Starts a program; see [`api::Awaitty::spawn`].
    ///
    /// # Errors
    /// The same.
    pub fn spawn(&self, command: &str) -> Result<Session, ToolError> {
        let session = self.0.runtime.block_on(self.0.awaitty.spawn(command))?;
        Ok(Session { host: Arc::clone(&self.0), session })
    }

    /// Starts a program; see [`api::Awaitty::spawn_with`].
    ///
    /// # Errors
    /// The same.
    pub fn spawn_with(&self, arguments: Value) -> Result<Session, ToolError> {
        let session = self.0.runtime.block_on(self.0.awaitty.spawn_with(arguments))?;
        Ok(Session { host: Arc::clone(&self.0), session })
    }
}

impl Session {
    fn wait<T>(&self, call: impl Future<Output = T>) -> T {
        self.host.runtime.block_on(call)
    }

    /// Returns the session id.
    pub fn id(&self) -> &str {
        self.session.id()
    }

    /// Calls a tool on this session; see [`api::Session::call`].
    ///
    /// # Errors
    /// The same.
    pub fn call(&self, tool: &str, arguments: Value) -> Result<CallResult, ToolError> {
        self.wait(self.session.call(tool, arguments))
    }

    /// Types text; `\n` is Enter.
    ///
    /// # Errors
    /// If the program has exited, or does not read its input.
    pub fn send(&self, input: &str) -> Result<CallResult, ToolError> {
        self.wait(self.session.send(input))
    }

    /// Presses keys, by their names.
    ///
    /// # Errors
    /// If a name is unknown. Nothing is sent then.
    pub fn press(&self, keys: &[&str]) -> Result<CallResult, ToolError> {
        self.wait(self.session.press(keys))
    }

    /// Types text and waits; see [`api::Session::send_and_wait`].
    ///
    /// # Errors
    /// The same.
    pub fn send_and_wait(&self, input: &str, until: &str) -> Result<CallResult, ToolError> {
        self.wait(self.session.send_and_wait(input, until))
    }

    /// Waits until text that was drawn since the last input matches.
    ///
    /// # Errors
    /// If the pattern is invalid. A timeout is not an error.
    pub fn wait_for_text(&self, pattern: &str) -> Result<CallResult, ToolError> {
        self.wait(self.session.wait_for_text(pattern))
    }

    /// Waits until the screen has changed since the last input and then settled.
    ///
    /// # Errors
    /// If the session was closed.
    pub fn wait_for_screen_change(&self) -> Result<CallResult, ToolError> {
        self.wait(self.session.wait_for_screen_change())
    }

    /// Waits until the program has exited.
    ///
    /// # Errors
    /// If the session was closed.
    pub fn wait_for_exit(&self) -> Result<CallResult, ToolError> {
        self.wait(self.session.wait_for_exit())
    }

    /// Returns the current screen.
    ///
    /// # Errors
    /// If the session was closed.
    pub fn snapshot(&self) -> Result<CallResult, ToolError> {
        self.wait(self.session.snapshot())
    }

    /// Ends the program and the processes that it started.
    ///
    /// # Errors
    /// If the session was closed before.
    pub fn close(self) -> Result<CallResult, ToolError> {
        let session = self.session.clone();
        self.wait(session.close())
    }
}
