//! Scale: memory and start time of many sessions, and the cost of many waits, idle and under a flood.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clients::Piped;
use crate::report::{Goal, Report};
use crate::streams::{COLS, ROWS, SCROLLBACK};
use crate::terminal::{Raw, now};

const SESSIONS: usize = 1_000;
const WAITS: usize = 10_000;
const ROUNDS: usize = 5;
const QUIET: Duration = Duration::from_secs(30);

/// Flags that raise the default limits.
#[rustfmt::skip]
const RAISED_LIMITS: [&str; 8] = [
    "--max-sessions", "1100", "--max-scrollback", "11000000", "--max-waits", "11000", "--max-calls", "12000",
];

fn field(path: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0)
}

/// Returns the resident memory of the server in KB.
fn memory_of(server: &Piped) -> f64 {
    field(&format!("/proc/{}/status", server.pid()), "VmRSS")
}

/// Returns how often the server's threads have woken up and how long they have run, in ms.
fn work_of(server: &Piped) -> (f64, f64) {
    let tasks = std::fs::read_dir(format!("/proc/{}/task", server.pid())).unwrap();
    let mut work = (0.0, 0.0);
    for task in tasks.flatten() {
        let path = task.path().display().to_string();
        work.0 += field(&format!("{path}/status"), "voluntary_ctxt_switches");
        let times = std::fs::read_to_string(format!("{path}/schedstat")).unwrap_or_default();
        work.1 +=
            times.split(' ').next().and_then(|ns| ns.parse::<f64>().ok()).unwrap_or(0.0) / 1e6;
    }
    work
}

fn spawn(server: &mut Piped, script: &str) -> String {
    start(server, script, SCROLLBACK)
}

fn start(server: &mut Piped, script: &str, scrollback: usize) -> String {
    let spawn = json!({"command": "sh", "args": ["-c", script], "cols": COLS, "rows": ROWS,
        "scrollback": scrollback});
    server.call("spawn", &spawn)["session_id"].as_str().unwrap().to_owned()
}

/// Measures the memory of a session, idle and with full scrollback.
pub(crate) fn memory(report: &mut Report) {
    let (mut took, mut idle) = (Vec::new(), Vec::new());
    let (mut lines, mut after) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let mut server = Piped::start(&RAISED_LIMITS);
        spawn(&mut server, "exec cat");
        let (before, start) = (memory_of(&server), now());
        (0..SESSIONS).for_each(|_| drop(spawn(&mut server, "exec cat")));
        let ours = (now() - start) / 1e9;
        idle.push((memory_of(&server) - before) / SESSIONS as f64);
        drop(server);
        let start = now();
        let bare: Vec<Raw> = (0..SESSIONS)
            .map(|_| Raw::start(Command::new("sh").args(["-c", "exec cat"])))
            .collect();
        took.push((ours, (now() - start) / 1e9));
        drop(bare);
        let flooded = after_full_lines(SCROLLBACK);
        lines.push(flooded - after_full_lines(0));
        after.push(flooded);
    }
    let row = "starting 1 000 sessions, against as many bare terminals";
    report.ratio(row, "s", &took, Goal::None);
    report.figure("an idle session", "KB", &idle, Goal::AtMost(200.0));
    report.figure("10 000 full lines of scrollback", "MB", &lines, Goal::AtMost(1.5));
    report.figure("a session with full scrollback, in total", "MB", &after, Goal::None);
}

/// Returns the memory of a session in MB after it has printed lines of the terminal's width. Besides the scrollback, a
/// session keeps recent frames, transient frames and the newest raw output.
fn after_full_lines(scrollback: usize) -> f64 {
    const COUNT: usize = 10;
    let mut server = Piped::start(&[]);
    let idle = spawn(&mut server, "exec cat");
    server.call("snapshot", &json!({"session_id": idle}));
    let before = memory_of(&server);
    for _ in 0..COUNT {
        let lines =
            "for (i = 0; i < 10100; i++) printf \"%08d %0110d\\r\\n\", i, i; print \"EN\" \"D\"";
        let script = format!("awk 'BEGIN {{ {lines} }}'; exec cat");
        let full = start(&mut server, &script, scrollback);
        let wait =
            json!({"session_id": full, "pattern": "END", "since": "screen", "timeout_ms": 60_000});
        assert_eq!(server.call("wait_for_text", &wait)["outcome"], "met");
    }
    (memory_of(&server) - before) / 1024.0 / COUNT as f64
}

/// Lets real time pass: the measurement is what the server does meanwhile.
fn idle_for(time: Duration) {
    let end = Instant::now() + time;
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        std::thread::park_timeout(left);
    }
}

fn wait_never(server: &mut Piped, session: &str) -> u64 {
    server.send(
        "wait_for_text",
        &json!({"session_id": session, "pattern": "NEVER", "timeout_ms": 3_600_000}),
    )
}

/// Measures idle waits, and waits on a program that floods.
pub(crate) fn waits(report: &mut Report) {
    let mut server = Piped::start(&RAISED_LIMITS);
    let sessions: Vec<String> = (0..SESSIONS).map(|_| spawn(&mut server, "exec cat")).collect();
    for session in &sessions {
        for _ in 0..WAITS / SESSIONS {
            wait_never(&mut server, session);
        }
        server.until_waits(session, (WAITS / SESSIONS) as u64);
    }
    // The work of the last call is done when a second passes without any.
    let mut before = work_of(&server);
    for _ in 0..10 {
        idle_for(Duration::from_secs(1));
        let work = work_of(&server);
        if std::mem::replace(&mut before, work) == work {
            break;
        }
    }
    idle_for(QUIET);
    let after = work_of(&server);
    let row = "1 000 sessions, 10 000 waits: in 30 s";
    report.figure(&format!("{row}, wake-ups"), "", &[after.0 - before.0], Goal::AtMost(0.0));
    report.figure(&format!("{row}, CPU"), "ms", &[after.1 - before.1], Goal::AtMost(0.0));
    drop(server);
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (flooded(WAITS), flooded(1))).collect();
    report.ratio("a flood with 10 000 waits, against one", "MB/s", &rounds, Goal::AtLeast(0.9));
}

/// Returns the throughput in MB/s of a program with `waits` waits on its session.
fn flooded(waits: usize) -> f64 {
    const LINES: usize = 8_000_000;
    let mut server = Piped::start(&RAISED_LIMITS);
    let script = format!("read x; seq 1000000 {}; echo EN''D; exec cat", 1_000_000 + LINES - 1);
    let session = spawn(&mut server, &script);
    for _ in 0..waits {
        wait_never(&mut server, &session);
    }
    server.until_waits(&session, waits as u64);
    let start = now();
    let wait = json!({"text": "END", "timeout_ms": 600_000});
    let sent: Value =
        server.call("send_input", &json!({"session_id": session, "input": "\n", "wait": wait}));
    assert_eq!(sent["outcome"], "met");
    // A line has seven digits and ends with CR LF.
    LINES as f64 * 9.0 / 1e6 / ((now() - start) / 1e9)
}
