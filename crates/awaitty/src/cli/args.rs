//! Converts the parameters of a tool to command line arguments, and back.

use std::ffi::OsString;
use std::path::Path;
use std::sync::LazyLock;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};

use super::{escapes, kebab};
use crate::sessions::TERMINAL_VARIABLES;
use crate::tools::Tool;
use awaitty_terminal::runtime::is_secret_variable;

/// Help of the text of `send`. Shells pass `\n` on as two characters, so the command line resolves escapes.
const INPUT_HELP: &str = "Text to type; \\n is Enter. Escapes are \\n, \\r, \\t, \\e, \\xHH and \\\\, unless --literal is given";

/// Returns whether a parameter is `args` of `spawn`, which takes the rest of the command line after `command`.
pub(super) fn is_args(tool: &Tool, name: &str) -> bool {
    tool.spec.name == "spawn" && name == "args"
}

pub(super) fn properties(schema: &Map<String, Value>) -> &Map<String, Value> {
    static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
    schema.get("properties").and_then(Value::as_object).unwrap_or(&NONE)
}

fn help(field: &Value) -> String {
    let text = field["description"].as_str().unwrap_or_default().replace('\n', " ");
    text.strip_suffix('.').filter(|text| !text.contains(". ")).map_or(text.clone(), str::to_owned)
}

pub(super) fn positional(tool: &Tool, name: &str, field: &Value) -> Arg {
    let arg = Arg::new(name.to_owned()).help(help(field)).value_name(name.to_uppercase());
    let required = tool.input.get("required").and_then(Value::as_array);
    let required = required.is_some_and(|all| all.iter().any(|one| one == name));
    if tool.spec.name == "spawn" {
        return arg
            // A restart without a command starts the same program again.
            .required_unless_present("if_exists")
            .num_args(1..)
            .trailing_var_arg(true)
            .value_name("COMMAND")
            .help("The program and its arguments; options of spawn must come first");
    }
    let arg =
        if (tool.spec.name, name) == ("send_input", "input") { arg.help(INPUT_HELP) } else { arg };
    let arg = match field["type"].as_str() {
        Some("array") => arg.num_args(1..),
        // A single argument is the pattern, since the session is optional.
        _ => arg.allow_hyphen_values(
            ["input", "pattern"].contains(&name) || tool.spec.name == "wait_for_text",
        ),
    };
    // Positions after an optional session cannot be required here; `fill_positions` checks them.
    arg.required(required && !tool.spec.command.positions.contains(&"session_id"))
}

/// Returns the parameters of a tool that are options of its subcommand, including those inside objects, with their
/// schemas.
pub(super) fn flags(tool: &Tool) -> Vec<(String, &Value)> {
    let mut flags = Vec::new();
    for (name, field) in properties(&tool.input) {
        if tool.spec.command.positions.contains(&name.as_str()) || is_args(tool, name) {
            continue;
        }
        match field["properties"].as_object() {
            Some(inner) => {
                flags.extend(inner.iter().map(|(part, field)| (format!("{name}.{part}"), field)));
            }
            None => flags.push((name.clone(), field)),
        }
    }
    flags
}

/// Returns the option name of a parameter.
fn long(path: &str) -> String {
    kebab(&path.replace('.', "-"))
}

/// Returns the alternatives in the schema of a parameter.
fn choices(field: &Value) -> impl Iterator<Item = &Value> {
    field["anyOf"].as_array().into_iter().flatten()
}

/// Returns whether `true` is one of several kinds of values, so that the option may have no value.
fn may_be_boolean(field: &Value) -> bool {
    choices(field).any(|choice| choice["type"] == "boolean")
}

/// Returns whether a word is a value of a parameter with alternatives.
fn is_value(field: &Value, word: &str) -> bool {
    choices(field).any(|choice| match choice["type"].as_str() {
        Some("boolean") => ["true", "false"].contains(&word),
        Some("integer") => word.parse::<i64>().is_ok(),
        _ => choice["enum"].as_array().is_some_and(|all| all.iter().any(|one| one == word)),
    })
}

