//! The HTTP API behind the live page: its events, tickets, control by a person, limits and policy.

use std::io::{BufRead, BufReader, Lines, Write};
use std::net::TcpStream;
use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::client::{Home, Server};
use crate::http::Serve;

const VIEWER: &str = "0123456789abcdef0123456789abcdef";
const OTHER: &str = "fedcba9876543210fedcba9876543210";

/// The event stream of an open page.
struct Page {
    lines: Lines<BufReader<TcpStream>>,
}

impl Page {
    fn open(serve: &Serve, bearer: &str, viewer: &str, big: &str) -> Page {
        let mut stream = TcpStream::connect(&serve.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let place = format!("/api/live?viewer={viewer}&big={big}");
        let head = format!("GET {place} HTTP/1.1\r\nHost: {}\r\n{bearer}\r\n\r\n", serve.address);
        stream.write_all(head.as_bytes()).unwrap();
        Page { lines: BufReader::new(stream).lines() }
    }

    /// Reads events until one satisfies `holds`, and returns it. The chunk lengths between the lines are no objects.
    fn until(&mut self, mut holds: impl FnMut(&Value) -> bool) -> Value {
        let lines = self.lines.by_ref().map_while(Result::ok);
        let mut events = lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok());
        events.find(|event| event.is_object() && holds(event)).expect("the stream is open")
    }

    fn hello(&mut self) -> Value {
        self.until(|event| event["type"] == "hello")
    }

    /// Waits for a paint event that contains `text`.
    fn painted(&mut self, text: &str) -> Value {
        self.until(|event| {
            event["type"] == "paint"
                && event["data"].as_str().is_some_and(|data| data.contains(text))
        })
    }

    fn sessions(&mut self, mut holds: impl FnMut(&Value) -> bool) -> Value {
        self.until(|event| event["type"] == "sessions" && holds(&event["sessions"][0]))
    }
}

fn post(serve: &Serve, bearer: &str, place: &str, body: &Value) -> (u16, Value) {
    let head = [bearer, "Content-Type: application/json"];
    let response = serve.request(&format!("POST /api/{place}"), &head, &body.to_string());
    (response.status, serde_json::from_str(&response.body).unwrap_or(Value::Null))
}

fn control(serve: &Serve, viewer: &str, take: bool) -> (u16, Value) {
    let body = json!({"viewer": viewer, "session_id": "s1", "take": take});
    post(serve, &serve.bearer(), "control", &body)
}

fn typed(serve: &Serve, viewer: &str, data: &str) -> (u16, Value) {
    let body = json!({"viewer": viewer, "session_id": "s1", "data": data});
    post(serve, &serve.bearer(), "input", &body)
}

fn spawn(serve: &Serve, command: &str) {
    let spawn = json!({"command": command, "cols": 60, "rows": 10, "wait": {"ready": true}});
    serve.call(&serve.bearer(), "spawn", &spawn);
}

