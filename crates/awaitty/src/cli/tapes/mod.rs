//! `awaitty test` and `awaitty play`: run tapes as tests, and make demos of them.

mod files;
mod junit;
mod look;
mod outputs;
mod report;
mod run;

use std::io;
use std::num::NonZero;
use std::path::PathBuf;

use awaitty_test::TraceMode;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;
use regex::Regex;

pub use outputs::{PlayOptions, play};

use super::exit;

/// Maximum number of runs of each tape: a night of fast tests.
pub const REPEAT_MAX: u32 = 100_000;

/// Maximum number of tapes that run at the same time. Each has a terminal and a program.
pub const JOBS_MAX: u16 = 256;

/// Options of `awaitty test`.
#[derive(Clone, Debug, clap::Args)]
pub struct TestOptions {
    /// Tapes, directories with tapes, or patterns such as 'tests/*.tape'. Default: all tapes below this directory.
    pub tapes: Vec<String>,
    /// Number of tapes that run at the same time. Default: the number of processors.
    #[arg(long, short, value_parser = clap::value_parser!(u16).range(1..=i64::from(JOBS_MAX)))]
    pub jobs: Option<u16>,
    /// Run only tapes whose path matches this regular expression.
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,
    /// Write golden screens that differ or are missing, instead of failing.
    #[arg(long)]
    pub update: bool,
    /// Run each tape this many times.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(REPEAT_MAX)))]
    pub repeat: u32,
    /// Split and delay output at random, delay input, and keep all processors busy: a tape that fails depends on
    /// timing.
    #[arg(long)]
    pub slow: bool,
    /// Seed of --slow, as a failure reports it.
    #[arg(long, value_name = "N", requires = "slow")]
    pub seed: Option<u64>,
    /// When to keep a trace, an HTML page with every frame of the run: on, retain-on-failure or off.
    #[arg(long, value_name = "WHEN", default_value = "retain-on-failure", value_parser = PossibleValuesParser::new(["on", "retain-on-failure", "off"]).map(|name| trace_mode(&name)))]
    pub trace: TraceMode,
    /// Directory for traces.
    #[arg(long, value_name = "DIRECTORY", default_value = "awaitty-traces")]
    pub traces: PathBuf,
    /// Write a JUnit report to this file.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

fn trace_mode(name: &str) -> TraceMode {
    match name {
        "on" => TraceMode::On,
        "off" => TraceMode::Off,
        _ => TraceMode::RetainOnFailure,
    }
}

/// `awaitty test`: runs tapes and reports the results. Returns the exit status: 0 if all passed, 1 if one failed, 2 if
/// nothing was run because of an error in a tape or in the arguments.
///
/// # Errors
/// If a report cannot be written.
pub fn test(options: &TestOptions) -> io::Result<i32> {
    let tapes = match files::load(&options.tapes, options.filter.as_ref()) {
        Ok(tapes) => tapes,
        Err(errors) => {
            report::print_errors(&errors, options.json)?;
            return Ok(exit::USAGE);
        }
    };
    // A report that cannot be written is an error before anything runs.
    let mut junit = options.junit.as_deref().map(junit::create).transpose()?;
    let processors = std::thread::available_parallelism().map_or(1, NonZero::get);
    let jobs = options.jobs.map_or(processors, usize::from).min(JOBS_MAX.into());
    let mut reporter = report::Reporter::new(&tapes, options);
    reporter.start()?;
    let results = run::run_all(&tapes, options, jobs, |event| reporter.handle(&event))?;
    reporter.finish(&results)?;
    if let Some(file) = &mut junit {
        junit::write(file, &results)?;
    }
    let is_passed = results.iter().all(run::TapeResult::is_passed);
    Ok(if is_passed { exit::MET } else { exit::ERROR })
}
