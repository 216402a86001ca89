//! MCP over HTTP: authentication, isolation of clients, limits and malformed requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::{Value, json};

use crate::client::Home;

/// A running `awaitty serve`, or another server with a page. Dropping it kills a server that it started.
pub(crate) struct Serve {
    child: Option<Child>,
    pub(crate) address: String,
    pub(crate) token: String,
    /// The contents of the login file; empty if the test started the server otherwise.
    pub(crate) login: String,
}

impl Serve {
    pub(crate) fn start(home: &Home, args: &[&str]) -> Serve {
        let file = home.dir.join("token");
        let mut command = home.command();
        command.args(["serve", "--json", "--token-file"]).arg(&file).args(args);
        Serve::run(&mut command, &file)
    }

    fn run(command: &mut Command, file: &std::path::Path) -> Serve {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let info: Value = serde_json::from_str(&line).unwrap();
        let address = info["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
        let login = std::fs::read_to_string(info["page_file"].as_str().unwrap()).unwrap();
        Serve { child: Some(child), address, token, login }
    }

    /// Sends SIGTERM and waits until the server has exited.
    pub(crate) fn stop(mut self) {
        let mut child = self.child.take().unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        child.wait().unwrap();
    }

    /// Returns a handle for a server that the test started otherwise.
    pub(crate) fn at(address: String, token: String) -> Serve {
        Serve { child: None, address, token, login: String::new() }
    }

    /// Sends a request with these header lines. Adds `Host` unless it is one of them.
    pub(crate) fn request(&self, first: &str, head: &[&str], body: &str) -> Response {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut text = format!("{first} HTTP/1.1\r\nConnection: close\r\n");
        if !head.iter().any(|line| line.to_lowercase().starts_with("host:")) {
            text += &format!("Host: {}\r\n", self.address);
        }
        head.iter().for_each(|line| text += &format!("{line}\r\n"));
        text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
        stream.write_all(text.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap_or((&response, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Response { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    fn post(&self, head: &[&str], body: &str) -> Response {
        let accept = "Accept: application/json, text/event-stream";
        let mut all = vec![accept];
        if !head.iter().any(|line| line.to_lowercase().starts_with("content-type:")) {
            all.push("Content-Type: application/json");
        }
        all.extend(head);
        self.request("POST /mcp", &all, body)
    }

    pub(crate) fn bearer(&self) -> String {
        format!("Authorization: Bearer {}", self.token)
    }

    /// Calls a tool in the newest protocol.
    pub(crate) fn call(&self, bearer: &str, tool: &str, arguments: &Value) -> Value {
        let body = modern("tools/call", json!({"name": tool, "arguments": arguments}));
        let name = format!("Mcp-Name: {tool}");
        let head = [bearer, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", &name];
        let response = self.post(&head, &body);
        assert_eq!(response.status, 200, "{}", response.body);
        response.message()["result"].clone()
    }
}

impl Drop for Serve {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Response {
    /// Returns the JSON-RPC message in the body, which may be an SSE stream.
    fn message(&self) -> Value {
        let mut lines = self.body.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        let json = lines.rfind(|line| line.starts_with('{')).unwrap();
        serde_json::from_str(json).unwrap()
    }
}

fn modern(method: &str, mut params: Value) -> String {
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string()
}

#[test]
fn unauthorised_requests_are_refused() {
    let home = Home::new("guard");
    let serve = Serve::start(&home, &[]);
    let list = modern("tools/list", json!({}));
    let modern_head = ["MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"];
    let bearer = serve.bearer();
    let status = |head: &[&str]| serve.post(&[&modern_head[..], head].concat(), &list).status;
    assert_eq!(status(&[&bearer]), 200);
    let own = format!("Origin: http://{}", serve.address);
    assert_eq!(status(&[&bearer, &own]), 200);
    assert_eq!(status(&[]), 401, "no token");
    let wrong = format!("{bearer}x");
    assert_eq!(status(&[&wrong]), 401);
    assert_eq!(status(&[&bearer[..bearer.len() - 1]]), 401, "a truncated token");
    assert_eq!(status(&["Authorization: Bearer"]), 401);
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"] {
        assert_eq!(status(&[&bearer, &format!("Origin: {origin}")]), 403, "{origin}");
    }
    assert_eq!(status(&[&bearer, "Host: evil.example"]), 403);
    let plain = ["Content-Type: text/plain", "Origin: http://evil.example"];
    assert_eq!(serve.post(&plain, &list).status, 403);
    assert_eq!(serve.post(&["Content-Type: text/plain", &bearer], &list).status, 415);
    let in_query = format!("POST /mcp?token={}", serve.token);
    assert_eq!(serve.request(&in_query, &["Content-Type: application/json"], &list).status, 401);
    let preflight = ["Origin: http://evil.example", "Access-Control-Request-Method: POST"];
    let response = serve.request("OPTIONS /mcp", &preflight, "");
    assert!(
        response.status == 403 && !response.head.contains("access-control"),
        "{}",
        response.head
    );
    let upgrade = ["Connection: Upgrade", "Upgrade: websocket", "Origin: http://evil.example"];
    assert_eq!(serve.request("GET /mcp", &upgrade, "").status, 403);
    assert_eq!(serve.request("GET /etc/passwd", &[&bearer], "").status, 404);
    assert_eq!(serve.request("GET /../../etc/passwd", &[&bearer], "").status, 404);
}

#[test]
fn the_token_is_only_in_its_file() {
    let home = Home::new("token");
    let mut serve = Serve::start(&home, &[]);
    let spawn = json!({"command": "env", "rows": 200, "wait": {"exit": true}});
    let shown = serve.call(&serve.bearer(), "spawn", &spawn);
    let child = serve.child.as_mut().unwrap();
    let bytes = |name: &str| std::fs::read(format!("/proc/{}/{name}", child.id())).unwrap();
    let visible = [bytes("cmdline"), bytes("environ"), shown.to_string().into_bytes()].concat();
    child.kill().unwrap();
    let mut errors = Vec::new();
    child.stderr.take().unwrap().read_to_end(&mut errors).unwrap();
    let visible = String::from_utf8_lossy(&[visible, errors].concat()).into_owned();
    assert!(visible.contains("AWAITTY_SESSION") && visible.contains("/mcp"), "{visible}");
    assert!(!visible.contains(&serve.token), "{visible}");
}

#[test]
fn public_addresses_and_readable_token_files_are_refused() {
    let home = Home::new("beyond");
    let (status, _, errors) = home.run(&["serve", "--bind", "0.0.0.0"]);
    assert!(status == 1 && errors.contains("--i-understand"), "{errors}");
    let shared = home.dir.join("shared");
    std::fs::write(&shared, "x".repeat(40)).unwrap();
    let (status, _, errors) = home.run(&["serve", "--token-file", shared.to_str().unwrap()]);
    assert!(status == 1 && errors.contains("chmod 600"), "{errors}");
}

#[test]
fn a_read_token_allows_only_reading() {
    let home = Home::new("looking");
    let file = home.dir.join("read");
    let serve = Serve::start(&home, &["--read-token-file", file.to_str().unwrap()]);
    serve.call(&serve.bearer(), "spawn", &json!({"command": "echo hello", "wait": {"exit": true}}));
    let read = std::fs::read_to_string(file).unwrap();
    let read = format!("Authorization: Bearer {}", read.trim());
    let shown = serve.call(&read, "snapshot", &json!({}));
    assert_eq!(shown["structuredContent"]["text"], "hello");
    let refused = serve.call(&read, "spawn", &json!({"command": "cat"}));
    assert_eq!(refused["structuredContent"]["code"], "denied", "{refused}");
    // Receiving a signal consumes it, so it is not a read.
    let refused = serve.call(&read, "wait_for_channel", &json!({"channel": "c"}));
    assert_eq!(refused["structuredContent"]["code"], "denied", "{refused}");
    assert_eq!(serve.call(&read, "attend", &json!({}))["structuredContent"]["code"], "denied");
    let listed = serve.call(&read, "list_sessions", &json!({}));
    assert_eq!(listed["structuredContent"]["sessions"].as_array().unwrap().len(), 1);
}

#[test]
fn clients_of_the_older_protocol_get_a_session() {
    let home = Home::new("older");
    let serve = Serve::start(&home, &[]);
    let bearer = serve.bearer();
    let session = format!("Mcp-Session-Id: {}", initialize(&serve).1.unwrap());
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string();
    assert_eq!(serve.post(&[&bearer, &session], &ready).status, 202);
    let end = serve.request("DELETE /mcp", &[&bearer, &session], "");
    assert!(end.status < 300, "{}", end.status);
    assert_eq!(serve.post(&[&bearer, &session], &ready).status, 404);
}

#[test]
fn concurrent_requests_get_their_own_responses() {
    let home = Home::new("own");
    let serve = Serve::start(&home, &[]);
    std::thread::scope(|scope| {
        for i in 0..50 {
            let (serve, bearer) = (&serve, serve.bearer());
            scope.spawn(move || {
                for round in 0..4 {
                    let command = format!("echo {i}-{round}");
                    let spawn = json!({"command": command, "wait": {"exit": true}});
                    let shown = serve.call(&bearer, "spawn", &spawn)["structuredContent"].clone();
                    assert_eq!(shown["screen_text"], format!("{i}-{round}"));
                }
            });
        }
    });
}

/// Number of idle connections: far more than a browser or a port scanner opens.
const IDLE: u64 = 10_000;

#[test]
fn idle_connections_do_not_block_requests() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let room = limit.maximum.map_or(IDLE, |most| most.saturating_sub(200).min(IDLE));
    let home = Home::new("idle");
    let serve = Serve::start(&home, &[]);
    let wait = json!({"channel": "c", "timeout_ms": 120_000});
    std::thread::scope(|scope| {
        // This request waits during the whole test.
        let waiting = scope.spawn(|| serve.call(&serve.bearer(), "wait_for_channel", &wait));
        let mut idle = Vec::new();
        for i in 0..room {
            let mut stream = TcpStream::connect(&serve.address).unwrap();
            // Half of them send nothing, half send an incomplete request head.
            if i % 2 == 0 {
                stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ").unwrap();
            }
            idle.push(stream);
        }
        let signalled = serve.call(&serve.bearer(), "signal_channel", &json!({"channel": "c"}));
        assert_eq!(signalled["structuredContent"]["count"], 1, "{signalled}");
        assert_eq!(waiting.join().unwrap()["structuredContent"]["outcome"], "met");
    });
}

#[test]
fn a_slow_response_starts_early_with_keep_alives() {
    let home = Home::new("early");
    let serve = Serve::start(&home, &[]);
    let wait =
        json!({"name": "wait_for_channel", "arguments": {"channel": "c", "timeout_ms": 2_500}});
    let name = "Mcp-Name: wait_for_channel";
    let bearer = serve.bearer();
    let head = [&*bearer, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", name];
    let response = serve.post(&head, &modern("tools/call", wait));
    assert!(response.body.contains(": still waiting"), "{}", response.body);
    assert_eq!(response.message()["result"]["structuredContent"]["outcome"], "timeout");
}

/// Initializes a client of the older protocol. Returns the status and the session id.
fn initialize(serve: &Serve) -> (u16, Option<String>) {
    let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let body =
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}).to_string();
    let mut stream = TcpStream::connect(&serve.address).unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\n{}\r\nAccept: application/json, text/event-stream\r\n\
         Content-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        serve.address,
        serve.bearer(),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // The response is an SSE stream that may stay open.
    let lines = BufReader::new(stream).lines().map_while(Result::ok);
    let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    let status = head[0].split(' ').nth(1).unwrap().parse().unwrap();
    (status, head.iter().find_map(|line| line.strip_prefix("mcp-session-id: ").map(str::to_owned)))
}

#[test]
fn bodies_heads_and_clients_are_limited() {
    let home = Home::new("http-limits");
    let serve = Serve::start(&home, &[]);
    let bearer = serve.bearer();
    let modern_head = [&*bearer, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"];
    let long = |length: usize| {
        let body = modern("tools/list", json!({"x": ""}));
        body.replace("\"x\":\"\"", &format!("\"x\":\"{}\"", "y".repeat(length - body.len())))
    };
    assert_eq!(serve.post(&modern_head, &long(4 << 20)).status, 200);
    assert_eq!(serve.post(&modern_head, &long((4 << 20) + 1)).status, 413);
    let head = |length: usize| format!("X: {}", "y".repeat(length));
    assert_eq!(serve.request("GET /", &[&head(60_000)], "").status, 200);
    // The limit is inexact: the server checks the size after each read.
    assert_eq!(serve.request("GET /", &[&head(300_000)], "").status, 431);
    // The server keeps up to 1 000 clients of the older protocol. One that leaves makes room.
    let sessions: Vec<_> = (0..1_000).map(|_| initialize(&serve)).collect();
    assert!(sessions.iter().all(|(status, session)| *status == 200 && session.is_some()));
    assert_eq!(initialize(&serve).0, 503);
    assert_eq!(serve.call(&bearer, "list_sessions", &json!({}))["isError"], false);
    let session = format!("Mcp-Session-Id: {}", sessions[0].1.as_ref().unwrap());
    assert_eq!(serve.request("DELETE /mcp", &[&bearer, &session], "").status, 204);
    assert_eq!(initialize(&serve).0, 200);
}

#[test]
fn malformed_bodies_get_json_rpc_errors() {
    let home = Home::new("malformed");
    let serve = Serve::start(&home, &[]);
    let bearer = serve.bearer();
    let modern_head = [&*bearer, "MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/list"];
    let list = modern("tools/list", json!({}));
    let cut = &list[..list.len() - 1];
    let deep = "[".repeat(100_000);
    for (body, code) in [
        ("", -32700),
        ("{", -32700),
        ("not json", -32700),
        (cut, -32700),
        ("{} {}", -32700),
        (&deep, -32700),
        ("{}", -32600),
        ("[1, 2]", -32600),
        ("\"text\"", -32600),
    ] {
        for head in [&modern_head[..], &[&*bearer]] {
            let response = serve.post(head, body);
            let shown = &body[..body.len().min(20)];
            assert_eq!(response.status, 400, "{shown}: {}", response.body);
            assert!(response.head.contains("content-type: application/json"), "{}", response.head);
            let error: Value = serde_json::from_str(&response.body).unwrap();
            assert_eq!((&error["jsonrpc"], &error["id"]), (&json!("2.0"), &Value::Null));
            assert_eq!(error["error"]["code"], code, "{shown}");
            assert!(error["error"]["message"].as_str().unwrap().contains("send one"), "{error}");
        }
    }
    let typed = serve.post(&["Content-Type: text/plain", &bearer], "{");
    assert_eq!(typed.status, 415, "the content type is wrong");
    assert_eq!(serve.post(&[], "{").status, 401, "without a token the body is not read");
    assert_eq!(serve.post(&modern_head, &list).status, 200);
}
