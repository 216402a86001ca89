//! Panes of tmux: those of a person's server, which must not change otherwise, and those of awaitty's own server.

use std::process::Command;

use serde_json::{Value, json};

use crate::client::{Home, Server};

/// A person's tmux server. Dropping it kills this server and awaitty's.
struct Tmux<'a> {
    home: &'a Home,
}

impl Tmux<'_> {
    fn start(home: &Home) -> Tmux<'_> {
        let tmux = Tmux { home };
        let size = ["-x", "80", "-y", "24"];
        tmux.run(
            &[&["-f", "/dev/null", "new-session", "-d"][..], &size, &["bash --norc"]].concat(),
        );
        tmux
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.env("TMUX_TMPDIR", &self.home.dir).env_remove("TMUX").args(args);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn is_piped(&self) -> bool {
        self.run(&["display-message", "-p", "-t", "%0", "#{pane_pipe}"]) == "1\n"
    }
}

impl Drop for Tmux<'_> {
    fn drop(&mut self) {
        for server in [&[][..], &["-L", "awaitty"]] {
            let mut command = Command::new("tmux");
            command.env("TMUX_TMPDIR", &self.home.dir).args(server).arg("kill-server");
            let _ = command.output();
        }
    }
}

fn server(home: &Home) -> Server {
    Server::start(home.command().arg("mcp"))
}

const PANE: &str = "tmux:%0";

/// Opens a window in the person's server. Returns the session id of its pane.
fn window(tmux: &Tmux<'_>, command: &str) -> String {
    let pane = tmux.run(&["new-window", "-d", "-P", "-F", "#{pane_id}", command]);
    format!("tmux:{}", pane.trim_end())
}

fn send(server: &mut Server, input: &str, wait: Value) -> Value {
    server.call("send_input", json!({"session_id": PANE, "input": input, "wait": wait}))
}

#[test]
fn a_pane_works_as_a_session() {
    let home = Home::new("pane");
    let tmux = Tmux::start(&home);
    let mut server = server(&home);
    let listed = server.call("list_sessions", json!({}));
    assert_eq!(listed["sessions"][0]["session_id"], PANE, "{listed}");
    assert_eq!(listed["sessions"][0]["command"], "bash");
    assert!(!tmux.is_piped(), "list_sessions attaches to nothing");
    let seen = server.call("snapshot", json!({"session_id": PANE}));
    assert_eq!(seen["size"], json!({"cols": 80, "rows": 24}), "{seen}");
    let met = send(&mut server, "seq 30; echo $((40+2))\n", json!({"text": "^42$"}));
    assert_eq!(met["outcome"], "met", "{met}");
    let ran = json!({"session_id": PANE, "command": "echo x; (exit 3)"});
    let ran = server.call("run_command", ran);
    assert_eq!((&ran["output"], &ran["exit_code"]), (&json!("x"), &json!(3)), "{ran}");
    let ready = json!({"waits": [{"session_id": PANE, "ready": true}]});
    assert_eq!(server.call("wait_for_any", ready)["outcome"], "met");
    // Our screen comes from the pipe and must equal tmux's own.
    let ours = server.call("snapshot", json!({"session_id": PANE}))["text"].clone();
    let theirs = tmux.run(&["capture-pane", "-p", "-t", "%0"]);
    assert_eq!(ours.as_str().unwrap().trim_end(), theirs.trim_end());
    let ended = send(&mut server, "echo last words; exit 7\n", json!({"exit": true}));
    assert_eq!((&ended["outcome"], &ended["exited"]), (&json!("met"), &json!(true)), "{ended}");
    let last = server.call("read_output", json!({"session_id": PANE}));
    assert!(last.to_string().contains("\"last words\""), "{last}");
}

#[test]
fn detaching_leaves_a_persons_server_unchanged() {
    let home = Home::new("left");
    let tmux = Tmux::start(&home);
    let before =
        tmux.run(&["show-options", "-A", "-t", "0"]) + &tmux.run(&["show-environment", "-t", "0"]);
    let mut one = server(&home);
    let seen = one.call("snapshot", json!({"session_id": PANE}));
    assert!(tmux.is_piped(), "{seen}");
    one.call("close_session", json!({"session_id": PANE}));
    while tmux.is_piped() {}
    one.call("snapshot", json!({"session_id": PANE}));
    assert!(tmux.is_piped(), "the pane can be attached again");
    // Dropping kills the server with SIGKILL.
    drop(one);
    while tmux.is_piped() {}
    let after =
        tmux.run(&["show-options", "-A", "-t", "0"]) + &tmux.run(&["show-environment", "-t", "0"]);
    assert_eq!(before, after);
    let size = tmux.run(&["display-message", "-p", "-t", "%0", "#{pane_width}x#{pane_height}"]);
    assert_eq!(size, "80x24\n");
}

