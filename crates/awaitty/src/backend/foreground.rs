//! What has a terminal in the foreground, and whether it waits for input: the kernel's word for it.
//!
//! A program that waits for input sleeps in a read of its terminal, or in a call that waits for several things of which
//! that is one.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::process::Pid;

use super::processes::stat;
use super::pty::InputModes;

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It waits for input from its terminal.
    Reads,
    /// It waits for several things, and input from its terminal is one of them.
    Polls,
    /// It sleeps, for a timer, a child, a socket or another.
    Waits,
    /// It is on a processor, or about to be.
    Works,
    /// Somebody stopped it.
    Stopped,
}

impl Doing {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Doing::Reads | Doing::Polls => "it reads from the terminal: it waits for input",
            Doing::Waits => "it is waiting for something",
            Doing::Works => "it is busy",
            Doing::Stopped => "it is stopped: SIGCONT lets it go on",
        }
    }
}

/// What has a terminal in the foreground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Foreground {
    /// The program's name, as the kernel has it.
    pub name: String,
    /// Its number.
    pub pid: i32,
    /// What it is doing.
    pub doing: Doing,
}

/// Processes that are looked at below a leader. A foreground job has few; who has more is not waiting.
const LOOKED_AT_MAX: usize = 256;

/// The numbers of `read` and of the calls that wait for descriptors, on the machines that Linux runs on most.
const READ_CALL: &str = if cfg!(target_arch = "aarch64") { "63" } else { "0" };
/// `select` and `pselect6`: how many descriptors, and a bit for each that is read from.
const SELECT_CALLS: [&str; 2] =
    if cfg!(target_arch = "aarch64") { ["72", "72"] } else { ["23", "270"] };
/// `poll` and `ppoll`: a list, and how long it is.
const POLL_CALLS: [&str; 2] =
    if cfg!(target_arch = "aarch64") { ["73", "73"] } else { ["7", "271"] };
/// `epoll_wait`, `epoll_pwait` and `epoll_pwait2`: a descriptor that knows.
const EPOLL_CALLS: [&str; 3] =
    if cfg!(target_arch = "aarch64") { ["22", "22", "441"] } else { ["232", "281", "441"] };

/// Descriptors that are looked at of a call that waits for several. Who waits for more is a server.
const DESCRIPTORS_MAX: usize = 1_024;

/// What has the terminal of a leader in the foreground. Of several, as in a pipe, the one that reads the
/// terminal, or else the busiest.
pub fn look(leader: Pid, modes: &InputModes) -> Option<Foreground> {
    let leader = leader.as_raw_nonzero().get();
    // Of what follows the name: state, parent, group, session, terminal, the terminal's foreground group.
    let group = stat(leader)?.get(5)?.clone();
    let members = family(leader).into_iter().filter_map(|pid| {
        let fields = stat(pid)?;
        let is_member = fields.get(2) == Some(&group) && fields.first().is_some_and(|s| s != "Z");
        is_member.then(|| (pid, doing(pid, fields.first().map_or("", |state| state), modes)))
    });
    let (pid, doing) = members.min_by_key(|(_, doing)| match doing {
        Doing::Reads => 0,
        Doing::Polls => 1,
        Doing::Works => 2,
        Doing::Stopped => 3,
        Doing::Waits => 4,
    })?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(Foreground { name: name.trim_end().to_owned(), pid, doing })
}

/// A process and its descendants. The kernel lists children by the thread that made them, and only the first
/// is asked: a program that starts others from more than one does not wait for input meanwhile.
fn family(leader: i32) -> Vec<i32> {
    let mut found = vec![leader];
    let mut next = 0;
    while let Some(&pid) = found.get(next).filter(|_| found.len() < LOOKED_AT_MAX) {
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        found.extend(
            children.iter().flat_map(|all| all.split_whitespace()).flat_map(str::parse::<i32>),
        );
        next += 1;
    }
    found
}

