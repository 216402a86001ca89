//! The command line: a subcommand for each tool, generated from the schema that MCP clients get. So each parameter is
//! described in one place.

mod args;
pub mod attach;
mod escapes;
pub mod policy;
pub mod run;
mod saved;
pub mod signal;
pub mod tapes;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde_json::json;

use self::args::{arguments, fill_spawn, flag, flags, positional, properties};
use crate::client::{CallResult, Client};
use crate::tools::{self, Tool, ToolSpec};

/// Exit statuses.
pub mod exit {
    /// The condition of the wait was met, or the call was not a wait.
    pub const MET: i32 = 0;
    /// The call or the server failed.
    pub const ERROR: i32 = 1;
    /// Invalid command line.
    pub const USAGE: i32 = 2;
    /// Timeout.
    pub const TIMEOUT: i32 = 3;
    /// The program exited first, or its session was closed.
    pub const EXITED: i32 = 4;
    /// Timeout of a subcommand that otherwise returns the program's status. The value is that of coreutils `timeout`.
    pub const TIMEOUT_OF_RUN: i32 = 124;
    /// Added to the number of the signal that ended a program, as shells do.
    pub const SIGNAL_BASE: i32 = 128;
}

/// Returns the subcommands of all tools.
pub fn commands() -> impl Iterator<Item = Command> {
    tools::all().map(command)
}

/// Returns the subcommand of a tool by its name or alias.
pub fn command_of(word: &str) -> Option<Command> {
    let is_called = |spec: &&ToolSpec| spec.command.alias == Some(word) || kebab(spec.name) == word;
    tools::find(tools::specs().find(is_called)?.name).map(command)
}

/// Joins options that have an optional value with the value after them, as the parser requires.
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
    let ToolSpec { name, description, command: syntax, .. } = *tool.spec;
    let json = Arg::new("--json").long("json").action(ArgAction::SetTrue);
    let about = description.split(". ").next().unwrap_or_default().trim_end_matches('.');
    let mut command = Command::new(kebab(name))
        .about(about.to_owned())
        .long_about(description)
        .arg(json.help("Print the structured result as JSON"))
        .visible_aliases(syntax.alias);
    if let Some(text) = syntax.after_help {
        command = command.after_help(text);
    }
    for (long, help) in syntax.switches {
        // The prefix distinguishes a switch from a parameter of the tool.
        let id = format!("--{long}");
        command = command.arg(Arg::new(id).long(*long).action(ArgAction::SetTrue).help(*help));
    }
    for name in syntax.positions {
        let Some(field) = properties(&tool.input).get(*name) else { continue };
        command = command.arg(positional(tool, name, field));
    }
    let flags = flags(tool).into_iter().map(|(path, field)| {
        let is_file = name == "export_session" && path == "path";
        let flag = flag(&path, field);
        if is_file { flag.short('o').value_name("FILE") } else { flag }
    });
    command.args(flags)
}

/// Calls a tool with parsed arguments and prints the result. Returns the exit status.
///
/// # Errors
/// If the daemon cannot be reached.
pub fn call(tool: &Tool, matches: &ArgMatches) -> io::Result<i32> {
    let result = try_call(tool, matches);
    if let (Err(error), true) = (&result, matches.get_flag("--json")) {
        let output = json!({"code": "unreachable", "message": error.to_string()});
        write(format!("{output}\n").as_bytes())?;
    }
    result
}

