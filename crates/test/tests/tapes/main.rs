//! Tapes: the grammar, errors with positions, warnings, and random tapes.

mod docs;
mod errors;
mod grammar;
mod properties;
mod tree;
mod warnings;

use std::io;

use awaitty_test::tape::{self, Action, Tape};

/// Returns the text of the tapes that the tests source.
fn load(path: &str) -> io::Result<String> {
    match path {
        "other.tape" => Ok("Set FontSize 5\nOutput other.gif\nType 'other'".to_owned()),
        "settings.tape" => Ok("Set Shell fish\nSet Columns 100".to_owned()),
        "empty.tape" => Ok(String::new()),
        "nested.tape" => Ok("Enter\nSource other.tape".to_owned()),
        "wrong.tape" => Ok("Foo\n  Enter 0".to_owned()),
        _ => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Parses a tape that has no errors.
fn parse(text: &str) -> Tape {
    match tape::parse(text, &load) {
        Ok(tape) => tape,
        Err(errors) => panic!("{text:?}: {errors:#?}"),
    }
}

fn actions(tape: &Tape) -> Vec<Action> {
    tape.commands.iter().map(|command| command.action.clone()).collect()
}

/// Cuts the lists of all names, which are long.
fn without_lists(error: &str) -> String {
    let lists = ["the commands are ", "the settings are ", "a combination ends with "];
    match lists.iter().find_map(|list| error.split_once(list).map(|(start, _)| (start, list))) {
        Some((start, list)) => format!("{start}{list}…"),
        None => error.to_owned(),
    }
}

/// Returns what a tape means: its commands in canonical form after `= `, or its errors after `! `. The canonical form
/// must mean the same.
fn meaning(text: &str) -> Vec<String> {
    match tape::parse(text, &load) {
        Ok(tape) => {
            let again = parse(&tape.to_string());
            assert_eq!(actions(&again), actions(&tape), "{text}");
            tape.commands.iter().map(|command| format!("= {command}")).collect()
        }
        Err(errors) => {
            errors.iter().map(|error| format!("! {}", without_lists(&error.to_string()))).collect()
        }
    }
}
