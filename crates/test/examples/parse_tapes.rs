//! Parses all tapes below a directory, and prints the errors and the counts.
//!
//! With `--warnings` it prints the warnings too. A tape must give the same commands after it is formatted.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use awaitty_test::tape::{self, Tape};

/// Returns all tapes below a directory, in order.
fn tapes(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(tapes(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "tape") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn same_commands(one: &Tape, other: &Tape) -> bool {
    let actions = |tape: &Tape| tape.commands.iter().map(|c| c.action.clone()).collect::<Vec<_>>();
    actions(one) == actions(other)
}

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let root = PathBuf::from(arguments.next().unwrap_or_else(|| ".".to_owned()));
    let with_warnings = arguments.any(|argument| argument == "--warnings");
    let (mut out, mut valid, mut commands) = (io::stdout().lock(), 0, 0);
    let paths = tapes(&root)?;
    for path in &paths {
        let name = path.strip_prefix(&root).unwrap_or(path).display();
        // A source is relative to the tape that names it.
        let load = |source: &str| fs::read_to_string(path.with_file_name(source));
        match tape::parse(&fs::read_to_string(path)?, &load) {
            Err(errors) => {
                for error in errors {
                    writeln!(out, "{name}:{error}")?;
                }
            }
            Ok(tape) => {
                valid += 1;
                commands += tape.flat().count();
                let again = tape::parse(&tape.to_string(), &load);
                if !again.as_ref().is_ok_and(|again| same_commands(&tape, again)) {
                    writeln!(out, "{name}: different after formatting: {again:?}")?;
                }
                for warning in tape.warnings.iter().filter(|_| with_warnings) {
                    writeln!(out, "{name}:{warning}")?;
                }
            }
        }
    }
    let wrong = paths.len() - valid;
    writeln!(out, "{} tapes: {valid} valid with {commands} commands, {wrong} wrong", paths.len())
}
