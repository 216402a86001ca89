//! What all fuzzers share: numbers that look random, mutations of bytes, and the loop that makes what failed small and
//! keeps it. Each of them includes this file by its path, so it is nobody's interface.
//!
//! A run begins with the kept cases. Without being asked otherwise it then tries the same cases each time, so that whoever
//! sees it fail can see it again; `AWAITTY_FUZZ_SECONDS=60` tries others for so long, and says with which number it began,
//! which `AWAITTY_FUZZ_SEED` takes.

use std::cell::RefCell;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The number that the usual run begins with; any would do.
const USUAL_SEED: u64 = 0x5eed;

/// Bytes of a case: more find little more, and are slow.
const CASE_MAX: usize = 4096;

/// Bytes of a seed that a case begins with.
const WINDOW_MAX: usize = 1500;

/// How long a failing case is made smaller: one that has to be waited for takes its time, and a run of the tests does not
/// wait for ever.
const MINIMISE_MAX: Duration = Duration::from_secs(60);

/// What takes the place of numbers.
const NUMBERS: [&str; 10] = [
    "",
    "0",
    "1",
    "-1",
    "65536",
    "2147483648",
    "4294967295",
    "9007199254740993",
    "18446744073709551615",
    "99999999999999999999",
];

/// Numbers that look random and are the same for the same seed (splitmix64).
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`, and 0 if there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.next().checked_rem(end as u64).unwrap_or_default() as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// A number that depends on all of the bytes, and on nothing else (FNV-1a).
pub(crate) fn number_of(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// The files of a folder of kept cases, each with its name.
pub(crate) fn kept(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("the folder of kept cases is there");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    let mut found: Vec<(String, Vec<u8>)> = paths
        .map(|path| (path.display().to_string(), fs::read(path).expect("a kept case can be read")))
        .collect();
    found.sort();
    assert!(!found.is_empty(), "the kept cases are there");
    found
}

/// A seed, or a part of one, changed in some places.
pub(crate) fn mutate(rng: &mut Rng, seeds: &[Vec<u8>], tokens: &[&[u8]]) -> Vec<u8> {
    let mut bytes = window(rng, seeds).to_vec();
    for _ in 0..=rng.below(10) {
        let (from, to) = range(rng, bytes.len());
        match rng.below(9) {
            0 if from < to => bytes[from] ^= 1 << rng.below(8),
            1 if from < to => bytes[from] = rng.below(256) as u8,
            2 => drop(bytes.drain(from..to)),
            3 => {
                let again = bytes[from..to].repeat(1 + rng.below(3));
                bytes.splice(to..to, again);
            }
            4 => {
                let other = window(rng, seeds);
                let (first, last) = range(rng, other.len());
                bytes.splice(from..to, other[first..last].iter().copied());
            }
            5 if rng.below(4) == 0 => bytes.truncate(from),
            6 => {
                let digits = number_after(&bytes, from);
                bytes.splice(digits, rng.pick(&NUMBERS).bytes());
            }
            _ => {
                bytes.splice(from..from, rng.pick(tokens).iter().copied());
            }
        }
    }
    bytes.truncate(CASE_MAX);
    bytes
}

fn window<'s>(rng: &mut Rng, seeds: &'s [Vec<u8>]) -> &'s [u8] {
    let seed = rng.pick(seeds);
    // What is short is a whole of some kind, and is broken enough by what follows.
    if seed.len() <= WINDOW_MAX && rng.below(2) == 0 {
        return seed;
    }
    let length = 1 + rng.below(WINDOW_MAX.min(seed.len()));
    // What begins at the beginning is what programs begin with, so it is tried more often.
    let from = if rng.below(3) == 0 { 0 } else { rng.below(seed.len()) };
    &seed[from..(from + length).min(seed.len())]
}

/// Where the next number is.
fn number_after(bytes: &[u8], from: usize) -> std::ops::Range<usize> {
    let is_digit = |&at: &usize| bytes[at].is_ascii_digit();
    let first = (from..bytes.len()).find(is_digit).unwrap_or(bytes.len());
    let end = (first..bytes.len()).find(|at| !is_digit(at)).unwrap_or(bytes.len());
    first..end
}

/// A range within so many, short most of the time.
fn range(rng: &mut Rng, length: usize) -> (usize, usize) {
    let from = rng.below(length);
    let most = if rng.below(4) == 0 { length - from } else { (length - from).min(12) };
    (from, (from + 1 + rng.below(most)).min(length))
}

/// Checks the kept cases and then made ones: `cases` of them, or for as long as was asked for. A check fails by a panic.
pub(crate) fn fuzz(
    folder: &Path,
    cases: usize,
    make: impl Fn(&mut Rng) -> Vec<u8>,
    check: impl Fn(&[u8]),
) {
    for (name, case) in kept(folder) {
        if let Some(why) = failure(&check, &case) {
            panic!("{name}: {why}");
        }
    }
    let seconds = number("AWAITTY_FUZZ_SECONDS");
    let fresh = || RandomState::new().build_hasher().finish();
    let usual = || if seconds.is_some() { fresh() } else { USUAL_SEED };
    let seed = number("AWAITTY_FUZZ_SEED").unwrap_or_else(usual);
    let until = seconds.map(|seconds| now() + Duration::from_secs(seconds));
    // Said first, because what ends the process leaves no case behind.
    let _ = writeln!(std::io::stderr(), "AWAITTY_FUZZ_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut tried = 0;
    while until.map_or(tried < cases, |until| now() < until) {
        let case = make(&mut rng);
        tried += 1;
        if failure(&check, &case).is_some() {
            let (small, why) = minimise(case, &check);
            let path = folder.join(format!("{:016x}", number_of(&small)));
            fs::write(&path, &small).expect("a case that failed can be kept");
            let shown = small.escape_ascii();
            panic!("seed {seed}, case {tried}, kept as {}: {why}\n{shown}", path.display());
        }
    }
    let _ = writeln!(std::io::stderr(), "{tried} cases");
}

fn number(variable: &str) -> Option<u64> {
    let given = std::env::var(variable).ok()?;
    Some(given.parse().unwrap_or_else(|_| panic!("{variable}: {given:?} is not a number")))
}

#[expect(clippy::disallowed_methods, reason = "it bounds how long is tried, and decides nothing")]
fn now() -> Instant {
    Instant::now()
}

thread_local! {
    /// What a panic said, and where.
    static SAID: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Why a check fails, if it does. Nothing is printed, because it may be tried hundreds of times.
fn failure(check: &impl Fn(&[u8]), case: &[u8]) -> Option<String> {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| SAID.set(panic.to_string())));
    let result = catch_unwind(AssertUnwindSafe(|| check(case)));
    std::panic::set_hook(usual);
    result.is_err().then(|| SAID.take())
}

/// Leaves out lines and then bytes, many at a time and then few, for as long as the rest still fails.
fn minimise(case: Vec<u8>, check: &impl Fn(&[u8])) -> (Vec<u8>, String) {
    let until = now() + MINIMISE_MAX;
    let mut smallest = case;
    let mut why = failure(check, &smallest).unwrap_or_else(|| "it does not fail again".to_owned());
    let ends: [fn(&u8) -> bool; 2] = [|byte| *byte == b'\n', |_| true];
    for is_end in ends {
        let parts = smallest.split_inclusive(is_end);
        let mut parts: Vec<Vec<u8>> = parts.map(<[u8]>::to_vec).collect();
        let mut size = parts.len().div_ceil(2);
        while size > 0 && now() < until {
            let mut from = 0;
            let mut is_smaller = false;
            while from < parts.len() && now() < until {
                let mut fewer = parts.clone();
                fewer.drain(from..(from + size).min(parts.len()));
                match failure(check, &fewer.concat()) {
                    Some(said) => (why, parts, is_smaller) = (said, fewer, true),
                    None => from += size,
                }
            }
            if !is_smaller {
                size /= 2;
            }
        }
        smallest = parts.concat();
    }
    (smallest, why)
}
