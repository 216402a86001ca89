//! The command line: a subcommand for each tool, generated from the schema that MCP clients get. So each parameter is
//! described in one place.

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

use self::args::{arguments, fill_spawn, flag, flags, positional, properties};
use crate::client::{CallResult, Client};
use crate::tools::{self, Tool};

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

/// The command line syntax of a tool: its alias and its positional parameters.
struct CommandSyntax {
    tool: &'static str,
    alias: Option<&'static str>,
    positions: &'static [&'static str],
}

const SYNTAX: [CommandSyntax; 19] = [
    syntax("close_session", Some("close"), &["session_id"]),
    syntax("list_sessions", Some("ls"), &[]),
    syntax("read_output", Some("read"), &["session_id"]),
    syntax("resize_session", Some("resize"), &["session_id", "cols", "rows"]),
    syntax("run_command", None, &["session_id", "command"]),
    syntax("run_steps", None, &["steps"]),
    syntax("save_recording", None, &["session_id", "path"]),
    syntax("screenshot", None, &["session_id"]),
    syntax("search_output", Some("search"), &["pattern"]),
    syntax("send_input", Some("send"), &["session_id", "input"]),
    syntax("signal_channel", Some("signal"), &["channel"]),
    syntax("snapshot", None, &["session_id"]),
    syntax("spawn", None, &["command"]),
    syntax("wait_for_any", None, &["waits"]),
    syntax("wait_for_channel", None, &["channel"]),
    syntax("wait_for_command", None, &["session_id"]),
    syntax("wait_for_exit", None, &["session_id"]),
    syntax("wait_for_screen_change", None, &["session_id"]),
    syntax("wait_for_text", None, &["session_id", "pattern"]),
];

const fn syntax(
    tool: &'static str,
    alias: Option<&'static str>,
    positions: &'static [&'static str],
) -> CommandSyntax {
    CommandSyntax { tool, alias, positions }
}

fn syntax_of(tool: &Tool) -> &'static CommandSyntax {
    const NONE: CommandSyntax = syntax("", None, &[]);
    SYNTAX.iter().find(|syntax| syntax.tool == tool.name).unwrap_or(&NONE)
}

/// Returns the subcommands of all tools.
pub fn commands() -> impl Iterator<Item = Command> {
    tools::all().map(command)
}

/// Returns the subcommand of a tool by its name or alias.
pub fn command_of(word: &str) -> Option<Command> {
    let syntax =
        SYNTAX.iter().find(|syntax| syntax.alias == Some(word) || kebab(syntax.tool) == word)?;
    tools::find(syntax.tool).map(command)
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
    let syntax = syntax_of(tool);
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
        .visible_aliases(syntax.alias);
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
                "Keep running, and print the table again after each change",
            ));
        }
        "screenshot" | "save_recording" => {
            command = command.arg(extra("--force", "force", "Overwrite an existing file"));
        }
        "send_input" => {
            command = command.arg(extra("--literal", "literal", "Send backslashes unchanged"));
        }
        "snapshot" => {
            command = command.arg(extra("--plain", "plain", "Print only the text of the screen"))
        }
        _ => {}
    }
    for name in syntax.positions {
        let Some(field) = properties(&tool.input).get(*name) else { continue };
        command = command.arg(positional(tool, name, field));
    }
    command.args(flags(tool).into_iter().map(|(path, field)| flag(&path, field)))
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
    let is_coloured = tool.name == "snapshot"
        && !as_json
        && use_colour()
        && !matches.get_flag("--plain")
        && ["format", "since", "rows", "scrollback"].iter().all(|name| arguments[*name].is_null());
    if is_coloured {
        arguments["format"] = json!("styled");
    }
    if tool.name == "signal_channel" {
        let result = signal::send(arguments)?;
        print(&result, as_json)?;
        return Ok(status(&result));
    }
    let client = match tool.name {
        // An empty list needs no daemon.
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
    let result = client.call(tool.name, &arguments, &mut |what| waiting.show(what))?;
    waiting.clear();
    let text = result.structured["text"].as_str();
    match (tool.name, text) {
        ("list_sessions", _) if !as_json => {
            write(run::table(&result.structured).as_bytes())?;
        }
        _ if is_coloured && !result.is_error => write(attach::coloured(&result).as_bytes())?,
        ("snapshot", Some(text)) if matches.get_flag("--plain") => {
            write(format!("{text}\n").as_bytes())?
        }
        _ => print(&result, as_json)?,
    }
    Ok(if tool.name == "run_command" { program_status(&result) } else { status(&result) })
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
        if self.shown {
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

/// Returns additional text for the end of a subcommand's help.
fn after_help(tool: &Tool) -> Option<&'static str> {
    match tool.name {
        "run_command" => Some(
            "Exit status: that of the command, 124 after a timeout, 4 if the command did not finish for another \
             reason, 1 after another error, and 2 for an invalid command line.",
        ),
        "wait_for_any" => Some(
            "Example: awaitty wait-for-any '{\"session_id\": \"build\", \"text\": \"error\"}' '{\"channel\": \"done\"}'",
        ),
        _ => None,
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
