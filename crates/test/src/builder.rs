//! [`Builder`]: a program under test and its terminal, before it is started.

use std::collections::BTreeMap;
use std::panic::Location;
use std::path::PathBuf;
use std::time::Duration;

use awaitty_terminal::SpawnSpec;
use awaitty_terminal::core::{COLS_MAX, ROWS_MAX};
use awaitty_terminal::terminals::TERMINAL_VARIABLES;

use crate::failure::Failure;
use crate::handle::Terminal;
use crate::traces::{MODE_VARIABLE, TraceMode};
use crate::{hermetic, slow};

/// The default timeout of expectations.
pub const TIMEOUT: Duration = Duration::from_secs(10);

/// The default size of the terminal.
pub const SIZE: (usize, usize) = (80, 24);

/// A program under test. [`start`](Builder::start) starts it in a terminal.
///
/// The program inherits nothing from the environment of the test. It gets `TERM=xterm-256color`, `COLORTERM=truecolor`,
/// `LANG=C.UTF-8`, `TZ=UTC`, a fresh temporary directory as `HOME`, [`PATH`](hermetic::PATH), and what
/// [`env`](Builder::env) adds. It starts in the current directory, which is that of the package for cargo's tests.
/// bash, zsh, fish and sh get the prompt `$ `.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `start`"]
pub struct Builder {
    pub(crate) argv: Vec<String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) size: (usize, usize),
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) timeout: Duration,
    pub(crate) disturbance: Option<u64>,
    pub(crate) trace: Option<TraceMode>,
    /// The path of the page of the trace. Default: named after the test, in the directory of traces.
    pub(crate) trace_path: Option<PathBuf>,
    /// The new file of the recording. Default: a temporary one, if there is a trace.
    pub(crate) recording: Option<PathBuf>,
    /// The title of the trace. Default: the name of the test and the command.
    pub(crate) title: Option<String>,
    /// The prompt of shells.
    pub(crate) prompt: &'static str,
    /// Variables of the environment that the program inherits.
    pub(crate) inherited: BTreeMap<String, String>,
}

impl Builder {
    /// Returns a builder for a program, by its path or its name in [`PATH`](hermetic::PATH).
    pub fn new(program: impl Into<String>) -> Builder {
        Builder {
            argv: vec![program.into()],
            env: BTreeMap::new(),
            size: SIZE,
            cwd: None,
            timeout: TIMEOUT,
            disturbance: None,
            trace: None,
            trace_path: None,
            recording: None,
            title: None,
            prompt: hermetic::PROMPT,
            inherited: BTreeMap::new(),
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<String>) -> Builder {
        self.argv.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<String>>(mut self, args: impl IntoIterator<Item = A>) -> Builder {
        self.argv.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: impl Into<String>, value: impl Into<String>) -> Builder {
        self.env.insert(name.into(), value.into());
        self
    }

    /// Sets the size of the terminal. Default: [`SIZE`].
    pub fn size(self, cols: usize, rows: usize) -> Builder {
        Builder { size: (cols, rows), ..self }
    }

    /// Sets the working directory. Default: that of the test.
    pub fn cwd(self, directory: impl Into<PathBuf>) -> Builder {
        Builder { cwd: Some(directory.into()), ..self }
    }

    /// Sets the default timeout of expectations. Default: [`TIMEOUT`].
    pub fn timeout(self, timeout: Duration) -> Builder {
        Builder { timeout, ..self }
    }

    /// Disturbs the timing: output is split at random bytes and delayed, and reads of input are delayed. The same seed
    /// gives the same splits and delays. Default: off, or with a random seed if `AWAITTY_TEST_SLOW=1`.
    pub fn disturb(self, seed: u64) -> Builder {
        Builder { disturbance: Some(seed), ..self }
    }

    /// Sets when the trace is written. Default: `AWAITTY_TEST_TRACE`, or else on failure.
    pub fn trace(self, mode: TraceMode) -> Builder {
        Builder { trace: Some(mode), ..self }
    }

    /// Starts the program.
    ///
    /// # Errors
    /// If it cannot be started, or an environment variable of awaitty-test has an invalid value.
    #[track_caller]
    pub fn start(self) -> Result<Terminal, Failure> {
        Terminal::start(self, Location::caller())
    }

    /// Returns the mode of the trace.
    pub(crate) fn trace_mode(&self) -> Result<TraceMode, String> {
        let given = std::env::var(MODE_VARIABLE).unwrap_or_default();
        match (self.trace, given.as_str()) {
            (Some(mode), _) => Ok(mode),
            (None, "") => Ok(TraceMode::default()),
            (None, name) => TraceMode::of(name).ok_or_else(|| {
                format!("{MODE_VARIABLE}={name:?} is not a mode: use on, retain-on-failure or off")
            }),
        }
    }

    /// Returns the seed of the disturbed timing.
    pub(crate) fn seed(&self) -> Result<Option<u64>, String> {
        match self.disturbance {
            Some(seed) => Ok(Some(seed)),
            None => slow::seed(),
        }
    }

    /// Returns the spec of the program with a home directory.
    pub(crate) fn spec(&self, home: &std::path::Path) -> Result<SpawnSpec, String> {
        let (cols, rows) = self.size;
        if !(1..=COLS_MAX).contains(&cols) || !(1..=ROWS_MAX).contains(&rows) {
            return Err(format!(
                "the size {cols}x{rows} is out of range: give 1 to {COLS_MAX} columns and 1 to {ROWS_MAX} rows"
            ));
        }
        let mut env = hermetic::environment(home, self.prompt);
        // The variables of the terminal are the same in any case.
        let is_ours = |name: &str| TERMINAL_VARIABLES.contains(&name) || name == "HOME";
        let inherited = self.inherited.iter().filter(|(name, _)| !is_ours(name));
        env.extend(inherited.map(|(name, value)| (name.clone(), value.clone())));
        env.extend(self.env.clone());
        let cwd = self.cwd.clone();
        let inherit_env = Some(BTreeMap::new());
        let spec = SpawnSpec::new(self.argv.iter().cloned());
        Ok(SpawnSpec { cwd, env, inherit_env, cols, rows, client: "test".into(), ..spec })
    }

    /// Returns the builder as the test wrote it.
    pub(crate) fn call(&self) -> String {
        let command = shell_words::join(&self.argv);
        format!("start of {command:?}")
    }
}
