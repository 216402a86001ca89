//! What has a terminal in the foreground, and whether it waits for input: the kernel's word for it.
//!
//! A program that waits for input sleeps in a read of its terminal, or, if it has taken the terminal out of
//! the mode in which lines are read, in a call that waits for several things at once.

use std::fs;
use std::path::Path;

use rustix::process::Pid;

use super::processes::stat;
use super::pty::InputModes;

/// What a process is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It waits for input from its terminal.
    Reads,
    /// It waits for several things, and has made its terminal such that input may be one of them.
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
/// `select` and `pselect6`, whose first argument is how many descriptors are asked for.
const SELECT_CALLS: [&str; 2] =
    if cfg!(target_arch = "aarch64") { ["72", "72"] } else { ["23", "270"] };
/// `poll`, `ppoll`, `epoll_wait`, `epoll_pwait` and `epoll_pwait2`.
const POLL_CALLS: [&str; 5] = if cfg!(target_arch = "aarch64") {
    ["73", "73", "22", "22", "441"]
} else {
    ["7", "271", "232", "281", "441"]
};

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
    let mut words = call.split_whitespace();
    let name = words.next().unwrap_or_default();
    let argument =
        words.next().and_then(|word| i32::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    let is_reading = match argument {
        Some(fd) if name == READ_CALL => is_terminal(pid, fd),
        // A line editor asks for the first descriptor alone.
        Some(1) if SELECT_CALLS.contains(&name) => is_terminal(pid, 0),
        _ => false,
    };
    let is_polling = POLL_CALLS.contains(&name) || SELECT_CALLS.contains(&name);
    match name {
        _ if is_reading => Doing::Reads,
        _ if is_polling && !modes.is_canonical => Doing::Polls,
        "running" => Doing::Works,
        _ => Doing::Waits,
    }
}

fn is_terminal(pid: i32, fd: i32) -> bool {
    let file = fs::read_link(format!("/proc/{pid}/fd/{fd}"));
    file.is_ok_and(|file| file.starts_with("/dev/pts") || file == Path::new("/dev/tty"))
}
