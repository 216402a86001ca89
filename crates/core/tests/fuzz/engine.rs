//! Shared code of all fuzzers: random numbers, mutations, and the loop that minimises and stores failing cases. The
//! fuzz tests of several crates include this file by its path.
//!
//! A run starts with the stored cases. By default it then tries the same generated cases each time, so that a failure
//! can be reproduced. `AWAITTY_FUZZ_SECONDS=60` tries other cases for that time and prints its seed, which
//! `AWAITTY_FUZZ_SEED` accepts.

use std::cell::RefCell;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// The seed of the default run. Its value does not matter.
const DEFAULT_SEED: u64 = 0x5eed;

/// The maximum length of a case in bytes. Longer cases are slow and find little more.
const CASE_MAX: usize = 4096;

/// The maximum number of bytes taken from a seed case.
const WINDOW_MAX: usize = 1500;

/// The time limit for minimising a failing case. A case that fails by a timeout is slow to minimise.
const MINIMISE_MAX: Duration = Duration::from_secs(60);

/// Replacements for numbers.
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

/// A deterministic random number generator (splitmix64).
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

    /// Returns a number below `end`, or 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.next().checked_rem(end as u64).unwrap_or_default() as usize
    }

    pub(crate) fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

/// Returns the FNV-1a hash of the bytes.
pub(crate) fn hash_of(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, mix)
}

/// Returns the stored cases of a folder with their paths.
pub(crate) fn stored_cases(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(folder).expect("the folder of stored cases exists");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let mut found: Vec<(String, Vec<u8>)> = paths
        .map(|path| {
            (path.display().to_string(), fs::read(path).expect("a stored case can be read"))
        })
        .collect();
    found.sort();
    assert!(!found.is_empty(), "there are no stored cases");
    found
}

/// Returns a mutated seed case, or a mutated part of one.
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
    // A short case is often complete only as a whole.
    if seed.len() <= WINDOW_MAX && rng.below(2) == 0 {
        return seed;
    }
    let length = 1 + rng.below(WINDOW_MAX.min(seed.len()));
    // Programs print their setup sequences first, so the start is chosen more often.
    let from = if rng.below(3) == 0 { 0 } else { rng.below(seed.len()) };
    &seed[from..(from + length).min(seed.len())]
}

/// Returns the range of the next number.
fn number_after(bytes: &[u8], from: usize) -> std::ops::Range<usize> {
    let is_digit = |&at: &usize| bytes[at].is_ascii_digit();
    let first = (from..bytes.len()).find(is_digit).unwrap_or(bytes.len());
    let end = (first..bytes.len()).find(|at| !is_digit(at)).unwrap_or(bytes.len());
    first..end
}

/// Returns a range within `length`, mostly a short one.
fn range(rng: &mut Rng, length: usize) -> (usize, usize) {
    let from = rng.below(length);
    let most = if rng.below(4) == 0 { length - from } else { (length - from).min(12) };
    (from, (from + 1 + rng.below(most)).min(length))
}

/// Checks the stored cases, and then generated ones: `cases` of them, or as many as fit in the requested time. A check
/// fails by panicking.
pub(crate) fn fuzz(
    folder: &Path,
    cases: usize,
    make: impl Fn(&mut Rng) -> Vec<u8>,
    check: impl Fn(&[u8]),
) {
    for (name, case) in stored_cases(folder) {
        if let Some(why) = failure(&check, &case) {
            panic!("{name}: {why}");
        }
    }
    let seconds = env_number("AWAITTY_FUZZ_SECONDS");
    let random_seed = || RandomState::new().build_hasher().finish();
    let default_seed = || if seconds.is_some() { random_seed() } else { DEFAULT_SEED };
    let seed = env_number("AWAITTY_FUZZ_SEED").unwrap_or_else(default_seed);
    let until = seconds.map(|seconds| now() + Duration::from_secs(seconds));
    // Printed first, because an abort of the process stores no case.
    let _ = writeln!(std::io::stderr(), "AWAITTY_FUZZ_SEED={seed}");
    let mut rng = Rng::new(seed);
    let mut tried = 0;
    while until.map_or(tried < cases, |until| now() < until) {
        let case = make(&mut rng);
        tried += 1;
        if failure(&check, &case).is_some() {
            let (small, why) = minimise(case, &check);
            let path = folder.join(format!("{:016x}", hash_of(&small)));
            fs::write(&path, &small).expect("a failed case can be stored");
            let shown = small.escape_ascii();
            panic!("seed {seed}, case {tried}, stored as {}: {why}\n{shown}", path.display());
        }
    }
    let _ = writeln!(std::io::stderr(), "{tried} cases");
}

fn env_number(variable: &str) -> Option<u64> {
    let given = std::env::var(variable).ok()?;
    Some(given.parse().unwrap_or_else(|_| panic!("{variable}: {given:?} is not a number")))
}

#[expect(clippy::disallowed_methods, reason = "the clock only limits the duration")]
fn now() -> Instant {
    Instant::now()
}

thread_local! {
    /// The message and position of the last panic.
    static PANIC_MESSAGE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Returns the panic message of a failing check. Prints nothing, because minimising fails hundreds of times.
fn failure(check: &impl Fn(&[u8]), case: &[u8]) -> Option<String> {
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| PANIC_MESSAGE.set(panic.to_string())));
    let result = catch_unwind(AssertUnwindSafe(|| check(case)));
    std::panic::set_hook(default_hook);
    result.is_err().then(|| PANIC_MESSAGE.take())
}

/// Removes lines and then bytes, many at a time and then few, as long as the case still fails.
fn minimise(case: Vec<u8>, check: &impl Fn(&[u8])) -> (Vec<u8>, String) {
    let until = now() + MINIMISE_MAX;
    let mut smallest = case;
    let mut why =
        failure(check, &smallest).unwrap_or_else(|| "the failure is not reproducible".to_owned());
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
                    Some(message) => (why, parts, is_smaller) = (message, fewer, true),
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
