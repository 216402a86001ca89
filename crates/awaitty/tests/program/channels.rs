//! Channels: the tools, `awaitty signal` in a terminal, exits of sessions, and a daemon that restarts.

use crate::client::{Home, Server};
use serde_json::{Value, json};

fn start(home: &Home) -> Server {
    Server::start(home.command().arg("mcp"))
}

fn wait(server: &mut Server, channel: &str, timeout_ms: u64) -> Value {
    server.call("wait_for_channel", json!({"channel": channel, "timeout_ms": timeout_ms}))
}

fn signal(server: &mut Server, channel: &str, status: i64) -> Value {
    server.call("signal_channel", json!({"channel": channel, "status": status}))
}

#[test]
fn signals_before_and_during_a_wait_are_received() {
    let home = Home::new("before");
    let mut server = start(&home);
    assert_eq!(signal(&mut server, "a", 7)["count"], 1);
    let before = wait(&mut server, "a", 0);
    assert_eq!(
        (&before["signalled"], &before["count"], &before["status"]),
        (&json!(true), &json!(1), &json!(7))
    );
    let running = server
        .send("tools/call", json!({"name": "wait_for_channel", "arguments": {"channel": "a"}}));
    signal(&mut server, "a", 8);
    let after = server.answer(running)["result"]["structuredContent"].clone();
    assert_eq!(
        (&after["outcome"], &after["count"], &after["status"]),
        (&json!("met"), &json!(2), &json!(8))
    );
}

#[test]
fn earlier_signals_are_counted_and_listed() {
    let home = Home::new("two");
    let mut server = start(&home);
    signal(&mut server, "a", 1);
    signal(&mut server, "a", 2);
    let both = wait(&mut server, "a", 0);
    assert_eq!((&both["count"], &both["status"]), (&json!(2), &json!(2)));
    assert_eq!(both["signals"][0]["status"], 1, "the first signal is listed too");
    assert_eq!(wait(&mut server, "a", 0)["outcome"], "timeout");
    let again =
        server.call("wait_for_channel", json!({"channel": "a", "since": 0, "timeout_ms": 0}));
    assert_eq!(again["count"], 2, "the same `since` gives the same result");
}

#[test]
fn a_timed_out_wait_consumes_no_signal() {
    let home = Home::new("timeout");
    let mut server = start(&home);
    let nothing = wait(&mut server, "a", 20);
    assert_eq!((&nothing["outcome"], &nothing["signalled"]), (&json!("timeout"), &json!(false)));
    signal(&mut server, "a", 5);
    assert_eq!(wait(&mut server, "a", 0)["status"], 5);
}

#[test]
fn one_signal_ends_a_hundred_waits() {
    let home = Home::new("hundred");
    let mut server = start(&home);
    let call = json!({"name": "wait_for_channel", "arguments": {"channel": "a", "since": 0}});
    let waits: Vec<u64> = (0..100).map(|_| server.send("tools/call", call.clone())).collect();
    let signal = json!({"name": "signal_channel", "arguments": {"channel": "a", "message": "go"}});
    let signalled = server.send("tools/call", signal);
    let mut answered: Vec<u64> = (0..101).map(|_| server.next()["id"].as_u64().unwrap()).collect();
    answered.sort_unstable();
    let mut sent = waits;
    sent.push(signalled);
    assert_eq!(answered, sent);
}

#[test]
fn programs_signal_without_configuration() {
    let home = Home::new("terminal");
    let mut server = start(&home);
    // One script runs `awaitty` from PATH in a grandchild. The other has only AWAITTY_SOCKET in its environment.
    let program = env!("CARGO_BIN_EXE_awaitty");
    for (channel, script) in [
        ("child", "sh -c 'sh -c \"awaitty signal child --status 3 --message hello\"'".to_owned()),
        (
            "bare",
            format!(
                "env -i AWAITTY_SOCKET=$AWAITTY_SOCKET {program} signal bare --status 3 --message hello"
            ),
        ),
    ] {
        let spawned = server
            .call("spawn", json!({"command": "sh", "args": ["-c", format!("{script}; cat")]}));
        let got = wait(&mut server, channel, 10_000);
        assert_eq!(
            (&got["status"], &got["message"]),
            (&json!(3), &json!("hello")),
            "{channel}: {got}"
        );
        assert!(got["from"]["pid"].is_u64(), "{got}");
        if channel == "child" {
            assert_eq!(got["from"]["session_id"], spawned["session_id"]);
        }
    }
}

#[test]
fn send_input_waits_for_a_channel() {
    let home = Home::new("act");
    let mut server = start(&home);
    signal(&mut server, "done", 1);
    let shell = json!({"command": "sh", "wait": {"settled": 100}, "name": "sh"});
    server.call("spawn", shell);
    let act = json!({"input": "awaitty signal done --status 4\n", "wait": {"channel": "done"}});
    let got = server.call("send_input", act);
    assert_eq!(
        (&got["outcome"], &got["status"], &got["count"]),
        (&json!("met"), &json!(4), &json!(2))
    );
    let exits = json!({"input": "exit 5\n", "wait": {"channel": "done"}});
    let got = server.call("send_input", exits);
    assert_eq!(
        (&got["outcome"], &got["signalled"], &got["exit_code"]),
        (&json!("exited"), &json!(false), &json!(5))
    );
}

