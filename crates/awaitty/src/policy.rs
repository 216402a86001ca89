//! The limits and defaults of the tools and of the server, with their reasons, and the flags that set them.

use std::sync::OnceLock;
use std::time::Duration;

use awaitty_core::{FRAMES_MAX, PATTERN_COMPILED_MAX, PATTERN_MAX};
pub use awaitty_terminal::limits::*;
pub use awaitty_terminal::text::LINE_CHARS;
use clap::builder::FalseyValueParser;

/// The limits that command line flags and environment variables set. The reasons are at the constants.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Sessions at a time.
    #[arg(long = "max-sessions", env = "AWAITTY_MAX_SESSIONS", value_name = "N", default_value_t = SESSIONS_MAX)]
    pub sessions: usize,
    /// Waits at a time on one session.
    #[arg(long = "max-waits", env = "AWAITTY_MAX_WAITS", value_name = "N", default_value_t = WAITS_MAX)]
    pub waits: usize,
    /// Default number of lines kept of each session.
    #[arg(long = "scrollback", env = "AWAITTY_SCROLLBACK", value_name = "LINES", default_value_t = SCROLLBACK)]
    pub scrollback: usize,
    /// Lines kept of all sessions together.
    #[arg(long = "max-scrollback", env = "AWAITTY_MAX_SCROLLBACK", value_name = "LINES", default_value_t = SCROLLBACK_SUM_MAX)]
    pub scrollback_sum: usize,
    /// Frames kept of each session.
    #[arg(long = "max-frames", env = "AWAITTY_MAX_FRAMES", value_name = "N", default_value_t = FRAMES_MAX)]
    pub frames: usize,
    /// Bytes of input that may wait for a program to read them.
    #[arg(long = "max-input", env = "AWAITTY_MAX_INPUT", value_name = "BYTES", default_value_t = INPUT_QUEUE_MAX)]
    pub input_queue: usize,
    /// Bytes of a pattern.
    #[arg(long = "max-pattern", env = "AWAITTY_MAX_PATTERN", value_name = "BYTES", default_value_t = PATTERN_MAX)]
    pub pattern: usize,
    /// Bytes of a pattern once compiled.
    #[arg(long = "max-compiled", env = "AWAITTY_MAX_COMPILED", value_name = "BYTES", default_value_t = PATTERN_COMPILED_MAX)]
    pub pattern_compiled: usize,
    /// Characters of one result.
    #[arg(long = "max-chars", env = "AWAITTY_MAX_CHARS", value_name = "N", default_value_t = RESULT_CHARS)]
    pub result_chars: usize,
    /// Calls in flight at a time.
    #[arg(long = "max-calls", env = "AWAITTY_MAX_CALLS", value_name = "N", default_value_t = CALLS_MAX)]
    pub calls: usize,
    /// Days after which a recording is removed.
    #[arg(long = "recording-days", env = "AWAITTY_RECORDING_DAYS", value_name = "N", default_value_t = RECORDING_DAYS)]
    pub recording_days: u64,
    /// Bytes of all recordings; the oldest are removed.
    #[arg(long = "max-recordings", env = "AWAITTY_MAX_RECORDINGS", value_name = "BYTES", default_value_t = RECORDINGS_BYTES_MAX)]
    pub recordings_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            sessions: SESSIONS_MAX,
            waits: WAITS_MAX,
            scrollback: SCROLLBACK,
            scrollback_sum: SCROLLBACK_SUM_MAX,
            frames: FRAMES_MAX,
            input_queue: INPUT_QUEUE_MAX,
            pattern: PATTERN_MAX,
            pattern_compiled: PATTERN_COMPILED_MAX,
            result_chars: RESULT_CHARS,
            calls: CALLS_MAX,
            recording_days: RECORDING_DAYS,
            recordings_bytes: RECORDINGS_BYTES_MAX,
        }
    }
}

/// Features of a server's terminals that are off by default.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Terminals")]
pub struct Terminals {
    /// Answer checksum requests (DECRQCRA), with which a program can read text that another program printed.
    #[arg(long, env = "AWAITTY_ANSWER_CHECKSUMS", value_parser = FalseyValueParser::new())]
    pub answer_checksums: bool,
}

/// The limits of the tools. A process serves one set of sessions, so they are set once, from its flags.
static LIMITS: OnceLock<Limits> = OnceLock::new();

/// Returns the current limits.
pub fn limits() -> &'static Limits {
    LIMITS.get_or_init(Limits::default)
}

/// Sets the limits. Must be called before their first use.
///
/// # Errors
/// If they contradict each other, or are already in use.
pub fn set_limits(limits: Limits) -> Result<(), String> {
    limits.check()?;
    LIMITS.set(limits).map_err(|_| "the limits are in use and cannot be changed".to_owned())
}

