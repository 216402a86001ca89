//! Latency: of calls, waits, keystrokes and signals.

use std::process::{Command, Stdio};

use serde_json::json;

use crate::clients::{Directory, Http, Piped, signal as signal_command};
use crate::report::{Goal, Report, percentile};
use crate::terminal::{Printer, Raw, now, part, took};

const ROUNDS: usize = 7;

/// Measures an empty call over HTTP against stdio.
pub(crate) fn calls(report: &mut Report) {
    let (mut stdio, mut http) = (Piped::start(&[]), Http::start());
    let nothing = json!({"tmux": false});
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for _ in 0..1_000 {
            one.push(took(|| stdio.call("list_sessions", &nothing)));
            other.push(took(|| {
                assert!(http.call("list_sessions", &nothing).contains("\"sessions\":[]"))
            }));
        }
        // The first round is a warm-up.
        if round > 0 {
            rounds.push((percentile(&other, 0.5), percentile(&one, 0.5)));
        }
    }
    report.ratio("a call over HTTP, against stdio, p50", "µs", &rounds, Goal::AtMost(4.0));
}

/// Measures from the program's write to the result of a wait, against a read of a terminal and an empty call.
pub(crate) fn print(report: &mut Report) {
    let directory = Directory::new("print");
    let (ours, raw) = (directory.0.join("ours"), directory.0.join("raw"));
    let (mut our_printer, mut raw_printer) = (Printer::new(&ours), Printer::new(&raw));
    let program = std::env::current_exe().unwrap().display().to_string();
    let mut server = Piped::start(&[]);
    let env: serde_json::Map<_, _> = part("print", &ours)
        .into_iter()
        .map(|(name, value)| (name.to_owned(), json!(value)))
        .collect();
    let spawned = server.call("spawn", &json!({"command": program, "args": [], "env": env}));
    let session = spawned["session_id"].as_str().unwrap().to_owned();
    let mut raw = Raw::start(Command::new(&program).envs(part("print", &raw)));
    let printed = |text: &str| text.trim().trim_start_matches('T').parse::<f64>().unwrap();
    let mut seq = json!(0);
    let (mut middle, mut tail) = (Vec::new(), Vec::new());
    for round in 0..=ROUNDS {
        let (mut seen, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..400 {
            let wait = json!({"session_id": session, "pattern": "T(\\d+)", "since": seq, "timeout_ms": 10_000});
            let id = server.send("wait_for_text", &wait);
            server.until_waits(&session, 1);
            our_printer.print();
            let answer = server.answer(id);
            let end = now();
            seen.push((end - printed(answer["match"]["text"].as_str().unwrap())) / 1e3);
            seq = answer["seq"].clone();
            raw_printer.print();
            let line = raw.line();
            let read = (now() - printed(&line)) / 1e3;
            floor.push(read + took(|| server.call("list_sessions", &json!({"tmux": false}))));
        }
        if round > 0 {
            middle.push((percentile(&seen, 0.5), percentile(&floor, 0.5)));
            tail.push((percentile(&seen, 0.99), percentile(&floor, 0.99)));
        }
    }
    report.ratio(
        "print to answer, against a read and a call, p50",
        "µs",
        &middle,
        Goal::AtMost(1.5),
    );
    report.ratio("print to answer, against a read and a call, p99", "µs", &tail, Goal::AtMost(3.0));
}

/// The number of keystrokes in one call.
const KEYS: usize = 20;

/// Measures a call with many keystrokes until the program waits for input again, in a shell and in an editor.
pub(crate) fn keys(report: &mut Report) {
    for (name, command, args) in [
        ("bash", "bash", vec!["--norc", "--noprofile"]),
        ("vim", "vim", vec!["--clean", "-n", "-c", "startinsert"]),
    ] {
        let mut server = Piped::start(&[]);
        let ready = json!({"ready": true});
        let spawn = json!({"command": command, "args": args, "wait": ready});
        let spawned = server.call("spawn", &spawn);
        let session = spawned["session_id"].as_str().unwrap().to_owned();
        let mut rounds = Vec::new();
        for round in 0..=ROUNDS {
            let mut all = Vec::new();
            for _ in 0..10 {
                let keys = vec!["x"; KEYS];
                let typed = json!({"session_id": session, "keys": keys, "wait": ready});
                all.push(
                    took(|| assert_eq!(server.call("send_input", &typed)["ready"], true)) / 1e3,
                );
                let end = if name == "bash" { "ctrl+u" } else { "enter" };
                let cleared = json!({"session_id": session, "keys": [end], "wait": ready});
                server.call("send_input", &cleared);
            }
            if round > 0 {
                rounds.push(percentile(&all, 0.5));
            }
        }
        let row = format!("{KEYS} keystrokes in one call into {name}, p50");
        report.figure(&row, "ms", &rounds, Goal::AtMost(30.0));
    }
}

/// Measures from the start of a process that signals to the result of a wait, against a process that writes to a
/// socket.
pub(crate) fn signal(report: &mut Report) {
    let directory = Directory::new("signal");
    let socket = directory.0.join("poked");
    let poked = Printer::new(&socket);
    let program = std::env::current_exe().unwrap();
    let mut server = Piped::start(&[]);
    let mut rounds = Vec::new();
    for round in 0..=ROUNDS {
        let (mut ours, mut floor) = (Vec::new(), Vec::new());
        for _ in 0..50 {
            let id = server.send("wait_for_channel", &json!({"channel": "bench"}));
            // Calls start in order, so the wait has started when a later call returns.
            server.call("list_sessions", &json!({"tmux": false}));
            let mut signal = signal_command(&server, "bench");
            let start = now();
            let mut child = signal.spawn().unwrap();
            assert_eq!(server.answer(id)["outcome"], "met");
            ours.push((now() - start) / 1e3);
            child.wait().unwrap();
            let mut poke = Command::new(&program);
            poke.envs(part("poke", &socket)).stdin(Stdio::null()).stdout(Stdio::null());
            let start = now();
            let mut child = poke.spawn().unwrap();
            poked.wait_for_poke();
            floor.push((now() - start) / 1e3);
            child.wait().unwrap();
        }
        if round > 0 {
            rounds.push((percentile(&ours, 0.5), percentile(&floor, 0.5)));
        }
    }
    report.ratio(
        "signal to answer, against a process and a socket",
        "µs",
        &rounds,
        Goal::AtMost(1.5),
    );
}