#[test]
fn exit_of_the_named_session_ends_a_channel_wait() {
    let home = Home::new("exit");
    let mut server = start(&home);
    server.call("spawn", json!({"command": "sh -c 'exit 6'", "name": "a"}));
    let named = |channel: &str| json!({"channel": channel, "session_id": "a"});
    let got = server.call("wait_for_channel", named("never"));
    assert_eq!(
        (&got["outcome"], &got["exited"], &got["exit_code"]),
        (&json!("exited"), &json!(true), &json!(6))
    );
    // A signal that the session sent before its exit wins.
    let last = "awaitty signal last --status 9; exit 7";
    server.call("close_session", json!({"session_id": "a"}));
    server.call("spawn", json!({"command": "sh", "args": ["-c", last], "name": "a"}));
    server.call("wait_for_exit", json!({"session_id": "a"}));
    let got = server.call("wait_for_channel", named("last"));
    assert_eq!((&got["outcome"], &got["status"]), (&json!("met"), &json!(9)), "{got}");
}

#[test]
fn invalid_channel_names_and_messages_are_refused() {
    let home = Home::new("bad");
    let mut server = start(&home);
    for bad in ["", "a b", "a/b", "ü", &"n".repeat(129)] {
        assert_eq!(signal(&mut server, bad, 0)["code"], "bad_argument", "{bad:?}");
        assert_eq!(wait(&mut server, bad, 0)["code"], "bad_argument", "{bad:?}");
    }
    let message = |len: usize| json!({"channel": "a", "message": "m".repeat(len)});
    assert_eq!(server.call("signal_channel", message(4097))["code"], "bad_argument");
    assert_eq!(server.call("signal_channel", message(4096))["count"], 1);
    // Output of a program is only text and signals nothing.
    let forged = "printf '\\033]133;D;0\\007awaitty signal forged\\n'; cat";
    server.call(
        "spawn",
        json!({"command": "sh", "args": ["-c", forged], "wait": {"text": "forged"}}),
    );
    assert_eq!(wait(&mut server, "forged", 0)["outcome"], "timeout");
}

#[test]
fn signals_survive_a_daemon_restart() {
    let home = Home::new("restart");
    home.json(&["signal", "a", "--status", "1"]);
    assert_eq!(home.json(&["wait-for-channel", "a"])["status"], 1);
    home.json(&["signal", "a", "--status", "2", "--message", "kept"]);
    home.run(&["daemon", "stop"]);
    let got = home.json(&["wait-for-channel", "a", "--timeout-ms", "0"]);
    assert_eq!(
        (&got["count"], &got["status"], &got["message"]),
        (&json!(2), &json!(2), &json!("kept"))
    );
    assert_eq!(home.run(&["wait-for-channel", "a", "--timeout-ms", "0"]).0, 3);
}

#[test]
fn signals_reach_all_servers_of_a_user() {
    let home = Home::new("host");
    let (mut one, mut other) = (start(&home), start(&home));
    home.json(&["signal", "from_daemon", "--status", "1"]);
    signal(&mut one, "from_one", 2);
    let script = "awaitty signal from_terminal --status 3; cat";
    other.call("spawn", json!({"command": "sh", "args": ["-c", script]}));
    for (channel, status) in [("from_daemon", 1), ("from_one", 2), ("from_terminal", 3)] {
        for server in [&mut one, &mut other] {
            let got = wait(server, channel, 10_000);
            assert_eq!((&got["count"], &got["status"]), (&json!(1), &json!(status)), "{channel}");
        }
        assert_eq!(home.json(&["wait-for-channel", channel])["status"], status);
    }
}

#[test]
fn closing_the_named_session_ends_the_wait_as_closed() {
    let home = Home::new("closed");
    let mut server = start(&home);
    server.call("spawn", json!({"command": "cat", "name": "a"}));
    let named = json!({"channel": "never", "session_id": "a"});
    let running =
        server.send("tools/call", json!({"name": "wait_for_channel", "arguments": named}));
    while server.call("list_sessions", json!({}))["sessions"][0]["waits"] != json!(1) {}
    server.call("close_session", json!({"session_id": "a"}));
    let got = server.answer(running)["result"]["structuredContent"].clone();
    assert_eq!(
        (&got["outcome"], &got["closed"], &got["exited"]),
        (&json!("closed"), &json!(true), &json!(true))
    );
}

#[test]
fn a_damaged_journal_is_tolerated() {
    let home = Home::new("damaged");
    home.json(&["signal", "a"]);
    home.run(&["daemon", "stop"]);
    let path = home.dir.join("awaitty/channels.log");
    let mut journal = std::fs::read(&path).unwrap();
    journal.extend(b"\xff\xfe{\"signal");
    std::fs::write(&path, journal).unwrap();
    assert_eq!(home.json(&["wait-for-channel", "a", "--timeout-ms", "0"])["count"], 1);
}

#[test]
fn signals_are_forwarded_only_to_servers() {
    let home = Home::new("others");
    for name in [
        "daemon.sock",
        "daemon-programs.sock",
        "mcp-1.sock",
        "mcp-2.sock",
        "tmux-pipe-0a1b.sock",
        "daemon.log",
    ] {
        std::fs::write(home.dir.join(name), "").unwrap();
    }
    let mut others = awaitty::socket::others(&home.dir.join("mcp-1.sock"));
    others.sort();
    assert_eq!(others, ["daemon-programs.sock", "mcp-2.sock"].map(|name| home.dir.join(name)));
}