fn hmac(key: &str, text: &str) -> String {
    let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Computes the ticket for a token as the page does. Returns `None` if the server does not prove that it has the token.
fn ticket(serve: &Serve, token: &str) -> Option<String> {
    let response = serve.request(&format!("GET /api/hello?nonce={VIEWER}"), &[], "");
    let hello: Value = serde_json::from_str(&response.body).unwrap();
    let run = hello["run"].as_str().unwrap();
    let key = hmac(token, &format!("awaitty page key\n{run}\n{}", serve.address));
    let proof = json!(hmac(&key, &format!("awaitty page proof\n{VIEWER}")));
    let is_proven = hello["proofs"].as_array().unwrap().contains(&proof);
    is_proven.then(|| hmac(&key, "awaitty page ticket"))
}

fn page_token(serve: &Serve) -> &str {
    serve.login.split("/#").nth(1).unwrap().split('"').next().unwrap()
}

#[test]
fn tickets_and_login_files_are_valid_for_one_run() {
    let home = Home::new("run");
    let first = Serve::start(&home, &[]);
    // The viewer name is invalid: the server answers 400 if it accepts the bearer token, and 401 otherwise.
    let status = |serve: &Serve, bearer: &str, host: &str| {
        let head = [&*format!("Authorization: Bearer {bearer}"), &*format!("Host: {host}")];
        serve.request("GET /api/live?viewer=x", &head, "").status
    };
    let mcp = |bearer: &str| {
        let head = [&*format!("Authorization: Bearer {bearer}"), "Content-Type: application/json"];
        first.request("POST /mcp", &head, "{").status
    };
    assert!(!first.login.contains(&first.token), "the login file has no persistent token");
    let old_page_token = page_token(&first);
    let tickets = [old_page_token, &first.token].map(|token| ticket(&first, token).unwrap());
    let port = first.address.split(':').nth(1).unwrap();
    for ticket in &tickets {
        assert_eq!(status(&first, ticket, &first.address), 400);
        assert_eq!(status(&first, ticket, &format!("localhost:{port}")), 401, "another address");
        assert_eq!(mcp(ticket), 401, "a ticket is for the page only");
    }
    assert_eq!(status(&first, old_page_token, &first.address), 401, "only its ticket is valid");
    assert_eq!((mcp(old_page_token), mcp(&first.token)), (401, 400));
    // Kills the server and starts another one at the same port.
    let (address, login) = (first.address.clone(), first.login.clone());
    let (port, old_page_token) = (port.to_owned(), old_page_token.to_owned());
    drop(first);
    let second = Serve::start(&home, &["--port", &port]);
    assert_eq!(second.address, address);
    for old in tickets.iter().chain([&old_page_token]) {
        assert_eq!(status(&second, old, &address), 401);
    }
    assert_eq!(ticket(&second, &old_page_token), None);
    assert!(second.login != login && ticket(&second, page_token(&second)).is_some());
    assert!(ticket(&second, &second.token).is_some(), "the file keeps its token");
}

#[test]
fn proof_requests_check_nonce_host_and_origin() {
    let home = Home::new("hello");
    let serve = Serve::start(&home, &[]);
    let hello = |count: usize, head: &[&str]| {
        let place = format!("GET /api/hello?nonce={}", "a".repeat(count));
        serve.request(&place, head, "").status
    };
    let statuses = [31, 32, 128, 129].map(|count| hello(count, &[]));
    assert_eq!(statuses, [400, 200, 200, 400]);
    assert_eq!(serve.request("GET /api/hello", &[], "").status, 400);
    assert_eq!(hello(32, &["Host: evil.example"]), 403);
    assert_eq!(hello(32, &["Origin: null"]), 403);
}

#[test]
fn a_person_takes_control_and_gives_it_back() {
    let home = Home::new("control");
    let serve = Serve::start(&home, &[]);
    let bearer = serve.bearer();
    spawn(&serve, "bash --norc");
    assert_eq!(control(&serve, VIEWER, true).0, 400, "no page has this viewer name");
    let mut page = Page::open(&serve, &bearer, VIEWER, "s1");
    assert_eq!(page.hello()["can_control"], true);
    assert_eq!(typed(&serve, VIEWER, "x").1["code"], "not_in_control");
    let size = json!({"viewer": VIEWER, "session_id": "s1", "cols": 100, "rows": 20});
    assert_eq!(post(&serve, &bearer, "resize", &size).0, 409);
    let (_, taken) = control(&serve, VIEWER, true);
    page.sessions(|session| session["control"]["viewer"] == VIEWER);

    // An agent cannot type, resize or close. The error names the channel to wait for. Its waits continue.
    for (tool, arguments) in [
        ("send_input", json!({"input": "echo agent\n"})),
        ("run_command", json!({"command": "echo agent"})),
        ("resize_session", json!({"cols": 80, "rows": 24})),
        ("close_session", json!({})),
    ] {
        let refused = serve.call(&bearer, tool, &arguments)["structuredContent"].clone();
        let message = refused["message"].as_str().unwrap();
        assert!(
            refused["code"] == "denied" && message.starts_with("human_has_control"),
            "{tool}: {refused}"
        );
        assert!(message.contains("control:s1"), "{message}");
    }
    let wait = json!({"pattern": "by-hand-\\d+", "since": "now", "timeout_ms": 60_000});
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| serve.call(&bearer, "wait_for_text", &wait));
        page.sessions(|session| session["waits"][0]["tool"] == "wait_for_text");
        assert_eq!(typed(&serve, VIEWER, "echo by-hand-$((6*7))\r").0, 200);
        let found = waiting.join().unwrap()["structuredContent"].clone();
        assert_eq!(found["match"]["text"], "by-hand-42");
        assert_eq!(found["human_has_control"], true);
    });
    page.painted("by-hand-42");
    assert_eq!(post(&serve, &bearer, "resize", &size).0, 200);
    page.until(|event| event["type"] == "paint" && event["cols"] == 100);

    // The person gives control back twice. The next input of an agent reports one range that covers both times.
    assert_eq!(control(&serve, VIEWER, false).0, 200);
    assert_eq!(control(&serve, VIEWER, true).0, 200);
    let denied =
        serve.call(&bearer, "send_input", &json!({"input": "x"}))["structuredContent"].clone();
    assert!(denied["message"].as_str().unwrap().contains("\"since\": 1"), "{denied}");
    let (status, had) = control(&serve, VIEWER, false);
    assert_eq!((status, &had["from_seq"]), (200, &taken["seq"]));
    let back =
        serve.call(&bearer, "wait_for_channel", &json!({"channel": "control:s1", "since": 1}));
    assert_eq!(back["structuredContent"]["outcome"], "met");
    let sent = serve.call(&bearer, "send_input", &json!({"input": "echo first\n"}));
    let range = json!({"from": had["from_seq"], "to": had["to_seq"]});
    assert_eq!(sent["structuredContent"]["human_had_control"], range);
    let sent = serve.call(&bearer, "send_input", &json!({"input": "echo second\n"}));
    assert_eq!(sent["structuredContent"]["human_had_control"], Value::Null);
    page.painted("second");
}

