//! Throughput: programs that print as fast as they can.

use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::clients::{Directory, Piped};
use crate::report::{Goal, Report};
use crate::streams::{COLS, ROWS, STREAMS, stream};
use crate::terminal::{Raw, now};

const BYTES: usize = 200 << 20;
const ROUNDS: usize = 5;
const END: &str = "END-OF-STREAM";

/// Measures the throughput in megabytes per second.
fn speed(drain: impl FnOnce()) -> f64 {
    let start = now();
    drain();
    BYTES as f64 / 1e6 / ((now() - start) / 1e9)
}

/// Prints the file in a pane of tmux.
fn in_tmux(directory: &Path, file: &str) {
    let tmux = |args: &[&str]| {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", "bench", "-f", "/dev/null"]).args(args);
        tmux.env("TMUX_TMPDIR", directory).env_remove("TMUX");
        assert!(tmux.status().unwrap().success(), "{args:?}");
    };
    let script = format!("cat {file}; tmux -L bench wait-for -S done");
    let (cols, rows) = (COLS.to_string(), ROWS.to_string());
    tmux(&["new-session", "-d", "-x", &cols, "-y", &rows, &script]);
    tmux(&["wait-for", "done"]);
}

/// Reads 200 MB with a wait for the last line, against a terminal that is not parsed and against tmux.
pub(crate) fn flood(report: &mut Report) {
    let directory = Directory::new("flood");
    let path = directory.0.join("stream");
    let file = path.to_str().unwrap();
    let wait = json!({"text": END, "timeout_ms": 600_000});
    let spawn = json!({"command": "cat", "args": [file], "cols": COLS, "rows": ROWS, "wait": wait});
    for (name, piece) in STREAMS {
        std::fs::write(&path, stream(piece, BYTES) + &format!("\x1b[m\r\n{END}\r\n")).unwrap();
        let (mut against_raw, mut against_tmux) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            let mut server = Piped::start(&[]);
            let ours = speed(|| assert_eq!(server.call("spawn", &spawn)["outcome"], "met"));
            drop(server);
            let cat = || Raw::start(Command::new("cat").arg(file)).drain();
            let raw = speed(|| assert!(cat() > BYTES as u64));
            let multiplexed = speed(|| in_tmux(&directory.0, file));
            against_raw.push((ours, raw));
            against_tmux.push((ours, multiplexed));
        }
        let goal = if name == "plain" { Goal::AtLeast(0.8) } else { Goal::None };
        let row = format!("200 MB, {name}, against a terminal not parsed");
        report.ratio(&row, "MB/s", &against_raw, goal);
        let row = format!("200 MB, {name}, against tmux");
        report.ratio(&row, "MB/s", &against_tmux, Goal::AtLeast(1.0));
    }
}
