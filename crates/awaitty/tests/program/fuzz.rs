//! Fuzzes the MCP server with malformed messages. It must continue, answer each request once and report what is wrong.
//!
//! A file in `tests/fuzz/mcp` is a conversation: the lines that a client sends after the handshake. Each conversation
//! gets a new server, whose PATH has only `cat` and `true` and which may write only into the directory of the test.

#[path = "../../../core/tests/fuzz/engine.rs"]
mod engine;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::client::Home;
use engine::Rng;

/// Number of conversations in a default run, which takes about 10 s.
const CASES: usize = 150;

/// The most lines in a conversation.
const LINES_MAX: usize = 24;

/// After this much silence the server has failed and the case is saved. No response takes nearly as long.
const RESPONSE_MAX: Duration = Duration::from_secs(20);

/// The id of the last request.
const LAST: &str = "the last";

/// Levels of nesting, which exceed the limit of the JSON parser.
const DEEP: usize = 200;

/// Byte strings that random changes would rarely produce.
const TOKENS: &[&[u8]] = &[
    b"\n",
    b"\r\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n",
    b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n",
    b"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]\n",
    b"\"id\":1,",
    b"\"method\":",
    b"\"arguments\":{",
    b"null",
    b"1e999",
    b"-0",
    b"\\ud800",
    b"\\u0000",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"}}",
    b"\xef\xbb\xbf",
    b"\xff\xfe",
];

/// Returns values for an argument, both valid and invalid ones.
fn words(tool: &str, name: &str) -> &'static [&'static str] {
    match (tool, name) {
        // No other program may be started.
        ("spawn", "command") => &["cat", "true"],
        (_, "session_id") => &["s1", "s1", "s1", "s2", "one", "nope", "", "tmux:%1", "tmux:a/b"],
        (_, "pattern" | "text") => {
            &["a", ".", "^$", "(", "[", "x{99999}", "(a|b)*c", "\\p{Greek}", "(?i)A", "", "\n"]
        }
        (_, "flags") => &["", "i", "imsxU", "q", "世"],
        (_, "path") => &["a.txt", "b.html", "c.cast", "../x", "", "no/such/directory", "nul\0"],
        (_, "format") => &["text", "annotated", "styled", "png", "svg", "txt", "html", "nope"],
        (_, "channel") => &["c", "d", "", "tmux:c", "tmux:a:b", "a b", "/"],
        (_, "since") => &["input", "now", "screen", "nope"],
        (_, "signal") => &["HUP", "KILL", "INT", "SIGHUP", "nope", ""],
        (_, "name") => &["one", "two", "s1", "", "a/b", "世"],
        (_, "cwd") => &[".", "/", "", "nope"],
        (_, "mode") => &["any", "all", "nope"],
        (_, "secret") => &["AWAITTY_SECRET_X", "HOME", ""],
        _ => &["", "x\n", "\x1b[31m", "世界", "a\0b", "enter", "ctrl+c"],
    }
}

/// A tool of the tool list.
struct Tool {
    name: String,
    properties: Map<String, Value>,
}

fn tools() -> Vec<Tool> {
    let listed = fs::read(directory("texts").join("tools.json")).unwrap();
    let listed: Vec<Value> = serde_json::from_slice(&listed).unwrap();
    let tool = |tool: &Value| Tool {
        name: tool["name"].as_str().unwrap().to_owned(),
        properties: tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default(),
    };
    listed.iter().map(tool).collect()
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)
}

/// Returns a value of the type that a schema requires. It may be out of range.
fn value(rng: &mut Rng, tool: &str, name: &str, schema: &Value) -> Value {
    if let Some(any) = schema["anyOf"].as_array() {
        let one = rng.pick(any);
        return value(rng, tool, name, one);
    }
    match schema["type"].as_str().unwrap_or_default() {
        "integer" if name.ends_with("_ms") && rng.below(4) > 0 => json!(rng.below(30)),
        "integer" | "number" => number(rng),
        "boolean" => json!(rng.below(2) == 0),
        "array" => {
            let count = rng.below(4);
            (0..count).map(|_| value(rng, tool, name, &schema["items"])).collect()
        }
        "object" => match schema["properties"].as_object() {
            Some(properties) => object(rng, tool, properties),
            None => wait(rng, tool),
        },
        _ => json!(rng.pick(words(tool, name))),
    }
}

