//! `awaitty signal`: signals a channel, typically at the end of a script.
//!
//! Building the clap parser takes longer than signalling. So plain calls, with a channel and optionally `--status` and
//! `--message`, are parsed by hand. All others, including invalid ones, are left to clap.

use std::ffi::OsString;
use std::io;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::client::{CallResult, Client};
use crate::socket;

/// Parses the words of a command line; `None` unless it is a plain call.
pub fn parse_plain(words: impl Iterator<Item = OsString>) -> Option<Value> {
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
        // A repeated option is an error, which clap explains.
        if arguments.insert(name.to_owned(), value).is_some() {
            return None;
        }
    }
    arguments.contains_key("channel").then_some(Value::Object(arguments))
}

/// Signals a channel with the session and parent PID of this process.
///
/// # Errors
/// If the server cannot be reached.
pub(super) fn send(mut arguments: Value) -> io::Result<CallResult> {
    arguments["pid"] = json!(std::os::unix::process::parent_id());
    if let Ok(session) = std::env::var(socket::SESSION_VARIABLE) {
        arguments["session"] = json!(session);
    }
    client()?.call("signal_channel", &arguments, &mut |_| {})
}

/// Runs a plain call and prints the result. Returns the exit status.
///
/// # Errors
/// If the server cannot be reached.
pub fn call(arguments: Value) -> io::Result<i32> {
    let result = send(arguments)?;
    super::print(&result, false)?;
    Ok(super::status(&result))
}

/// Connects to the server of the surrounding terminal; outside of one, to the daemon.
fn client() -> io::Result<Client> {
    let path = std::env::var_os(socket::SOCKET_VARIABLE).filter(|path| !path.is_empty());
    let Some(path) = path else {
        return Client::any_daemon();
    };
    Client::connect(Path::new(&path)).map_err(|error| {
        let path = path.to_string_lossy();
        io::Error::other(format!("the server of this terminal is not listening at {path}: {error}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    /// Returns the arguments that clap parses from the same words; `None` if they are invalid.
    fn parsed(words: &[&str]) -> Option<Value> {
        let tool = tools::find("signal_channel")?;
        let whole = clap::Command::new("awaitty").subcommand(super::super::command(tool));
        let matches = whole.try_get_matches_from(words).ok()?;
        super::super::arguments(tool, matches.subcommand()?.1).ok()
    }

    #[test]
    fn plain_calls_are_parsed_as_by_clap_and_others_are_left_to_it() {
        let words = |line: &'static str| ["awaitty"].into_iter().chain(line.split(' '));
        let plain = |line| parse_plain(words(line).map(OsString::from));
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