#[test]
fn a_persons_pipe_and_copy_mode_are_kept() {
    let home = Home::new("theirs");
    let tmux = Tmux::start(&home);
    let mut server = server(&home);
    tmux.run(&["pipe-pane", "-t", "%0", "cat >/dev/null"]);
    let met = send(&mut server, "seq 100; echo $((40+2))\n", json!({"text": "^42$"}));
    assert_eq!(met["outcome"], "met", "{met}");
    let listed = server.call("list_sessions", json!({}));
    assert_eq!(listed["sessions"][0]["backend"], "tmux (capture)", "{listed}");
    let read = server.call("read_output", json!({"session_id": PANE}));
    let lines = read["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap());
    let numbers: Vec<u64> = lines.filter_map(|line| line.parse().ok()).collect();
    assert_eq!(numbers, (1..=100).chain([42]).collect::<Vec<_>>(), "{read}");
    let ran = server.call("run_command", json!({"session_id": PANE, "command": "echo hi"}));
    assert_eq!(ran["code"], "unsupported", "{ran}");
    assert!(tmux.is_piped(), "the person's pipe is kept");
    tmux.run(&["pipe-pane", "-t", "%0"]);
    tmux.run(&["copy-mode", "-t", "%0"]);
    let refused = send(&mut server, "echo $((1+1))\n", json!({"text": "^2$"}));
    assert!(refused["message"].as_str().unwrap().contains("leave_copy_mode"), "{refused}");
    let left = json!({"session_id": PANE, "input": "echo $((1+1))\n", "leave_copy_mode": true, "wait": {"text": "^2$"}});
    assert_eq!(server.call("send_input", left)["outcome"], "met");
}

#[test]
fn spawned_panes_survive_a_server_restart() {
    let home = Home::new("own");
    let _tmux = Tmux { home: &home };
    let mut first = server(&home);
    let spawn = json!({"command": "sh", "args": ["-c", "echo up; read x; echo got $x; exit 5"], "backend": "tmux",
        "name": "build", "wait": {"text": "up"}});
    let spawned = first.call("spawn", spawn);
    assert_eq!(
        (&spawned["outcome"], &spawned["session_id"]),
        (&json!("met"), &json!("tmux:awaitty/%0")),
        "{spawned}"
    );
    first.end();
    let mut second = server(&home);
    let seen = second.call("snapshot", json!({"session_id": "build"}));
    assert_eq!(seen["text"], "up", "{seen}");
    let ended = json!({"session_id": "build", "input": "on\n", "wait": {"exit": true}});
    let ended = second.call("send_input", ended);
    assert_eq!(ended["exit_code"], 5, "{ended}");
    let last = second.call("snapshot", json!({"session_id": "build"}));
    assert!(last["text"].as_str().unwrap().ends_with("got on"), "{last}");
    let closed = second.call("close_session", json!({"session_id": "build", "kill": true}));
    assert_eq!(closed["closed"], true, "{closed}");
    let missing = second.call("spawn", json!({"command": "no-such-program", "backend": "tmux"}));
    assert_eq!(missing["code"], "spawn_failed");
}

#[test]
fn a_session_in_tmux_has_a_trace() {
    let home = Home::new("panes-trace");
    let _tmux = Tmux::start(&home);
    let mut server = server(&home);
    let spawn = json!({"command": "sh", "args": ["-c", "echo up; exec cat"], "backend": "tmux",
        "name": "a", "trace": true, "wait": {"text": "up"}});
    let spawned = server.call("spawn", spawn);
    let path = spawned["trace"].as_str().unwrap_or_else(|| panic!("{spawned}")).to_owned();
    let typed = json!({"session_id": "a", "input": "hello\n", "wait": {"text": "hello\nhello"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    // Its program runs on.
    assert_eq!(server.call("close_session", json!({"session_id": "a"}))["trace"], json!(path));
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.contains(r#"type \"hello\", press enter"#), "{page}");
}

#[test]
fn input_to_the_servers_own_pane_needs_force() {
    let home = Home::new("mine");
    let tmux = Tmux::start(&home);
    let socket = tmux.run(&["display-message", "-p", "#{socket_path},#{pid},0"]);
    let mut command = home.command();
    command.arg("mcp").env("TMUX", socket.trim_end()).env("TMUX_PANE", "%0");
    let mut server = Server::start(&mut command);
    let listed = server.call("list_sessions", json!({}));
    assert_eq!(listed["sessions"][0]["own"], true, "{listed}");
    let refused = send(&mut server, "x", json!({"settled": 0}));
    assert_eq!(refused["code"], "denied", "{refused}");
    let run = server.call("run_command", json!({"session_id": PANE, "command": "true"}));
    assert_eq!(run["code"], "denied", "{run}");
    let forced = json!({"session_id": PANE, "input": "echo $((1+1))\n", "force": true, "wait": {"text": "^2$"}});
    assert_eq!(server.call("send_input", forced)["outcome"], "met");
    let other = window(&tmux, "exec cat");
    let sent = server.call("send_input", json!({"session_id": other, "input": "x"}));
    assert_eq!(sent["sent_bytes"], 1, "{sent}");
}

#[test]
fn spawn_opens_a_window_in_a_persons_session() {
    let home = Home::new("window");
    let tmux = Tmux::start(&home);
    tmux.run(&["rename-session", "work"]);
    let before = tmux.run(&["show-options", "-A", "-t", "work"]);
    let mut first = server(&home);
    let spawn = json!({"command": "sh", "args": ["-c", "echo up; read x; exit 4"], "backend": "tmux",
        "tmux_session": "work", "name": "helper", "wait": {"text": "up"}});
    let spawned = first.call("spawn", spawn);
    assert_eq!(
        (&spawned["session_id"], &spawned["rows"]),
        (&json!("tmux:%1"), &json!(24)),
        "{spawned}"
    );
    assert_eq!(
        tmux.run(&["display-message", "-p", "#{window_index}"]),
        "0\n",
        "the active window is unchanged"
    );
    assert_eq!(before, tmux.run(&["show-options", "-A", "-t", "work"]));
    first.end();
    let mut second = server(&home);
    let ended = json!({"session_id": "helper", "input": "on\n", "wait": {"exit": true}});
    assert_eq!(second.call("send_input", ended)["exit_code"], 4);
    second.end();
    // The dead pane is still found by its name.
    let mut third = server(&home);
    let seen = third.call("snapshot", json!({"session_id": "helper"}));
    assert_eq!((&seen["state"], &seen["exit_code"]), (&json!("exited"), &json!(4)), "{seen}");
    let missing = json!({"command": "cat", "backend": "tmux", "tmux_session": "nope"});
    let missing = third.call("spawn", missing);
    assert_eq!(missing["code"], "unknown_session");
    assert!(missing["message"].as_str().unwrap().contains("nope"), "{missing}");
}

#[test]
fn the_tmux_socket_flag_adds_servers() {
    let home = Home::new("others");
    let tmux = Tmux::start(&home);
    tmux.run(&["-L", "other", "-f", "/dev/null", "new-session", "-d", "exec cat"]);
    let mut server = Server::start(home.command().args(["mcp", "--tmux-socket", "other"]));
    let listed = server.call("list_sessions", json!({}));
    let ids: Vec<&str> = (listed["sessions"].as_array().unwrap().iter())
        .map(|session| session["session_id"].as_str().unwrap())
        .collect();
    assert_eq!(ids, ["tmux:%0", "tmux:other/%0"], "{listed}");
    assert_eq!(server.call("list_sessions", json!({"tmux": false}))["sessions"], json!([]));
    let sent = json!({"session_id": "tmux:other/%0", "input": "hi\n", "wait": {"text": "^hi\nhi"}});
    assert_eq!(server.call("send_input", sent)["outcome"], "met");
    tmux.run(&["-L", "other", "kill-server"]);
}

#[test]
fn long_input_arrives_in_piped_and_captured_panes() {
    let home = Home::new("long");
    let tmux = Tmux::start(&home);
    let mut server = server(&home);
    // Longer than one tmux command and than the terminal's input buffer; with formats and a final `;`, which tmux would
    // interpret.
    let text = "0123456789#{pane_id}%%'\"\\ ;".repeat(4_000);
    let counts = "stty raw -echo; echo UP; head -c 108000 | cksum; echo; exec cat";
    assert_eq!(text.len(), 108_000);
    let mut sums = Vec::new();
    for is_piped in [false, true] {
        let pane = window(&tmux, counts);
        if is_piped {
            tmux.run(&["pipe-pane", "-t", &pane[5..], "cat >/dev/null"]);
        }
        let up = json!({"session_id": pane, "pattern": "UP", "since": "screen"});
        assert_eq!(server.call("wait_for_text", up)["found"], true);
        let sent = json!({"session_id": pane, "input": text, "wait": {"text": r"^ *\d+ 108000", "timeout_ms": 30_000}});
        let sent = server.call("send_input", sent);
        assert_eq!(sent["outcome"], "met", "{sent}");
        sums.push(sent["match"]["text"].as_str().unwrap().trim().to_owned());
    }
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn tmux_channels_are_limited() {
    let home = Home::new("many");
    let tmux = Tmux::start(&home);
    let mut server = server(&home);
    let wait = |i: usize, ms: u64| json!({"channel": format!("tmux:c{i}"), "timeout_ms": ms});
    let max = awaitty_terminal::io::tmux::channels::CHANNELS_MAX;
    let ids: Vec<u64> = (0..=max)
        .map(|i| json!({"name": "wait_for_channel", "arguments": wait(i, 600_000)}))
        .map(|call| server.send("tools/call", call))
        .collect();
    // The request that the server handles last is refused; the others continue.
    let refused = server.next();
    assert_eq!(refused["result"]["structuredContent"]["code"], "limit_reached", "{refused}");
    let last = ids.iter().position(|id| refused["id"] == json!(id)).unwrap();
    let other = (last + 1) % ids.len();
    let waited = server.call("wait_for_channel", wait(other, 0));
    assert_eq!(waited["outcome"], "timeout", "{waited}");
    tmux.run(&["wait-for", "-S", &format!("c{other}")]);
    let met = server.answer(ids[other]);
    assert_eq!(met["result"]["structuredContent"]["outcome"], "met", "{met}");
    // The channel without waits left makes room for another.
    assert_eq!(server.call("wait_for_channel", wait(last, 0))["outcome"], "timeout");
}

#[test]
fn respawned_panes_are_followed() {
    let home = Home::new("again");
    let tmux = Tmux::start(&home);
    let mut server = server(&home);
    for is_piped in [false, true] {
        let pane = window(&tmux, "echo UP; exec cat");
        if is_piped {
            tmux.run(&["pipe-pane", "-t", &pane[5..], "cat >/dev/null"]);
        }
        let up = json!({"session_id": pane, "pattern": "UP", "since": "screen"});
        assert_eq!(server.call("wait_for_text", up)["found"], true);
        tmux.run(&["respawn-pane", "-k", "-t", &pane[5..], "stty -echo; echo REBORN; exec cat"]);
        let reborn = json!({"session_id": pane, "pattern": "REBORN", "since": "screen"});
        assert_eq!(server.call("wait_for_text", reborn)["found"], true, "{is_piped}");
        for i in 0..3 {
            let sent = json!({"session_id": pane, "input": format!("line {i}\n"), "wait": {"text": format!("^line {i}")}});
            assert_eq!(server.call("send_input", sent)["outcome"], "met", "{is_piped} {i}");
        }
    }
}

#[test]
fn the_size_of_the_pane_overrides_stty() {
    let home = Home::new("stty");
    let tmux = Tmux::start(&home);
    let mut server = server(&home);
    let line = "stty cols 50 rows 10; printf '%070d END\\n' 7\n";
    let sent = send(&mut server, line, json!({"text": "END$"}));
    assert_eq!(sent["outcome"], "met", "{sent}");
    let mut shown = || server.call("snapshot", json!({"session_id": PANE}));
    while shown()["size"] != json!({"cols": 80, "rows": 24}) {}
    let text = tmux.run(&["capture-pane", "-p", "-t", "%0"]);
    assert_eq!(shown()["text"].as_str().unwrap(), text.trim_end());
    let sent = send(&mut server, "printf '%070d END\\n' 8\n", json!({"text": "8 END$"}));
    assert_eq!(sent["outcome"], "met", "{sent}");
}