fn number(rng: &mut Rng) -> Value {
    let numbers = [
        json!(0),
        json!(1),
        json!(2),
        json!(5),
        json!(80),
        json!(500),
        json!(1001),
        json!(-1),
        json!(i64::MIN),
        json!(1u64 << 31),
        json!(1u64 << 53),
        json!(u64::MAX),
        json!(1.5),
        json!(3.0),
        json!(1e300),
    ];
    rng.pick(&numbers).clone()
}

/// Returns an item of a list of waits or keys, whose schema says only that it is an object.
fn wait(rng: &mut Rng, tool: &str) -> Value {
    let names =
        ["text", "settled", "change", "exit", "channel", "ready", "command", "session_id", "since"];
    let mut made = Map::new();
    for _ in 0..=rng.below(2) {
        let name = *rng.pick(&names);
        let kinds =
            [json!({"type": "integer"}), json!({"type": "boolean"}), json!({"type": "string"})];
        let kind = match name {
            "text" | "channel" | "session_id" => &kinds[2],
            "exit" | "ready" => &kinds[1],
            _ => rng.pick(&kinds),
        };
        made.insert(name.to_owned(), value(rng, tool, name, kind));
    }
    if rng.below(6) == 0 {
        let mouse =
            json!({"row": number(rng), "col": number(rng), "button": "left", "action": "click"});
        return json!({ "mouse": mouse });
    }
    Value::Object(made)
}

/// Returns an object with some of the properties, and sometimes an unknown one.
fn object(rng: &mut Rng, tool: &str, properties: &Map<String, Value>) -> Value {
    let mut made = Map::new();
    for (name, schema) in properties {
        let is_needed =
            ["command", "pattern", "channel", "cols", "rows", "waits"].contains(&name.as_str());
        if rng.below(if is_needed { 10 } else { 3 }) > usize::from(!is_needed) {
            made.insert(name.clone(), value(rng, tool, name, schema));
        }
    }
    if rng.below(12) == 0 {
        made.insert("nope".to_owned(), json!(1));
    }
    Value::Object(made)
}

/// Returns a valid request or notification.
fn request(rng: &mut Rng, tools: &[Tool], id: usize) -> Value {
    let uris = ["screen://s1", "output://s1", "screen://nope", "nope", ""];
    let uri = *rng.pick(&uris);
    let (method, params) = match rng.below(20) {
        0 => ("tools/list", json!({"cursor": "x"})),
        1 => ("resources/list", json!({})),
        2 => ("resources/read", json!({ "uri": uri })),
        3 => ("resources/subscribe", json!({ "uri": uri })),
        4 => ("resources/unsubscribe", json!({ "uri": uri })),
        5 => ("prompts/get", json!({"name": "run_and_watch", "arguments": {"command": "x"}})),
        6 => {
            let about = json!({"type": "ref/resource", "uri": "screen://{session_id}"});
            let argument = json!({"name": "session_id", "value": "s"});
            ("completion/complete", json!({"ref": about, "argument": argument}))
        }
        7 => (*rng.pick(&["ping", "nope", "", "logging/setLevel", "prompts/list"]), json!({})),
        8 => ("notifications/cancelled", json!({"requestId": rng.below(id + 1)})),
        _ => {
            let tool = rng.pick(tools);
            let arguments = object(rng, &tool.name, &tool.properties);
            ("tools/call", json!({"name": tool.name, "arguments": arguments}))
        }
    };
    let mut made = json!({"jsonrpc": "2.0", "method": method, "params": params});
    if !method.starts_with("notifications/") {
        made["id"] = match rng.below(12) {
            0 => json!(format!("id {id}")),
            1 => json!(rng.below(id + 1)),
            _ => json!(id),
        };
    }
    made
}

