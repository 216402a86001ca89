//! Classifies a thread by its state and by the system call in which it sleeps, as `/proc` shows them.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use awaitty_core::TerminalWait;

use super::proc;
use crate::io::pty::InputModes;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThreadState {
    /// It waits for input from the terminal.
    Terminal(TerminalWait),
    /// It waits for something else, without a time limit.
    AtRest,
    /// It waits for something else, with a timeout.
    Timed,
    /// It waits for a child.
    Child,
    /// It sleeps for a moment on a timer, as the monitor threads of some runtimes always do.
    Nap,
    /// It runs, is about to, waits for a disk, or sleeps on a timer.
    Busy,
    /// A signal stopped it.
    Stopped,
    /// The kernel does not show it.
    Unknown,
}

/// A sleep on a timer up to this long is a nap: the monitor thread of the Go runtime sleeps up to 10 ms.
const NAP_MAX: Duration = Duration::from_millis(10);

/// A wait for input with at least this timeout counts as one without: an editor that writes its swap file after 4 s of
/// quiet waits for keys all the same. What redraws by itself, or waits for the rest of an escape sequence, has shorter
/// timeouts.
const TIMEOUT_LONG: Duration = Duration::from_secs(1);

/// Descriptors that are looked at in a call that waits for several. A process that waits for more is a server.
const DESCRIPTORS_MAX: usize = 1_024;

/// The bit of `poll` and of `epoll` for input.
const POLLIN: u8 = 1;

/// The flag of `clock_nanosleep` for a moment instead of a duration.
const TIMER_ABSTIME: u64 = 1;

/// System calls in which threads sleep, by their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Read,
    Write,
    /// `select` or `pselect6`.
    Select,
    Poll,
    Ppoll,
    EpollWait,
    EpollWait2,
    Nanosleep,
    ClockNanosleep,
    Futex,
    WaitForChild,
    WaitForSignal,
    Restarted,
    Uring,
    Other,
}

impl Call {
    #[cfg(target_arch = "x86_64")]
    fn of(number: u64) -> Call {
        match number {
            0 | 19 => Call::Read,
            1 | 20 => Call::Write,
            23 | 270 => Call::Select,
            7 => Call::Poll,
            271 => Call::Ppoll,
            232 | 281 => Call::EpollWait,
            441 => Call::EpollWait2,
            35 => Call::Nanosleep,
            230 => Call::ClockNanosleep,
            202 => Call::Futex,
            61 | 247 => Call::WaitForChild,
            128 => Call::WaitForSignal,
            219 => Call::Restarted,
            426 => Call::Uring,
            _ => Call::Other,
        }
    }

    /// The generic table, which all newer architectures share.
    #[cfg(any(target_arch = "aarch64", target_arch = "riscv64"))]
    fn of(number: u64) -> Call {
        match number {
            63 | 65 => Call::Read,
            64 | 66 => Call::Write,
            72 => Call::Select,
            73 => Call::Ppoll,
            22 => Call::EpollWait,
            441 => Call::EpollWait2,
            101 => Call::Nanosleep,
            115 => Call::ClockNanosleep,
            98 => Call::Futex,
            260 | 95 => Call::WaitForChild,
            137 => Call::WaitForSignal,
            128 => Call::Restarted,
            426 => Call::Uring,
            _ => Call::Other,
        }
    }
}

/// Returns what a thread does, and how often it was given a processor so far; `None` if it has ended.
pub(super) fn probe(pid: i32, tid: i32, modes: &InputModes) -> Option<(ThreadState, u64)> {
    let task = format!("/proc/{pid}/task/{tid}");
    let stat = proc::read(&format!("{task}/stat")).ok()?;
    let state = match proc::fields(&stat)?.next()? {
        "Z" | "X" => return None,
        "T" | "t" => ThreadState::Stopped,
        "R" | "D" => ThreadState::Busy,
        _ => match proc::read_text(&format!("{task}/syscall")) {
            Ok(call) => sleeping(pid, &call, modes),
            // Another user's, such as sudo: it sleeps, and it has turned echo off to read a secret.
            Err(_) if modes.is_secret() => ThreadState::Terminal(TerminalWait::Read),
            Err(_) => ThreadState::Unknown,
        },
    };
    let times = proc::read_text(&format!("{task}/schedstat")).unwrap_or_default();
    let runs = times.split_whitespace().nth(2).and_then(|count| count.parse().ok());
    Some((state, runs.unwrap_or_default()))
}

