//! What tmux says, broken in every way: no panic, nothing that grows without bound, and never a pane other than the one
//! that was asked for.
//!
//! A file in `tests/fuzz/tmux` is a reply of a real tmux, with `MARK` for what we have it print between two parts.

#[path = "../../../../core/tests/fuzz/engine.rs"]
mod engine;

use std::path::{Path, PathBuf};

use awaitty_core::{COLS_MAX, ROWS_MAX, Session, Time};

use super::{Capture, PaneInfo, Server, is_id, made, named, parse_id, signal_number};

/// Cases of the usual run: a few seconds.
const CASES: usize = 50_000;

const MARK: &str = "MARK";

/// Lines above the screen that are kept.
const SCROLLBACK: usize = 50;

/// The panes of the kept replies, one that is in none of them, and what is no number.
const PANES: [&str; 6] = ["%0", "%1", "%2", "%3", "%99", "%-1"];

/// What is not found by changing bytes.
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

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/tmux")
}

/// A reply is whatever tmux says to whichever of our questions.
fn check(reply: &[u8]) {
    let said = String::from_utf8_lossy(reply);
    for mark in ["", MARK] {
        let panes = PaneInfo::parse_all(&said, mark);
        assert!(panes.len() <= said.lines().filter(|line| line.starts_with(mark)).count());
        panes.iter().for_each(check_pane);
    }
    for asked in PANES {
        if let Ok(pane) = PaneInfo::of(asked, &said) {
            assert!(pane.id == asked || !is_id(asked));
        }
        if let Ok(capture) = Capture::parse(asked, &said, MARK) {
            assert!(capture.info.id == asked || !is_id(asked));
            check_capture(&capture, said.len());
        }
    }
    assert!(made(&said).map_or(true, |pane| is_id(&pane)));
    assert!(named(&said, "build").is_none_or(is_id));
    assert_eq!(named(&said, ""), None);
    let _ = (Server::default().explain(said.to_string()), signal_number(&said));
    let _ = parse_id(&said);
}

fn check_pane(pane: &PaneInfo) {
    assert!(is_id(&pane.id), "{pane:?}");
    assert!(pane.pid > 0, "the others are groups of processes: {pane:?}");
    let _ = pane.exit();
    assert!(parse_id(&Server::default().id_of(&pane.id)).is_some());
}

/// What a driver does with a capture leaves a screen that shows it.
fn check_capture(capture: &Capture, said: usize) {
    let seed = capture.seed();
    // Each newline becomes two characters; what else there is are sequences that are known, and a screen's newlines.
    assert!(seed.len() <= 2 * said + 2 * ROWS_MAX + 1000, "{} bytes of {said}", seed.len());
    assert!(capture.rows_above(usize::MAX).len() <= said);
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
    assert_eq!(again, 0, "what was taken over is shown");
}

#[test]
fn no_reply_of_tmux_breaks_us() {
    let seeds: Vec<Vec<u8>> =
        engine::stored_cases(&folder()).into_iter().map(|(_, case)| case).collect();
    engine::fuzz(&folder(), CASES, |rng| engine::mutate(rng, &seeds, TOKENS), check);
}
