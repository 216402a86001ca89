//! The environment of a new program: descriptors, signals, terminal and variables, regardless of how the server was
//! started. Each test starts the server as an MCP client would and exchanges lines of JSON with it.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

struct Server {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    last_id: u64,
}

impl Server {
    /// Starts a server from a shell that runs `before` first.
    fn start(before: &str) -> Server {
        let script = format!("{before}; exec {} mcp", env!("CARGO_BIN_EXE_awaitty"));
        let mut child = Command::new("sh")
            .args(["-c", &script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut server = Server { child, stdin, stdout: BufReader::new(stdout), last_id: 0 };
        let client = json!({"name": "test", "version": "0"});
        server.request(
            "initialize",
            json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}),
        );
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
        self.stdin.flush().unwrap();
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last_id += 1;
        let id = self.last_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let mut line = String::new();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the server closed its output");
            let message: Value = serde_json::from_str(&line).unwrap();
            if message["id"] == json!(id) {
                return message["result"].clone();
            }
        }
    }

    /// Runs a script until it exits. Returns its last screen.
    fn output_of(&mut self, script: &str) -> String {
        let arguments = json!({"command": "sh", "args": ["-c", script], "wait": {"exit": true}});
        let result = self.request("tools/call", json!({"name": "spawn", "arguments": arguments}));
        result["structuredContent"]["screen_text"].as_str().unwrap().to_owned()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_program_inherits_only_its_terminal() {
    let mut server = Server::start("exec 7</dev/null 8>/dev/null");
    let fds = server.output_of("ls -1 /proc/$$/fd; tty");
    let lines: Vec<&str> = fds.lines().collect();
    assert_eq!(lines[..3], ["0", "1", "2"], "{fds}");
    assert!(lines[3].starts_with("/dev/pts/"), "{fds}");
    assert_eq!(lines.len(), 4, "{fds}");
}

#[test]
fn a_program_starts_with_default_signals() {
    let mut server = Server::start("trap '' INT QUIT HUP TERM PIPE");
    let masks = server.output_of("grep -E 'SigBlk|SigIgn' /proc/self/status");
    for line in masks.lines() {
        assert!(
            line.ends_with("\t0000000000000000") || line.ends_with(" 0000000000000000"),
            "{masks}"
        );
    }
    assert_eq!(masks.lines().count(), 2, "{masks}");
}

#[test]
fn a_program_leads_its_session_and_foreground_group() {
    let mut server = Server::start("true");
    let ids = server.output_of("ps -o pid=,pgid=,sid=,tpgid= -p $$");
    let ids: Vec<&str> = ids.split_whitespace().collect();
    assert_eq!(ids.len(), 4);
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
}

#[test]
fn a_program_gets_term_and_locale_variables() {
    let mut server = Server::start("unset TERM COLORTERM; LANG=C LC_ALL=C TMUX=x");
    let env = server.output_of("echo $TERM $COLORTERM ${LC_ALL:-$LANG} tmux=$TMUX $(stty size)");
    assert_eq!(env, "xterm-256color truecolor C.UTF-8 tmux= 40 120");
}

#[test]
fn program_output_never_reaches_the_protocol() {
    let mut server = Server::start("true");
    let forged = r#"{"jsonrpc":"2.0","id":2,"result":{"forged":true}}"#;
    let shown = server.output_of(&format!("echo '{forged}'"));
    assert!(shown.contains("forged"), "the forged message is text on the screen: {shown}");
}
