//! [`Failure`]: the report of a step that failed.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::trace::Place;

/// The error of a step. Both `Display` and `Debug` write the report, so that `?` and `.unwrap()` in a test show it.
#[derive(Clone)]
pub struct Failure(Box<Report>);

/// The parts of a report. Secrets are masked already.
#[derive(Clone, Default)]
pub(crate) struct Report {
    /// The call as the test wrote it.
    pub(crate) call: String,
    pub(crate) place: Option<Place>,
    /// The reason, in one line.
    pub(crate) why: String,
    pub(crate) looked_for: Option<String>,
    /// Observations, such as the nearest line and what the program does.
    pub(crate) notes: Vec<String>,
    /// The heading and the framed screen.
    pub(crate) screen: Option<(String, String)>,
    /// What changed since the last input; `None` if there is no frame to compare with.
    pub(crate) changes: Option<Vec<String>>,
    pub(crate) trace: Option<PathBuf>,
    /// The seed of the disturbed timing.
    pub(crate) seed: Option<u64>,
}

impl Failure {
    pub(crate) fn new(report: Report) -> Failure {
        Failure(Box::new(report))
    }

    /// Returns the line of the test that failed.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }

    /// Returns the reason, in one line.
    pub fn why(&self) -> &str {
        &self.0.why
    }

    /// Returns the path of the trace, if one is written.
    pub fn trace(&self) -> Option<&Path> {
        self.0.trace.as_deref()
    }

    /// Returns the report without the line of the source, the seed and the trace, for a caller that has its own words
    /// for these, such as a tape.
    pub fn report_without_place(&self) -> String {
        self.0.to_text(None)
    }
}

impl Report {
    fn to_text(&self, place: Option<&Place>) -> String {
        let mut lines = vec![format!("{} failed: {}", self.call, self.why)];
        if let Some(Place { file, line, text }) = place {
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            lines.push(format!("  at {file}:{line}{text}"));
        }
        if let Some(looked_for) = &self.looked_for {
            lines.push(format!("expected: {looked_for}"));
        }
        lines.extend(
            self.notes.iter().flat_map(|note| note.lines()).map(|line| format!("note: {line}")),
        );
        if let Some((heading, screen)) = &self.screen {
            lines.push(format!("{heading}:\n{screen}"));
        }
        match self.changes.as_deref() {
            Some([]) => lines.push("nothing changed since the last input".to_owned()),
            Some(changes) => {
                lines.push("changed since the last input:".to_owned());
                lines.extend(changes.iter().map(|change| format!("  {change}")));
            }
            None => {}
        }
        if place.is_none() {
            return lines.join("\n");
        }
        if let Some(seed) = self.seed {
            lines.push(format!(
                "slow mode: AWAITTY_TEST_SLOW=1 AWAITTY_TEST_SEED={seed} repeats this timing"
            ));
        }
        if let Some(trace) = &self.trace {
            lines.push(format!("trace: {}", trace.display()));
        }
        lines.join("\n")
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_text(self.place()))
    }
}

/// Writes the report: `.unwrap()` and a test that returns an error print `Debug`.
impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Failure {}
