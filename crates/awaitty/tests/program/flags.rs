//! Limits that flags and environment variables set, each tested at its bounds.

use crate::client::{Server, awaitty};
use serde_json::{Value, json};

/// Sends the same long call twice. Expects that one of them is refused; which one depends on scheduling.
fn expect_one_refused(server: &mut Server, call: &Value) {
    server.send("tools/call", call.clone());
    server.send("tools/call", call.clone());
    assert_eq!(server.next()["result"]["structuredContent"]["code"], "limit_reached");
}

#[test]
fn flags_set_limits() {
    let flags = ["mcp", "--max-sessions", "1", "--max-waits", "1", "--max-input", "100"];
    let more = ["--max-pattern", "4", "--max-compiled", "2000", "--max-chars", "300"];
    let mut server = Server::start(awaitty().args(flags).args(more));
    let script = "stty raw -echo; seq 200; echo UP; exec sleep 1000";
    let up = json!({"command": "sh", "args": ["-c", script], "wait": {"text": "UP"}});
    let shown = server.call("spawn", up);
    assert!(shown["screen_text"].as_str().unwrap().chars().count() <= 300, "{shown}");
    assert_eq!(server.call("spawn", json!({"command": "cat"}))["code"], "limit_reached");
    assert_eq!(
        server.call("send_input", json!({"input": "x".repeat(101)}))["code"],
        "limit_reached"
    );
    assert_eq!(server.call("send_input", json!({"input": "x".repeat(100)}))["sent_bytes"], 100);
    let now = |pattern: &str| json!({"pattern": pattern, "timeout_ms": 0});
    assert_eq!(server.call("wait_for_text", now("abcd"))["outcome"], "timeout");
    assert_eq!(server.call("wait_for_text", now("abcde"))["code"], "bad_pattern");
    assert_eq!(server.call("wait_for_text", now("\\w+"))["code"], "bad_pattern");
    let long = json!({"name": "wait_for_text", "arguments": {"pattern": "abcd"}});
    expect_one_refused(&mut server, &long);
}

#[test]
fn environment_variables_set_limits() {
    let limits =
        [("AWAITTY_MAX_FRAMES", "2"), ("AWAITTY_SCROLLBACK", "3"), ("AWAITTY_MAX_CALLS", "1")];
    let mut server = Server::start(awaitty().arg("mcp").envs(limits));
    let counter = json!({"command": "sh", "args": ["-c", "seq 10; echo UP; cat"], "rows": 4, "wait": {"text": "UP"}});
    let seq = server.call("spawn", counter)["seq"].as_u64().unwrap();
    assert_eq!(server.call("read_output", json!({}))["lines"].as_array().unwrap().len(), 6);
    for word in ["a\n", "b\n"] {
        let sent = json!({"input": word, "wait": {"change": 0}});
        server.call("send_input", sent);
    }
    assert_eq!(server.call("snapshot", json!({"since": seq}))["history_truncated"], true);
    expect_one_refused(&mut server, &json!({"name": "wait_for_exit", "arguments": {}}));
}

#[test]
fn invalid_limits_are_refused() {
    for (flag, value) in [
        ("--max-frames", "0"),
        ("--max-chars", "199"),
        ("--scrollback", "1000001"),
        ("--max-scrollback", "9999"),
    ] {
        let output = awaitty().args(["mcp", flag, value]).output().unwrap();
        let errors = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success(), "{flag} {value}");
        assert!(errors.contains(&format!("{flag} {value}: ")), "{errors}");
    }
}