/// Breaks a value at a random place.
fn break_value(rng: &mut Rng, value: &mut Value) {
    let goes_deeper = rng.below(4) > 0;
    match value {
        Value::Object(all) if goes_deeper && !all.is_empty() => {
            let names: Vec<String> = all.keys().cloned().collect();
            let name = rng.pick(&names);
            match rng.below(8) {
                0 => drop(all.remove(name)),
                1 => {
                    let moved = all.remove(name).unwrap_or_default();
                    all.insert(format!("{name}x"), moved);
                }
                _ => break_value(rng, &mut all[name]),
            }
        }
        Value::Array(all) if goes_deeper && !all.is_empty() => {
            let at = rng.below(all.len());
            break_value(rng, &mut all[at]);
        }
        other => *other = junk(rng),
    }
}

fn junk(rng: &mut Rng) -> Value {
    match rng.below(8) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!("\u{0}\u{7f}\u{fffd}世".repeat(1 + rng.below(50))),
        3 => json!([]),
        4 => json!({}),
        5 => (0..DEEP).fold(json!(1), |inner, _| json!([inner])),
        6 => (0..DEEP).fold(json!(1), |inner, _| json!({ "a": inner })),
        _ => number(rng),
    }
}

fn conversation(rng: &mut Rng, tools: &[Tool], seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut lines = Vec::new();
    if rng.below(4) > 0 {
        let call = json!({"name": "spawn", "arguments": {"command": "cat", "record": true, "name": "one"}});
        let spawn = json!({"jsonrpc": "2.0", "id": 0, "method": "tools/call", "params": call});
        lines.extend(format!("{spawn}\n").into_bytes());
    }
    for id in 1..=1 + rng.below(LINES_MAX) {
        let mut line = request(rng, tools, id);
        match rng.below(10) {
            0 => lines.extend(engine::mutate(rng, seeds, TOKENS)),
            1 => {
                let whole = vec![line.to_string().into_bytes()];
                lines.extend(engine::mutate(rng, &whole, TOKENS));
            }
            2..=4 => {
                break_value(rng, &mut line);
                lines.extend(line.to_string().into_bytes());
            }
            _ => lines.extend(line.to_string().into_bytes()),
        }
        lines.push(b'\n');
    }
    lines
}

/// Returns the least and the largest number of responses for each id. Only a valid request requires a response.
fn expected(case: &[u8]) -> BTreeMap<String, (usize, usize)> {
    /// A valid request. A duplicate field is an error.
    #[derive(Deserialize)]
    struct Request {
        jsonrpc: String,
        id: Value,
        method: String,
        #[serde(default)]
        params: Map<String, Value>,
    }
    let mut expected: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut cancelled = BTreeSet::new();
    for line in case.split(|&byte| byte == b'\n') {
        let text = String::from_utf8_lossy(line);
        let loose: Value =
            serde_json::from_str(text.trim_start_matches('\u{feff}')).unwrap_or_default();
        let ids = loose.get("id").filter(|id| !id.is_null());
        if let Some(id) = ids {
            expected.entry(key(id)).or_default().1 += 1;
        }
        if loose["method"] == "notifications/cancelled" {
            cancelled.insert(key(&loose["params"]["requestId"]));
        }
        // Invalid UTF-8 is not JSON, even in fields that are ignored.
        let strict =
            std::str::from_utf8(line).ok().and_then(|line| serde_json::from_str(line).ok());
        let Some(Request { jsonrpc, id, method, params }) = strict else { continue };
        let is_usable = id.is_string() || id.as_u64().is_some_and(|id| id < 1 << 31);
        // A subscription is answered when it ends, and a call with a progress token may last long.
        let is_short = method != "subscriptions/listen" && !params.contains_key("_meta");
        if jsonrpc == "2.0" && is_usable && is_short {
            // rmcp answers one of two concurrent requests with the same id, which the protocol forbids.
            expected.entry(key(&id)).or_default().0 = 1;
        }
    }
    for id in cancelled {
        expected.entry(id).or_default().0 = 0;
    }
    expected
}

/// Returns the command of a server that can do no damage.
fn server(home: &Home) -> Command {
    let mut command = home.command();
    command.args(["mcp", "--call-limit-ms", "30", "--write-dir"]).arg(home.dir.join("work"));
    command.env("PATH", home.dir.join("bin")).current_dir(home.dir.join("work"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.stderr(File::create(home.dir.join("stderr")).unwrap());
    command
}

/// Reads lines in a thread until EOF.
fn lines(output: impl std::io::Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(output).lines() {
            let _ = sender.send(line.unwrap_or_else(|error| error.to_string()));
        }
    });
    receiver
}