/// Classifies a thread that sleeps by the line that the kernel shows of its system call.
fn sleeping(pid: i32, call: &str, modes: &InputModes) -> ThreadState {
    let mut words = call.split_whitespace();
    let call = match words.next().map(|word| (word, word.parse())) {
        Some(("running", _)) => return ThreadState::Busy,
        // A page fault, or another sleep outside of a call.
        Some(("-1", _)) => return ThreadState::AtRest,
        Some((_, Ok(number))) => Call::of(number),
        _ => return ThreadState::Unknown,
    };
    let number = |word: &str| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok();
    let arguments: Vec<u64> = words.map(|word| number(word).unwrap_or_default()).collect();
    let argument = |index: usize| arguments.get(index).copied().unwrap_or_default();
    let timed = |is_timed: bool| if is_timed { ThreadState::Timed } else { ThreadState::AtRest };
    match call {
        Call::Read if is_terminal(pid, argument(0) as i32) => {
            ThreadState::Terminal(TerminalWait::Read)
        }
        // It waits until the terminal takes its output.
        Call::Write if is_terminal(pid, argument(0) as i32) => ThreadState::Busy,
        Call::Select => {
            let fds = selected(pid, argument(0), argument(1));
            waits_for(pid, fds, argument(0) == 0, Timeout::at(pid, argument(4)), modes)
        }
        Call::Poll | Call::Ppoll => {
            let timeout = match call {
                Call::Poll => Timeout::of_ms(argument(2)),
                _ => Timeout::at(pid, argument(2)),
            };
            let fds = polled(pid, argument(0), argument(1));
            waits_for(pid, fds, argument(1) == 0, timeout, modes)
        }
        Call::EpollWait => {
            let fds = watched(pid, argument(0), true);
            waits_for(pid, fds, false, Timeout::of_ms(argument(3)), modes)
        }
        Call::EpollWait2 => {
            let fds = watched(pid, argument(0), true);
            waits_for(pid, fds, false, Timeout::at(pid, argument(3)), modes)
        }
        Call::Nanosleep => sleeps(pid, argument(0)),
        Call::ClockNanosleep if argument(1) & TIMER_ABSTIME == 0 => sleeps(pid, argument(2)),
        Call::ClockNanosleep => ThreadState::Busy,
        Call::Futex => timed(argument(3) != 0),
        Call::WaitForSignal => timed(argument(2) != 0),
        Call::Restarted => ThreadState::Timed,
        Call::WaitForChild => ThreadState::Child,
        Call::Uring => ThreadState::Unknown,
        Call::Read | Call::Write | Call::Other => ThreadState::AtRest,
    }
}

/// The timeout of a call that waits for descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Timeout {
    Never,
    Long,
    Short,
}

impl Timeout {
    /// Returns a timeout that is given in milliseconds; a negative one never comes.
    fn of_ms(ms: u64) -> Timeout {
        match u64::try_from(ms as i32) {
            Err(_) => Timeout::Never,
            Ok(ms) if Duration::from_millis(ms) >= TIMEOUT_LONG => Timeout::Long,
            Ok(_) => Timeout::Short,
        }
    }

    /// Returns a timeout that is in the memory of the process, in seconds and a fraction; without an address it never
    /// comes.
    fn at(pid: i32, address: u64) -> Timeout {
        match (address, seconds_at(pid, address)) {
            (0, _) => Timeout::Never,
            (_, Some((seconds, _))) if Duration::from_secs(seconds) >= TIMEOUT_LONG => {
                Timeout::Long
            }
            _ => Timeout::Short,
        }
    }
}

/// Classifies a call that waits for several descriptors.
fn waits_for(
    pid: i32,
    fds: Option<Vec<i32>>,
    is_empty: bool,
    timeout: Timeout,
    modes: &InputModes,
) -> ThreadState {
    let is_timed = timeout != Timeout::Never;
    let waits = match timeout {
        Timeout::Short => TerminalWait::TimedPoll,
        Timeout::Never | Timeout::Long => TerminalWait::Poll,
    };
    match fds {
        Some(fds) if fds.iter().any(|&fd| is_terminal(pid, fd)) => ThreadState::Terminal(waits),
        // The list cannot be seen, but the terminal is set up for a program that reads keys.
        None if !modes.is_canonical => ThreadState::Terminal(waits),
        // Without descriptors it is a way to sleep.
        _ if is_empty && is_timed => ThreadState::Busy,
        _ if is_timed => ThreadState::Timed,
        _ => ThreadState::AtRest,
    }
}

