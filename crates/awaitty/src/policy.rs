//! Every default and every limit, each with its reason. Nothing else in this crate decides a number.

use std::sync::OnceLock;
use std::time::Duration;

use awaitty_core::{FRAMES_MAX, PATTERN_COMPILED_MAX, PATTERN_MAX};
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

static TERMINALS: OnceLock<Terminals> = OnceLock::new();

/// Returns the options of terminals in force. They are the process's, as the limits are.
pub fn terminals() -> &'static Terminals {
    TERMINALS.get_or_init(Terminals::default)
}

/// Sets the options of terminals, before the first terminal is started.
///
/// # Errors
/// If a terminal was started already.
pub fn set_terminals(terminals: Terminals) -> Result<(), String> {
    TERMINALS
        .set(terminals)
        .map_err(|_| "the options of terminals are in use and cannot be changed".to_owned())
}

static LIMITS: OnceLock<Limits> = OnceLock::new();

/// The limits in force. They are the process's and not a server's: there is one of each.
pub fn limits() -> &'static Limits {
    LIMITS.get_or_init(Limits::default)
}

/// Sets the limits, before anything has asked for them.
///
/// # Errors
/// If one of them makes no sense; it says which.
pub fn set_limits(limits: Limits) -> Result<(), String> {
    let Limits { frames, result_chars, scrollback, scrollback_sum, .. } = limits;
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
    LIMITS.set(limits).map_err(|_| "the limits are in use and cannot be changed".to_owned())
}

/// Terminals that a server holds: more than any agent keeps in its head, fewer than the kernel has.
pub const SESSIONS_MAX: usize = 256;

/// Waits that run on one terminal at a time.
pub const WAITS_MAX: usize = 1_000;

/// Lines that leave the screen and are kept, unless `spawn` says otherwise.
pub const SCROLLBACK: usize = 10_000;

/// The most that `spawn` may ask for: 100 MB of plain text.
pub const SCROLLBACK_MAX: usize = 1_000_000;

/// Lines that all terminals of a server may keep together: 1 GB of plain text, if each is as long as lines are. A
/// thousand terminals have room that keep as many as usual, and ten that keep as many as one may.
pub const SCROLLBACK_SUM_MAX: usize = 10_000_000;

/// Days that a recording is kept: long enough to look into a failure of last week, too short to forget what is in it.
pub const RECORDING_DAYS: u64 = 30;

/// Bytes of all recordings: ten of the largest, and not all of a disk.
pub const RECORDINGS_BYTES_MAX: u64 = 10 << 30;

/// Bytes of input that wait for a program to read them. More is refused as a whole.
pub const INPUT_QUEUE_MAX: usize = 1 << 20;

/// Bytes of one line that the kernel hands to a program which reads whole lines; the rest of a longer
/// line it throws away without a word.
pub const CANONICAL_LINE_MAX: usize = 4095;

/// How long nothing follows an escape that is a key, once the program has read it: by then it knows that no other key begins
/// so. Vim waits for 100 ms (`ttimeoutlen` of its defaults), Neovim for 50, fish for 30. A program that is seen to wait longer
/// with a timeout (zsh 400 ms, readline 500) gets the next key after that: see `driver/pace.rs`.
pub const ESCAPE_PAUSE: Duration = Duration::from_millis(150);

/// Characters of one result.
pub const RESULT_CHARS: usize = 20_000;

/// Characters of a screen, or of what changed on it, in the text block of a wait. An agent reads it after every act; a
/// screen of 40 full rows has more, and `snapshot` shows all of it.
pub const SHOWN_CHARS: usize = 2_000;

/// Characters of a command's output, unless the call says otherwise: of its beginning, and of its end, where errors are.
pub const OUTPUT_HEAD_CHARS: usize = 1_500;
/// See [`OUTPUT_HEAD_CHARS`].
pub const OUTPUT_TAIL_CHARS: usize = 4_500;

/// The least that `max_chars` may be: room for the note that says what is missing.
pub const RESULT_CHARS_MIN: usize = 200;

/// Characters of a line of output where several are told: 200 matches stay readable so.
pub const LINE_CHARS: usize = 200;

/// The size of a terminal, unless `spawn` says otherwise.
pub const COLS: usize = 120;
/// See [`COLS`].
pub const ROWS: usize = 40;

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

/// Bytes of a command that is typed into a shell. Four times what is asked for as a line, and a quarter of
/// the input that may wait.
pub const COMMAND_MAX: usize = 256 * 1024;

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

/// How long a program has between the polite signal and SIGKILL, when it is closed.
pub const GRACE: Duration = Duration::from_secs(2);

/// The longest grace that a caller may ask for.
pub const GRACE_MAX: Duration = Duration::from_secs(60);

/// How long programs have when the server itself ends; it must be gone within half a second.
pub const SHUTDOWN_GRACE: Duration = Duration::from_millis(200);

/// How long output is awaited after a program's exit, if something else holds its terminal open.
/// The kernel hangs up within 20 ms where the program was the leader of its session.
pub const DRAIN_MAX: Duration = Duration::from_millis(500);

/// Reads of what is printed later than that: a megabyte, sixteen times what the kernel keeps of a terminal or of a pipe. So
/// all of it is read that was printed before the exit, however late we are, and whoever prints more is somebody else.
pub const LATE_READS_MAX: usize = 256;

/// How long `close_session` waits for the word of an exit once the kernel has said that nobody is left. It comes after the
/// drain, so on a machine that is overloaded that long is not enough.
pub const EXIT_TOLD_MAX: Duration = Duration::from_secs(5);

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

/// Reads in a row before anybody else is served, so that a flood does not starve the callers.
pub const READS_IN_A_ROW: usize = 16;

/// Work in a row, in cells that are read or written, for the same reason: a few bytes can change every cell of a screen. At 1
/// to 10 ns a cell it takes at most about a millisecond. The sequence that reaches the limit is completed.
pub const WORK_IN_A_ROW: u64 = 100_000;

/// Bytes of output kept as they were printed, for `read_output` with `raw`.
pub const RAW_MAX: usize = 256 * 1024;

/// Processes that `close_session` tells of as survivors: who leaves more is a bomb, and its first ones tell as much.
pub const SURVIVORS_MAX: usize = 20;

/// Threads that look at the process table: what is ended at a time is looked at by as many as most machines have
/// processors for.
pub const ASIDE_THREADS: usize = 2;
