//! The limits of terminals and what a host may set of them. Each constant has its reason.

use std::time::Duration;

use awaitty_core::FRAMES_MAX;

/// The limits that a host may set. The constants of this module are the defaults, and say why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Terminals at a time.
    pub sessions: usize,
    /// Waits at a time on one terminal.
    pub waits: usize,
    /// Lines kept of each terminal, unless `spawn` sets another number.
    pub scrollback: usize,
    /// Lines kept of all terminals together.
    pub scrollback_sum: usize,
    /// Frames kept of each terminal.
    pub frames: usize,
    /// Bytes of input that may wait for a program to read them.
    pub input_queue: usize,
    /// Characters of the output that is kept of each command.
    pub output_chars: usize,
    /// Days after which a recording is removed.
    pub recording_days: u64,
    /// Bytes of all recordings; the oldest are removed.
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
            output_chars: RESULT_CHARS,
            recording_days: RECORDING_DAYS,
            recordings_bytes: RECORDINGS_BYTES_MAX,
        }
    }
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

/// The size of a terminal, unless `spawn` says otherwise.
pub const COLS: usize = 120;

/// See [`COLS`].
pub const ROWS: usize = 40;

/// Bytes of a command that is typed into a shell. Four times what is asked for as a line, and a quarter of
/// the input that may wait.
pub const COMMAND_MAX: usize = 256 * 1024;

/// How long a program has between the polite signal and SIGKILL, when it is closed.
pub const GRACE: Duration = Duration::from_secs(2);

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
pub const EXIT_REPORT_MAX: Duration = Duration::from_secs(5);

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
pub const WORKER_THREADS: usize = 2;
