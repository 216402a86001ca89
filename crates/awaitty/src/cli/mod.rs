//! The command line's face of the tools: a subcommand each, made from the same schema that an MCP client
//! reads, so that there is one description of every parameter.

pub mod attach;
pub mod run;
mod saved;
pub mod signal;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::{Map, Value, json};

use crate::client::{Answered, Client};
use crate::sessions::{OF_A_TERMINAL, SECRET_PREFIX};
use crate::tools::{self, Tool};

/// How a call ended, for the shell.
pub mod exit {
    /// What was waited for holds, or the call was no wait.
    pub const MET: i32 = 0;
    /// Something was wrong with the call or the server.
    pub const ERROR: i32 = 1;
    /// The command line makes no sense.
    pub const USAGE: i32 = 2;
    /// The timeout came first.
    pub const TIMEOUT: i32 = 3;
    /// The program exited first, or its session was closed.
    pub const EXITED: i32 = 4;
}

/// What of a tool is given by position, and the short name that it has besides its own.
struct Face {
    tool: &'static str,
    short: Option<&'static str>,
    positions: &'static [&'static str],
}

const FACES: [Face; 19] = [
    face("close_session", Some("close"), &["session_id"]),
    face("list_sessions", Some("ls"), &[]),
    face("read_output", Some("read"), &["session_id"]),
    face("resize_session", Some("resize"), &["session_id", "cols", "rows"]),
    face("run_command", None, &["session_id", "command"]),
    face("run_steps", None, &["steps"]),
    face("save_recording", None, &["session_id", "path"]),
    face("screenshot", None, &["session_id"]),
    face("search_output", Some("search"), &["pattern"]),
    face("send_input", Some("send"), &["session_id", "input"]),
    face("signal_channel", Some("signal"), &["channel"]),
    face("snapshot", None, &["session_id"]),
    face("spawn", None, &["command"]),
    face("wait_for_any", None, &["waits"]),
    face("wait_for_channel", None, &["channel"]),
    face("wait_for_command", None, &["session_id"]),
    face("wait_for_exit", None, &["session_id"]),
    face("wait_for_screen_change", None, &["session_id"]),
    face("wait_for_text", None, &["session_id", "pattern"]),
];

const fn face(
    tool: &'static str,
    short: Option<&'static str>,
    positions: &'static [&'static str],
) -> Face {
    Face { tool, short, positions }
}

fn face_of(tool: &Tool) -> &'static Face {
    const PLAIN: Face = face("", None, &[]);
    FACES.iter().find(|face| face.tool == tool.name).unwrap_or(&PLAIN)
}

/// The subcommands of the tools.
pub fn commands() -> impl Iterator<Item = Command> {
    tools::all().map(command)
}

/// The subcommand that a word asks for, if it is a tool's.
pub fn command_of(word: &str) -> Option<Command> {
    let face = FACES.iter().find(|face| face.short == Some(word) || kebab(face.tool) == word)?;
    tools::find(face.tool).map(command)
}

fn kebab(name: &str) -> String {
    name.replace('_', "-")
}

fn command(tool: &Tool) -> Command {
    let face = face_of(tool);
    let json = Arg::new("--json").long("json").action(ArgAction::SetTrue);
    let mut command = Command::new(kebab(tool.name))
        .about(
            tool.description
                .split(". ")
                .next()
                .unwrap_or_default()
                .trim_end_matches('.')
                .to_owned(),
        )
        .long_about(tool.description)
        .arg(json.help("Print the structured result as JSON"))
        .visible_aliases(face.short);
    let extra = |name: &'static str, long, help| {
        Arg::new(name).long(long).action(ArgAction::SetTrue).help(help)
    };
    match tool.name {
        "list_sessions" => {
            command = command.arg(extra(
                "--watch",
                "watch",
                "Show the table anew when something changes",
            ));
        }
        "screenshot" | "save_recording" => {
            command = command.arg(extra("--force", "force", "Write over a file that is there"));
        }
        "snapshot" => {
            command = command.arg(extra(
                "--plain",
                "plain",
                "Print the text of the screen and nothing else",
            ))
        }
        _ => {}
    }
    for name in face.positions {
        let Some(field) = properties(&tool.input).get(*name) else { continue };
        command = command.arg(positional(tool, name, field));
    }
    for (name, field) in properties(&tool.input) {
        if face.positions.contains(&name.as_str()) || is_args(tool, name) {
            continue;
        }
        match field["properties"].as_object() {
            Some(inner) => {
                for (part, field) in inner {
                    command = command.arg(flag(&format!("{name}.{part}"), field));
                }
            }
            None => command = command.arg(flag(name, field)),
        }
    }
    command
}

