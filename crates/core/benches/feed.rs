//! Bytes per second through the screen, against the parser `vte` alone and the emulators of
//! `alacritty_terminal` and `avt`, in one run; memory; and the cost of a change of columns.
//!
//! Machines are noisy, so every stream is fed to everybody in turn, several rounds of it, and the
//! best round of each counts. What is to be read are the ratios.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use alacritty_terminal::event::VoidListener;
use alacritty_terminal::term::test::TermSize;
use alacritty_terminal::term::{Config, Term};
use alacritty_terminal::vte::ansi::Processor;
use awaitty_core::{Screen, Session, Time};

const COLS: usize = 120;
const ROWS: usize = 40;
const SCROLLBACK: usize = 10_000;
const STREAM_BYTES: usize = 16 << 20;
const ROUNDS: usize = 7;
/// What one read from a terminal gives at most.
const READ_BYTES: usize = 4095;

/// The names, and the streams made of a piece that is repeated.
fn streams() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("plain", repeat(plain)),
        ("colour", repeat(colour)),
        ("full screen", repeat(full_screen)),
        ("CJK", repeat(cjk)),
    ]
}

fn repeat(piece: impl Fn(usize, &mut String)) -> Vec<u8> {
    let mut text = String::new();
    for i in 0.. {
        if text.len() >= STREAM_BYTES {
            break;
        }
        piece(i, &mut text);
    }
    text.into_bytes()
}

fn plain(i: usize, text: &mut String) {
    let words = ["compiling", "crate", "finished", "in", "target", "warning", "unused", "profile"];
    *text += &format!("{i:08} ");
    for j in 0..8 {
        *text += words[(i * 7 + j * 3) % words.len()];
        text.push(' ');
    }
    *text += "\r\n";
}

fn colour(i: usize, text: &mut String) {
    *text += &format!("\x1b[2m{i:08}\x1b[0m \x1b[1;3{}mINFO\x1b[0m ", i % 8);
    for j in 0..6 {
        *text += &format!("\x1b[38;5;{}mkey{j}\x1b[0m=\x1b[3{}mvalue{i}\x1b[0m ", (i + j) % 256, j);
    }
    *text += "\r\n";
}

fn full_screen(i: usize, text: &mut String) {
    *text += "\x1b[?25l\x1b[H";
    for row in 1..=ROWS {
        *text +=
            &format!("\x1b[{row};1H\x1b[7m{row:4}\x1b[27m \x1b[3{}m{:<20}\x1b[m", i % 8, i * row);
        *text +=
            &format!("\x1b[32m{:>10.2}%\x1b[39m {:<40}\x1b[K", (i % 100) as f64, "process name");
    }
    *text += &format!("\x1b[{ROWS};5H\x1b[?25h");
}

fn cjk(i: usize, text: &mut String) {
    let sentence = "自然言語処理は計算機科学と言語学の一分野である。終端で表示する文字は幅が二つ。";
    *text += &format!("{i:06} {sentence}\r\n");
}

/// One who reads bytes.
type Reader = (&'static str, fn(&[u8]));

struct Ignore;

impl vte::Perform for Ignore {}

fn feed_vte(bytes: &[u8]) {
    let (mut parser, mut perform) = (vte::Parser::new(), Ignore);
    bytes.chunks(READ_BYTES).for_each(|chunk| parser.advance(&mut perform, chunk));
}

fn feed_ours(bytes: &[u8]) {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    bytes.chunks(READ_BYTES).for_each(|chunk| screen.feed(chunk));
    black_box(screen.text());
}

fn feed_watched(bytes: &[u8]) {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    let mut looks = 0u64;
    bytes.chunks(READ_BYTES).for_each(|chunk| screen.feed_watched(chunk, &mut |_| looks += 1));
    black_box(looks);
}

fn feed_session(bytes: &[u8]) {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, SCROLLBACK);
    for (i, chunk) in bytes.chunks(READ_BYTES).enumerate() {
        // At 100 MB/s a read takes 40 µs.
        let now = Time(Duration::from_micros(40 * i as u64));
        session.handle_output(now, chunk);
    }
    black_box(session.frame().seq());
}

