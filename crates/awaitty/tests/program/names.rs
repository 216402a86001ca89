//! Session names that are in use: `if_exists` and `awaitty restart`.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Home, Server};

/// Returns whether a process runs.
fn is_running(pid: &Value) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

/// Returns the number of processes with this command line.
fn count(command: &str) -> usize {
    let commands = fs::read_dir("/proc").unwrap().flatten();
    let commands = commands.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    commands
        .filter(|line| String::from_utf8_lossy(line).replace('\0', " ").trim_end() == command)
        .count()
}

/// Returns a command line that no other test uses.
fn unique_command(digit: u32) -> String {
    format!("sleep 1{digit}{:07}", std::process::id())
}

fn sessions(server: &mut Server) -> Vec<Value> {
    server.call("list_sessions", json!({}))["sessions"].as_array().unwrap().clone()
}

#[test]
fn reuse_returns_a_running_session_and_restarts_an_exited_one() {
    let home = Home::new("reuse");
    let mut server = Server::start(home.command().arg("mcp"));
    let up = json!({"command": "sh", "args": ["-c", "echo UP; read x"], "name": "a", "cols": 50,
        "if_exists": "reuse", "wait": {"text": "UP"}});
    let first = server.call("spawn", up.clone());
    assert_eq!((&first["outcome"], &first["reused"]), (&json!("met"), &Value::Null), "{first}");
    let mut other = up.clone();
    other["command"] = json!("cat");
    other["cols"] = json!(70);
    let again = server.call("spawn", other);
    assert_eq!((&again["outcome"], &again["reused"]), (&json!("met"), &json!(true)), "{again}");
    for field in ["session_id", "pid", "cols", "rows", "name"] {
        assert_eq!(again[field], first[field], "{field}");
    }
    let plain = json!({"command": "cat", "name": "a", "if_exists": "reuse"});
    let answer = server.request("tools/call", json!({"name": "spawn", "arguments": plain}));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.lines().next().unwrap().ends_with(" reused"), "{text}");
    server.call("send_input", json!({"session_id": "a", "input": "\n", "wait": {"exit": true}}));
    let restarted = server.call("spawn", up);
    assert_eq!(
        (&restarted["outcome"], &restarted["reused"]),
        (&json!("met"), &Value::Null),
        "{restarted}"
    );
    assert_ne!(restarted["pid"], first["pid"]);
    assert_eq!(sessions(&mut server).len(), 1);
}

#[test]
fn restart_ends_the_old_session_first() {
    let home = Home::new("restart");
    // A restart does not count against the limit of sessions.
    let mut server = Server::start(home.command().args(["mcp", "--max-sessions", "1"]));
    let script = "trap 'exec sleep 1000' HUP; echo UP; while :; do read x; done";
    let stubborn =
        json!({"command": "sh", "args": ["-c", script], "name": "a", "wait": {"text": "UP"}});
    let first = server.call("spawn", stubborn);
    let waiting = json!({"name": "wait_for_text",
        "arguments": {"session_id": "a", "pattern": "NEVER", "timeout_ms": 60_000}});
    let waiting = server.send("tools/call", waiting);
    let next = json!({"command": "cat", "name": "a", "if_exists": "restart"});
    let second = server.call("spawn", next.clone());
    assert!(second["pid"].is_i64() && second["pid"] != first["pid"], "{second}");
    assert!(!is_running(&first["pid"]) && is_running(&second["pid"]));
    assert_eq!(server.answer(waiting)["result"]["structuredContent"]["outcome"], "closed");
    let listed = sessions(&mut server);
    assert_eq!((listed.len(), &listed[0]["pid"]), (1, &second["pid"]));
    let third =
        server.call("spawn", json!({"command": "cat", "name": "b", "if_exists": "restart"}));
    assert_eq!(third["code"], "limit_reached", "a new name counts");
}

#[test]
fn a_failed_restart_ends_nothing() {
    let home = Home::new("keeps");
    let mut server = Server::start(home.command().arg("mcp"));
    let first = server.call("spawn", json!({"command": "cat", "name": "a"}));
    for wrong in [
        json!({"command": "/no/such/program"}),
        json!({"command": "no-such-program"}),
        json!({"command": "/etc/passwd"}),
        json!({"command": "/etc", "args": []}),
        json!({"command": "cat", "cwd": "/no/such/directory"}),
        json!({"command": "cat", "cols": 0}),
        json!({"command": "cat", "wait": {}}),
        json!({"command": "cat", "scrollback": 1_000_001}),
        json!({"command": "cat 'x"}),
        json!({"cols": 80}),
    ] {
        let mut call = wrong.clone();
        call["name"] = json!("a");
        call["if_exists"] = json!("restart");
        let refused = server.call("spawn", call);
        assert!(refused["code"].is_string(), "{wrong}: {refused}");
    }
    let listed = sessions(&mut server);
    assert_eq!((listed.len(), &listed[0]["pid"]), (1, &first["pid"]));
    assert!(listed[0]["state"] == "running" && is_running(&first["pid"]));
}