#[test]
fn control_belongs_to_the_last_taker_until_its_page_closes() {
    let home = Home::new("lease");
    let serve = Serve::start(&home, &[]);
    let bearer = serve.bearer();
    spawn(&serve, "cat");
    let mut page = Page::open(&serve, &bearer, VIEWER, "s1");
    let mut other = Page::open(&serve, &bearer, OTHER, "s1");
    page.hello();
    other.hello();
    assert_eq!(control(&serve, VIEWER, true).0, 200);
    assert_eq!(control(&serve, OTHER, true).0, 200);
    // The stream does not reveal the name of another viewer.
    page.sessions(|session| session["control"]["viewer"] == "");
    assert_eq!(typed(&serve, VIEWER, "mine\r").1["code"], "not_in_control");
    assert_eq!(control(&serve, VIEWER, false).1["code"], "not_in_control");
    assert_eq!(typed(&serve, OTHER, "theirs\r").0, 200);
    page.painted("theirs");
    // A page that disconnects and does not return loses control.
    drop(other);
    let back = serve.call(
        &bearer,
        "wait_for_channel",
        &json!({"channel": "control:s1", "timeout_ms": 60_000}),
    );
    assert_eq!(back["structuredContent"]["outcome"], "met");
    let sent = serve.call(&bearer, "send_input", &json!({"input": "agent\n"}));
    assert_eq!(sent["structuredContent"]["sent_bytes"], 6, "{sent}");
}