fn try_call(tool: &Tool, matches: &ArgMatches) -> io::Result<i32> {
    let as_json = matches.get_flag("--json");
    if run::is_watch(matches) {
        return run::watch_list();
    }
    let mut arguments = match arguments(tool, matches) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            crate::log(&wrong);
            return Ok(exit::USAGE);
        }
    };
    let is_coloured = tool.spec.name == "snapshot"
        && !as_json
        && use_colour()
        && !matches.get_flag("--plain")
        && ["format", "since", "rows", "scrollback"].iter().all(|name| arguments[*name].is_null());
    if is_coloured {
        arguments["format"] = json!("styled");
    }
    if tool.spec.name == "signal_channel" {
        let result = signal::send(arguments)?;
        print(&result, as_json)?;
        return Ok(status(&result));
    }
    let client = match tool.spec.name {
        // An empty list needs no daemon.
        "list_sessions" => Client::running_daemon()?,
        _ => Some(Client::daemon()?),
    };
    let Some(mut client) = client else { return run::print_empty_list(as_json) };
    match tool.spec.name {
        "screenshot" => {
            return saved::picture(&mut client, arguments, matches.get_flag("--force"), as_json);
        }
        "save_recording" => {
            return saved::recording(&mut client, arguments, matches.get_flag("--force"), as_json);
        }
        "export_session" => {
            return saved::test(&mut client, arguments, matches.get_flag("--force"), as_json);
        }
        _ => {}
    }
    let mut waiting = Waiting::default();
    let result = client.call(tool.spec.name, &arguments, &mut |what| waiting.show(what))?;
    waiting.clear();
    let text = result.structured["text"].as_str();
    match (tool.spec.name, text) {
        ("list_sessions", _) if !as_json => {
            write(run::table(&result.structured).as_bytes())?;
        }
        _ if is_coloured && !result.is_error => write(attach::coloured(&result).as_bytes())?,
        ("snapshot", Some(text)) if matches.get_flag("--plain") => {
            write(format!("{text}\n").as_bytes())?
        }
        _ => print(&result, as_json)?,
    }
    Ok(if tool.spec.name == "run_command" { program_status(&result) } else { status(&result) })
}

/// Returns whether to colour the output: on a terminal, unless NO_COLOR is set.
fn use_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

/// Writes to standard output. Ignores a closed pipe.
///
/// # Errors
/// If the write fails for another reason.
pub fn write(text: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout();
    stdout.write_all(text).and_then(|()| stdout.flush()).or_else(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Ok(()),
        _ => Err(error),
    })
}

/// Progress of a wait, shown on standard error if that is a terminal.
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
        if std::mem::take(&mut self.shown) {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Prints a result: as JSON, or as text with errors on standard error.
fn print(result: &CallResult, as_json: bool) -> io::Result<()> {
    match (as_json, result.is_error) {
        (true, _) => write(format!("{}\n", result.structured).as_bytes()),
        (false, true) => writeln!(io::stderr(), "awaitty: {}", result.text.trim_end()),
        (false, false) => {
            let (header, rest) = result.text.split_once('\n').unwrap_or((&result.text, ""));
            if use_colour() {
                write(format!("\x1b[1;36m{header}\x1b[m\n{}\n", rest.trim_end()).as_bytes())
            } else {
                write(format!("{}\n", result.text.trim_end()).as_bytes())
            }
        }
    }
}

fn status(result: &CallResult) -> i32 {
    match result.structured["outcome"].as_str() {
        _ if result.is_error => exit::ERROR,
        Some("timeout" | "pending") => exit::TIMEOUT,
        Some("exited" | "closed" | "asks" | "full_screen" | "replaced" | "shell_ended") => {
            exit::EXITED
        }
        Some("refused" | "continuation_prompt" | "not_echoed" | "swallowed") => exit::ERROR,
        _ => exit::MET,
    }
}

/// Returns the exit status for a result about a program or a shell command: its own status if it ended.
fn program_status(result: &CallResult) -> i32 {
    let structured = &result.structured;
    let code = structured["exit_code"].as_i64().and_then(|code| i32::try_from(code).ok());
    let signal = structured["signal"].as_str().and_then(tools::signal_number);
    match structured["outcome"].as_str() {
        _ if result.is_error => exit::ERROR,
        // No command was run.
        Some("continuation_prompt") => exit::ERROR,
        Some("timeout" | "pending") => exit::TIMEOUT_OF_RUN,
        // The program was ended by closing the session, so its status says nothing about the program.
        Some("closed") => exit::EXITED,
        _ => code.or(signal.map(|number| exit::SIGNAL_BASE + number)).unwrap_or(exit::EXITED),
    }
}
