//! `awaitty signal`: what scripts call at their end, and somebody waits for.
//!
//! To describe a tool to the parser of command lines takes longer than to signal, so a plain call is understood without:
//! a channel, perhaps with `--status` and `--message`. Whatever else there is, mistakes above all, is left to the parser.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::client::{Answered, Client};
use crate::socket;

/// The arguments of a plain call, from all words of a command line.
pub fn plain(words: impl Iterator<Item = OsString>) -> Option<Value> {
    let mut words = words.skip(1).map(OsString::into_string);
    let mut word = || words.next().map_or(Some(None), |word| word.ok().map(Some));
    if word()?? != "signal" {
        return None;
    }
    let mut arguments = Map::new();
    while let Some(name) = word()? {
        let (name, value) = match name.as_str() {
            "--status" => ("status", json!(word()??.parse::<i64>().ok()?)),
            "--message" => ("message", json!(word()?.filter(|text| !text.starts_with('-'))?)),
            _ if name.starts_with('-') || name.is_empty() => return None,
            _ => ("channel", json!(name)),
        };
        // Twice is a mistake, which the parser explains.
        if arguments.insert(name.to_owned(), value).is_some() {
            return None;
        }
    }
    arguments.contains_key("channel").then_some(Value::Object(arguments))
}

/// Signals, and says where from.
///
/// # Errors
/// If the server cannot be reached.
pub(super) fn send(mut arguments: Value) -> io::Result<Answered> {
    arguments["pid"] = json!(std::os::unix::process::parent_id());
    if let Ok(session) = std::env::var(socket::SESSION_VARIABLE) {
        arguments["session"] = json!(session);
    }
    client()?.call("signal_channel", &arguments, &mut |_| {})
}

/// Makes a plain call, prints the answer and gives the exit status.
///
/// # Errors
/// If the server cannot be reached.
pub fn call(arguments: Value) -> io::Result<i32> {
    let answered = send(arguments)?;
    super::print(&answered, false)?;
    Ok(super::status(&answered))
}

/// The server of the terminal that we are in; outside of any, the daemon.
fn client() -> io::Result<Client> {
    let path = std::env::var_os(socket::SOCKET_VARIABLE).filter(|path| !path.is_empty());
    let Some(path) = path else {
        return Client::any_daemon();
    };
    Client::connect(Path::new(&path)).map_err(|error| {
        let path = path.to_string_lossy();
        io::Error::other(format!("the server of this terminal does not answer at {path}: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    /// What the parser makes of the same words; nothing if they make no sense to it.
    fn parsed(words: &[&str]) -> Option<Value> {
        let tool = tools::find("signal_channel")?;
        let whole = clap::Command::new("awaitty").subcommand(super::super::command(tool));
        let matches = whole.try_get_matches_from(words).ok()?;
        super::super::arguments(tool, matches.subcommand()?.1).ok()
    }

    #[test]
    fn a_plain_call_is_what_the_parser_makes_of_it_and_the_rest_is_left_to_it() {
        let words = |line: &'static str| ["awaitty"].into_iter().chain(line.split(' '));
        let plain = |line| plain(words(line).map(OsString::from));
        for line in [
            "signal done",
            "signal done --status 3",
            "signal --status -1 done",
            "signal --message fine done --status 0",
            "signal tmux:done --message 漢字",
            "signal no/such/name",
        ] {
            let by_parser = parsed(&words(line).collect::<Vec<_>>());
            assert!(by_parser.is_some() && plain(line) == by_parser, "{line}: {by_parser:?}");
        }
        for line in [
            "signal",
            "signal a b",
            "signal a --status",
            "signal a --status x",
            "signal a --status 1 --status 2",
            "signal a --message --status",
            "signal a --json",
            "signal a --status=1",
            "signal --help",
            "signal -- a",
            "spawn a",
        ] {
            assert_eq!(plain(line), None, "{line}");
        }
    }
}