fn feed_alacritty(bytes: &[u8]) {
    let config = Config { scrolling_history: SCROLLBACK, ..Config::default() };
    let mut term = Term::new(config, &TermSize::new(COLS, ROWS), VoidListener);
    let mut processor: Processor = Processor::new();
    bytes.chunks(READ_BYTES).for_each(|chunk| processor.advance(&mut term, chunk));
    black_box(&term);
}

fn feed_avt(bytes: &[u8]) {
    let Ok(mut terminal) = avt::Terminal::with_scrollback(COLS, ROWS, Some(SCROLLBACK)) else {
        return;
    };
    // It takes text, so a read must not cut a character in two.
    let text = String::from_utf8_lossy(bytes);
    let mut rest = &*text;
    while !rest.is_empty() {
        let at = (0..=READ_BYTES.min(rest.len())).rev().find(|&at| rest.is_char_boundary(at));
        let (now, later) = rest.split_at(at.unwrap_or(rest.len()));
        terminal.feed(now);
        rest = later;
    }
    black_box(terminal.screen().visible_lines().count());
}

const READERS: [Reader; 6] = [
    ("ours", feed_ours),
    ("watched", feed_watched),
    ("session", feed_session),
    ("vte alone", feed_vte),
    ("alacritty", feed_alacritty),
    ("avt", feed_avt),
];

fn speeds() {
    println!(
        "MB/s of {} MiB, best of {ROUNDS} rounds; in brackets: ours is that many times faster",
        STREAM_BYTES >> 20
    );
    print!("{:<12}", "");
    READERS.iter().for_each(|(name, _)| print!("{name:>18}"));
    println!();
    for (name, bytes) in streams() {
        let mut best = [Duration::MAX; READERS.len()];
        for _ in 0..ROUNDS {
            for (best, (_, feed)) in best.iter_mut().zip(READERS) {
                let start = Instant::now();
                feed(black_box(&bytes));
                *best = start.elapsed().min(*best);
            }
        }
        print!("{name:<12}");
        for time in best {
            let speed = bytes.len() as f64 / 1e6 / time.as_secs_f64();
            let ratio = time.as_secs_f64() / best[0].as_secs_f64();
            print!("{:>18}", format!("{speed:.0} ({ratio:.2}x)"));
        }
        println!();
    }
}

/// The memory that the kernel has given us, in bytes.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}

/// What each of many costs, so that the pages of one do not matter. They are never freed, lest the
/// next to be measured is made of their memory.
fn each<T>(count: usize, make: impl Fn() -> T) -> usize {
    let before = resident();
    (0..count).for_each(|_| std::mem::forget(black_box(make())));
    (resident() - before) / count
}

/// A screen whose scrollback is full of such lines.
fn full(line: fn(usize, &mut String)) -> Screen {
    let mut screen = Screen::new(COLS, ROWS, SCROLLBACK);
    let mut text = String::new();
    for i in 0..SCROLLBACK + ROWS {
        text.clear();
        line(i, &mut text);
        screen.feed(text.as_bytes());
    }
    screen
}

fn memory() {
    let idle = each(200, || Screen::new(COLS, ROWS, SCROLLBACK));
    let session = each(200, || Session::new(Time::from_ms(0), COLS, ROWS, SCROLLBACK));
    let plain = each(10, || full(eighty)) - idle;
    let coloured = each(10, || full(colour)) - idle;
    println!("memory, in KB");
    println!("  an idle {COLS}x{ROWS} screen             {:>8}", idle / 1000);
    println!("  an idle session with its history  {:>8}", session / 1000);
    println!("  {SCROLLBACK} lines of 80 characters      {:>8}", plain / 1000);
    println!("  {SCROLLBACK} lines in colour             {:>8}\n", coloured / 1000);
}

fn eighty(i: usize, text: &mut String) {
    *text += &format!("{i:08} {}\r\n", "x".repeat(71));
}

fn resizing() {
    let mut screen = full(colour);
    let mut times: Vec<Duration> = (0..200)
        .map(|i| {
            let start = Instant::now();
            screen.resize(if i % 2 == 0 { 80 } else { COLS }, ROWS);
            start.elapsed()
        })
        .collect();
    times.sort();
    println!(
        "\na change of columns with {SCROLLBACK} lines kept: median {:?}, worst {:?}",
        times[100], times[199]
    );
}

fn main() {
    memory();
    speeds();
    resizing();
}
