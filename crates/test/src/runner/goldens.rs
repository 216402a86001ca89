//! Golden screens of tapes: text files beside the tape.

use std::io;
use std::path::{Path, PathBuf};

use similar::{ChangeTag, TextDiff};

/// Lines of context around a difference.
const CONTEXT: usize = 2;

/// The result of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    /// The golden was written.
    Written,
    /// The screen differs. The lines say how: `-` is the golden, `+` the screen.
    Differs(Vec<String>),
    /// There is no golden.
    Missing,
}

/// Returns the path of a golden: `menu.tape` has `menu.NAME.golden` beside it.
pub(super) fn path(tape: &Path, name: &str) -> PathBuf {
    let stem = tape.file_stem().unwrap_or_default().to_string_lossy();
    tape.with_file_name(format!("{stem}.{name}.golden"))
}

/// Compares a screen with its golden, or writes the golden.
///
/// # Errors
/// If the golden cannot be read or written.
pub(super) fn compare(path: &Path, screen: &str, update: bool) -> io::Result<Comparison> {
    let golden = match std::fs::read_to_string(path) {
        Ok(golden) => Some(golden),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    match golden {
        Some(golden) if golden == screen => Ok(Comparison::Equal),
        _ if update => {
            std::fs::write(path, screen)?;
            Ok(Comparison::Written)
        }
        Some(golden) => Ok(Comparison::Differs(difference(&golden, screen))),
        None => Ok(Comparison::Missing),
    }
}

fn difference(golden: &str, screen: &str) -> Vec<String> {
    let diff = TextDiff::from_lines(golden, screen);
    let mut lines = Vec::new();
    for group in diff.grouped_ops(CONTEXT) {
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let sign = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            lines.push(format!("{sign}{}", change.value().trim_end_matches('\n')));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_golden_is_beside_its_tape() {
        assert_eq!(path(Path::new("tests/a.b.tape"), "menu"), Path::new("tests/a.b.menu.golden"));
    }

    #[test]
    fn a_golden_is_compared_and_written_only_on_request() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.menu.golden");
        let compare = |screen, update| compare(&path, screen, update).unwrap();
        assert_eq!(compare("one\ntwo\n", false), Comparison::Missing);
        assert_eq!(compare("one\ntwo\n", true), Comparison::Written);
        assert_eq!(compare("one\ntwo\n", true), Comparison::Equal);
        let lines = [" one", "-two", "+2"].map(str::to_owned).to_vec();
        assert_eq!(compare("one\n2\n", false), Comparison::Differs(lines));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "one\ntwo\n");
    }
}
