//! Finds and parses the tapes of a test run. Nothing runs if one of them has an error.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use awaitty_test::tape::{self, Tape};
use globset::GlobBuilder;
use regex::Regex;

/// Directories that hold no tests of the project. Hidden directories are skipped as well.
const SKIPPED: [&str; 3] = ["node_modules", "target", "vendor"];

/// A tape and its path as the user sees it.
#[derive(Debug)]
pub(super) struct TapeFile {
    pub(super) path: PathBuf,
    pub(super) tape: Tape,
}

/// An error that keeps the tapes from being run.
#[derive(Debug, PartialEq)]
pub(super) struct LoadError {
    /// The tape, if the error is in one.
    pub(super) path: Option<PathBuf>,
    /// Line and column, if the error is in the text of a tape.
    pub(super) position: Option<(usize, usize)>,
    pub(super) message: String,
}

impl LoadError {
    fn new(path: Option<&Path>, message: String) -> LoadError {
        LoadError { path: path.map(Path::to_owned), position: None, message }
    }
}

/// Finds tapes by paths, directories and patterns, and parses them.
///
/// # Errors
/// All errors of all tapes, or that none was found.
pub(super) fn load(
    wanted: &[String],
    filter: Option<&Regex>,
) -> Result<Vec<TapeFile>, Vec<LoadError>> {
    let mut paths = BTreeSet::new();
    let here = [".".to_owned()];
    let wanted = if wanted.is_empty() { &here[..] } else { wanted };
    for pattern in wanted {
        paths.extend(find(pattern).map_err(|error| vec![error])?);
    }
    let found = paths.len();
    if let Some(filter) = filter {
        paths.retain(|path| filter.is_match(&path.to_string_lossy()));
    }
    if paths.is_empty() {
        let message = match filter {
            Some(filter) if found > 0 => {
                format!("--filter {filter}: matches none of {found} tapes")
            }
            _ => format!("no tape in {}: give the path of a .tape file", wanted.join(" ")),
        };
        return Err(vec![LoadError::new(None, message)]);
    }
    let (mut tapes, mut errors) = (Vec::new(), Vec::new());
    for path in paths {
        match parse(&path) {
            Ok(tape) => tapes.push(TapeFile { path, tape }),
            Err(wrong) => errors.extend(wrong),
        }
    }
    if errors.is_empty() { Ok(tapes) } else { Err(errors) }
}

/// Reads and parses a tape. Paths of `Source` are relative to the working directory, as in VHS, or else to the tape.
pub(super) fn parse(path: &Path) -> Result<Tape, Vec<LoadError>> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| vec![LoadError::new(Some(path), format!("it cannot be read: {error}"))])?;
    let beside = path.parent().unwrap_or(Path::new(""));
    let source = |name: &str| match std::fs::read_to_string(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::read_to_string(beside.join(name))
        }
        read => read,
    };
    tape::parse(&text, &source).map_err(|errors| {
        let error = |error: tape::TapeError| LoadError {
            path: Some(error.position.file.as_deref().map_or(path.to_owned(), PathBuf::from)),
            position: Some((error.position.line, error.position.column)),
            message: match &error.suggestion {
                Some(suggestion) => format!("{}: {suggestion}", error.message),
                None => error.message.clone(),
            },
        };
        errors.into_iter().map(error).collect()
    })
}

/// Returns the tapes of a path, a directory or a pattern.
fn find(wanted: &str) -> Result<Vec<PathBuf>, LoadError> {
    let path = Path::new(wanted);
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    if path.is_dir() {
        let is_tape = |path: &Path| path.extension().is_some_and(|ending| ending == "tape");
        let mut found = Vec::new();
        collect(if wanted == "." { Path::new("") } else { path }, &is_tape, &mut found);
        return Ok(found);
    }
    if !wanted.contains(['*', '?', '[', '{']) {
        return Err(LoadError::new(Some(path), "there is no such file or directory".to_owned()));
    }
    let glob = GlobBuilder::new(wanted.trim_start_matches("./")).literal_separator(true).build();
    let glob = glob.map_err(|error| LoadError::new(None, error.to_string()))?.compile_matcher();
    // The walk starts at the last directory before the first wildcard.
    let fixed = wanted.find(['*', '?', '[', '{']).and_then(|at| wanted[..at].rfind('/'));
    let from = wanted[..fixed.unwrap_or(0)].trim_start_matches("./");
    let from = if fixed == Some(0) { "/" } else { from };
    let mut found = Vec::new();
    collect(Path::new(from), &|path: &Path| glob.is_match(path), &mut found);
    match found.is_empty() {
        true => Err(LoadError::new(None, format!("no file matches {wanted}: check the pattern"))),
        false => Ok(found),
    }
}

/// Adds the files below a directory that are wanted. The empty path is the working directory.
fn collect(directory: &Path, is_wanted: &dyn Fn(&Path) -> bool, found: &mut Vec<PathBuf>) {
    let read = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let Ok(entries) = std::fs::read_dir(read) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let path = directory.join(&name);
        let name = name.to_string_lossy();
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() {
            if !name.starts_with('.') && !SKIPPED.contains(&name.as_ref()) {
                collect(&path, is_wanted, found);
            }
        } else if is_wanted(&path) {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a directory with tapes, and returns the names of those that `wanted` finds in it.
    fn found(wanted: &str, filter: Option<&str>) -> Result<Vec<String>, Vec<LoadError>> {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for name in ["a.tape", "sub/b.tape", "sub/c.txt", "target/d.tape", ".git/e.tape"] {
            std::fs::create_dir_all(root.join(name).parent().unwrap()).unwrap();
            std::fs::write(root.join(name), "Type \"x\"\n").unwrap();
        }
        let filter = filter.map(|filter| Regex::new(filter).unwrap());
        let wanted = root.join(wanted).to_string_lossy().into_owned();
        let tapes = load(&[wanted], filter.as_ref())?;
        let name =
            |tape: TapeFile| tape.path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
        Ok(tapes.into_iter().map(name).collect())
    }

    #[test]
    fn tapes_are_found_by_path_directory_and_pattern() {
        assert_eq!(found("a.tape", None).unwrap(), ["a.tape"]);
        assert_eq!(found("", None).unwrap(), ["a.tape", "sub/b.tape"]);
        assert_eq!(found("*.tape", None).unwrap(), ["a.tape"]);
        assert_eq!(found("**/*.tape", None).unwrap(), ["a.tape", "sub/b.tape"]);
        assert_eq!(found("sub/*", Some("b\\.")).unwrap(), ["sub/b.tape"]);
    }

    #[test]
    fn finding_no_tape_is_an_error_that_names_the_value() {
        let message = |result: Result<Vec<String>, Vec<LoadError>>| result.unwrap_err().remove(0);
        assert!(message(found("x.tape", None)).message.contains("no such file"));
        assert!(message(found("x*.tape", None)).message.contains("x*.tape"));
        let filtered = message(found("", Some("nothing"))).message;
        assert!(filtered.contains("nothing") && filtered.contains("2 tapes"), "{filtered}");
    }

    #[test]
    fn all_errors_of_all_tapes_are_reported_with_their_positions() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["a.tape", "b.tape"] {
            std::fs::write(directory.path().join(name), "Enter\nTyp \"x\"\nSlep 1\n").unwrap();
        }
        let errors = load(&[directory.path().to_string_lossy().into_owned()], None).unwrap_err();
        let positions: Vec<_> = errors.iter().map(|error| error.position).collect();
        assert_eq!(positions, [Some((2, 1)), Some((3, 1)), Some((2, 1)), Some((3, 1))]);
    }
}
