//! Output of real programs, recorded by `scripts/record`. Each directory in `tests/recorded` is a test case.
//!
//! `bytes` is the output, `size` the terminal's columns and rows, `screen` the text that another terminal showed. The
//! optional file `before` is the number of bytes before the last key, for tests of the changes that this key made.

#![expect(clippy::unwrap_used, reason = "a failed assumption fails the test")]

use std::fs;
use std::path::{Path, PathBuf};

use awaitty_core::{ChangeKind, Diff, Screen, Session, Time};

const SCROLLBACK: usize = 1000;

struct Recording {
    name: String,
    bytes: Vec<u8>,
    cols: usize,
    rows: usize,
    screen: String,
    before: Option<usize>,
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded")
}

fn recording(name: &str) -> Recording {
    let read = |file: &str| fs::read(directory().join(name).join(file));
    let text = |file: &str| String::from_utf8(read(file).unwrap()).unwrap();
    let size = text("size");
    let (cols, rows) = size.trim().split_once(' ').unwrap();
    let before = read("before")
        .ok()
        .map(|before| String::from_utf8(before).unwrap().trim().parse().unwrap());
    Recording {
        name: name.to_owned(),
        bytes: read("bytes").unwrap(),
        cols: cols.parse().unwrap(),
        rows: rows.parse().unwrap(),
        screen: text("screen").trim_end_matches('\n').to_owned(),
        before,
    }
}

fn all() -> Vec<Recording> {
    let mut names: Vec<String> = fs::read_dir(directory())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert!(names.len() >= 30, "recordings are missing: {names:?}");
    names.iter().map(|name| recording(name)).collect()
}

/// Returns both screens side by side, with differing rows marked.
fn compare(expected: &str, shown: &str) -> String {
    let (mut expected, mut shown) = (expected.lines(), shown.lines());
    let mut text = String::new();
    loop {
        let (a, b) = (expected.next(), shown.next());
        if a.is_none() && b.is_none() {
            return text;
        }
        let mark = if a == b { ' ' } else { '!' };
        text += &format!("{mark} expected |{}|\n", a.unwrap_or_default());
        if a != b {
            text += &format!("!    shown |{}|\n", b.unwrap_or_default());
        }
    }
}

#[test]
fn every_recording_matches_another_terminal() {
    let mut failed = Vec::new();
    for recording in all() {
        let mut screen = Screen::new(recording.cols, recording.rows, SCROLLBACK);
        screen.feed(&recording.bytes);
        let shown = screen.text();
        if shown != recording.screen {
            failed.push(format!("{}\n{}", recording.name, compare(&recording.screen, &shown)));
        }
    }
    assert!(failed.is_empty(), "{} differ:\n{}", failed.len(), failed.join("\n"));
}

#[test]
fn no_recording_depends_on_how_it_is_split() {
    for recording in all() {
        let mut whole = Screen::new(recording.cols, recording.rows, SCROLLBACK);
        whole.feed(&recording.bytes);
        for size in [1, 7, 4095] {
            let mut cut = Screen::new(recording.cols, recording.rows, SCROLLBACK);
            recording.bytes.chunks(size).for_each(|chunk| cut.feed(chunk));
            assert_eq!(cut.text(), whole.text(), "{} in pieces of {size}", recording.name);
            assert!(cut.dump() == whole.dump(), "{} in pieces of {size}", recording.name);
        }
    }
}

#[test]
fn every_recording_can_be_dumped() {
    for recording in all() {
        let mut screen = Screen::new(recording.cols, recording.rows, SCROLLBACK);
        screen.feed(&recording.bytes);
        let mut copy = Screen::new(recording.cols, recording.rows, SCROLLBACK);
        copy.feed(&screen.dump());
        assert_eq!(copy.text(), screen.text(), "{}", recording.name);
        assert!(copy.dump() == screen.dump(), "{}", recording.name);
    }
}

#[test]
fn recorded_programs_use_no_unknown_sequence() {
    // Unknown sequences of real programs, each with the reason why it can be ignored.
    let accepted = [
        "CSI %m",     // The rest of a terminfo string whose parameters ncurses did not expand.
        "DCS z",      // Sent by vim to check that such strings are ignored.
        "mode ?4",    // Smooth scrolling, from the reset string of xterm's terminfo entry.
        "mode ?7727", // The Escape key in mintty, which tmux sets on every terminal.
    ];
    for recording in all() {
        let mut screen = Screen::new(recording.cols, recording.rows, SCROLLBACK);
        screen.feed(&recording.bytes);
        let missed: Vec<_> = screen
            .unknown()
            .iter()
            .filter(|(name, _)| !accepted.contains(&name.as_str()))
            .collect();
        assert!(missed.is_empty(), "{}: {missed:?}", recording.name);
    }
}

/// Returns the changes that the last key of a recording made.
fn last_key(name: &str) -> (Session, Diff) {
    let recording = recording(name);
    let before = recording.before.expect("the recording has a `before` file");
    let mut session = Session::new(Time::from_ms(0), recording.cols, recording.rows, SCROLLBACK);
    session.handle_output(Time::from_ms(1), &recording.bytes[..before]);
    session.handle_drained(Time::from_ms(2));
    let seq = session.frame().seq();
    session.handle_output(Time::from_ms(3), &recording.bytes[before..]);
    session.handle_drained(Time::from_ms(4));
    let diff = session.history().diff_since(seq).unwrap();
    (session, diff)
}

#[test]
fn one_line_down_in_less_is_a_scroll_and_two_rows() {
    let (session, diff) = last_key("less-j");
    assert_eq!(diff.scrolled, 1);
    let rows: Vec<usize> = diff.changes.iter().map(|change| change.row).collect();
    let last = session.screen().rows() - 1;
    assert_eq!(rows, [last - 1, last], "the new line and the prompt below it");
}

#[test]
fn one_line_up_in_less_is_a_scroll_down() {
    let (_, diff) = last_key("less-k");
    assert_eq!(diff.scrolled, -1);
    assert!(diff.changes.len() <= 2, "{:?}", diff.changes);
}

#[test]
fn the_next_menu_entry_changes_the_style_of_two_rows_and_the_selection() {
    let (session, diff) = last_key("dialog-down");
    assert_eq!(diff.scrolled, 0);
    let kinds: Vec<ChangeKind> = diff.changes.iter().map(|change| change.kind).collect();
    assert_eq!(kinds, [ChangeKind::Style, ChangeKind::Style]);
    assert!(diff.changes.iter().all(|change| !change.spans.is_empty()));
    let selected = diff.changes[1].row;
    let selection = session.frame().selection();
    let entry: Vec<&str> =
        selection.iter().filter(|s| s.row == selected).map(|s| s.text.as_str()).collect();
    assert_eq!(entry, ["2", "Copper"], "the entry's tag and text: {selection:?}");
    assert!(
        !selection.iter().any(|s| s.row == diff.changes[0].row),
        "the previous entry is still selected: {selection:?}"
    );
}