/// Joins an option with an optional value and the value after it: `--styles selection` becomes `--styles=selection`.
/// clap would take any following word for the value, even the session or the program.
pub(super) fn join_values(tool: &Tool, command: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let flags = flags(tool);
    let mut words = words.into_iter().peekable();
    // Skips the program and the subcommand.
    let mut joined: Vec<OsString> = words.by_ref().take(2).collect();
    while let Some(word) = words.next() {
        let name = word.to_str().and_then(|word| word.strip_prefix("--"));
        let is_program = name.is_none() && tool.spec.name == "spawn";
        if is_program || name == Some("") {
            joined.push(word);
            break;
        }
        let field = flags.iter().find(|(path, _)| Some(long(path).as_str()) == name);
        let next = words.peek().and_then(|next| next.to_str());
        let arg = command.get_arguments().find(|arg| name.is_some() && arg.get_long() == name);
        match (field, next) {
            (Some((_, field)), Some(next)) if may_be_boolean(field) && is_value(field, next) => {
                let mut both = word;
                both.push("=");
                both.push(words.next().unwrap_or_default());
                joined.push(both);
            }
            _ => {
                joined.push(word);
                let takes_next =
                    |arg: &Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
                if arg.is_some_and(takes_next) {
                    joined.extend(words.next());
                }
            }
        }
    }
    joined.extend(words);
    joined
}

pub(super) fn flag(path: &str, field: &Value) -> Arg {
    let arg = Arg::new(path.to_owned()).long(long(path)).help(help(field));
    let value = path.rsplit('.').next().unwrap_or(path).to_uppercase();
    match field["type"].as_str() {
        Some("boolean") => arg
            .num_args(0..=1)
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(["true", "false"])
            .hide_possible_values(true)
            .value_name("true|false"),
        Some("integer") => {
            arg.value_parser(clap::value_parser!(i64)).allow_negative_numbers(true).value_name("N")
        }
        Some("number") => arg.value_parser(clap::value_parser!(f64)).value_name("N"),
        Some("array") => {
            let arg = arg.action(ArgAction::Append).value_name(value);
            match field["maxItems"].as_u64() {
                Some(count) => arg.num_args(count as usize),
                // A single value, since the session or the program may follow. `--keys` takes all that follow.
                None if path.ends_with("ignore") => arg.num_args(1),
                None => arg.num_args(1..),
            }
        }
        Some("object") => arg.action(ArgAction::Append).value_name("NAME=VALUE"),
        _ if may_be_boolean(field) => {
            arg.num_args(0..=1).require_equals(true).default_missing_value("true").value_name(value)
        }
        _ => arg.allow_hyphen_values(true).value_name(value),
    }
}

/// Returns the arguments of a tool call.
///
/// # Errors
/// A message about an invalid argument.
pub(super) fn arguments(tool: &Tool, matches: &ArgMatches) -> Result<Value, String> {
    let mut arguments = Map::new();
    for (name, field) in properties(&tool.input) {
        let given = match field["properties"].as_object() {
            Some(inner) => {
                let part = |(part, field): (&String, &Value)| {
                    let value = given(matches, &format!("{name}.{part}"), field)?;
                    Ok(value.map(|value| (part.clone(), value)))
                };
                let parts: Result<Vec<_>, String> = inner.iter().map(part).collect();
                let parts: Map<String, Value> = parts?.into_iter().flatten().collect();
                (!parts.is_empty()).then_some(Value::Object(parts))
            }
            None if is_args(tool, name) => None,
            None => given(matches, name, field)?,
        };
        if let Some(value) = given {
            arguments.insert(name.clone(), value);
        }
    }
    if tool.spec.name == "spawn" {
        let words = matches.get_raw("command").into_iter().flatten();
        fill_spawn(&mut arguments, words.map(|word| word.to_string_lossy().into_owned()));
    }
    fill_positions(tool, &mut arguments)?;
    if tool.spec.name == "send_input"
        && !matches.get_flag("--literal")
        && let Some(Value::String(input)) = arguments.get_mut("input")
    {
        *input = escapes::unescape(input)?;
    }
    Ok(Value::Object(arguments))
}

