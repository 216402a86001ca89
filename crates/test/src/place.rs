//! The line of a test that made a call.

use std::panic::Location;
use std::path::{Path, PathBuf};

use crate::trace::Place;

/// Returns the line of a location, with its text if the file can be read.
///
/// The compiler records paths relative to the root of the workspace, and cargo runs tests in the directory of the
/// package, so the file is searched in the ancestors of the current directory.
pub(crate) fn place(location: &Location<'_>) -> Place {
    let here = std::env::current_dir().unwrap_or_default();
    let line = location.line() as usize;
    let found = find(Path::new(location.file()), &here);
    let text = found.as_deref().and_then(|path| read_line(path, line)).unwrap_or_default();
    let shown = found.as_deref().and_then(|path| path.strip_prefix(&here).ok());
    let file = shown.unwrap_or(Path::new(location.file())).display().to_string();
    Place { file, line, text }
}

fn find(file: &Path, here: &Path) -> Option<PathBuf> {
    let mut candidates = here.ancestors().map(|directory| directory.join(file));
    candidates.find(|path| path.is_file())
}

fn read_line(path: &Path, number: usize) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.lines().nth(number.checked_sub(1)?)?.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_call_is_read_from_its_file() {
        let location = Location::caller();
        let here = place(location);
        assert_eq!((here.file.as_str(), here.line), ("src/place.rs", location.line() as usize));
        assert_eq!(here.text, "let location = Location::caller();");
    }

    #[test]
    fn a_file_that_does_not_exist_has_no_text() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(find(Path::new("no/such/file.rs"), &here), None);
        assert_eq!(read_line(Path::new("no/such/file.rs"), 1), None);
    }
}
