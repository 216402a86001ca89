//! The emulator alone, in memory: throughput against the parser `vte` and the emulators of other projects, memory of a
//! screen and its scrollback, and the cost of a new width.

use std::hint::black_box;
use std::num::NonZero;
use std::process::Command;
use std::time::Duration;

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::Processor;
use awaitty_core::{Screen, Session, Time};

use crate::report::{Goal, Report, percentile};
use crate::streams::{COLS, ROWS, SCROLLBACK, STREAMS, colour, stream};
use crate::terminal::{PART, now, took};

const STREAM_BYTES: usize = 16 << 20;
const ROUNDS: usize = 7;
/// The most bytes that one read from a terminal returns.
const READ_BYTES: usize = 4095;

struct Ignore;

impl vte::Perform for Ignore {}

fn feed_vte(bytes: &[u8]) {
    let (mut parser, mut perform) = (vte::Parser::new(), Ignore);
    bytes.chunks(READ_BYTES).for_each(|chunk| parser.advance(&mut perform, chunk));
}

/// Does the server's work for these bytes, without the terminal and the waits.
fn feed_ours(bytes: &[u8]) {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, SCROLLBACK);
    for (i, chunk) in bytes.chunks(READ_BYTES).enumerate() {
        // At 100 MB/s a read takes 40 µs.
        let now = Time(Duration::from_micros(40 * i as u64));
        session.handle_output(now, chunk);
    }
    black_box(session.frame().seq());
}

fn alacritty(bytes: &[u8]) -> Term<VoidListener> {
    let config = Config { scrolling_history: SCROLLBACK, ..Config::default() };
    let mut term = Term::new(config, &TermSize::new(COLS, ROWS), VoidListener);
    let mut processor: Processor = Processor::new();
    bytes.chunks(READ_BYTES).for_each(|chunk| processor.advance(&mut term, chunk));
    term
}

fn feed_alacritty(bytes: &[u8]) {
    black_box(alacritty(bytes));
}

fn feed_vt100(bytes: &[u8]) {
    let size = |count: usize| NonZero::new(count as u16).unwrap();
    let mut parser = vt100::Parser::new(size(ROWS), size(COLS), SCROLLBACK);
    bytes.chunks(READ_BYTES).for_each(|chunk| parser.process(chunk));
    black_box(parser.screen().cursor_position());
}

fn feed_avt(bytes: &[u8]) {
    let mut terminal = avt::Terminal::with_scrollback(COLS, ROWS, Some(SCROLLBACK)).unwrap();
    // avt takes text, so a chunk must not split a character.
    let mut rest = std::str::from_utf8(bytes).unwrap();
    while !rest.is_empty() {
        let end = READ_BYTES.min(rest.len());
        let end = (0..=end).rev().find(|&at| rest.is_char_boundary(at)).unwrap();
        let (now, later) = rest.split_at(end);
        terminal.feed(now);
        rest = later;
    }
    black_box(terminal.screen().visible_lines().count());
}

/// Another emulator: its name, how it reads bytes, and the goal for our speed relative to it.
type Reader = (&'static str, fn(&[u8]), Goal);

const READERS: [Reader; 4] = [
    ("alacritty_terminal", feed_alacritty, Goal::AtLeast(1.0)),
    ("avt", feed_avt, Goal::AtLeast(1.0)),
    ("vt100", feed_vt100, Goal::AtLeast(1.0)),
    ("vte, which keeps no screen", feed_vte, Goal::None),
];

/// Measures the throughput in megabytes per second.
fn speed(feed: fn(&[u8]), bytes: &[u8]) -> f64 {
    let start = now();
    feed(black_box(bytes));
    bytes.len() as f64 / 1e6 / ((now() - start) / 1e9)
}

/// Feeds the same bytes to each emulator in turn.
pub(crate) fn emulators(report: &mut Report) {
    for (name, piece) in STREAMS {
        let bytes = stream(piece, STREAM_BYTES).into_bytes();
        let mut rounds = [const { Vec::new() }; READERS.len()];
        for _ in 0..ROUNDS {
            let ours = speed(feed_ours, &bytes);
            for (rounds, (_, feed, _)) in rounds.iter_mut().zip(READERS) {
                rounds.push((ours, speed(feed, &bytes)));
            }
        }
        for (rounds, (peer, _, goal)) in rounds.iter().zip(READERS) {
            report.ratio(&format!("{name} in memory, against {peer}"), "MB/s", rounds, goal);
        }
    }
}

/// Returns the resident memory of this process in KB.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    statm.split(' ').nth(1).unwrap().parse::<f64>().unwrap() * 4.096
}

/// Returns the average memory of one of `count` values in KB; many values average out partial pages. They are never
/// freed, because the next measurement would reuse their memory.
fn each<T>(count: usize, make: impl Fn() -> T) -> f64 {
    let before = resident();
    (0..count).for_each(|_| std::mem::forget(black_box(make())));
    (resident() - before) / count as f64
}

/// Memory measurements: the helper that takes one, the name of the row, its unit and its goal.
const WEIGHED: [(&str, &str, &str, Goal); 3] = [
    ("weigh-idle", "a screen with its history, idle", "KB", Goal::AtMost(200.0)),
    ("weigh-eighty", "10 000 lines of 80 characters, kept", "MB", Goal::AtMost(1.5)),
    ("weigh-colours", "10 000 lines of colours, kept", "MB", Goal::None),
];

/// Prints one memory measurement if this process was started for it. Each runs in a new process, because memory that
/// another measurement has freed would be reused and not count.
pub(crate) fn run_as_helper() -> bool {
    let part = std::env::var(PART).unwrap_or_default();
    if !part.starts_with("weigh-") {
        return false;
    }
    let idle = each(200, || Session::new(Time::from_ms(0), COLS, ROWS, SCROLLBACK));
    let kept = |text: &str| (each(10, || full(text)) - idle) / 1000.0;
    let weight = match part.as_str() {
        "weigh-idle" => idle,
        "weigh-eighty" => kept(&lines(eighty)),
        _ => kept(&lines(colour)),
    };
    println!("{weight}");
    true
}

/// Takes a memory measurement in a new process.
fn weigh(part: &str) -> f64 {
    let output = Command::new(std::env::current_exe().unwrap()).env(PART, part).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
}

/// Returns enough lines to fill a screen and its scrollback.
fn lines(line: fn(usize, &mut String)) -> String {
    let mut text = String::new();
    (0..SCROLLBACK + ROWS).for_each(|i| line(i, &mut text));
    text
}

/// Returns a screen that has read `text`.
fn full(text: &str) -> Screen {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    screen.feed(text.as_bytes());
    screen
}

fn eighty(i: usize, text: &mut String) {
    *text += &format!("{i:08} {}\r\n", "x".repeat(71));
}

/// Measures the memory of a screen and the cost of a new width.
pub(crate) fn screens(report: &mut Report) {
    for (part, name, unit, goal) in WEIGHED {
        report.figure(name, unit, &[(); 3].map(|()| weigh(part)), goal);
    }
    let text = lines(colour);
    let (mut screen, mut term) = (full(&text), alacritty(text.as_bytes()));
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for cols in [80, COLS].into_iter().cycle().take(20) {
            ours.push(took(|| screen.resize(cols, ROWS)));
            theirs.push(took(|| term.resize(TermSize::new(cols, ROWS))));
        }
        rounds.push((percentile(&ours, 0.5), percentile(&theirs, 0.5)));
    }
    let row = "new columns with 10 000 lines, against alacritty_terminal";
    report.ratio(row, "µs", &rounds, Goal::AtMost(1.0));
}