/// Shifts positional arguments by one if the session was omitted, which is the case if there are too few of them.
fn fill_positions(tool: &Tool, arguments: &mut Map<String, Value>) -> Result<(), String> {
    let positions = tool.spec.command.positions;
    let Some((&"session_id", rest)) = positions.split_first() else { return Ok(()) };
    let Some(last) = rest.last() else { return Ok(()) };
    if arguments.contains_key(*last) || !rest.iter().all(|name| is_needed(tool, name, arguments)) {
        return Ok(());
    }
    let given: Vec<Value> = positions.iter().filter_map(|name| arguments.remove(*name)).collect();
    if given.len() < rest.len() {
        let (names, words) = (rest.join(" and "), rest.join(" ").to_uppercase());
        let subcommand = kebab(tool.spec.name);
        return Err(format!("{names}: missing; usage: awaitty {subcommand} [SESSION_ID] {words}"));
    }
    for (name, value) in rest.iter().zip(given) {
        let is_number = properties(&tool.input)[*name]["type"] == "integer";
        let value = match value.as_str().filter(|_| is_number) {
            Some(word) => {
                json!(word.parse::<i64>().map_err(|error| format!("{name}: {word:?}: {error}"))?)
            }
            None => value,
        };
        arguments.insert((*name).to_owned(), value);
    }
    Ok(())
}

/// Returns whether a call requires a parameter.
fn is_needed(tool: &Tool, name: &str, arguments: &Map<String, Value>) -> bool {
    let required = tool.input.get("required").and_then(Value::as_array);
    match (tool.spec.name, name) {
        ("send_input", "input") => {
            ["keys", "secret"].iter().all(|&other| !arguments.contains_key(other))
        }
        _ => required.is_some_and(|all| all.iter().any(|one| one == name)),
    }
}

/// Returns the value of a parameter with the type of its schema.
fn given(matches: &ArgMatches, id: &str, field: &Value) -> Result<Option<Value>, String> {
    let Ok(all) = matches.try_get_raw(id) else { return Ok(None) };
    let Some(all) = all else { return Ok(None) };
    let all: Vec<String> = all.map(|value| value.to_string_lossy().into_owned()).collect();
    let first = all.first().cloned().unwrap_or_default();
    Ok(Some(match field["type"].as_str() {
        Some("boolean") => json!(first == "true"),
        Some("integer") => json!(first.parse::<i64>().map_err(|error| error.to_string())?),
        Some("number") => json!(first.parse::<f64>().map_err(|error| error.to_string())?),
        Some("string") => json!(first),
        Some("array") if field["items"]["type"] == "integer" => {
            let numbers: Result<Vec<i64>, _> = all.iter().map(|value| value.parse()).collect();
            json!(numbers.map_err(|error| format!("--{}: {error}", kebab(id)))?)
        }
        Some("array") => all.iter().map(|value| object_or_text(value)).collect(),
        Some("object") => {
            let pair = |value: &String| match value.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), json!(value))),
                None => Err(format!("--{}: {value:?} is not NAME=VALUE", kebab(id))),
            };
            Value::Object(all.iter().map(pair).collect::<Result<_, _>>()?)
        }
        _ if may_be_boolean(field) && ["true", "false"].contains(&first.as_str()) => {
            json!(first == "true")
        }
        _ => first.parse::<i64>().map_or_else(|_| object_or_text(&first), |number| json!(number)),
    }))
}

/// Parses a JSON object; returns any other text as a string.
fn object_or_text(value: &str) -> Value {
    let object = value.starts_with('{').then(|| serde_json::from_str(value).ok()).flatten();
    object.unwrap_or_else(|| json!(value))
}

