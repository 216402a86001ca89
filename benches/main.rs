//! What awaitty costs, against the least that the same work costs on this machine and against others: `cargo bench`.
//!
//! Each ratio is of two things that are measured in turn in the same run, so that whatever else the machine does is in both;
//! of several rounds the best, the median and the worst are told. Words after `--` choose what is measured,
//! and `AWAITTY_SERVER` another server. The table is also written to `target/bench.json`, and what differs from the table
//! that was there by more than the rounds do is told. `benches/run` installs what is measured against first.
#![expect(clippy::unwrap_used, reason = "a bench may say what it takes for granted")]
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

/// What is measured, by a word that chooses it.
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
    if emulators::play_part() || terminal::play_part() {
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
