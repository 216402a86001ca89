//! The command line's `--json`, the structured content for MCP clients and the library return the same values.

use std::collections::BTreeSet;

use awaitty::tools;
use serde_json::{Value, json};

use crate::client::{Home, Server};

/// A tool, its arguments, and the equivalent command line.
type Call = (&'static str, Value, &'static str);

fn calls() -> Vec<Call> {
    let spawn = json!({"command": "sh", "args": ["-c", "echo UP; cat"], "name": "a", "cols": 40, "rows": 6,
        "wait": {"text": "UP"}});
    let hello = json!({"session_id": "a", "input": "hello\n", "wait": {"text": "hello"}});
    let rows = json!({"session_id": "a", "format": "annotated", "rows": [1, 2]});
    vec![
        (
            "spawn",
            spawn,
            "spawn --name a --cols 40 --rows 6 --wait-text UP -- sh -c 'echo UP; cat'",
        ),
        ("list_sessions", json!({}), "ls"),
        ("send_input", hello, "send a 'hello\n' --wait-text hello"),
        ("snapshot", json!({"session_id": "a"}), "snapshot a"),
        ("snapshot", rows, "snapshot a --format annotated --rows 1 2"),
        ("read_output", json!({"session_id": "a", "from_line": 2}), "read a --from-line 2"),
        ("search_output", json!({"pattern": "HELLO", "flags": "i"}), "search HELLO --flags i"),
        ("spawn", json!({"command": "sh", "name": "b"}), "spawn --name b -- sh"),
        (
            "run_command",
            json!({"session_id": "b", "command": "echo hi; false"}),
            "run-command b 'echo hi; false'",
        ),
        ("wait_for_command", json!({"session_id": "b"}), "wait-for-command b"),
        ("close_session", json!({"session_id": "b"}), "close b"),
        ("export_session", json!({"session_id": "a", "as": "rust"}), "export a --as rust"),
        ("resize_session", json!({"session_id": "a", "cols": 50, "rows": 8}), "resize a 50 8"),
    ]
}

fn waits() -> Vec<Call> {
    let never = json!({"session_id": "a", "pattern": "NEVER", "timeout_ms": 0});
    let change = json!({"session_id": "a", "since": 0, "stable_ms": 0});
    let any = json!({"waits": [{"session_id": "a", "text": "hello"}, {"channel": "d"}]});
    let any_line = r#"wait-for-any '{"session_id": "a", "text": "hello"}' '{"channel": "d"}'"#;
    let signal = json!({"channel": "c", "status": 1, "message": "m"});
    let bad_key = json!({"session_id": "a", "keys": ["ctrl+nope"]});
    vec![
        ("wait_for_text", json!({"session_id": "a", "pattern": "hel+o"}), "wait-for-text a hel+o"),
        ("wait_for_text", never, "wait-for-text a NEVER --timeout-ms 0"),
        ("wait_for_screen_change", change, "wait-for-screen-change a --since 0 --stable-ms 0"),
        ("signal_channel", signal, "signal c --status 1 --message m"),
        ("wait_for_channel", json!({"channel": "c"}), "wait-for-channel c"),
        ("wait_for_any", any, any_line),
        (
            "run_steps",
            json!({"session_id": "a", "steps": [{"input": "again\n", "wait": {"text": "again"}}]}),
            r#"run-steps --session-id a '{"input": "again\n", "wait": {"text": "again"}}'"#,
        ),
        ("send_input", json!({"session_id": "a", "keys": ["ctrl+d"]}), "send a --keys ctrl+d"),
        ("wait_for_exit", json!({"session_id": "a"}), "wait-for-exit a"),
        ("wait_for_text", json!({"session_id": "nope", "pattern": "x"}), "wait-for-text nope x"),
        ("send_input", bad_key, "send a --keys ctrl+nope"),
        ("close_session", json!({"session_id": "a"}), "close a"),
    ]
}

