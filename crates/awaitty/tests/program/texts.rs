//! Snapshots of the texts that people and models read: the tool list, each `--help` and each error message.
//! `UPDATE_TEXTS=1` rewrites them; review the difference.

use std::fmt::Write;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::client::{Home, Server};

/// The size limit of the whole tool list in tokens of four characters.
const TOKENS_MAX: usize = 4_500;

/// The size limit of the list of `--tools core` in tokens of four characters.
const CORE_TOKENS_MAX: usize = 2_000;

fn check(name: &str, text: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/texts").join(name);
    if std::env::var_os("UPDATE_TEXTS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let hint = "set UPDATE_TEXTS=1 to accept the change";
    for (i, (expected, line)) in expected.lines().zip(text.lines()).enumerate() {
        assert_eq!(line, expected, "{name}, line {}: {hint}", i + 1);
    }
    assert_eq!(text.lines().count(), expected.lines().count(), "{name}: {hint}");
}

#[test]
fn the_tool_list_matches_its_snapshot() {
    let home = Home::new("tools");
    let mut server = Server::start(home.command().arg("mcp"));
    let list = server.request("tools/list", json!({}))["result"]["tools"].clone();
    let cost = list.to_string().chars().count() / 4;
    assert!(cost <= TOKENS_MAX, "{cost} tokens");
    let mut core = Server::start(home.command().args(["mcp", "--tools", "core"]));
    let cost = core.request("tools/list", json!({}))["result"]["tools"].to_string().len() / 4;
    assert!(cost <= CORE_TOKENS_MAX, "{cost} tokens");
    check("tools.json", &(serde_json::to_string_pretty(&list).unwrap() + "\n"));
}

#[test]
fn help_texts_match_their_snapshot() {
    let home = Home::new("help");
    let help = |args: &[&str]| {
        let mut command = home.command();
        command.env_clear().env("XDG_RUNTIME_DIR", &home.dir).args(args).arg("--help");
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    let top = help(&[]);
    let mut text = top.clone();
    let commands = top.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = commands.take_while(|line| !line.is_empty());
    for command in
        commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help")
    {
        write!(text, "\n==== awaitty {command}\n{}", help(&[command])).unwrap();
    }
    for action in ["stop", "status"] {
        write!(text, "\n==== awaitty daemon {action}\n{}", help(&["daemon", action])).unwrap();
    }
    check("help.txt", &text);
}

/// Invalid calls about pictures and recordings.
fn mistakes_of_files() -> Vec<(&'static str, Value)> {
    vec![
        ("save_recording", json!({"session_id": "up", "path": "x.cast"})),
        ("save_recording", json!({"session_id": "up", "format": "gif"})),
        ("save_recording", json!({"session_id": "up", "version": 1})),
        ("screenshot", json!({"session_id": "up", "format": "gif"})),
        ("screenshot", json!({"session_id": "up", "theme": "blue"})),
        ("screenshot", json!({"session_id": "up", "scale": 9})),
        ("screenshot", json!({"session_id": "up", "font": "/etc/passwd"})),
    ]
}

/// Calls with names that are in use or unknown.
fn mistakes_of_names() -> Vec<(&'static str, Value)> {
    vec![
        ("spawn", json!({"command": "cat", "name": "up"})),
        ("spawn", json!({"command": "cat", "name": "up", "if_exists": "replace"})),
        ("spawn", json!({"command": "cat", "if_exists": "reuse"})),
        ("spawn", json!({"name": "up", "if_exists": "reuse"})),
        ("spawn", json!({"name": "up", "if_exists": "restart", "cols": 80})),
        ("spawn", json!({"name": "nope", "if_exists": "restart"})),
    ]
}

/// Calls of `run_steps` that are refused as a whole.
fn mistakes_of_steps() -> Vec<(&'static str, Value)> {
    vec![
        ("run_steps", json!({"session_id": "up", "steps": []})),
        ("run_steps", json!({"session_id": "up", "steps": vec![json!({"input": "a"}); 51]})),
        ("run_steps", json!({"session_id": "up", "steps": [{"input": "a"}, {}]})),
        ("run_steps", json!({"session_id": "up", "steps": [{"input": "a"}, {"keys": ["nope"]}]})),
        ("run_steps", json!({"session_id": "up", "steps": [{"run": "ls", "input": "a"}]})),
        (
            "run_steps",
            json!({"session_id": "up", "steps": [{"input": "a", "wait": {"text": "("}}]}),
        ),
        ("run_steps", json!({"session_id": "up", "steps": [{"session_id": "none", "input": "a"}]})),
    ]
}

/// All other invalid calls.
fn mistakes() -> Vec<(&'static str, Value)> {
    let long = "x".repeat(4_097);
    vec![
        ("spawn", json!({})),
        ("spawn", json!({"command": ""})),
        ("spawn", json!({"command": "a 'b"})),
        ("spawn", json!({"command": "ls | wc"})),
        ("spawn", json!({"command": "/no/such/program"})),
        ("spawn", json!({"command": "no-such-program"})),
        ("spawn", json!({"command": "/etc/passwd"})),
        ("spawn", json!({"command": "cat", "cwd": "/no/such/directory"})),
        ("spawn", json!({"command": "cat", "cols": 0})),
        ("spawn", json!({"command": "cat", "rows": 501})),
        ("spawn", json!({"command": "cat", "name": "a b"})),
        ("spawn", json!({"command": "cat", "name": "s1"})),
        ("spawn", json!({"command": "cat", "scrollback": 1_000_001})),
        ("spawn", json!({"command": "cat", "backend": "screen"})),
        ("spawn", json!({"command": "cat", "tmux_session": "work"})),
        ("spawn", json!({"command": "cat", "backend": "tmux", "tmux_session": "work"})),
        ("snapshot", json!({"session_id": "tmux:%0"})),
        ("snapshot", json!({"session_id": "tmux:"})),
        ("snapshot", json!({"session_id": ""})),
        ("wait_for_channel", json!({"channel": "tmux:a b"})),
        ("wait_for_channel", json!({"channel": "tmux:a"})),
        ("signal_channel", json!({"channel": "tmux:a"})),
        ("signal_channel", json!({"channel": "tmux:a", "status": 1})),
        ("spawn", json!({"command": "cat", "colour": 1})),
        ("spawn", json!({"command": "cat", "wait": {}})),
        ("spawn", json!({"command": "cat", "wait": {"text": "a", "styles": true}})),
        ("spawn", json!({"command": "cat", "wait": {"exit": true, "flags": "i"}})),
        ("spawn", json!({"command": "cat", "wait": {"change": 1, "styles": "bold"}})),
        ("wait_for_any", json!({"waits": [{"session_id": "up", "text": "a", "timeout_ms": 1}]})),
        ("send_input", json!({"session_id": "up"})),
        ("send_input", json!({"session_id": "up", "keys": ["ctrl+nope"]})),
        ("send_input", json!({"session_id": "up", "keys": [{"mouse": {"row": 0, "col": 1}}]})),
        (
            "send_input",
            json!({"session_id": "up", "keys": [{"mouse": {"row": 1, "col": 1, "button": "fourth"}}]}),
        ),
        ("send_input", json!({"session_id": "up", "input": long})),
        ("send_input", json!({"session_id": "done", "input": "x"})),
        ("send_input", json!({"session_id": "nope", "input": "x"})),
        ("send_input", json!({"input": "x"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "(a"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "(?=a)"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "(a)\\1"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "(\\w{1000}){1000}"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "a".repeat(4_097)})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "a", "flags": "q"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "a", "since": "later"})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "a", "since": 1_000})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "a", "timeout_ms": -1})),
        ("wait_for_text", json!({"session_id": "up", "pattern": "a", "timeout_ms": 86_400_001})),
        ("snapshot", json!({"session_id": "up", "format": "pdf"})),
        ("snapshot", json!({"session_id": "up", "rows": [2, 1]})),
        ("snapshot", json!({"session_id": "up", "since": 1_000})),
        ("snapshot", json!({"session_id": "up", "max_chars": 0})),
        ("read_output", json!({"session_id": "up", "limit": 0})),
        ("search_output", json!({"pattern": "a", "context": 21})),
        ("resize_session", json!({"session_id": "up", "cols": 1_001, "rows": 10})),
        ("close_session", json!({"session_id": "up", "signal": "NOPE"})),
        ("close_session", json!({"session_id": "up", "grace_ms": 60_001})),
        ("signal_channel", json!({"channel": "a b"})),
        ("signal_channel", json!({"channel": "a", "message": "m".repeat(4_097)})),
        ("wait_for_any", json!({"waits": []})),
        ("wait_for_any", json!({"waits": [{"session_id": "up"}]})),
        ("wait_for_any", json!({"waits": [{"channel": "a", "since": "now"}]})),
    ]
}

