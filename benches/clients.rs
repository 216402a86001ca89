//! Minimal MCP clients: lines of JSON over pipes, and requests over one HTTP connection.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

fn program() -> String {
    std::env::var("AWAITTY_SERVER").unwrap_or_else(|_| env!("CARGO_BIN_EXE_awaitty").to_owned())
}

/// A temporary directory that is deleted on drop.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new(name: &str) -> Directory {
        let path =
            std::env::temp_dir().join(format!("awaitty-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct Server {
    child: Child,
    directory: Directory,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    fn start(name: &str, args: &[&str]) -> Server {
        let directory = Directory::new(name);
        let mut command = Command::new(program());
        command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Keeps away from the daemon and the tmux server of the user.
        command.env("XDG_RUNTIME_DIR", &directory.0).env("TMUX_TMPDIR", &directory.0);
        // Without progress notifications: ten thousand waits would send too many.
        command.env("AWAITTY_CALL_LIMIT_MS", "3600000");
        Server { child: command.spawn().unwrap(), directory }
    }
}

/// Builds a request of the newest protocol, which needs no handshake.
fn request(id: u64, tool: &str, arguments: &Value) -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}).to_string()
}

/// `awaitty mcp`.
pub(crate) struct Piped {
    server: Server,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
    /// Responses that arrived while the client waited for another one.
    early: Vec<Value>,
}

impl Piped {
    pub(crate) fn start(args: &[&str]) -> Piped {
        let mut server = Server::start("mcp", &[&["mcp"], args].concat());
        let input = server.child.stdin.take().unwrap();
        let output = BufReader::new(server.child.stdout.take().unwrap());
        Piped { server, input, output, last: 0, early: Vec::new() }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.server.child.id()
    }

    /// Returns the path of the socket that `awaitty signal` uses.
    pub(crate) fn socket(&self) -> PathBuf {
        self.server.directory.0.join(format!("awaitty/mcp-{}.sock", self.pid()))
    }

    /// Sends a request. Returns its id without waiting for the response.
    pub(crate) fn send(&mut self, tool: &str, arguments: &Value) -> u64 {
        self.last += 1;
        writeln!(self.input, "{}", request(self.last, tool, arguments)).unwrap();
        self.last
    }

    /// Waits for a response. Returns its structured content.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.result(id)["structuredContent"].take()
    }

    /// Waits for a response. Returns the whole result.
    pub(crate) fn result(&mut self, id: u64) -> Value {
        if let Some(at) = self.early.iter().position(|response| response["id"] == id) {
            return self.early.swap_remove(at)["result"].take();
        }
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server closed its output");
            let mut response: Value = serde_json::from_str(&line).unwrap();
            if !response["id"].is_u64() {
                continue;
            }
            assert_eq!(response["result"]["isError"], false, "{response}");
            if response["id"] == id {
                return response["result"].take();
            }
            self.early.push(response);
        }
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let id = self.send(tool, arguments);
        self.answer(id)
    }

    /// Waits until `count` waits on the session are running.
    pub(crate) fn until_waits(&mut self, session: &str, count: u64) {
        let running = |list: &Value| {
            let sessions = list["sessions"].as_array().unwrap();
            let found = sessions.iter().find(|one| one["session_id"] == session);
            found.and_then(|one| one["waits"].as_u64()).unwrap_or(0)
        };
        while running(&self.call("list_sessions", &json!({"tmux": false}))) < count {}
    }
}

/// `awaitty serve` and one connection to it.
pub(crate) struct Http {
    _server: Server,
    stream: BufReader<TcpStream>,
    head: String,
}

impl Http {
    pub(crate) fn start() -> Http {
        let token = Directory::new("token");
        let file = token.0.join("token");
        let mut server =
            Server::start("serve", &["serve", "--json", "--token-file", file.to_str().unwrap()]);
        let mut line = String::new();
        BufReader::new(server.child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let info: Value = serde_json::from_str(&line).unwrap();
        let address = info["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let bearer = std::fs::read_to_string(&file).unwrap();
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n",
            bearer.trim()
        );
        Http { _server: server, stream: BufReader::new(stream), head }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_lowercase()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> String {
        let body = request(1, tool, arguments);
        let length = body.len();
        let whole =
            format!("{}Mcp-Name: {tool}\r\nContent-Length: {length}\r\n\r\n{body}", self.head);
        self.stream.get_mut().write_all(whole.as_bytes()).unwrap();
        assert!(self.line().contains(" 200 "));
        let mut length = None;
        loop {
            let line = self.line();
            if let Some(value) = line.strip_prefix("content-length: ") {
                length = value.parse::<usize>().ok();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = Vec::new();
        if let Some(length) = length {
            body.resize(length, 0);
            self.stream.read_exact(&mut body).unwrap();
            return String::from_utf8(body).unwrap();
        }
        loop {
            let length = usize::from_str_radix(&self.line(), 16).unwrap();
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk).unwrap();
            if length == 0 {
                return String::from_utf8(body).unwrap();
            }
            body.extend(&chunk[..length]);
        }
    }
}

/// Returns a command that signals a channel of the server.
pub(crate) fn signal(server: &Piped, channel: &str) -> Command {
    let mut command = Command::new(program());
    command.args(["signal", channel]).env("AWAITTY_SOCKET", server.socket());
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command
}
