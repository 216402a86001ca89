//! Writes the results of a test run in the JUnit format, which CI systems show.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

use super::run::TapeResult;

/// Creates the file of a report, and its directory.
///
/// # Errors
/// If it cannot be created. The message contains its path.
pub(super) fn create(path: &Path) -> io::Result<File> {
    let directory = path.parent().filter(|directory| !directory.as_os_str().is_empty());
    let created = directory.map_or(Ok(()), std::fs::create_dir_all);
    created.and_then(|()| File::create(path)).map_err(|error| {
        let message = format!("--junit {}: {error}: give the path of a file", path.display());
        io::Error::new(error.kind(), message)
    })
}

/// Writes a report.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn write(file: &mut File, results: &[TapeResult<'_>]) -> io::Result<()> {
    file.write_all(report(results).as_bytes())
}

fn report(results: &[TapeResult<'_>]) -> String {
    let failures = results.iter().filter(|result| !result.is_passed()).count();
    let seconds = results.iter().map(|result| result.elapsed).sum::<Duration>().as_secs_f64();
    let totals = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"0\" time=\"{seconds:.3}\"",
        results.len()
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"awaitty\" {totals}>\n  \
         <testsuite name=\"tapes\" {totals}>\n"
    );
    for result in results {
        let name = escaped(&result.path.to_string_lossy());
        let seconds = result.elapsed.as_secs_f64();
        let _ = write!(
            xml,
            "    <testcase name=\"{name}\" classname=\"tapes\" file=\"{name}\" time=\"{seconds:.3}\""
        );
        let Some(first) = result.failures.first() else {
            xml += "/>\n";
            continue;
        };
        let (failed, runs) = (result.failures.len(), result.runs);
        let message = match runs {
            1 => format!("{}: {}", first.position, first.source),
            runs => format!("{}: {} ({failed} of {runs} runs)", first.position, first.source),
        };
        let (message, report) = (escaped(&message), escaped(&first.report));
        let _ = write!(xml, ">\n      <failure message=\"{message}\">{report}</failure>\n");
        xml += "    </testcase>\n";
    }
    xml + "  </testsuite>\n</testsuites>\n"
}

/// Returns text for XML, without the characters that XML forbids.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\n' | '\t' => escaped.push(c),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::tapes::run::tests::{failure, result};

    #[test]
    fn a_report_has_a_case_for_each_tape_and_escapes_its_text() {
        let passed = result("a.tape", Vec::new());
        let failed = result("b<&>.tape", vec![failure("<b>\"menu\"</b> & \u{1b}[m")]);
        let xml = report(&[passed, failed]);
        assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
        assert!(xml.contains("<testcase name=\"a.tape\" classname=\"tapes\""), "{xml}");
        assert!(xml.contains("name=\"b&lt;&amp;&gt;.tape\""), "{xml}");
        assert!(xml.contains("message=\"3:1: Expect /menu/\""), "{xml}");
        assert!(xml.contains("&lt;b&gt;&quot;menu&quot;&lt;/b&gt; &amp; \u{fffd}[m"), "{xml}");
    }

    #[test]
    fn the_message_of_a_repeated_tape_counts_the_runs() {
        let mut repeated = result("a.tape", vec![failure("x"), failure("y")]);
        repeated.runs = 100;
        assert!(report(&[repeated]).contains("(2 of 100 runs)"));
    }
}
