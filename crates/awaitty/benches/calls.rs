//! What a call that does nothing costs over HTTP, against the same over stdio: `cargo bench --bench calls`.
//!
//! Both servers run at once and are asked in turn, so whatever the machine does meanwhile is the same for both.
#![expect(clippy::unwrap_used, reason = "a bench may say what it takes for granted")]
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a bench reads clocks and prints"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const ROUNDS: usize = 7;
const CALLS: usize = 1_000;

/// A request of the newest protocol, which needs no greeting.
fn request() -> String {
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "list_sessions", "arguments": {"tmux": false}, "_meta": meta});
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).to_string()
}

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn awaitty(args: &[&str]) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    Server(command.spawn().unwrap())
}

struct Piped {
    _server: Server,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Piped {
    fn start() -> Piped {
        let mut server = awaitty(&["mcp"]);
        let input = server.0.stdin.take().unwrap();
        let output = BufReader::new(server.0.stdout.take().unwrap());
        Piped { _server: server, input, output }
    }

    fn call(&mut self, request: &str) -> Duration {
        let start = Instant::now();
        writeln!(self.input, "{request}").unwrap();
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(line.contains("\"sessions\":[]"), "{line}");
        start.elapsed()
    }
}

struct Http {
    _server: Server,
    stream: BufReader<TcpStream>,
    head: String,
}

impl Http {
    fn start() -> Http {
        let token = std::env::temp_dir().join(format!("awaitty-bench-{}", std::process::id()));
        let mut server = awaitty(&["serve", "--json", "--token-file", token.to_str().unwrap()]);
        let mut line = String::new();
        BufReader::new(server.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        let address = told["url"].as_str().unwrap().strip_prefix("http://").unwrap().to_owned();
        let bearer = std::fs::read_to_string(&token).unwrap();
        std::fs::remove_file(&token).unwrap();
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
             Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n\
             MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: list_sessions\r\n",
            bearer.trim()
        );
        Http { _server: server, stream: BufReader::new(stream), head }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).unwrap();
        line.trim_end().to_lowercase()
    }

    fn call(&mut self, request: &str) -> Duration {
        let start = Instant::now();
        let whole = format!("{}Content-Length: {}\r\n\r\n{request}", self.head, request.len());
        self.stream.get_mut().write_all(whole.as_bytes()).unwrap();
        assert!(self.line().contains(" 200 "));
        let mut length = None;
        loop {
            let line = self.line();
            if let Some(given) = line.strip_prefix("content-length: ") {
                length = given.parse::<usize>().ok();
            }
            if line.is_empty() {
                break;
            }
        }
        let mut body = Vec::new();
        match length {
            Some(length) => {
                body.resize(length, 0);
                self.stream.read_exact(&mut body).unwrap();
            }
            None => loop {
                let length = usize::from_str_radix(&self.line(), 16).unwrap();
                let mut chunk = vec![0; length + 2];
                self.stream.read_exact(&mut chunk).unwrap();
                if length == 0 {
                    break;
                }
                body.extend(&chunk[..length]);
            },
        }
        let took = start.elapsed();
        assert!(String::from_utf8_lossy(&body).contains("\"sessions\":[]"));
        took
    }
}

fn at(times: &mut [Duration], part: f64) -> f64 {
    times.sort_unstable();
    times[(part * (times.len() - 1) as f64) as usize].as_secs_f64() * 1e6
}

fn main() {
    let request = request();
    let (mut stdio, mut http) = (Piped::start(), Http::start());
    let mut ratios = Vec::new();
    println!("round   stdio p50   p99      HTTP p50   p99   µs; ratio of p50");
    for round in 0..=ROUNDS {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        for _ in 0..CALLS {
            one.push(stdio.call(&request));
            other.push(http.call(&request));
        }
        // The first is to warm up.
        if round == 0 {
            continue;
        }
        let (a, b) = (at(&mut one, 0.5), at(&mut other, 0.5));
        let ratio = b / a;
        println!(
            "{round:>5} {a:>11.0} {:>5.0} {b:>13.0} {:>5.0} {ratio:>10.2}",
            at(&mut one, 0.99),
            at(&mut other, 0.99)
        );
        ratios.push(ratio);
    }
    ratios.sort_by(f64::total_cmp);
    println!(
        "HTTP against stdio, p50: best {:.2}, median {:.2}, worst {:.2} (goal: at most 4)",
        ratios[0],
        ratios[ROUNDS / 2],
        ratios[ROUNDS - 1]
    );
}
