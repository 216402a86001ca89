//! Mutated output of real programs: no panic, and all invariants hold.
//!
//! Each file in `tests/fuzz/bytes` is a case that is checked as it is and mutated. Where a case contains xterm's
//! request for another size (`CSI 8 ; rows ; columns t`), the test resizes the terminal. awaitty ignores that sequence,
//! so nothing else depends on it.

mod common;
#[path = "fuzz/engine.rs"]
mod engine;

use std::fs;
use std::path::{Path, PathBuf};

use awaitty_core::Screen;
use common::Step;
use engine::Rng;

/// The number of cases of the default run: about ten seconds.
const CASES: usize = 1500;

/// The initial size of the terminal.
const SIZE: (usize, usize) = (20, 6);

/// The maximum size. `hostile.rs` tests the limits themselves, and a large screen is slow to check.
const SIZE_MAX: (usize, usize) = (132, 50);

/// Sequences that mutations rarely produce: those that must be complete to have an effect, and strings that never end.
const TOKENS: &[&[u8]] = &[
    b"\x1b[1000000000b",
    b"\x1b[1000000000@",
    b"\x1b[1000000000M",
    b"\x1b[1000000000L",
    b"\x1b[1000000000P",
    b"\x1b[1000000000X",
    b"\x1b[1000000000S",
    b"\x1b[1000000000T",
    b"\x1b[99999999999999999999;4294967296H",
    b"\x1b[18446744073709551615;65535;2147483648r",
    b"\x1b[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;m",
    b"\x1b[38:2:::::999:38;5;48;2m",
    b"\x1b[4:3;58:2::1:2:3m",
    b"\x1b]0;never ends",
    b"\x1b]8;;http://a/",
    b"\x1b]8;id=x;http://b/\x07",
    b"\x1b]133;A\x07",
    b"\x1b]133;C\x1b\\",
    b"\x1b]4;255;rgb:f/f/f;256;?;-1;?\x07",
    b"\x1bPq#0;2;0;0;0!1000000000~",
    b"\x1bP$qr\x1b\\",
    b"\x1b_Ga=T,s=100000,v=100000;AAAA",
    b"\x1bX\x1b^",
    b"\x1b[?1049h",
    b"\x1b[?1049l",
    b"\x1b[?47h\x1b[?1047h\x1b[?1048h\x1b[?1048l",
    b"\x1b[?2026h",
    b"\x1b[?2026l",
    b"\x1b[?2027h",
    b"\x1b[?69h\x1b[3;9s",
    b"\x1b[2;4r\x1b[?6h",
    b"\x1b[?7l",
    b"\x1b[?45h\x1b[?1045h",
    b"\x1b[4h",
    b"\x1b[?3h\x1b[?95h",
    b"\x1b[1;1;99;99$z",
    b"\x1b[1;1;3;3;1;2;2;1$v",
    b"\x1b[2*x\x1b[1;1;4;4;7$r",
    b"\x1b[1000000000'}",
    b"\x1b[1000000000'~",
    b"\x1b[3 @\x1b[3 A",
    b"\x1b[1\"q",
    b"\x1b#8",
    b"\x1bc",
    b"\x1b[!p",
    b"\x1b7\x1b8",
    b"\x1b(0\x1b)0\x0e",
    b"\x18",
    b"\x1a",
    b"\x1bM\x1bM\x1bM",
    b"\x1b[22;0t\x1b[23;0t",
    b"\x1b[3g\x1bH\t",
    b"\x9b31m\x9d0;c1\x9c",
    "世界".as_bytes(),
    "世\x08\x1b[K".as_bytes(),
    "👩\u{200d}💻".as_bytes(),
    "\u{200d}\u{200d}\u{fe0f}\u{301}".as_bytes(),
    "🇩🇪🇫".as_bytes(),
    b"\xe4\xb8",
    b"\xf0\x9f\x91",
    b"\xed\xa0\x80\xc0\xaf\xff",
    b"\x1b[8;3;7t",
    b"\x1b[8;1;1t",
    b"\x1b[8;24;80t",
    b"\x1b[8;9;2t",
];

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Returns the cases to mutate: the stored ones, and the recordings, each preceded by its size.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> =
        engine::stored_cases(&directory("fuzz/bytes")).into_iter().map(|(_, case)| case).collect();
    let recorded = fs::read_dir(directory("recorded")).expect("the directory of recordings exists");
    let mut recorded: Vec<PathBuf> = recorded.flatten().map(|entry| entry.path()).collect();
    recorded.sort();
    seeds.extend(recorded.into_iter().map(|path| {
        let size = fs::read_to_string(path.join("size")).expect("a recording has a size");
        let (cols, rows) = size.trim().split_once(' ').expect("a size is two numbers");
        let bytes = fs::read(path.join("bytes")).expect("a recording has bytes");
        [format!("\x1b[8;{rows};{cols}t").into_bytes(), bytes].concat()
    }));
    seeds
}

/// Parses a request for a size at the start of `bytes`. Returns the size and the length of the request.
fn requested_size(bytes: &[u8]) -> Option<((usize, usize), usize)> {
    let rest = bytes.strip_prefix(b"\x1b[8;")?;
    let end = rest.iter().take(12).position(|&byte| byte == b't')?;
    let (rows, cols) = std::str::from_utf8(&rest[..end]).ok()?.split_once(';')?;
    let (rows, cols) = (rows.parse().ok()?, cols.parse().ok()?);
    Some(((SIZE_MAX.0.min(cols), SIZE_MAX.1.min(rows)), 4 + end + 1))
}

/// Converts a case to steps.
fn steps(mut bytes: &[u8]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut printed = Vec::new();
    while let Some((first, rest)) = bytes.split_first() {
        match requested_size(bytes) {
            Some(((cols, rows), length)) => {
                steps.push(Step::Bytes(std::mem::take(&mut printed)));
                steps.push(Step::Resize(cols, rows));
                bytes = &bytes[length..];
            }
            None => {
                printed.push(*first);
                bytes = rest;
            }
        }
    }
    steps.push(Step::Bytes(printed));
    steps
}

fn check(case: &[u8]) {
    let steps = steps(case);
    let mut rng = Rng::new(engine::hash_of(case));
    let cuts: Vec<usize> = (0..8).map(|_| 1 + rng.below(40)).collect();
    let gaps: Vec<u64> = (0..5).map(|_| rng.below(40) as u64).collect();
    common::check_invariants(&steps, SIZE);
    common::check_cuts(&steps, SIZE, &cuts);
    common::check_waits(&steps, SIZE, &cuts, "[a-e]{2}|世");
    common::check_dump(&steps, SIZE);
    common::check_frames(&steps, SIZE, &gaps);
    common::check_observation(case, SIZE);
    common::check_observed(case, SIZE);
    check_size(&steps);
}

/// Checks that the screen has the last requested size after each step.
fn check_size(steps: &[Step]) {
    let mut screen = Screen::new(SIZE.0, SIZE.1, common::SCROLLBACK);
    let mut size = SIZE;
    for step in steps {
        match step {
            Step::Bytes(bytes) => screen.feed(bytes),
            Step::Resize(cols, rows) => {
                size = (1.max(*cols), 1.max(*rows));
                screen.resize(*cols, *rows);
            }
        }
        assert_eq!((screen.cols(), screen.rows()), size);
    }
}

#[test]
fn no_stream_breaks_the_terminal() {
    let seeds = seeds();
    engine::fuzz(&directory("fuzz/bytes"), CASES, |rng| engine::mutate(rng, &seeds, TOKENS), check);
}
