//! A client that writes and reads lines of JSON, and the program with a runtime directory of its own.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A server that was started, and the way to it.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    /// Messages that came while another was waited for.
    early: Vec<Value>,
    /// Added to the parameters of every request.
    meta: Option<Value>,
}

impl Server {
    /// Starts the server by `command` and shakes hands with it.
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut server = Server::unopened(command);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        server.request("initialize", hello);
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    /// Starts the server for a client of the newest protocol, which says who it is with every request.
    pub(crate) fn start_modern(command: &mut Command) -> Server {
        let mut server = Server::unopened(command);
        server.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        server
    }

    fn unopened(command: &mut Command) -> Server {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child, input, output, last_id: 0, early: Vec::new(), meta: None }
    }

    /// Says something that is not answered.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request without waiting for its answer, and gives its id.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// The next message.
    pub(crate) fn next(&mut self) -> Value {
        if self.early.is_empty() { self.read() } else { self.early.remove(0) }
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the server went away");
        serde_json::from_str(&line).unwrap()
    }

    /// The answer to a request; what comes before it is kept.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        let is_it = |message: &Value| message["id"] == json!(id);
        if let Some(at) = self.early.iter().position(is_it) {
            return self.early.remove(at);
        }
        loop {
            let message = self.read();
            if is_it(&message) {
                return message;
            }
            self.early.push(message);
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool and gives its structured content.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    }
}

impl Server {
    /// What it says of errors, if that was asked for.
    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    /// Hangs up, and waits until the server has ended.
    pub(crate) fn end(mut self) {
        let (closed, _) = std::io::pipe().map(|(reader, writer)| (writer, reader)).unwrap();
        self.input = ChildStdin::from(std::os::fd::OwnedFd::from(closed));
        self.child.wait().unwrap();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The program under test.
pub(crate) fn awaitty() -> Command {
    Command::new(env!("CARGO_BIN_EXE_awaitty"))
}

/// A runtime directory of its own, and the program with it. The daemon that is left there is ended.
pub(crate) struct Home {
    pub(crate) dir: std::path::PathBuf,
}

impl Home {
    pub(crate) fn new(name: &str) -> Home {
        let dir = std::env::temp_dir().join(format!("awaitty-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Home { dir }
    }

    /// The program, as a shell outside of any terminal of ours would start it.
    pub(crate) fn command(&self) -> Command {
        let mut command = awaitty();
        command.env("XDG_RUNTIME_DIR", &self.dir).env_remove("AWAITTY_SOCKET");
        command.env("AWAITTY_RECORDINGS", self.dir.join("recordings"));
        // No person's panes.
        command.env("TMUX_TMPDIR", &self.dir).env_remove("TMUX").env_remove("TMUX_PANE");
        command
    }

    /// Runs the program: its exit status, its output as JSON if it is, and what it said of errors.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, Value, String) {
        let output = self.command().args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (output.status.code().unwrap(), json, String::from_utf8(output.stderr).unwrap())
    }

    /// Runs a command that succeeds, and gives its JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        let mut all = vec![args[0], "--json"];
        all.extend(&args[1..]);
        let (status, json, errors) = self.run(&all);
        assert_eq!(status, 0, "{args:?}: {json} {errors}");
        json
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        self.run(&["daemon", "stop"]);
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}