/// Classifies a sleep on a timer by its duration.
fn sleeps(pid: i32, timespec: u64) -> ThreadState {
    let is_nap = seconds_at(pid, timespec)
        .is_some_and(|(seconds, nanos)| seconds == 0 && Duration::from_nanos(nanos) <= NAP_MAX);
    if is_nap { ThreadState::Nap } else { ThreadState::Busy }
}

/// Reads a `timespec`, or a `timeval`, of a process: seconds and their fraction.
fn seconds_at(pid: i32, address: u64) -> Option<(u64, u64)> {
    let word = |bytes: &[u8]| bytes.try_into().map(u64::from_ne_bytes).unwrap_or(u64::MAX);
    let bytes = memory(pid, address, 16)?;
    Some((word(&bytes[..8]), word(&bytes[8..])))
}

fn selected(pid: i32, count: u64, set: u64) -> Option<Vec<i32>> {
    let count = if set == 0 { 0 } else { (count as usize).min(DESCRIPTORS_MAX) };
    let bits = memory(pid, set, count.div_ceil(8))?;
    let is_set = |fd: &usize| bits[fd / 8] >> (fd % 8) & 1 == 1;
    Some((0..count).filter(is_set).map(|fd| fd as i32).collect())
}

fn polled(pid: i32, list: u64, count: u64) -> Option<Vec<i32>> {
    // Each entry is a descriptor in four bytes, the events asked for in two, and room for the answer in two.
    let list = memory(pid, list, 8 * (count as usize).min(DESCRIPTORS_MAX))?;
    let entries = list.chunks_exact(8).filter(|entry| entry[4] & POLLIN != 0);
    let fds = entries.map(|entry| i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]));
    Some(fds.collect())
}

/// Returns the descriptors that an epoll instance waits to read from, with those of an instance in it.
fn watched(pid: i32, epoll: u64, looks_inside: bool) -> Option<Vec<i32>> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).ok()?;
    let fds = info.lines().filter_map(|line| {
        let mut words = line.strip_prefix("tfd:")?.split_whitespace();
        let fd = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        (events & u32::from(POLLIN) != 0).then_some(fd)
    });
    let mut fds: Vec<i32> = fds.take(DESCRIPTORS_MAX).collect();
    if looks_inside {
        let is_epoll =
            |fd: &i32| link(pid, *fd).is_some_and(|to| to == Path::new("anon_inode:[eventpoll]"));
        let inner: Vec<i32> = fds.iter().copied().filter(is_epoll).collect();
        fds.extend(inner.into_iter().filter_map(|fd| watched(pid, fd as u64, false)).flatten());
    }
    Some(fds)
}

fn memory(pid: i32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let file = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn link(pid: i32, fd: i32) -> Option<std::path::PathBuf> {
    fs::read_link(format!("/proc/{pid}/fd/{fd}")).ok()
}

fn is_terminal(pid: i32, fd: i32) -> bool {
    link(pid, fd).is_some_and(|to| to.starts_with("/dev/pts") || to == Path::new("/dev/tty"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_of_seconds_is_a_long_one() {
        let cases = [
            (-1_i64, Timeout::Never),
            (0, Timeout::Short),
            (999, Timeout::Short),
            (1_000, Timeout::Long),
            (4_000, Timeout::Long),
        ];
        for (ms, expected) in cases {
            assert_eq!(Timeout::of_ms(ms as u64), expected, "{ms}");
        }
        let own = std::process::id() as i32;
        for (seconds, expected) in [(0_u64, Timeout::Short), (1, Timeout::Long), (4, Timeout::Long)]
        {
            let timespec = [seconds, 999_999_999];
            assert_eq!(Timeout::at(own, timespec.as_ptr() as u64), expected, "{seconds}");
        }
        assert_eq!(Timeout::at(own, 0), Timeout::Never);
    }
}