/// Removes the fields that differ between runs.
fn without_volatile_fields(value: Value) -> Value {
    const VOLATILE: [&str; 12] = [
        "pid",
        "elapsed_ms",
        "seq",
        "created",
        "idle_ms",
        "last_change_ms",
        "from",
        "why",
        "duration_ms",
        "running_ms",
        "waiting_for_input",
        "evidence",
    ];
    match value {
        Value::Object(fields) => fields
            .into_iter()
            .filter(|(name, _)| !VOLATILE.contains(&name.as_str()))
            .map(|(name, value)| (name, without_volatile_fields(value)))
            .collect(),
        Value::Array(all) => all.into_iter().map(without_volatile_fields).collect(),
        other => other,
    }
}

async fn call_library(calls: &[Call]) -> Vec<Value> {
    let awaitty = awaitty::Awaitty::new();
    let mut results = Vec::new();
    for (tool, arguments, _) in calls {
        results.push(match awaitty.call(tool, arguments.clone()).await {
            Ok(result) => result.json().clone(),
            Err(error) => json!({"code": error.code, "message": error.message}),
        });
    }
    awaitty.shut_down().await;
    results
}

#[tokio::test]
async fn cli_mcp_and_library_return_the_same_results() {
    let calls = [calls(), waits()].concat();
    let called = calls.iter().map(|(tool, _, _)| *tool);
    let called: BTreeSet<&str> = called.chain(["save_recording", "screenshot"]).collect();
    let all: BTreeSet<&str> = tools::names().collect();
    assert_eq!(called, all, "every tool is called");

    let library = call_library(&calls).await;
    // Separate homes, because all servers of a user share their channels.
    let (home, other) = (Home::new("agree"), Home::new("agree-mcp"));
    let mut client = Server::start(other.command().arg("mcp"));
    for ((tool, arguments, line), library) in calls.iter().zip(library) {
        let library = without_volatile_fields(library);
        let mcp = without_volatile_fields(client.call(tool, arguments.clone()));
        assert_eq!(mcp, library, "{tool} {arguments}: MCP and library");
        let words = shell_words::split(line).unwrap();
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.insert(1, "--json");
        let cli = without_volatile_fields(home.run(&words).1);
        assert_eq!(cli, library, "{line}: command line and library");
    }
}

#[tokio::test]
async fn cli_mcp_and_library_return_the_same_screenshots() {
    let spawn = json!({"command": "printf", "args": ["hello"], "cols": 20, "rows": 2, "wait": {"exit": true}});
    let (home, other) = (Home::new("shown"), Home::new("shown-mcp"));
    let awaitty = awaitty::Awaitty::new();
    awaitty.call("spawn", spawn.clone()).await.unwrap();
    let mut client = Server::start(other.command().arg("mcp").current_dir(&other.dir));
    client.call("spawn", spawn);
    home.run(&["spawn", "--cols", "20", "--rows", "2", "--wait-exit", "--", "printf", "hello"]);
    for format in ["png", "svg"] {
        let library = awaitty.call("screenshot", json!({"format": format})).await.unwrap();
        let image = library.image().unwrap();
        let call = json!({"name": "screenshot", "arguments": {"format": format}});
        let mcp = client.request("tools/call", call)["result"].clone();
        assert!(mcp["structuredContent"].is_null(), "some clients hide the image beside it");
        assert_eq!(mcp["content"][1]["mimeType"], image.mime);
        assert_eq!(mcp["_meta"]["awaitty/shown"], *library.json());
        let cli = home.json(&["screenshot", "--format", format]);
        assert_eq!(cli["data"], mcp["content"][1]["data"]);
        let name = format!("a.{format}");
        let to_file = client.call("screenshot", json!({"path": name}));
        let (width, height) = (&library.json()["width"], &library.json()["height"]);
        assert_eq!((&to_file["width"], &to_file["height"]), (width, height));
        assert_eq!(std::fs::read(other.dir.join(&name)).unwrap(), image.bytes);
        assert_eq!(client.call("screenshot", json!({"path": name}))["code"], "denied");
        let path = home.dir.join(&name);
        let path = path.to_str().unwrap();
        let saved = home.json(&["screenshot", "--path", path]);
        assert_eq!((&saved["path"], &saved["width"]), (&json!(path), width));
        assert_eq!(std::fs::read(path).unwrap(), image.bytes);
        assert_ne!(home.run(&["screenshot", "--path", path]).0, 0, "the file exists");
        assert_eq!(home.run(&["screenshot", "--path", path, "--force"]).0, 0);
    }
    awaitty.shut_down().await;
}