/// Returns the errors of a server that has reached its limits.
fn refusals(home: &Home) -> Vec<Value> {
    let flags =
        ["mcp", "--max-sessions", "1", "--max-waits", "1", "--max-input", "5", "--max-calls", "2"];
    let mut server = Server::start(home.command().args(flags));
    let script = "stty raw -echo; echo UP; exec sleep 1000";
    server.call("spawn", json!({"command": "sh", "args": ["-c", script], "wait": {"text": "UP"}}));
    let mut refused = vec![
        server.call("spawn", json!({"command": "cat"})),
        server.call("send_input", json!({"input": "123456"})),
    ];
    let running =
        json!({"name": "wait_for_text", "arguments": {"pattern": "NEVER", "timeout_ms": 60_000}});
    server.send("tools/call", running);
    while server.call("list_sessions", json!({}))["sessions"][0]["waits"] != json!(1) {}
    refused.push(server.call("wait_for_text", json!({"pattern": "NEVER"})));
    let running = json!({"name": "wait_for_channel", "arguments": {"channel": "never"}});
    server.send("tools/call", running.clone());
    server.send("tools/call", running);
    refused.push(server.next()["result"]["structuredContent"].clone());
    refused
}

#[test]
fn error_messages_match_their_snapshot() {
    let home = Home::new("mistakes");
    let mut server = Server::start(home.command().arg("mcp"));
    server.call("spawn", json!({"command": "cat", "name": "up"}));
    server.call("spawn", json!({"command": "cat", "name": "other"}));
    server.call("spawn", json!({"command": "true", "name": "done", "wait": {"exit": true}}));
    let calls = [mistakes(), mistakes_of_names(), mistakes_of_steps(), mistakes_of_files()];
    let mut text = String::new();
    for (tool, arguments) in calls.concat() {
        let error = server.call(tool, arguments.clone());
        let (code, message) = (error["code"].as_str(), error["message"].as_str());
        let (Some(code), Some(message)) = (code, message) else {
            panic!("{tool} {arguments}: {error}")
        };
        let shown: String = arguments.to_string().chars().take(80).collect();
        writeln!(text, "{tool} {shown}\n  {code}: {message}").unwrap();
    }
    let sessions = server.call("list_sessions", json!({}));
    assert_eq!(sessions["sessions"].as_array().unwrap().len(), 3, "nothing has changed");
    for error in refusals(&home) {
        let (code, message) = (error["code"].as_str().unwrap(), error["message"].as_str().unwrap());
        writeln!(text, "at a limit\n  {code}: {message}").unwrap();
    }
    check("mistakes.txt", &text);
}
