//! The size of the page of a ten-minute session.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use awaitty_test::trace::{self, Kind, PAGE_MAX, Step, Trace, Verdict};
use tempfile::TempDir;

const SECONDS: usize = 600;

/// Returns the next of a sequence of numbers without a pattern.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Writes a page of a session of ten minutes with 120 columns and 40 rows, whose program draws `screen` at a rate.
/// Returns the page.
fn page(per_second: usize, mut screen: impl FnMut(usize, &mut u64) -> String) -> String {
    let directory = TempDir::new().unwrap();
    let mut cast = r#"{"version":3,"term":{"cols":120,"rows":40}}"#.to_owned();
    let mut state = 88_172_645_463_325_252;
    for i in 0..SECONDS * per_second {
        let output = serde_json::to_string(&screen(i, &mut state)).unwrap();
        write!(cast, "\n[{:.6},\"o\",{output}]", 1.0 / per_second as f64).unwrap();
    }
    cast += "\n[0.1,\"m\",\"step 0 start\"]\n[0.1,\"m\",\"step 0 end\"]";
    let recording = directory.path().join("session.cast");
    fs::write(&recording, cast).unwrap();
    let step = Step {
        kind: Kind::Wait,
        name: "wait".to_owned(),
        place: None,
        looked_for: None,
        verdict: Verdict::Passed(String::new()),
    };
    let path: PathBuf = directory.path().join("trace.html");
    let trace = Trace { title: "t".to_owned(), steps: vec![step], recording, secrets: Vec::new() };
    trace::write(&path, &trace).unwrap();
    let page = fs::read_to_string(path).unwrap();
    assert!(page.len() <= PAGE_MAX, "{} bytes", page.len());
    page
}

/// Returns the screen of a process viewer, in which the numbers of each row change.
fn processes(state: &mut u64) -> String {
    let mut screen = "\x1b[H".to_owned();
    for row in 0..40_u64 {
        let [cpu, memory, time] = [next(state) % 1000, 100 + next(state) % 5, next(state) % 6000];
        let color = 31 + row % 6;
        write!(
            screen,
            "\x1b[{};1H\x1b[{color}m{:>7}\x1b[0m user      20   0 {:>6}M {:>5}.{}  \x1b[1m{:>3}.{}\x1b[0m \
             {:>2}:{:02}.{:02} /usr/bin/program-{row} --with --its --arguments\x1b[K",
            row + 1,
            row * 37 + 1,
            memory * row,
            memory,
            cpu % 10,
            cpu / 10,
            cpu % 10,
            time / 3600,
            time / 60 % 60,
            time % 60,
        )
        .unwrap();
    }
    screen
}

#[test]
fn a_full_screen_program_of_ten_minutes_keeps_all_frames_and_bytes() {
    let page = page(1, |_, state| processes(state));
    assert!(page.contains("\"notes\":[]"), "nothing is left out");
    assert!(page.len() < PAGE_MAX / 5, "{} bytes", page.len());
}

#[test]
fn a_program_that_redraws_its_screen_30_times_a_second_fits() {
    // A few rows change each time, as in a program with a progress bar.
    let page = page(30, |i, state| {
        let mut screen = if i == 0 { processes(state) } else { String::new() };
        for row in 1..=4 {
            let percent = i * row / 180 % 101;
            let bar = "█".repeat(percent);
            write!(screen, "\x1b[{row};1H\x1b[32m{bar}\x1b[K\x1b[{row};110H{percent:>3} % {i}")
                .unwrap();
        }
        screen
    });
    assert!(!page.contains("apart"), "all frames are kept");
}

#[test]
fn a_program_that_redraws_everything_30_times_a_second_fits() {
    let page = page(30, |_, state| processes(state));
    assert!(page.contains("apart, because the page would exceed 10 MB"), "frames are left out");
    assert!(page.len() > PAGE_MAX / 2, "{} bytes: more frames would fit", page.len());
}
