//! The limits and defaults of the tools and of the server, and the flags that set them. Each has its reason.

use std::sync::OnceLock;
use std::time::Duration;

use awaitty_core::{FRAMES_MAX, PATTERN_COMPILED_MAX, PATTERN_MAX};
pub use awaitty_terminal::limits::*;
pub use awaitty_terminal::text::LINE_CHARS;
use clap::builder::FalseyValueParser;

/// The limits that whoever starts a server may set. The constants say why they are what they are.
#[derive(Clone, Copy, Debug, clap::Args)]
#[command(next_help_heading = "Limits")]
pub struct Limits {
    /// Sessions at a time.
    #[arg(long = "max-sessions", env = "AWAITTY_MAX_SESSIONS", value_name = "N", default_value_t = SESSIONS_MAX)]
    pub sessions: usize,
    /// Waits at a time on one session.
    #[arg(long = "max-waits", env = "AWAITTY_MAX_WAITS", value_name = "N", default_value_t = WAITS_MAX)]
    pub waits: usize,
    /// Lines kept of each session, unless `spawn` says otherwise.
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

/// What the terminals of a server do only on request.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
#[command(next_help_heading = "Terminals")]
pub struct Terminals {
    /// Answer checksum requests (DECRQCRA), with which a program can read text that another program printed.
    #[arg(long, env = "AWAITTY_ANSWER_CHECKSUMS", value_parser = FalseyValueParser::new())]
    pub answer_checksums: bool,
}

/// The limits of the tools. A process serves one set of sessions, so they are set once, from its flags.
static LIMITS: OnceLock<Limits> = OnceLock::new();

/// Returns the limits in force.
pub fn limits() -> &'static Limits {
    LIMITS.get_or_init(Limits::default)
}

/// Sets the limits, before the first use.
///
/// # Errors
/// If they make no sense, or are in use.
pub fn set_limits(limits: Limits) -> Result<(), String> {
    limits.check()?;
    LIMITS.set(limits).map_err(|_| "the limits are in use and cannot be changed".to_owned())
}

impl Limits {
    /// Checks that the limits agree with each other.
    ///
    /// # Errors
    /// If one of them makes no sense; the error names it.
    fn check(&self) -> Result<(), String> {
        let Limits { frames, result_chars, scrollback, scrollback_sum, .. } = *self;
        if frames == 0 {
            return Err("--max-frames 0: there is always a frame, so give at least 1".to_owned());
        }
        if result_chars < RESULT_CHARS_MIN {
            return Err(format!(
                "--max-chars {result_chars}: give at least {RESULT_CHARS_MIN}, room for a note on what is missing"
            ));
        }
        if scrollback > SCROLLBACK_MAX {
            return Err(format!("--scrollback {scrollback}: give at most {SCROLLBACK_MAX}"));
        }
        if scrollback_sum < scrollback {
            return Err(format!(
                "--max-scrollback {scrollback_sum}: give at least the {scrollback} of --scrollback, or there is no room \
             for a session"
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

/// Characters of a screen, or of what changed on it, in the text block of a wait. An agent reads it after every act; a
/// screen of 40 full rows has more, and `snapshot` shows all of it.
pub const SHOWN_CHARS: usize = 2_000;

/// Characters of a command's output, unless the call says otherwise: of its beginning, and of its end, where errors are.
pub const OUTPUT_HEAD_CHARS: usize = 1_500;

/// See [`OUTPUT_HEAD_CHARS`].
pub const OUTPUT_TAIL_CHARS: usize = 4_500;

/// The least that `max_chars` may be: room for the note that says what is missing.
pub const RESULT_CHARS_MIN: usize = 200;

/// How long the waits wait, unless the call says otherwise.
pub const TEXT_TIMEOUT: Duration = Duration::from_secs(10);

/// See [`TEXT_TIMEOUT`].
pub const CHANGE_TIMEOUT: Duration = Duration::from_secs(5);

/// See [`TEXT_TIMEOUT`].
pub const EXIT_TIMEOUT: Duration = Duration::from_secs(30);

/// Of the `wait` of `send_input` and `spawn`.
pub const ACT_TIMEOUT: Duration = Duration::from_secs(10);

/// Of a command in a shell: a build takes a while.
pub const COMMAND_TIMEOUT: Duration = Duration::from_secs(120);

/// Of all steps of `run_steps` together.
pub const STEPS_TIMEOUT: Duration = Duration::from_secs(60);

/// How long a shell that is starting, or on its way back to its prompt, is waited for before it is given a
/// command. Start-up files that ask the network take seconds.
pub const PROMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long a shell that we did not start has to say what it is; it may be on another continent.
pub const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a person who is asked for a secret has to type it: they may have to look it up.
pub const SECRET_TIMEOUT: Duration = Duration::from_secs(300);

/// How long a person's client may be silent before it says again that somebody is there.
pub const ATTEND_MAX: Duration = Duration::from_secs(30);

/// The longest timeout. Beyond a day somebody has mistaken the unit.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How long a screen must be unchanged to count as stable.
pub const STABLE: Duration = Duration::from_millis(300);

/// Clients give up on silent calls after 60 s; a wait without progress answers before that.
pub const CALL_LIMIT: Duration = Duration::from_secs(50);

/// How often a wait reports progress to a client that asked for it. A person looks at it too.
pub const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);

/// Names that a completion gives; the protocol allows no more.
pub const COMPLETIONS_MAX: usize = 100;

/// The longest grace that a caller may ask for.
pub const GRACE_MAX: Duration = Duration::from_secs(60);

/// Calls that are in flight at a time: each is a task, and most are waits.
pub const CALLS_MAX: usize = 4_096;

/// Requests of one client that are open and do not wait for anything, and all that are open while it does not read what
/// it is told; nothing more is read from it then. A client may write that many before it begins to read, and the largest
/// answers (pictures apart) are 50 MB together.
pub const UNTOLD_MAX: usize = 256;

/// How long the daemon stays without a client and without a running program. The screens of programs that
/// have exited go with it, so it is long.
pub const DAEMON_IDLE: Duration = Duration::from_secs(60 * 60);

/// Lines that `read_output` gives, unless the call says otherwise, and at the most.
pub const READ_LINES: usize = 500;

/// See [`READ_LINES`].
pub const READ_LINES_MAX: usize = 10_000;

/// Matches that `search_output` gives.
pub const SEARCH_MATCHES_MAX: usize = 200;

/// Characters of a session's name.
pub const NAME_MAX: usize = 64;
