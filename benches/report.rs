//! The table of results: printed row by row, saved at the end, and compared with the previous run.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

/// The expected bound of a median.
#[derive(Clone, Copy)]
pub(crate) enum Goal {
    AtMost(f64),
    AtLeast(f64),
    /// The figure is only reported.
    None,
}

/// The rows of a run.
pub(crate) struct Report {
    rows: Vec<Value>,
}

impl Report {
    pub(crate) fn new() -> Report {
        println!(
            "{:<58} {:>11} {:>11} {:>7} {:>7} {:>7} {:>7}  goal, for the median",
            "", "ours", "against", "best", "median", "worst", "spread"
        );
        Report { rows: Vec::new() }
    }

    /// Adds a row that compares ours with a reference; a round is a pair of both.
    pub(crate) fn ratio(&mut self, name: &str, unit: &str, rounds: &[(f64, f64)], goal: Goal) {
        let ratios: Vec<f64> = rounds.iter().map(|(ours, against)| ours / against).collect();
        let middle = |pick: fn(&(f64, f64)) -> f64| {
            percentile(&rounds.iter().map(pick).collect::<Vec<_>>(), 0.5)
        };
        let (ours, against) = (middle(|round| round.0), middle(|round| round.1));
        let mut row = row(name, &ratios, goal);
        row["unit"] = json!(unit);
        (row["ours"], row["against"]) = (json!(ours), json!(against));
        self.add(row, &shown(ours, unit), &shown(against, unit));
    }

    /// Adds a row without a reference, from the figure of each round.
    pub(crate) fn figure(&mut self, name: &str, unit: &str, rounds: &[f64], goal: Goal) {
        let mut row = row(name, rounds, goal);
        row["unit"] = json!(unit);
        self.add(row, unit, "");
    }

    fn add(&mut self, row: Value, ours: &str, against: &str) {
        let number = |key: &str| short(row[key].as_f64().unwrap_or(f64::NAN));
        println!(
            "{:<58} {ours:>11} {against:>11} {:>7} {:>7} {:>7} {:>7}  {}",
            row["name"].as_str().unwrap_or_default(),
            number("best"),
            number("median"),
            number("worst"),
            number("spread"),
            row["goal"].as_str().unwrap_or_default()
        );
        self.rows.push(row);
    }

    /// Saves all rows, and prints those that differ from the previous run by more than the spread of either.
    pub(crate) fn end(&self) {
        let path = directory().join("bench.json");
        let before = std::fs::read(&path).ok().and_then(|old| serde_json::from_slice(&old).ok());
        let before: Vec<Value> = before.unwrap_or_default();
        std::fs::write(&path, serde_json::to_string_pretty(&self.rows).unwrap()).unwrap();
        let missed = self.rows.iter().filter(|row| row["is_met"] == false).count();
        println!("\n{} rows, {missed} goals missed; also in target/bench.json", self.rows.len());
        let (mut compared, mut differ) = (0, 0);
        for row in &self.rows {
            let Some(old) = before.iter().find(|old| old["name"] == row["name"]) else { continue };
            compared += 1;
            if !agree(row, old) {
                differ += 1;
                let (new, old) = (row["median"].as_f64(), old["median"].as_f64());
                println!("differs from the previous run: {} {old:?} -> {new:?}", row["name"]);
            }
        }
        if compared > 0 {
            println!("{compared} rows compared with the previous run, {differ} differ");
        }
    }
}

/// Returns the directory of the results.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target")
}

/// Returns whether the medians of two runs differ by no more than the larger spread.
fn agree(one: &Value, other: &Value) -> bool {
    let number = |row: &Value, key: &str| row[key].as_f64().unwrap_or(0.0);
    let difference = (number(one, "median") - number(other, "median")).abs();
    difference <= number(one, "spread").max(number(other, "spread"))
}

/// The smallest spread, as a fraction of the median. The rounds of one run are close together in time, so they do not
/// show the effects of clock frequency, memory layout and other processes between runs.
const SPREAD_MIN: f64 = 0.1;

fn row(name: &str, values: &[f64], goal: Goal) -> Value {
    let (least, most) = (percentile(values, 0.0), percentile(values, 1.0));
    let (best, worst) = if let Goal::AtLeast(_) = goal { (most, least) } else { (least, most) };
    let median = percentile(values, 0.5);
    let spread = (most - least).max(median * SPREAD_MIN);
    let (text, is_met) = goal.judge(median);
    json!({"name": name, "best": best, "median": median, "worst": worst, "spread": spread,
        "goal": text, "is_met": is_met})
}

impl Goal {
    fn judge(self, value: f64) -> (String, Option<bool>) {
        let (text, is_met) = match self {
            Goal::AtMost(most) => (format!("at most {most}"), value <= most),
            Goal::AtLeast(least) => (format!("at least {least}"), value >= least),
            Goal::None => return (String::new(), None),
        };
        (if is_met { text } else { format!("{text}: MISSED") }, Some(is_met))
    }
}

fn short(value: f64) -> String {
    format!("{value:.*}", if value.abs() < 100.0 { 2 } else { 0 })
}

fn shown(value: f64, unit: &str) -> String {
    format!("{} {unit}", short(value))
}

/// Returns the value below which `fraction` of the values lie.
pub(crate) fn percentile(values: &[f64], fraction: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(fraction * (sorted.len() - 1) as f64).round() as usize]
}