fn check(home: &Home, case: &[u8]) {
    let mut child = KillOnDrop(server(home).spawn().unwrap());
    let mut input = child.0.stdin.take().unwrap();
    let output = lines(child.0.stdout.take().unwrap());
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}});
    let hello =
        json!({"jsonrpc": "2.0", "id": "the first", "method": "initialize", "params": hello});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let last = json!({"jsonrpc": "2.0", "id": LAST, "method": "tools/call", "params": {"name": "list_sessions"}});
    writeln!(input, "{hello}\n{initialized}").unwrap();
    // A write to a server that died fails; the missing responses below report that.
    let _ = input.write_all(case).and_then(|()| writeln!(input, "\n{last}"));
    let expected = expected(case);
    let mut answered: BTreeMap<String, usize> = BTreeMap::new();
    let is_complete = |answered: &BTreeMap<String, usize>| {
        let count = |id: &str| answered.get(id).copied().unwrap_or_default();
        count(&json!(LAST).to_string()) > 0
            && expected.iter().all(|(id, (least, _))| count(id) >= *least)
    };
    while !is_complete(&answered) {
        let Ok(line) = output.recv_timeout(RESPONSE_MAX) else {
            panic!("missing responses: got {answered:?} of {expected:?}; {}", errors(home));
        };
        if let Some(id) = check_message(&line) {
            *answered.entry(id).or_default() += 1;
        }
    }
    drop(input);
    // Responses may follow until the server exits.
    while let Ok(line) = output.recv_timeout(RESPONSE_MAX) {
        if let Some(id) = check_message(&line) {
            *answered.entry(id).or_default() += 1;
        }
    }
    assert!(child.0.wait().unwrap().success(), "{}", errors(home));
    for (id, count) in &answered {
        let most = expected.get(id).map_or(0, |(_, most)| *most);
        let is_ours = ["\"the first\"", "\"the last\""].contains(&id.as_str());
        assert!(*count <= most + usize::from(is_ours), "{id} was answered {count} times");
    }
    assert!(!errors(home).contains("panicked"), "{}", errors(home));
}

/// A server that is killed on drop.
struct KillOnDrop(std::process::Child);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn errors(home: &Home) -> String {
    fs::read_to_string(home.dir.join("stderr")).unwrap_or_default()
}

/// Checks that a message is valid and that an error has a code. Returns the id of a response.
fn check_message(line: &str) -> Option<String> {
    let message: Value =
        serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    assert_eq!(message["jsonrpc"], "2.0", "{line}");
    if message["method"].is_string() {
        return None;
    }
    let (result, error) = (&message["result"], &message["error"]);
    assert!(result.is_object() != error.is_object(), "{line}");
    assert!(error.is_null() || error["code"].is_i64() && error["message"].is_string(), "{line}");
    if result["isError"] == true {
        let code = result["structuredContent"]["code"].as_str();
        assert!(code.is_some_and(|code| code != "internal"), "{line}");
    }
    message.get("id").filter(|id| !id.is_null()).map(key)
}

/// Returns an id in the form in which ids are compared: 3.0 equals 3.
fn key(id: &Value) -> String {
    match id.as_f64().filter(|float| id.is_f64() && float.fract() == 0.0 && float.abs() < 9e15) {
        Some(whole) => format!("{whole:.0}"),
        None => id.to_string(),
    }
}

#[test]
fn malformed_messages_do_not_stop_the_server() {
    let home = Home::new("fuzz");
    for name in ["bin", "work"] {
        fs::create_dir_all(home.dir.join(name)).unwrap();
    }
    for program in ["cat", "true"] {
        let found = Path::new("/bin").join(program);
        std::os::unix::fs::symlink(found, home.dir.join("bin").join(program)).unwrap();
    }
    let kept = directory("fuzz/mcp");
    let seeds: Vec<Vec<u8>> =
        engine::stored_cases(&kept).into_iter().map(|(_, case)| case).collect();
    let tools = tools();
    engine::fuzz(&kept, CASES, |rng| conversation(rng, &tools, &seeds), |case| check(&home, case));
}