impl Limits {
    /// Checks that the limits agree with each other.
    ///
    /// # Errors
    /// If one of them is out of range or contradicts another. The error names it.
    fn check(&self) -> Result<(), String> {
        let Limits { frames, result_chars, scrollback, scrollback_sum, .. } = *self;
        if frames == 0 {
            return Err("--max-frames 0: a session always has a frame: give at least 1".to_owned());
        }
        if result_chars < RESULT_CHARS_MIN {
            return Err(format!(
                "--max-chars {result_chars}: give at least {RESULT_CHARS_MIN}, room for the note about omitted text"
            ));
        }
        if scrollback > SCROLLBACK_MAX {
            return Err(format!("--scrollback {scrollback}: give at most {SCROLLBACK_MAX}"));
        }
        if scrollback_sum < scrollback {
            return Err(format!(
                "--max-scrollback {scrollback_sum}: give at least the value of --scrollback, {scrollback}"
            ));
        }
        Ok(())
    }

    /// Returns the limits of the terminals.
    pub fn of_terminals(&self) -> awaitty_terminal::limits::Limits {
        awaitty_terminal::limits::Limits {
            sessions: self.sessions,
            waits: self.waits,
            scrollback: self.scrollback,
            scrollback_sum: self.scrollback_sum,
            frames: self.frames,
            input_queue: self.input_queue,
            output_chars: self.result_chars,
            recording_days: self.recording_days,
            recordings_bytes: self.recordings_bytes,
        }
    }
}

/// Maximum number of characters of a screen or its changes in the text block of a wait. An agent reads the block after
/// every action. A screen of 40 full rows is longer; `snapshot` shows all of it.
pub const SHOWN_CHARS: usize = 2_000;

/// Default number of characters in a result from the start of a command's output.
pub const OUTPUT_HEAD_CHARS: usize = 1_500;

/// Default number of characters in a result from the end of a command's output, where error messages usually are.
pub const OUTPUT_TAIL_CHARS: usize = 4_500;

/// Minimum of `max_chars`: room for the note about the omitted text.
pub const RESULT_CHARS_MIN: usize = 200;

/// Default timeout of a wait for text.
pub const TEXT_TIMEOUT: Duration = Duration::from_secs(10);

/// Default timeout of a wait for a change of the screen.
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(5);

/// Default timeout of a wait for an exit or a channel.
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Default timeout of the `wait` of `send_input` and `spawn`.
pub const ACT_TIMEOUT: Duration = Duration::from_secs(10);

/// Default timeout of a shell command: builds take minutes.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// Default timeout of all steps of `run_steps` together.
pub const STEPS_TIMEOUT: Duration = Duration::from_secs(60);

/// Timeout for a shell to show its prompt before a command is sent to it. Start-up files that use the network take
/// seconds.
pub const PROMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout for a shell that we did not start to answer a probe. It may run on a distant machine.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Timeout for a person to type a requested secret: they may have to look it up.
pub const SECRET_TIMEOUT: Duration = Duration::from_secs(300);

/// Maximum duration of a call of `attend`. The client then repeats the call, or has vanished without closing its
/// connection.
pub const ATTEND_MAX: Duration = Duration::from_secs(30);

/// Maximum timeout. A longer one is probably a mistake in the unit.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Default time for which a screen must be unchanged to count as stable.
pub const STABLE: Duration = Duration::from_millis(300);

/// Time after which a wait without progress notifications returns `pending`. Clients time out after 60 s without a
/// response.
pub const CALL_LIMIT: Duration = Duration::from_secs(50);

/// Interval between the progress notifications of a wait. Clients show them to people.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Maximum number of names in a completion, as the protocol requires.
pub const COMPLETIONS_MAX: usize = 100;

/// Maximum grace period of a call.
pub const GRACE_MAX: Duration = Duration::from_secs(60);

/// Maximum number of calls in flight: each is a task, and most are waits.
pub const CALLS_MAX: usize = 4_096;

/// Maximum number of open brief requests of a client, and of all its open requests while it does not read responses. At
/// the limit the server stops reading from the client, so that the queue of responses stays bounded. A client may send
/// this many requests before it starts to read. The largest responses to them, except pictures, take 50 MB together.
pub const OPEN_REQUESTS_MAX: usize = 256;

/// Time after which a daemon without clients and running programs exits. It is long because the screens of exited
/// programs are lost then.
pub const DAEMON_IDLE: Duration = Duration::from_secs(60 * 60);

/// Default number of lines that `read_output` returns.
pub const READ_LINES: usize = 500;

/// Maximum number of lines that `read_output` returns.
pub const READ_LINES_MAX: usize = 10_000;

/// Maximum number of matches that `search_output` returns.
pub const SEARCH_MATCHES_MAX: usize = 200;

/// Maximum number of characters of a session's name.
pub const NAME_MAX: usize = 64;
