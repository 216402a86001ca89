//! Fuzzes the parsers of tmux's output: no panic, no unbounded growth, and never a pane other than the requested one.
//!
//! A file in `tests/fuzz/tmux` is output of a real tmux, with `MARK` as the separator of two parts.

#[path = "../../../../core/tests/fuzz/engine.rs"]
mod engine;

use std::path::{Path, PathBuf};

use awaitty_core::{COLS_MAX, ROWS_MAX, Session, Time};

use super::{
    Capture, PaneInfo, Server, find_named, is_id, parse_id, parse_new_pane, signal_number,
};

/// The number of cases by default: a few seconds.
const CASES: usize = 50_000;

const MARK: &str = "MARK";

/// The size of the scrollback, in lines.
const SCROLLBACK: usize = 50;

/// The panes of the stored replies, one that is in none of them, and an invalid id.
const PANES: [&str; 6] = ["%0", "%1", "%2", "%3", "%99", "%-1"];

/// Tokens that mutations of single bytes would not produce.
const TOKENS: &[&[u8]] = &[
    b"MARK\n",
    b"MARKMARK\n",
    b"%0",
    b"%1",
    b"%4294967296",
    b"%+2",
    b" 18446744073709551615 ",
    b" 99999999999999999999 ",
    b" 2147483648 ",
    b" -1 ",
    b"%1 -1 0 0 0 80 24 1 0 = = /dev/pts/0\n",
    b"%1 42 0 0 0 18446744073709551615 18446744073709551615 18446744073709551615 0 = = /dev/pts/0\n",
    b"%2 42 1 1 1 1 1 0 1 =255 =KILL /dev/pts/0\nsh\n/\nx\nwork:0.0\n",
    b"0 0 18446744073709551615 0 18446744073709551615 1,1,1\n",
    b"18446744073709551615 18446744073709551615 5 3 1 ,,,,,,,,,,,,,,,,,,,,\n",
    b"build %1\n",
    b" \n",
    b"\r",
    b"\x0e\x0f",
    b"\x1b[8;1H",
    b"\x1b[?1049h",
    b"\x1b[1000000000b",
    b"\x1bc",
    b"\x1b]0;never ends",
    "世".as_bytes(),
    "👩\u{200d}💻".as_bytes(),
    b"\xff\xc3",
    b"can't find pane: ",
    b"no server running",
];

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/tmux")
}

/// Passes a reply to every parser.
fn check(reply: &[u8]) {
    let output = String::from_utf8_lossy(reply);
    for mark in ["", MARK] {
        let panes = PaneInfo::parse_all(&output, mark);
        assert!(panes.len() <= output.lines().filter(|line| line.starts_with(mark)).count());
        panes.iter().for_each(check_pane);
    }
    for target in PANES {
        if let Ok(pane) = PaneInfo::parse_one(target, &output) {
            assert!(pane.id == target || !is_id(target));
        }
        if let Ok(capture) = Capture::parse(target, &output, MARK) {
            assert!(capture.info.id == target || !is_id(target));
            check_capture(&capture, output.len());
        }
    }
    assert!(parse_new_pane(&output).map_or(true, |pane| is_id(&pane)));
    assert!(find_named(&output, "build").is_none_or(is_id));
    assert_eq!(find_named(&output, ""), None);
    let _ = (Server::default().parse_error(output.to_string()), signal_number(&output));
    let _ = parse_id(&output);
}

fn check_pane(pane: &PaneInfo) {
    assert!(is_id(&pane.id), "{pane:?}");
    assert!(pane.pid > 0, "not a PID of a process: {pane:?}");
    let _ = pane.exit();
    assert!(parse_id(&Server::default().id_of(&pane.id)).is_some());
}

/// Applies a capture to a session as the driver does, and checks that the screen then shows it.
fn check_capture(capture: &Capture, reply_length: usize) {
    let seed = capture.seed();
    // Each newline becomes two characters; the rest are known sequences and a screen's newlines.
    let seed_max = 2 * reply_length + 2 * ROWS_MAX + 1000;
    assert!(seed.len() <= seed_max, "{} bytes of {reply_length}", seed.len());
    assert!(capture.rows_above(usize::MAX).len() <= reply_length);
    assert!(capture.rows_above(1).len() <= 1);
    let now = Time::from_ms(0);
    let PaneInfo { cols, rows, .. } = capture.info;
    let mut session = Session::new(now, cols, rows, SCROLLBACK);
    session.follow_tmux();
    session.handle_output(now, &seed);
    session.reconcile(now, &capture.rows(), capture.cursor, true);
    session.handle_drained(now);
    let screen = session.screen();
    let size = (cols.clamp(1, COLS_MAX), rows.clamp(1, ROWS_MAX));
    assert_eq!((screen.cols(), screen.rows()), size);
    assert!(screen.cursor().row < size.1 && screen.cursor().col < size.0);
    let again = session.reconcile(now, &capture.rows(), capture.cursor, true);
    assert_eq!(again, 0, "the screen equals the capture");
}

#[test]
fn malformed_replies_of_tmux_do_not_panic() {
    let seeds: Vec<Vec<u8>> =
        engine::stored_cases(&directory()).into_iter().map(|(_, case)| case).collect();
    engine::fuzz(&directory(), CASES, |rng| engine::mutate(rng, &seeds, TOKENS), check);
}
