//! Fairness: calls to a quiet session while two programs flood their terminals with sequences that change every cell.

use serde_json::json;

use crate::clients::Piped;
use crate::report::{Goal, Report, percentile};
use crate::terminal::took;

const ROUNDS: usize = 5;
const CALLS: usize = 200;

/// Output that is cheap to parse, for comparison.
const PLAIN: &str = "a line of plain text that a program prints\r\n";

/// Short sequences that change every cell.
const HOSTILE: [(&str, &str); 3] = [
    ("DECCARA", "\x1b[;;;;1;31$r\x1b[;;;;0$r"),
    ("REP", "\x1b[Hx\x1b[65535b"),
    ("DECFRA and DECCRA", "\x1b[88;;;;$x\x1b[;;;;;2;2$v"),
];

/// The size of the floods' screens, and the goals for p50 and p99 in milliseconds.
const SCREENS: [(usize, usize, Goal, Goal); 2] = [
    (120, 40, Goal::AtMost(5.0), Goal::AtMost(50.0)),
    (1000, 500, Goal::None, Goal::AtMost(100.0)),
];

/// Returns p50 and p99 of calls beside two floods, in milliseconds.
fn calls_beside(piece: &str, cols: usize, rows: usize) -> (f64, f64) {
    let mut server = Piped::start(&[]);
    let quiet = json!({"command": "cat", "args": [], "name": "quiet"});
    server.call("spawn", &quiet);
    for _ in 0..2 {
        let wait = json!({"change": 0});
        let flood = json!({"command": "yes", "args": [piece.repeat(100)], "cols": cols, "rows": rows, "wait": wait});
        server.call("spawn", &flood);
    }
    let call = || took(|| server.call("snapshot", &json!({"session_id": "quiet"}))) / 1e3;
    let times: Vec<f64> = std::iter::repeat_with(call).take(CALLS).collect();
    (percentile(&times, 0.5), percentile(&times, 0.99))
}

/// Measures snapshots of a quiet session beside hostile floods, against plain floods.
pub(crate) fn hostile(report: &mut Report) {
    for (cols, rows, middle_goal, tail_goal) in SCREENS {
        for (name, piece) in HOSTILE {
            let (mut middle, mut tail) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                let ours = calls_beside(piece, cols, rows);
                let against = calls_beside(PLAIN, cols, rows);
                middle.push((ours.0, against.0));
                tail.push((ours.1, against.1));
            }
            for (part, rounds, goal) in [("p50", middle, middle_goal), ("p99", tail, tail_goal)] {
                let times: Vec<f64> = rounds.iter().map(|round| round.0).collect();
                let row = format!("a call beside two floods of {name}, {cols}x{rows}, {part}");
                report.figure(&row, "ms", &times, goal);
                report.ratio(&format!("{row}, against plain"), "ms", &rounds, Goal::None);
            }
        }
    }
}