/// The rest of a command line goes to `command` and `args` together.
fn is_args(tool: &Tool, name: &str) -> bool {
    tool.name == "spawn" && name == "args"
}

fn properties(schema: &Map<String, Value>) -> &Map<String, Value> {
    static NONE: std::sync::LazyLock<Map<String, Value>> = std::sync::LazyLock::new(Map::new);
    schema.get("properties").and_then(Value::as_object).unwrap_or(&NONE)
}

fn help(field: &Value) -> String {
    let text = field["description"].as_str().unwrap_or_default().replace('\n', " ");
    text.strip_suffix('.').filter(|text| !text.contains(". ")).map_or(text.clone(), str::to_owned)
}

fn positional(tool: &Tool, name: &str, field: &Value) -> Arg {
    let arg = Arg::new(name.to_owned()).help(help(field)).value_name(name.to_uppercase());
    let required = tool.input.get("required").and_then(Value::as_array);
    let required = required.is_some_and(|all| all.iter().any(|one| one == name));
    if tool.name == "spawn" {
        return arg
            .required(true)
            .num_args(1..)
            .last(true)
            .value_name("COMMAND")
            .help("The program and its arguments, after --");
    }
    let arg = match field["type"].as_str() {
        Some("array") => arg.num_args(1..),
        // A pattern behind an optional session: with one argument it is the pattern.
        _ => arg.allow_hyphen_values(
            ["input", "pattern"].contains(&name) || tool.name == "wait_for_text",
        ),
    };
    // Behind a session that may be left out nothing can be insisted on here; the tool does.
    arg.required(required && !face_of(tool).positions.contains(&"session_id"))
}

fn flag(path: &str, field: &Value) -> Arg {
    let long = kebab(&path.replace('.', "-"));
    let arg = Arg::new(path.to_owned()).long(long).help(help(field));
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
        Some("array") => arg.action(ArgAction::Append).num_args(1..).value_name(value),
        Some("object") => arg.action(ArgAction::Append).value_name("NAME=VALUE"),
        _ => arg.allow_hyphen_values(true).value_name(value),
    }
}

/// The arguments of a tool's call.
///
/// # Errors
/// What is wrong with them.
pub fn arguments(tool: &Tool, matches: &ArgMatches) -> Result<Value, String> {
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
    if tool.name == "spawn" {
        let words = matches.get_raw("command").into_iter().flatten();
        spawn_here(&mut arguments, words.map(|word| word.to_string_lossy().into_owned()));
    }
    if tool.name == "wait_for_text" && !arguments.contains_key("pattern") {
        let Some(pattern) = arguments.remove("session_id") else {
            return Err("give a pattern: awaitty wait-for-text [SESSION] PATTERN".to_owned());
        };
        arguments.insert("pattern".to_owned(), pattern);
    }
    Ok(Value::Object(arguments))
}

/// What was given for a parameter, as the value that its schema asks for.
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
        Some("array") => all.iter().map(|value| loose(value)).collect(),
        Some("object") => {
            let pair = |value: &String| match value.split_once('=') {
                Some((name, value)) => Ok((name.to_owned(), json!(value))),
                None => Err(format!("--{}: {value:?} is not NAME=VALUE", kebab(id))),
            };
            Value::Object(all.iter().map(pair).collect::<Result<_, _>>()?)
        }
        _ => first.parse::<i64>().map_or_else(|_| loose(&first), |number| json!(number)),
    }))
}

/// A text, or what it says if it is an object in JSON.
fn loose(value: &str) -> Value {
    let object = value.starts_with('{').then(|| serde_json::from_str(value).ok()).flatten();
    object.unwrap_or_else(|| json!(value))
}

/// A program is started where its caller is, and with the caller's variables, not the daemon's.
fn spawn_here(arguments: &mut Map<String, Value>, mut words: impl Iterator<Item = String>) {
    arguments.insert("command".to_owned(), json!(words.next()));
    arguments.insert("args".to_owned(), words.collect());
    if let Ok(here) = std::env::current_dir() {
        let given = arguments.get("cwd").and_then(Value::as_str).unwrap_or_default();
        arguments.insert("cwd".to_owned(), json!(here.join(given)));
    }
    if arguments.get("clear_env") != Some(&json!(true)) {
        let text = |text: OsString| text.into_string().ok();
        let own = std::env::vars_os().filter_map(|(name, value)| Some((text(name)?, text(value)?)));
        let own = own.filter(|(name, _)| {
            !OF_A_TERMINAL.contains(&name.as_str()) && !name.starts_with(SECRET_PREFIX)
        });
        let mut env: Map<String, Value> = own.map(|(name, value)| (name, json!(value))).collect();
        if let Some(Value::Object(given)) = arguments.remove("env") {
            env.extend(given);
        }
        arguments.insert("env".to_owned(), Value::Object(env));
        arguments.insert("clear_env".to_owned(), json!(true));
    }
}

