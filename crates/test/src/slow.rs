//! Slow mode: the timing of each terminal is disturbed and the processors are busy, to prove that a test does not
//! depend on timing.

use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;

use crate::burners::Burners;

/// The environment variable that turns slow mode on, with any value except an empty one and `0`.
pub const SLOW_VARIABLE: &str = "AWAITTY_TEST_SLOW";

/// The environment variable with the seed, for the same disturbance as in an earlier run.
pub const SEED_VARIABLE: &str = "AWAITTY_TEST_SEED";

/// The burners of a test process in slow mode. They run until the process ends.
static BURNERS: OnceLock<Burners> = OnceLock::new();

/// Returns the seed of a terminal in slow mode; `None` if slow mode is off. The first seed of a process starts its
/// burners.
///
/// # Errors
/// If the given seed is not a number.
pub(crate) fn seed() -> Result<Option<u64>, String> {
    let given = |name: &str| std::env::var(name).unwrap_or_default();
    let seed = seed_of(&given(SLOW_VARIABLE), &given(SEED_VARIABLE))?;
    if seed.is_some() {
        BURNERS.get_or_init(Burners::on_all_processors);
    }
    Ok(seed)
}

fn seed_of(slow: &str, seed: &str) -> Result<Option<u64>, String> {
    if matches!(slow, "" | "0") {
        return Ok(None);
    }
    if seed.is_empty() {
        // The hasher of the standard library has random keys.
        return Ok(Some(RandomState::new().hash_one(0)));
    }
    let wrong =
        |_| format!("{SEED_VARIABLE}={seed:?} is not a number: give the one that a report printed");
    seed.parse().map(Some).map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_mode_is_off_by_default_and_takes_a_seed() {
        assert_eq!(seed_of("", "7"), Ok(None));
        assert_eq!(seed_of("0", ""), Ok(None));
        assert_eq!(seed_of("1", "7"), Ok(Some(7)));
        assert!(seed_of("1", "").unwrap().is_some());
        assert!(seed_of("1", "x").unwrap_err().contains("\"x\" is not a number"));
    }
}