/// Fills in `command` and `args`, and the working directory and variables of the caller instead of the daemon's.
pub(super) fn fill_spawn(
    arguments: &mut Map<String, Value>,
    mut words: impl Iterator<Item = String>,
) {
    let Some(program) = words.next() else { return };
    let args: Vec<Value> = words.map(Value::from).collect();
    // A single word that is not a file is a command line: the server splits it, and rejects shell syntax with an
    // explanation.
    if !args.is_empty() || Path::new(&program).exists() {
        arguments.insert("args".to_owned(), Value::Array(args));
    }
    arguments.insert("command".to_owned(), json!(program));
    if let Ok(here) = std::env::current_dir() {
        let given = arguments.get("cwd").and_then(Value::as_str).unwrap_or_default();
        arguments.insert("cwd".to_owned(), json!(here.join(given)));
    }
    if arguments.get("clear_env") != Some(&json!(true)) {
        let text = |text: OsString| text.into_string().ok();
        let own = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        let own = own.filter(|(name, _)| {
            !TERMINAL_VARIABLES.contains(&name.as_str()) && !is_secret_variable(name.as_ref())
        });
        let env: Map<String, Value> = own.map(|(name, value)| (name, json!(value))).collect();
        arguments.insert("inherit_env".to_owned(), Value::Object(env));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools;

    /// Returns the tool arguments of a command line, or the error.
    fn parsed(words: &[&str]) -> Result<Value, String> {
        let subcommand = super::super::command_of(words[0]).ok_or("no such subcommand")?;
        let whole = Command::new("awaitty").subcommand(subcommand);
        let words = ["awaitty"].iter().chain(words).map(OsString::from).collect();
        let words = super::super::join_values(&whole, words);
        let matches = whole.try_get_matches_from(words).map_err(|error| error.to_string())?;
        let (name, of_tool) = matches.subcommand().ok_or("no subcommand")?;
        arguments(tools::find(&name.replace('-', "_")).ok_or("no tool")?, of_tool)
    }

    #[test]
    fn words_after_the_program_belong_to_it() {
        for (words, command, args, name) in [
            (&["spawn", "bash", "-l"][..], "bash", &["-l"][..], None),
            (&["spawn", "--", "bash", "-l"], "bash", &["-l"], None),
            (&["spawn", "--name", "x", "--", "bash", "-l"], "bash", &["-l"], Some("x")),
            (&["spawn", "--name", "x", "bash", "--name", "y"], "bash", &["--name", "y"], Some("x")),
            (&["spawn", "git", "diff", "--", "a"], "git", &["diff", "--", "a"], None),
            (&["spawn", "ls", "--help"], "ls", &["--help"], None),
        ] {
            let spawn = parsed(words).unwrap();
            assert_eq!((&spawn["command"], &spawn["args"]), (&json!(command), &json!(args)));
            assert_eq!(spawn["name"].as_str(), name, "{words:?}");
        }
        let settled = ["spawn", "--name", "demo", "--wait-settled", "300", "--", "bash", "--norc"];
        let spawn = parsed(&settled).unwrap();
        assert_eq!(
            (&spawn["wait"], &spawn["args"]),
            (&json!({"settled": 300}), &json!(["--norc"]))
        );
        assert!(parsed(&["spawn"]).is_err());
        assert!(parsed(&["spawn", "--nmae", "x", "bash"]).unwrap_err().contains("--nmae"));
    }

    #[test]
    fn the_session_is_optional() {
        for (words, wanted) in [
            (&["run-command", "make test"][..], json!({"command": "make test"})),
            (&["run-command", "a", "make"], json!({"session_id": "a", "command": "make"})),
            (&["wait-for-text", "done"], json!({"pattern": "done"})),
            (&["wait-for-text", "a", "b"], json!({"session_id": "a", "pattern": "b"})),
            (&["resize", "80", "24"], json!({"cols": 80, "rows": 24})),
            (&["resize", "a", "80", "24"], json!({"session_id": "a", "cols": 80, "rows": 24})),
            (&["send", "hello"], json!({"input": "hello"})),
            (&["send", "a", "hello"], json!({"session_id": "a", "input": "hello"})),
            (&["send", "a", "--keys", "enter"], json!({"session_id": "a", "keys": ["enter"]})),
            (&["send", "--keys", "enter"], json!({"keys": ["enter"]})),
            (&["send", "a", "--secret", "PW"], json!({"session_id": "a", "secret": "PW"})),
            (&["save-recording", "a"], json!({"session_id": "a"})),
        ] {
            assert_eq!(parsed(words), Ok(wanted), "{words:?}");
        }
        let missing = "command: missing; usage: awaitty run-command [SESSION_ID] COMMAND";
        assert_eq!(parsed(&["run-command"]), Err(missing.to_owned()));
        for words in [&["send"][..], &["wait-for-text"], &["resize"], &["resize", "80"]] {
            assert!(parsed(words).is_err_and(|error| error.contains("[SESSION_ID]")), "{words:?}");
        }
        assert!(parsed(&["resize", "a", "24"]).is_err_and(|error| error.contains("\"a\"")));
    }

    #[test]
    fn only_the_text_of_send_has_escapes() {
        let sent = parsed(&["send", "a", r"x\t\n", "--wait-text", r"20\d"]).unwrap();
        let wanted = json!({"session_id": "a", "input": "x\t\n", "wait": {"text": r"20\d"}});
        assert_eq!(sent, wanted);
        let sent = parsed(&["send", r"x\d\n", "--literal"]);
        assert_eq!(sent, Ok(json!({"input": r"x\d\n"})));
        assert!(parsed(&["send", r"x\d"]).is_err_and(|error| error.starts_with(r"\d in the text")));
        let pattern = parsed(&["wait-for-text", r"\d+"]);
        assert_eq!(pattern, Ok(json!({"pattern": r"\d+"})));
    }

    #[test]
    fn a_boolean_option_needs_no_value() {
        let wait = |words: &[&str]| parsed(words).map(|sent| sent["wait"].clone());
        for (words, wanted) in [
            (&["send", "a", "x", "--wait-command"][..], json!({"command": true})),
            (&["send", "--wait-command", "a", "x"], json!({"command": true})),
            (&["send", "a", "x", "--wait-command", "true"], json!({"command": true})),
            (&["send", "a", "x", "--wait-command", "3"], json!({"command": 3})),
            (&["send", "a", "x", "--wait-command=3"], json!({"command": 3})),
            (
                &["send", "a", "x", "--wait-command", "--wait-timeout-ms", "5"],
                json!({"command": true, "timeout_ms": 5}),
            ),
            (&["spawn", "--wait-command", "bash", "-l"], json!({"command": true})),
            (&["spawn", "--name", "--wait-command", "bash"], Value::Null),
        ] {
            match wait(words) {
                Ok(found) => assert_eq!(found, wanted, "{words:?}"),
                Err(error) => assert!(wanted.is_null(), "{words:?}: {error}"),
            }
        }
        let own = parsed(&["spawn", "prog", "--wait-command", "3"]).unwrap();
        assert_eq!(own["args"], json!(["--wait-command", "3"]), "the program's own");
        let own = parsed(&["spawn", "--", "prog", "--wait-command", "3"]).unwrap();
        assert_eq!(own["args"], json!(["--wait-command", "3"]));
        for (words, session, styles) in [
            (&["wait-for-screen-change", "--styles"][..], None, json!(true)),
            (&["wait-for-screen-change", "--styles", "a"], Some("a"), json!(true)),
            (&["wait-for-screen-change", "--styles", "selection"], None, json!("selection")),
            (&["wait-for-screen-change", "a", "--styles", "false"], Some("a"), json!(false)),
            (&["wait-for-screen-change", "--styles=false", "a"], Some("a"), json!(false)),
            (&["wait-for-screen-change", "--styles=nope"], None, json!("nope")),
        ] {
            let call = parsed(words).unwrap();
            assert_eq!(
                (call["session_id"].as_str(), &call["styles"]),
                (session, &styles),
                "{words:?}"
            );
        }
    }
}
