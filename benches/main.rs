//! Benchmarks (`cargo bench`): the cost of awaitty against the minimum for the same work on this machine, and against
//! other programs.
//!
//! A ratio compares two things that are measured alternately in one run, so that other load affects both. Each row has
//! the best, the median and the worst of several rounds. Words after `--` choose rows, and `AWAITTY_SERVER` another
//! server. The table is saved to `target/bench.json` and compared with the previous one. `benches/run` installs the
//! other programs.
#![expect(clippy::unwrap_used, reason = "a failed unwrap ends the benchmark")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench reads clocks and prints"
)]

mod clients;
mod crowd;
mod emulators;
mod flood;
mod hostile;
mod latency;
mod policy;
mod report;
mod streams;
mod terminal;
mod tokens;

use report::Report;

type Measure = fn(&mut Report);

/// All measurements with the word that chooses each.
const ALL: [(&str, Measure); 12] = [
    ("print", latency::print),
    ("signal", latency::signal),
    ("keys", latency::keys),
    ("calls", latency::calls),
    ("policy", policy::policy),
    ("flood", flood::flood),
    ("hostile", hostile::hostile),
    ("emulators", emulators::emulators),
    ("screens", emulators::screens),
    ("memory", crowd::memory),
    ("waits", crowd::waits),
    ("tokens", tokens::tokens),
];

fn main() {
    if emulators::run_as_helper() || terminal::run_as_helper() {
        return;
    }
    let chosen: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let unknown = |word: &&String| ALL.iter().all(|(name, _)| name != word);
    if let Some(word) = chosen.iter().find(unknown) {
        println!("{word}: choose from {}", ALL.map(|(name, _)| name).join(" "));
        std::process::exit(2);
    }
    let mut report = Report::new();
    for (name, measure) in ALL {
        if chosen.is_empty() || chosen.iter().any(|word| word == name) {
            measure(&mut report);
        }
    }
    report.end();
}
