//! Blocking versions of [`Terminals`](crate::Terminals) and [`Terminal`](crate::Terminal), for programs without a Tokio
//! runtime.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Frame, Pattern, Session};
use tokio::runtime::Runtime;
use tokio::time::Instant;

use crate::error::ToolError;
use crate::judged::{JudgedRequest, JudgedResult};
use crate::platform::processes::Survivor;
use crate::record::RecordingStatus;
use crate::run::CommandRun;
use crate::terminals::{self, Config, SpawnSpec};
use crate::wait::{WaitRequest, WaitResult};

/// A set of terminals. Dropping the last clone ends all of their programs.
///
/// ```
/// use awaitty_terminal::{SpawnSpec, WaitRequest, blocking::Terminals};
///
/// let terminals = Terminals::new(Default::default())?;
/// let cat = terminals.open(SpawnSpec::new(["cat"]))?;
/// let echoed = cat.type_and_wait("hello\n", WaitRequest::text("^hello$")?)?.met()?;
/// assert_eq!(echoed.matched().map(|found| found.text.as_str()), Some("hello"));
/// let exited = cat.press_and_wait("ctrl+d", WaitRequest::exit())?;
/// assert_eq!(exited.exit_code(), Some(0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Terminals(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runtime: Runtime,
    terminals: Arc<terminals::Terminals>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.runtime.block_on(self.terminals.shut_down());
    }
}

/// A handle to a program in a terminal. Dropping it does not end the program; [`close`](Self::close) does.
#[derive(Clone, Debug)]
pub struct Terminal {
    set: Arc<Inner>,
    terminal: crate::Terminal,
}

impl Terminals {
    /// Creates an empty set.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(config: Config) -> io::Result<Terminals> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let terminals = Arc::new(terminals::Terminals::new(config));
        Ok(Terminals(Arc::new(Inner { runtime, terminals })))
    }

    /// Starts a program in a new terminal.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn open(&self, spec: SpawnSpec) -> Result<Terminal, ToolError> {
        let terminal = self.0.runtime.block_on(self.0.terminals.open(spec))?;
        Ok(Terminal { set: Arc::clone(&self.0), terminal })
    }
}

impl Terminal {
    fn block<T>(&self, call: impl Future<Output = T>) -> T {
        self.set.runtime.block_on(call)
    }

    /// Types text; see [`crate::Terminal::type_text`].
    ///
    /// # Errors
    /// As there.
    pub fn type_text(&self, text: &str) -> Result<(), ToolError> {
        self.block(self.terminal.type_text(text))
    }

    /// Presses keys; see [`crate::Terminal::press`].
    ///
    /// # Errors
    /// As there.
    pub fn press(&self, keys: &str) -> Result<(), ToolError> {
        self.block(self.terminal.press(keys))
    }

    /// Pastes text; see [`crate::Terminal::paste`].
    ///
    /// # Errors
    /// As there.
    pub fn paste(&self, text: &str) -> Result<(), ToolError> {
        self.block(self.terminal.paste(text))
    }

    /// Clicks on text; see [`crate::Terminal::click`].
    ///
    /// # Errors
    /// As there.
    pub fn click(&self, pattern: &Pattern, nth: Option<usize>) -> Result<(), ToolError> {
        self.block(self.terminal.click(pattern, nth))
    }

    /// Changes the size; see [`crate::Terminal::resize`].
    ///
    /// # Errors
    /// As there.
    pub fn resize(&self, cols: usize, rows: usize) -> Result<(), ToolError> {
        self.block(self.terminal.resize(cols, rows))
    }

    /// Runs a command in a shell; see [`crate::Terminal::run_command`].
    ///
    /// # Errors
    /// As there.
    pub fn run_command(&self, command: &str, timeout: Duration) -> Result<CommandRun, ToolError> {
        self.block(self.terminal.run_command(command, timeout))
    }

    /// Waits until the program is at rest; see [`crate::Terminal::rest`].
    ///
    /// # Errors
    /// As there.
    pub fn rest(&self, limit: Duration) -> Result<bool, ToolError> {
        self.block(self.terminal.rest(limit))
    }

    /// Waits for a condition that a closure judges; see [`crate::Terminal::judged`].
    ///
    /// # Errors
    /// As there.
    pub fn judged(&self, request: JudgedRequest) -> Result<JudgedResult, ToolError> {
        self.block(self.terminal.judged(request))
    }

    /// Returns what a closure reads from the session; see [`crate::Terminal::inspect`].
    ///
    /// # Errors
    /// As there.
    pub fn inspect<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Session) -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        self.block(self.terminal.inspect(read))
    }

    /// Waits; see [`crate::Terminal::wait`].
    ///
    /// # Errors
    /// As there.
    pub fn wait(&self, request: WaitRequest) -> Result<WaitResult, ToolError> {
        self.block(self.terminal.wait(request))
    }

    /// Types text and waits; see [`crate::Terminal::type_and_wait`].
    ///
    /// # Errors
    /// As there.
    pub fn type_and_wait(&self, text: &str, request: WaitRequest) -> Result<WaitResult, ToolError> {
        self.block(self.terminal.type_and_wait(text, request))
    }

    /// Presses keys and waits; see [`crate::Terminal::press_and_wait`].
    ///
    /// # Errors
    /// As there.
    pub fn press_and_wait(
        &self,
        keys: &str,
        request: WaitRequest,
    ) -> Result<WaitResult, ToolError> {
        self.block(self.terminal.press_and_wait(keys, request))
    }

    /// Returns the newest frame; see [`crate::Terminal::frame`].
    ///
    /// # Errors
    /// As there.
    pub fn frame(&self) -> Result<Arc<Frame>, ToolError> {
        self.block(self.terminal.frame())
    }

    /// Writes a marker to the recording; see [`crate::Terminal::mark`].
    ///
    /// # Errors
    /// As there.
    pub fn mark(&self, label: &str) -> Result<(), ToolError> {
        self.block(self.terminal.mark(label))
    }

    /// Waits until the recording is written; see [`crate::Terminal::flush_recording`].
    ///
    /// # Errors
    /// As there.
    pub fn flush_recording(&self) -> Result<Option<RecordingStatus>, ToolError> {
        self.block(self.terminal.flush_recording())
    }

    /// Waits for a duration while the terminal goes on.
    pub fn pause(&self, duration: Duration) {
        // The timer needs the runtime already when it is created.
        self.block(async { tokio::time::sleep_until(Instant::now() + duration).await });
    }

    /// Ends the program and what outlives it; see [`crate::Terminal::close_with_leaks`].
    pub fn close_with_leaks(self) -> Vec<Survivor> {
        let terminal = self.terminal.clone();
        self.block(terminal.close_with_leaks())
    }

    /// Ends the program; see [`crate::Terminal::close`].
    pub fn close(self) -> Vec<Survivor> {
        let terminal = self.terminal.clone();
        self.block(terminal.close())
    }
}