fn doing(pid: i32, state: &str, modes: &InputModes) -> Doing {
    match state {
        "T" | "t" => return Doing::Stopped,
        "R" | "D" => return Doing::Works,
        _ => {}
    }
    let Ok(call) = fs::read_to_string(format!("/proc/{pid}/syscall")) else {
        // Another user's, such as sudo: it sleeps, and it has turned echo off to read a secret.
        return if modes.is_secret() { Doing::Reads } else { Doing::Waits };
    };
    let words: Vec<&str> = call.split_whitespace().collect();
    let name = words.first().copied().unwrap_or_default();
    let argument = |i: usize| {
        words.get(i).and_then(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok())
    };
    let (first, second) = (argument(1).unwrap_or_default(), argument(2).unwrap_or_default());
    if name == READ_CALL && is_terminal(pid, first as i32) {
        return Doing::Reads;
    }
    match waited_for(pid, name, first, second) {
        Some(Some(fds)) if fds.iter().any(|&fd| is_terminal(pid, fd)) => Doing::Polls,
        // What it waits for cannot be seen, but it has made its terminal such that input may be part of it.
        Some(None) if !modes.is_canonical => Doing::Polls,
        _ if name == "running" => Doing::Works,
        _ => Doing::Waits,
    }
}

/// Of a call that waits for several things: the descriptors that it waits to read from, if they can be seen.
fn waited_for(pid: i32, call: &str, first: u64, second: u64) -> Option<Option<Vec<i32>>> {
    if SELECT_CALLS.contains(&call) {
        Some(selected(pid, first, second))
    } else if POLL_CALLS.contains(&call) {
        Some(polled(pid, first, second))
    } else {
        EPOLL_CALLS.contains(&call).then(|| watched(pid, first))
    }
}

fn selected(pid: i32, count: u64, set: u64) -> Option<Vec<i32>> {
    // Without a set it is a way to sleep.
    let count = if set == 0 { 0 } else { (count as usize).min(DESCRIPTORS_MAX) };
    let bits = memory(pid, set, count.div_ceil(8))?;
    let is_set = |fd: &usize| bits[fd / 8] >> (fd % 8) & 1 == 1;
    Some((0..count).filter(is_set).map(|fd| fd as i32).collect())
}

fn polled(pid: i32, list: u64, count: u64) -> Option<Vec<i32>> {
    // Each is a descriptor in four bytes, what is asked for in two, and room for the answer in two.
    let list = memory(pid, list, 8 * (count as usize).min(DESCRIPTORS_MAX))?;
    let entries = list.chunks_exact(8).filter(|entry| entry[4] & POLLIN != 0);
    let fds = entries.map(|entry| i32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]));
    Some(fds.collect())
}

fn watched(pid: i32, epoll: u64) -> Option<Vec<i32>> {
    let info = fs::read_to_string(format!("/proc/{pid}/fdinfo/{epoll}")).ok()?;
    let fds = info.lines().filter_map(|line| {
        let mut words = line.strip_prefix("tfd:")?.split_whitespace();
        let fd = words.next()?.parse().ok()?;
        let events = u32::from_str_radix(words.nth(1)?, 16).ok()?;
        (events & u32::from(POLLIN) != 0).then_some(fd)
    });
    Some(fds.take(DESCRIPTORS_MAX).collect())
}

/// There is something to read; the same for `poll` and for `epoll`.
const POLLIN: u8 = 1;

fn memory(pid: i32, at: u64, length: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; length];
    let file = fs::File::open(format!("/proc/{pid}/mem")).ok()?;
    file.read_exact_at(&mut bytes, at).ok()?;
    Some(bytes)
}

fn is_terminal(pid: i32, fd: i32) -> bool {
    let file = fs::read_link(format!("/proc/{pid}/fd/{fd}"));
    file.is_ok_and(|file| file.starts_with("/dev/pts") || file == Path::new("/dev/tty"))
}
