//! `awaitty policy check FILE`: checks a policy file before a server uses it.

use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::exit;
use crate::operator;

/// Checks a policy file, and prints its rules or the error. Returns the exit status.
///
/// # Errors
/// If the result cannot be printed.
pub fn check(file: &Path, as_json: bool) -> io::Result<i32> {
    let checked = operator::check_file(file);
    if as_json {
        let output = match &checked {
            Ok(rules) => {
                let rules = rules.iter().map(|(key, rule)| ((*key).to_owned(), json!(rule)));
                json!({"valid": true, "rules": rules.collect::<Map<String, Value>>()})
            }
            Err(error) => {
                json!({"valid": false, "code": "bad_policy", "message": format!("{error:#}")})
            }
        };
        super::write(format!("{output}\n").as_bytes())?;
    }
    match checked {
        Ok(rules) => {
            if !as_json {
                let lines = rules.iter().map(|(key, rule)| format!("{key:16}{rule}\n"));
                let text = format!("{}: valid\n{}", file.display(), lines.collect::<String>());
                super::write(text.as_bytes())?;
            }
            Ok(exit::MET)
        }
        Err(error) => {
            crate::log(&format!("{error:#}"));
            Ok(exit::ERROR)
        }
    }
}