#[test]
fn concurrent_restarts_leave_one_program() {
    let home = Home::new("at-once");
    let mut server = Server::start(home.command().arg("mcp"));
    let command = unique_command(1);
    let call = |if_exists: &str| {
        let arguments = json!({"command": command, "name": "a", "if_exists": if_exists});
        json!({"name": "spawn", "arguments": arguments})
    };
    for round in ["restart", "reuse"] {
        let ids: Vec<u64> = (0..8)
            .map(|i| server.send("tools/call", call(if i % 2 == 0 { "restart" } else { round })))
            .collect();
        for id in ids {
            let result = server.answer(id)["result"]["structuredContent"].clone();
            assert!(result["pid"].is_i64(), "{result}");
        }
        let listed = sessions(&mut server);
        assert!(listed.len() == 1 && listed[0]["state"] == "running", "{listed:?}");
        assert!(is_running(&listed[0]["pid"]));
        assert_eq!(count(&command), 1);
    }
    server.end();
    assert_eq!(count(&command), 0);
}

#[test]
fn restart_keeps_command_directory_environment_and_size() {
    let home = Home::new("again");
    let script = "echo $(pwd) $COLOUR $1 $(stty size) $$; cat";
    let mut spawn = home.command();
    spawn.current_dir("/usr").env("COLOUR", "blue");
    spawn.args(["spawn", "--json", "--name", "a", "--cols", "70", "--rows", "9"]);
    spawn.args(["--wait-text", "9 70", "sh", "-c", script, "sh", "--one"]);
    let first: Value = serde_json::from_slice(&spawn.output().unwrap().stdout).unwrap();
    let second = home.json(&["restart", "a"]);
    assert_eq!(
        (&second["name"], &second["cols"], &second["rows"]),
        (&json!("a"), &json!(70), &json!(9))
    );
    assert!(second["pid"] != first["pid"] && !is_running(&first["pid"]));
    let shown = home.json(&["wait-for-text", "a", "9 70"]);
    let line = format!("/usr blue --one 9 70 {}", second["pid"]);
    assert_eq!(shown["screen_text"], line);
    // A restarted session can be restarted again, and an unnamed one by its id.
    home.json(&["restart", "a"]);
    let unnamed = home.json(&["spawn", "cat"]);
    let restarted = home.json(&["restart", unnamed["session_id"].as_str().unwrap()]);
    assert!(restarted["pid"] != unnamed["pid"] && !is_running(&unnamed["pid"]), "{restarted}");
    assert_eq!(home.json(&["ls"])["sessions"].as_array().unwrap().len(), 2);
    let (status, _, errors) = home.run(&["restart", "nope"]);
    assert!(status == 1 && errors.contains("there is no session \"nope\""), "{errors}");
}

#[test]
fn a_recorded_session_restarts_without_a_command() {
    let home = Home::new("restart-recorded");
    let spawn =
        ["spawn", "--name", "rec", "--record", "--wait-text", "UP", "sh", "-c", "echo UP; read x"];
    let first = home.json(&spawn);
    let again = home.json(&["spawn", "--name", "rec", "--if-exists", "restart"]);
    assert_ne!(first["pid"], again["pid"], "{again}");
    assert_eq!(home.json(&["ls"])["sessions"][0]["state"], "running");
}

#[test]
fn run_steps_exit_status_reports_refusals_and_questions() {
    let home = Home::new("steps-status");
    home.json(&["spawn", "--name", "a", "--wait-ready", "bash", "--norc"]);
    for (step, status) in [
        (r#"{"run": "true"}"#, 0),
        (r#"{"run": "("}"#, 1),
        (r#"{"secret": "none"}"#, 1),
        (r#"{"run": "read x"}"#, 4),
    ] {
        let (exit_status, output, _) = home.run(&["run-steps", step]);
        assert_eq!(exit_status, status, "{step}: {output}");
    }
}

#[test]
fn a_single_argument_is_split_and_shell_operators_are_refused() {
    let home = Home::new("one-word");
    let done = home.json(&["spawn", "--wait-exit", "echo hi there"]);
    assert_eq!(done["screen_text"], "hi there", "{done}");
    let (status, error, _) = home.run(&["spawn", "--json", "ls | wc -l"]);
    assert_eq!(status, 1);
    assert!(error["message"].as_str().unwrap().contains("is a shell operator"), "{error}");
}
