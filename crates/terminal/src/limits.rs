//! The limits of terminals, and those of them that a host may set. Each constant has its reason.

use std::time::Duration;

use awaitty_core::FRAMES_MAX;

/// The limits that a host may set. The constants of this module are the defaults and have the reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of terminals at a time.
    pub sessions: usize,
    /// The maximum number of waits at a time on one terminal.
    pub waits: usize,
    /// Lines of scrollback of each terminal, unless `spawn` sets another number.
    pub scrollback: usize,
    /// The maximum number of scrollback lines of all terminals together.
    pub scrollback_sum: usize,
    /// Frames in the history of each terminal.
    pub frames: usize,
    /// Capacity of a terminal's input queue in bytes.
    pub input_queue: usize,
    /// Characters kept of the output of each command.
    pub output_chars: usize,
    /// Age at which a recording is removed, in days.
    pub recording_days: u64,
    /// The maximum size of all recordings in bytes. The oldest are removed first.
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

/// The maximum number of terminals of a server: more than agents use at a time, and fewer than the kernel's limit of
/// PTYs.
pub const SESSIONS_MAX: usize = 256;

/// The maximum number of waits at a time on one terminal.
pub const WAITS_MAX: usize = 1_000;

/// Lines of scrollback, unless `spawn` sets another number.
pub const SCROLLBACK: usize = 10_000;

/// The maximum that `spawn` may set: 100 MB of plain text.
pub const SCROLLBACK_MAX: usize = 1_000_000;

/// The maximum number of scrollback lines of all terminals of a server: 1 GB of plain text in lines of usual length. It
/// allows a thousand terminals with [`SCROLLBACK`] lines, or ten with [`SCROLLBACK_MAX`].
pub const SCROLLBACK_SUM_MAX: usize = 10_000_000;

/// Age at which a recording is removed, in days: long enough to investigate a failure of last week, and short enough
/// that the user still knows its content.
pub const RECORDING_DAYS: u64 = 30;

/// The maximum size of all recordings in bytes: ten of the maximum size, and not all of a disk.
pub const RECORDINGS_BYTES_MAX: u64 = 10 << 30;

/// Capacity of a terminal's input queue in bytes. Input that exceeds it is refused as a whole.
pub const INPUT_QUEUE_MAX: usize = 1 << 20;

/// The maximum length of a line in canonical mode, in bytes. The kernel silently drops the rest of a longer line.
pub const CANONICAL_LINE_MAX: usize = 4095;

/// Pause after the Escape key, once the program has read it. By then the program has decided that no escape sequence
/// follows: Vim waits for 100 ms (`ttimeoutlen` in its defaults), Neovim for 50 ms, fish for 30 ms. If the kernel shows
/// a longer poll (zsh 400 ms, readline 500 ms), the pause is longer: see `terminal/pace.rs`.
pub const ESCAPE_PAUSE: Duration = Duration::from_millis(150);

/// The maximum length of a result in characters.
pub const RESULT_CHARS: usize = 20_000;

/// Columns of a terminal, unless `spawn` sets another number.
pub const COLS: usize = 120;

/// Rows of a terminal, unless `spawn` sets another number.
pub const ROWS: usize = 40;

/// The maximum length of a command that is typed into a shell, in bytes: a quarter of [`INPUT_QUEUE_MAX`].
pub const COMMAND_MAX: usize = 256 * 1024;

/// Time between the first signal and SIGKILL when a program is closed.
pub const GRACE: Duration = Duration::from_secs(2);

/// The same time when the server exits: the server must have exited within half a second.
pub const SHUTDOWN_GRACE: Duration = Duration::from_millis(200);

/// Time for which output is read after a program's exit, if another process holds the terminal open. The kernel hangs
/// up within 20 ms if the program was the session leader.
pub const DRAIN_MAX: Duration = Duration::from_millis(500);

/// The maximum number of reads after [`DRAIN_MAX`]: 1 MiB, sixteen times the kernel's buffer of a terminal or a pipe.
/// So all output from before the exit is read even if the server is late. Any further output is from another process.
pub const LATE_READS_MAX: usize = 256;

/// Time for which `close_session` waits for the exit status after all processes have ended. The status is known after
/// the drain, so on an overloaded machine this takes longer than [`DRAIN_MAX`].
pub const EXIT_REPORT_MAX: Duration = Duration::from_secs(5);

/// Reads of a terminal's task before it yields, so that a flood does not starve callers and other terminals.
pub const READS_IN_A_ROW: usize = 16;

/// Work of a terminal's task before it yields, in cells that are read or written: a few bytes can change every cell of
/// a screen. At 1 to 10 ns per cell it takes at most about 1 ms. The escape sequence that reaches the limit is
/// completed.
pub const WORK_IN_A_ROW: u64 = 100_000;

/// Bytes of raw output that are kept, for `read_output` with `raw`.
pub const RAW_MAX: usize = 256 * 1024;

/// The maximum number of survivors that `close_session` lists. A longer list means a fork bomb, and its first
/// processes identify it.
pub const SURVIVORS_MAX: usize = 20;

/// The number of threads that scan the process table. Most machines have at least two processors for them.
pub const WORKER_THREADS: usize = 2;
