//! A minimal MCP client over stdio, and a private runtime directory to run `awaitty` in.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// A running server with its pipes.
pub(crate) struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
    /// Messages that arrived while the client waited for another one.
    early: Vec<Value>,
    /// `_meta` of the parameters of every request.
    meta: Option<Value>,
}

impl Server {
    /// Starts the server and performs the handshake of the older protocol.
    pub(crate) fn start(command: &mut Command) -> Server {
        let mut server = Server::spawn(command);
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"}});
        server.request("initialize", hello);
        server.write(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    /// Starts the server for a client of the newest protocol, which identifies itself in every request.
    pub(crate) fn start_modern(command: &mut Command) -> Server {
        let mut server = Server::spawn(command);
        server.meta = Some(json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        }));
        server
    }

    fn spawn(command: &mut Command) -> Server {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Server { child, input, output, last_id: 0, early: Vec::new(), meta: None }
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn write(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    /// Sends a request. Returns its id without waiting for the response.
    pub(crate) fn send(&mut self, method: &str, mut params: Value) -> u64 {
        if let Some(meta) = &self.meta {
            params["_meta"] = meta.clone();
        }
        self.last_id += 1;
        let id = self.last_id;
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    /// Returns the next message.
    pub(crate) fn next(&mut self) -> Value {
        if self.early.is_empty() { self.read() } else { self.early.remove(0) }
    }

    fn read(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the server closed its output");
        serde_json::from_str(&line).unwrap()
    }

    /// Returns the response to a request. Keeps messages that arrive before it.
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

    /// Sends a request and waits for its response.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.answer(id)
    }

    /// Calls a tool. Returns its structured content.
    pub(crate) fn call(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.request("tools/call", json!({"name": name, "arguments": arguments}));
        answer["result"]["structuredContent"].clone()
    }
}

impl Server {
    /// Takes stderr, which the command must have piped.
    pub(crate) fn stderr(&mut self) -> ChildStderr {
        self.child.stderr.take().unwrap()
    }

    /// Closes stdin and waits until the server has exited.
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

/// Returns a command that runs the binary under test.
pub(crate) fn awaitty() -> Command {
    Command::new(env!("CARGO_BIN_EXE_awaitty"))
}

/// A private runtime directory. Dropping it stops its daemon.
pub(crate) struct Home {
    pub(crate) dir: std::path::PathBuf,
}

impl Home {
    pub(crate) fn new(name: &str) -> Home {
        let dir = std::env::temp_dir().join(format!("awaitty-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        Home { dir }
    }

    /// Returns a command that runs `awaitty` as a shell outside of any session would.
    pub(crate) fn command(&self) -> Command {
        let mut command = awaitty();
        command.env("XDG_RUNTIME_DIR", &self.dir).env_remove("AWAITTY_SOCKET");
        command.env("AWAITTY_RECORDINGS", self.dir.join("recordings"));
        // The tests must not see the tmux server of the user who runs them.
        command.env("TMUX_TMPDIR", &self.dir).env_remove("TMUX").env_remove("TMUX_PANE");
        command
    }

    /// Runs `awaitty`. Returns its exit status, its output (parsed if it is JSON) and its stderr.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, Value, String) {
        let output = self.command().args(args).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let json = serde_json::from_str(&text).unwrap_or(Value::String(text));
        (output.status.code().unwrap(), json, String::from_utf8(output.stderr).unwrap())
    }

    /// Runs a command with `--json` that must succeed. Returns its output.
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