/// Calls a tool as the command line asks for it, prints the answer and gives the exit status.
///
/// # Errors
/// If the daemon cannot be reached.
pub fn call(tool: &Tool, matches: &ArgMatches) -> io::Result<i32> {
    let called = try_call(tool, matches);
    if let (Err(error), true) = (&called, matches.get_flag("--json")) {
        let told = json!({"code": "unreachable", "message": error.to_string()});
        write(format!("{told}\n").as_bytes())?;
    }
    called
}

fn try_call(tool: &Tool, matches: &ArgMatches) -> io::Result<i32> {
    let as_json = matches.get_flag("--json");
    if run::is_watched(matches) {
        return run::watch_list();
    }
    let mut arguments = match arguments(tool, matches) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            crate::log(&wrong);
            return Ok(exit::USAGE);
        }
    };
    let paints = tool.name == "snapshot"
        && !as_json
        && wants_colour()
        && !matches.get_flag("--plain")
        && ["format", "since", "rows", "scrollback"].iter().all(|name| arguments[*name].is_null());
    if paints {
        arguments["format"] = json!("styled");
    }
    if tool.name == "signal_channel" {
        let answered = signal::send(arguments)?;
        print(&answered, as_json)?;
        return Ok(status(&answered));
    }
    let mut client = Client::daemon()?;
    match tool.name {
        "screenshot" => {
            return saved::picture(&mut client, arguments, matches.get_flag("--force"), as_json);
        }
        "save_recording" => {
            return saved::recording(&mut client, arguments, matches.get_flag("--force"), as_json);
        }
        _ => {}
    }
    let mut waiting = Waiting::default();
    let answered = client.call(tool.name, &arguments, &mut |what| waiting.show(what))?;
    waiting.clear();
    let text = answered.structured["text"].as_str();
    match (tool.name, text) {
        ("list_sessions", _) if !as_json => write(run::table(&answered).as_bytes())?,
        _ if paints && !answered.is_error => write(attach::painted(&answered).as_bytes())?,
        ("snapshot", Some(text)) if matches.get_flag("--plain") => {
            write(format!("{text}\n").as_bytes())?
        }
        _ => print(&answered, as_json)?,
    }
    Ok(status(&answered))
}

/// Colours are for a terminal, and not for everybody.
fn wants_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes to standard output; whoever reads may have had enough.
///
/// # Errors
/// If it cannot be written for another reason.
pub fn write(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(text).and_then(|()| stdout.flush()).or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// What is waited for, on standard error while it lasts, for a person.
#[derive(Debug, Default)]
struct Waiting {
    shown: bool,
}

impl Waiting {
    fn show(&mut self, what: &str) {
        let mut stderr = io::stderr();
        if stderr.is_terminal() {
            self.shown = true;
            let _ = write!(stderr, "\r\x1b[K\x1b[2m{what}\x1b[m");
            let _ = stderr.flush();
        }
    }

    fn clear(&mut self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Prints an answer: JSON for programs, the text for people, mistakes on standard error.
fn print(answered: &Answered, as_json: bool) -> io::Result<()> {
    match (as_json, answered.is_error) {
        (true, _) => write(format!("{}\n", answered.structured).as_bytes()),
        (false, true) => writeln!(io::stderr(), "awaitty: {}", answered.text.trim_end()),
        (false, false) => {
            let (header, rest) = answered.text.split_once('\n').unwrap_or((&answered.text, ""));
            if wants_colour() {
                write(format!("\x1b[1;36m{header}\x1b[m\n{}\n", rest.trim_end()).as_bytes())
            } else {
                write(format!("{}\n", answered.text.trim_end()).as_bytes())
            }
        }
    }
}

fn status(answered: &Answered) -> i32 {
    match answered.structured["outcome"].as_str() {
        _ if answered.is_error => exit::ERROR,
        Some("timeout" | "pending") => exit::TIMEOUT,
        Some("exited" | "closed") => exit::EXITED,
        _ => exit::MET,
    }
}