#[test]
fn only_the_static_page_needs_no_token() {
    let home = Home::new("files");
    let read_file = home.dir.join("read");
    let serve = Serve::start(&home, &["--read-token-file", read_file.to_str().unwrap()]);
    spawn(&serve, "cat");
    let page = serve.request("GET /", &[], "");
    assert_eq!(page.status, 200);
    let nonce =
        page.body.split("name=\"nonce\" content=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(nonce.len() >= 32 && page.head.contains(&format!("'nonce-{nonce}'")), "{}", page.head);
    assert!(page.head.contains("script-src 'self';"), "{}", page.head);
    for file in ["/page.js", "/page.css", "/vendor/xterm.mjs", "/vendor/xterm.css", "/icon.svg"] {
        let response = serve.request(&format!("GET {file}"), &[], "");
        assert!(
            response.status == 200 && response.head.contains("nosniff"),
            "{file}: {}",
            response.head
        );
    }
    assert_eq!(serve.request("GET /vendor/../page.rs", &[], "").status, 404);
    assert_eq!(serve.request("GET /", &["Host: evil.example"], "").status, 403);
    let live = format!("GET /api/live?viewer={VIEWER}");
    assert_eq!(serve.request(&live, &[], "").status, 401);
    let with_token = format!("{live}&token={}", serve.token);
    assert_eq!(serve.request(&with_token, &[], "").status, 401);
    assert_eq!(serve.request(&live, &[&serve.bearer(), "Origin: null"], "").status, 403);
    for bad in ["x".repeat(15), "x".repeat(65), format!("{}%20", "x".repeat(20))] {
        let live = format!("GET /api/live?viewer={bad}");
        assert_eq!(serve.request(&live, &[&serve.bearer()], "").status, 400, "{bad}");
    }
    for good in ["x".repeat(16), "x".repeat(64)] {
        Page::open(&serve, &serve.bearer(), &good, "s1").hello();
    }
    for place in ["control", "input", "resize"] {
        let body = json!({"viewer": VIEWER, "session_id": "s1", "take": true, "data": "x", "cols": 1, "rows": 1});
        assert_eq!(post(&serve, "X: y", place, &body).0, 401, "{place}");
        let evil = [&*serve.bearer(), "Content-Type: text/plain", "Origin: http://evil.example"];
        assert_eq!(
            serve.request(&format!("POST /api/{place}"), &evil, &body.to_string()).status,
            403
        );
        // A read token does not allow actions.
        let read = std::fs::read_to_string(&read_file).unwrap();
        let read = format!("Authorization: Bearer {}", read.trim());
        assert_eq!(post(&serve, &read, place, &body).0, 403, "{place}");
        let mut page = Page::open(&serve, &read, VIEWER, "s1");
        assert_eq!(page.hello()["can_control"], false);
        assert_eq!(post(&serve, &serve.bearer(), place, &json!({"viewer": VIEWER})).0, 400);
        let unknown = json!({"viewer": VIEWER, "session_id": "s9", "take": true, "data": "x", "cols": 1, "rows": 1});
        assert_eq!(post(&serve, &serve.bearer(), place, &unknown).0, 404);
    }
    // The size of a body is limited.
    let long =
        |count: usize| json!({"viewer": VIEWER, "session_id": "s1", "data": "x".repeat(count)});
    let overhead = long(0).to_string().len();
    let input = |count: usize| post(&serve, &serve.bearer(), "input", &long(count - overhead)).0;
    assert_eq!((input(1 << 20), input((1 << 20) + 1)), (409, 413));
}

#[test]
fn slow_viewers_do_not_slow_the_session() {
    let home = Home::new("slow");
    let serve = Serve::start(&home, &[]);
    spawn(&serve, "bash --norc");
    let mut page = Page::open(&serve, &serve.bearer(), VIEWER, "s1");
    page.hello();
    // The test does not read the stream meanwhile. The output exceeds all buffers between the server and the test.
    let flood = json!({"command": "for i in 1 2 3; do seq 1000000 1400000; done; echo all-$((40+2))", "max_chars": 1000, "timeout_ms": 120_000});
    let ran = serve.call(&serve.bearer(), "run_command", &flood)["structuredContent"].clone();
    assert_eq!((&ran["outcome"], &ran["exit_code"]), (&json!("met"), &json!(0)), "{ran}");
    // The page then gets the current screen, not all screens in between.
    let mut paints = 0;
    page.until(|event| {
        paints += u32::from(event["type"] == "paint");
        event["data"].as_str().is_some_and(|data| data.contains("all-42"))
    });
    assert!(paints < 1_000, "{paints} paints");
}

#[test]
fn mcp_web_serves_the_page() {
    let home = Home::new("web");
    let token_file = home.dir.join("token");
    let mut command = home.command();
    command.args(["mcp", "--web", "--port", "0", "--token-file"]).arg(&token_file);
    command.stderr(std::process::Stdio::piped());
    let mut agent = Server::start(&mut command);
    let mut log = BufReader::new(agent.stderr()).lines().map_while(Result::ok);
    let line = log.find(|line| line.contains("the page is at")).unwrap();
    let address = line.split("http://").nth(1).unwrap().split(": ").next().unwrap().to_owned();
    let login_file = line.split("file://").nth(1).unwrap().split(' ').next().unwrap().to_owned();
    let token = std::fs::read_to_string(&token_file).unwrap().trim().to_owned();
    assert!(!line.contains(&token));
    // The login file links to the page, only its owner can read it, and it is deleted when the server exits.
    use std::os::unix::fs::PermissionsExt;
    assert_eq!(std::fs::metadata(&login_file).unwrap().permissions().mode() & 0o777, 0o600);
    let login = std::fs::read_to_string(&login_file).unwrap();
    assert!(login.contains(&format!("\"http://{address}/#")) && !login.contains(&token));
    agent.call("spawn", json!({"command": "bash -c 'echo seen; cat'"}));
    let serve = Serve::at(address, token);
    let mut page = Page::open(&serve, &serve.bearer(), VIEWER, "s1");
    page.painted("seen");
    agent.end();
    assert!(!std::path::Path::new(&login_file).exists());
}

#[test]
fn only_the_newest_commands_are_sent() {
    let home = Home::new("timeline");
    let serve = Serve::start(&home, &[]);
    spawn(&serve, "bash --norc");
    for i in 0..202 {
        let run = json!({"command": format!("(exit {})", i % 3)});
        serve.call(&serve.bearer(), "run_command", &run);
    }
    let mut page = Page::open(&serve, &serve.bearer(), VIEWER, "s1");
    let event = page.until(|event| event["type"] == "commands");
    let commands = event["commands"].as_array().unwrap();
    assert_eq!(commands.len(), 200);
    assert_eq!(
        (&commands[0]["command"], &commands[0]["exit_code"]),
        (&json!("(exit 2)"), &json!(2))
    );
    assert_eq!(
        (&commands[199]["exit_code"], &commands[199]["running"]),
        (&json!(0), &json!(false))
    );
}

#[test]
fn taking_control_discards_queued_agent_input() {
    let home = Home::new("instant");
    let serve = Serve::start(&home, &[]);
    // The program reads nothing until the test writes to the FIFO, and then reads until the person's input arrives.
    let go = home.dir.join("go");
    assert!(std::process::Command::new("mkfifo").arg(&go).status().unwrap().success());
    let script = "import os,sys,tty\ntty.setraw(0)\nprint('UP',flush=True)\nopen(sys.argv[1]).read()\nall=b''\n\
        while b'HUMAN' not in all: all+=os.read(0,65536)\n\
        print('came',len(all),all.rfind(b'x')<all.find(b'HUMAN'),flush=True)\nos.read(0,1)";
    let wait = json!({"text": "UP"});
    let spawn = json!({"command": "python3", "args": ["-c", script, go], "wait": wait});
    serve.call(&serve.bearer(), "spawn", &spawn);
    let mut page = Page::open(&serve, &serve.bearer(), VIEWER, "s1");
    page.hello();
    let sent = serve.call(&serve.bearer(), "send_input", &json!({"input": "x".repeat(300_000)}));
    assert_eq!(sent["structuredContent"]["sent_bytes"], 300_000);
    assert_eq!(control(&serve, VIEWER, true).0, 200);
    assert_eq!(typed(&serve, VIEWER, "HUMAN").0, 200);
    std::fs::write(go, "").unwrap();
    let came = serve.call(
        &serve.bearer(),
        "wait_for_text",
        &json!({"pattern": "came (\\d+) True", "since": "screen"}),
    );
    let count: usize =
        came["structuredContent"]["match"]["groups"][0].as_str().unwrap().parse().unwrap();
    assert!(count < 100_000, "{count}");
}

#[test]
fn mcp_web_works_when_its_port_is_taken() {
    let home = Home::new("taken");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut command = home.command();
    let mut agent = Server::start(command.args(["mcp", "--web", "--port", &port]));
    assert_eq!(agent.call("list_sessions", json!({}))["sessions"], json!([]));
    agent.end();
}

#[test]
fn page_actions_obey_the_policy_and_are_audited() {
    let home = Home::new("page-policy");
    let (policy, log) = (home.dir.join("policy.toml"), home.dir.join("audit.log"));
    std::fs::write(&policy, "[sessions]\ntype = [\"s2\"]\n[audit]\nfile = \"audit.log\"\n")
        .unwrap();
    let serve = Serve::start(&home, &["--policy", policy.to_str().unwrap()]);
    spawn(&serve, "cat");
    spawn(&serve, "cat");
    let mut page = Page::open(&serve, &serve.bearer(), VIEWER, "s1");
    page.hello();
    let on = |session: &str, body: Value| {
        let mut body = body;
        body["viewer"] = json!(VIEWER);
        body["session_id"] = json!(session);
        body
    };
    for (place, body) in [
        ("control", json!({"take": true})),
        ("input", json!({"data": "forged"})),
        ("resize", json!({"cols": 20, "rows": 5})),
    ] {
        let (status, response) = post(&serve, &serve.bearer(), place, &on("s1", body));
        assert!(status == 409 && response["code"] == "denied", "{place}: {response}");
        assert!(response["error"].as_str().unwrap().contains("sessions.type"), "{response}");
    }
    let (status, _) = post(&serve, &serve.bearer(), "control", &on("s2", json!({"take": true})));
    assert_eq!(status, 200);
    let body = on("s2", json!({"data": "my-password\r"}));
    assert_eq!(post(&serve, &serve.bearer(), "input", &body).0, 200);
    drop(page);
    // The log is complete when the server has exited.
    serve.stop();
    let text = std::fs::read_to_string(log).unwrap();
    let logged = |tool: &str, outcome: &str| {
        text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()).any(|line| {
            line["tool"] == tool && line["outcome"] == outcome && line["who"]["via"] == "page"
        })
    };
    for (tool, outcome) in [
        ("page:control", "denied"),
        ("page:input", "denied"),
        ("page:resize", "denied"),
        ("page:control", "ok"),
        ("page:input", "ok"),
    ] {
        assert!(logged(tool, outcome), "{tool} {outcome}: {text}");
    }
    assert!(!text.contains("my-password"), "{text}");
}

#[test]
fn input_at_the_page_is_exported() {
    let home = Home::new("page-export");
    let serve = Serve::start(&home, &[]);
    spawn(&serve, "cat");
    let mut page = Page::open(&serve, &serve.bearer(), VIEWER, "s1");
    page.hello();
    assert_eq!(control(&serve, VIEWER, true).0, 200);
    assert_eq!(typed(&serve, VIEWER, "hi\u{1b}[A\r").0, 200);
    let body = json!({"viewer": VIEWER, "session_id": "s1", "cols": 70, "rows": 12});
    assert_eq!(post(&serve, &serve.bearer(), "resize", &body).0, 200);
    let exported = serve.call(&serve.bearer(), "export_session", &json!({"as": "tape"}));
    let test = exported["structuredContent"]["test"].as_str().unwrap().to_owned();
    assert!(test.contains("\nType \"hi\"\nUp\nEnter\nResize 70 12\n"), "{test}");
}
