//! The command line's face of the tools: a subcommand each, made from the same schema that an MCP client
//! reads, so that there is one description of every parameter.

mod args;
pub mod attach;
mod escapes;
pub mod policy;
pub mod run;
mod saved;
pub mod signal;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use self::args::{arguments, flag, flags, positional, properties, spawn_here};
use crate::client::{Answered, Client};
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
    /// The timeout came first, where other statuses are the program's own; as of `timeout`.
    pub const TIMEOUT_OF_RUN: i32 = 124;
    /// Added to the number of the signal that ended a program; as shells do.
    pub const SIGNAL_BASE: i32 = 128;
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

/// Joins options whose value may be left out with the values behind them, as the parser wants them.
pub fn join_values(whole: &Command, words: Vec<OsString>) -> Vec<OsString> {
    let word = words.get(1).and_then(|word| word.to_str()).unwrap_or_default();
    let subcommand = whole.find_subcommand(word);
    let tool = subcommand.and_then(|found| tools::find(&found.get_name().replace('-', "_")));
    match (subcommand, tool) {
        (Some(subcommand), Some(tool)) => args::join_values(tool, subcommand, words),
        _ => words,
    }
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
    if let Some(text) = after_help(tool) {
        command = command.after_help(text);
    }
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
        "send_input" => {
            command = command.arg(extra("--literal", "literal", "Send backslashes as they are"));
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
    command.args(flags(tool).into_iter().map(|(path, field)| flag(&path, field)))
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
    let client = match tool.name {
        // What is only looked at is not started.
        "list_sessions" => Client::running_daemon()?,
        _ => Some(Client::daemon()?),
    };
    let Some(mut client) = client else { return run::print_empty_list(as_json) };
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
        ("list_sessions", _) if !as_json => {
            write(run::table(&answered.structured).as_bytes())?;
        }
        _ if paints && !answered.is_error => write(attach::painted(&answered).as_bytes())?,
        ("snapshot", Some(text)) if matches.get_flag("--plain") => {
            write(format!("{text}\n").as_bytes())?
        }
        _ => print(&answered, as_json)?,
    }
    Ok(if tool.name == "run_command" { own_status(&answered) } else { status(&answered) })
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
        Some("exited" | "closed" | "asks" | "full_screen" | "replaced" | "shell_ended") => {
            exit::EXITED
        }
        Some("refused" | "continuation_prompt" | "not_echoed" | "swallowed") => exit::ERROR,
        _ => exit::MET,
    }
}

/// Returns what the help of a subcommand ends with.
fn after_help(tool: &Tool) -> Option<&'static str> {
    match tool.name {
        "run_command" => Some(
            "The exit status is the command's own, 124 after a timeout, 4 if the command did not finish for another \
             reason, 1 for a mistake and 2 for a wrong command line.",
        ),
        "wait_for_any" => Some(
            "Example: awaitty wait-for-any '{\"session_id\": \"build\", \"text\": \"error\"}' '{\"channel\": \"done\"}'",
        ),
        _ => None,
    }
}

/// Returns the exit status of the program or the command that an answer is about.
fn own_status(answered: &Answered) -> i32 {
    let told = &answered.structured;
    let code = told["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
    let signal = told["signal"].as_str().and_then(tools::signal_number);
    match told["outcome"].as_str() {
        _ if answered.is_error => exit::ERROR,
        // Nothing was run.
        Some("continuation_prompt") => exit::ERROR,
        Some("timeout" | "pending") => exit::TIMEOUT_OF_RUN,
        // The status that the program has then is not its own.
        Some("closed") => exit::EXITED,
        _ => code.or(signal.map(|number| exit::SIGNAL_BASE + number)).unwrap_or(exit::EXITED),
    }
}
