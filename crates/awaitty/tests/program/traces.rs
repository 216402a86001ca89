//! Traces of sessions: the page of a session, when it is written, and what it must not contain.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::client::{Home, Server};

/// A page with its packed blocks unpacked.
struct Page {
    /// The text of the file and of its blocks.
    text: String,
    steps: Vec<Value>,
}

fn element<'p>(page: &'p str, start: &str) -> Option<&'p str> {
    let from = page.find(start)? + start.len();
    Some(&page[from..from + page[from..].find("</script>")?])
}

impl Page {
    fn read(path: &Path) -> Page {
        let page = std::fs::read_to_string(path).unwrap();
        let mode = std::fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only the owner has access");
        let data = element(&page, "<script type=\"application/json\" id=\"data\">").unwrap();
        let data: Value = serde_json::from_str(data).unwrap();
        let mut text = page.clone();
        for name in ["frames", "raw"] {
            let id = |i: usize| format!("<script type=\"text/plain\" id=\"{name}{i}\">");
            for packed in (0..).map_while(|i| element(&page, &id(i))) {
                let packed = BASE64_STANDARD.decode(packed).unwrap();
                let unpacked = miniz_oxide::inflate::decompress_to_vec(&packed).unwrap();
                text += &String::from_utf8(unpacked).unwrap();
            }
        }
        Page { text, steps: data["steps"].as_array().unwrap().clone() }
    }

    /// Returns kind, name, and whether it passed, of each step.
    fn names(&self) -> Vec<(&str, &str, bool)> {
        let name = |step: &'_ Value| step["passed"].as_bool().unwrap();
        let of = |step| (text(step, "kind"), text(step, "name"), name(step));
        self.steps.iter().map(of).collect()
    }
}

fn text<'v>(step: &'v Value, field: &str) -> &'v str {
    step[field].as_str().unwrap()
}

fn server(home: &Home) -> Server {
    Server::start(home.command().arg("mcp").current_dir(&home.dir))
}

/// Starts a shell script with a trace. Returns the path of the page.
fn spawn(server: &mut Server, script: &str, ready: &str) -> String {
    let spawn = json!({"command": "sh", "args": ["-c", script], "name": "a", "trace": true,
        "wait": {"text": ready}});
    let spawned = server.call("spawn", spawn);
    assert_eq!(spawned["outcome"], "met", "{spawned}");
    spawned["trace"].as_str().unwrap().to_owned()
}

fn send(server: &mut Server, input: &str, wait: &str) {
    let sent = server.call("send_input", json!({"input": input, "wait": {"text": wait}}));
    assert_eq!(sent["outcome"], "met", "{sent}");
}

#[test]
fn a_closed_session_has_a_page_with_its_steps() {
    let home = Home::new("trace-close");
    let mut server = server(&home);
    let path = spawn(&mut server, "echo UP; exec cat", "UP");
    assert!(path.starts_with(home.dir.join("recordings").to_str().unwrap()), "{path}");
    send(&mut server, "hello\n", "^hello\nhello");
    server.call("resize_session", json!({"cols": 90, "rows": 20}));
    let never = json!({"pattern": "never", "timeout_ms": 1});
    assert_eq!(server.call("wait_for_text", never)["outcome"], "timeout");
    let closed = server.call("close_session", json!({}));
    assert_eq!(closed["trace"], json!(path), "{closed}");
    let page = Page::read(Path::new(&path));
    let expected = [
        ("wait", "wait for text /UP/", true),
        ("input", "type \"hello\", press enter", true),
        ("wait", "wait for text /^hello\nhello/", true),
        ("input", "resize to 90x20", true),
        ("wait", "wait for text /never/", false),
    ];
    let names = page.names();
    assert_eq!(names.len(), expected.len(), "{names:?}");
    for (name, expected) in names.iter().zip(expected) {
        assert_eq!((name.0, name.2), (expected.0, expected.2), "{names:?}");
        assert_eq!(name.1.replace("<U+000A>", "\n"), expected.1, "{names:?}");
    }
    let [up, typed, echoed, ..] = &page.steps[..] else { panic!("{names:?}") };
    assert!(text(up, "looked").ends_with(" since the last input, for at most 10 s"), "{up}");
    assert!(text(up, "why").starts_with("met after "), "{up}");
    assert_ne!(typed["before"], typed["after"], "the input shows its effect: {typed}");
    assert_eq!(typed["after"], echoed["after"], "the end of the wait ends the input");
    assert!(page.text.contains("UP") && page.text.contains("hello"), "{}", page.text);
    assert!(page.text.contains(r#""i","hello\r""#), "input is recorded");
}

#[test]
fn a_command_is_a_step_with_its_status() {
    let home = Home::new("trace-command");
    let mut server = server(&home);
    let spawn = json!({"command": "bash --norc", "trace": true, "wait": {"ready": true}});
    let path = server.call("spawn", spawn)["trace"].as_str().unwrap().to_owned();
    assert_eq!(server.call("run_command", json!({"command": "(exit 4)"}))["exit_code"], 4);
    server.call("close_session", json!({}));
    let page = Page::read(Path::new(&path));
    let run = page.steps.iter().find(|step| step["kind"] == "command").unwrap();
    assert_eq!(text(run, "name"), "run \"(exit 4)\"");
    assert!(text(run, "why").starts_with("exit status 4 after "), "{run}");
}

#[test]
fn secrets_are_in_no_trace() {
    let home = Home::new("trace-secret");
    let mut command = home.command();
    let mut server = Server::start(command.arg("mcp").env("AWAITTY_SECRET_PW", "hunter2"));
    let ask = "stty -echo; printf 'word: '; read x; stty echo; echo; echo got ${#x};";
    let path = spawn(&mut server, &format!("{ask} {ask} read y; {ask} exec cat"), "word:");
    let steps = json!([{"secret": "PW", "wait": {"text": "got \\d[^$]*word:"}},
        {"input": "sesame\n", "wait": {"text": "got 6"}},
        // Echo is still on when the password is queued.
        {"keys": ["enter", {"text": "tulip"}, "enter"], "wait": {"text": "got 5"}},
        {"input": "say hunter2 now\n", "wait": {"text": "hunter2 now"}}]);
    let done = server.call("run_steps", json!({ "steps": steps }));
    assert_eq!(done["outcome"], "met", "{done}");
    server.call("close_session", json!({}));
    let page = Page::read(Path::new(&path));
    let names: Vec<&str> = page.names().iter().map(|name| name.1).collect();
    assert!(names.contains(&"type the secret PW, press enter"), "{names:?}");
    assert!(names.contains(&"type hidden text, press enter"), "{names:?}");
    assert!(names.contains(&"press enter, type hidden text, press enter"), "{names:?}");
    assert!(names.contains(&"type \"say ••• now\", press enter"), "{names:?}");
    for secret in ["hunter2", "sesame", "tulip"] {
        assert!(!page.text.contains(secret), "{secret}: {}", page.text);
    }
}

#[test]
fn a_running_session_is_saved() {
    let home = Home::new("trace-running");
    let mut server = server(&home);
    let beside = spawn(&mut server, "echo UP; exec cat", "UP");
    let mut save = |arguments: Value| server.call("save_recording", arguments);
    let saved = save(json!({"path": "a.trace.html"}));
    let path = home.dir.join("a.trace.html");
    assert_eq!((&saved["path"], &saved["format"]), (&json!(path), &json!("trace")), "{saved}");
    assert_eq!(Page::read(&path).names(), [("wait", "wait for text /UP/", true)]);
    assert_eq!(save(json!({"path": "a.trace.html"}))["code"], "denied", "the file exists");
    assert_eq!(save(json!({"path": "/etc/a.trace.html"}))["code"], "denied");
    assert!(!Path::new(&beside).exists());
    assert_eq!(save(json!({"format": "trace"}))["path"], json!(beside));
    assert_eq!(Page::read(Path::new(&beside)).steps.len(), 1);
    send(&mut server, "more\n", "^more\nmore");
    server.call("close_session", json!({}));
    assert_eq!(Page::read(Path::new(&beside)).steps.len(), 3, "the page was replaced");
    server.call("spawn", json!({"command": "cat", "record": true}));
    let without = server.call("save_recording", json!({"format": "trace"}));
    assert!(without["message"].as_str().unwrap().contains("trace: true"), "{without}");
}

#[test]
fn the_end_of_the_program_and_of_the_server_write_the_page() {
    let home = Home::new("trace-end");
    let mut server = server(&home);
    let path = spawn(&mut server, "echo UP; read x; exit 3", "UP");
    let left = json!({"input": "bye\n", "wait": {"exit": true}});
    assert_eq!(server.call("send_input", left)["outcome"], "met");
    // It is written from another task.
    while !Path::new(&path).exists() {}
    Page::read(Path::new(&path));
    std::fs::remove_file(&path).unwrap();
    let spawn = json!({"command": "cat", "trace": true, "ttl_ms": 1, "wait": {"exit": true}});
    let ended = server.call("spawn", spawn);
    let ended = ended["trace"].as_str().unwrap().to_owned();
    while !Path::new(&ended).exists() {}
    let running = server.call("spawn", json!({"command": "cat", "trace": true}));
    server.call("send_input", json!({"session_id": running["session_id"], "input": "x\n"}));
    let running = running["trace"].as_str().unwrap().to_owned();
    server.end();
    let names = Page::read(Path::new(&running));
    assert_eq!(names.names(), [("input", "type \"x\", press enter", true)]);
}

#[test]
fn the_policy_applies_to_traces_and_the_audit_log_has_them() {
    let home = Home::new("trace-policy");
    let (policy, log) = (home.dir.join("policy.toml"), home.dir.join("audit.log"));
    let rules = "[tools]\ndeny = [\"save_recording\"]\n[sessions]\nsee = [\"a\"]\n\
                 [audit]\nfile = \"audit.log\"\n";
    std::fs::write(&policy, rules).unwrap();
    let mut server = Server::start(home.command().arg("mcp").arg("--policy").arg(&policy));
    let denied = server.call("spawn", json!({"command": "cat", "name": "b", "trace": true}));
    assert_eq!(denied["code"], "denied", "{denied}");
    assert!(!home.dir.join("recordings").exists(), "nothing is recorded");
    spawn(&mut server, "echo UP; exec cat", "UP");
    let denied = server.call("save_recording", json!({"format": "trace"}));
    assert_eq!(denied["code"], "denied", "{denied}");
    server.end();
    assert!(std::fs::read_to_string(log).unwrap().contains("\"trace\":true"));
}

#[test]
fn the_command_line_traces_a_session() {
    let home = Home::new("trace-cli");
    home.json(&["spawn", "--name", "a", "--trace", "--wait-exit", "--", "echo", "hello"]);
    let file = home.dir.join("a.trace.html");
    let saved = home.json(&["save-recording", "a", file.to_str().unwrap()]);
    assert_eq!((&saved["format"], &saved["path"]), (&json!("trace"), &json!(file)), "{saved}");
    let page = Page::read(&file);
    assert_eq!(page.names(), [("wait", "wait for the exit", true)]);
    assert!(page.text.contains("hello"));
}

#[test]
fn a_restart_keeps_the_trace() {
    let home = Home::new("trace-restart");
    let mut server = server(&home);
    let first = spawn(&mut server, "echo UP; exec cat", "UP");
    let again = server.call("spawn", json!({"name": "a", "if_exists": "restart"}));
    let second = again["trace"].as_str().unwrap().to_owned();
    assert_ne!(first, second);
    server.end();
    for path in [first, second] {
        Page::read(Path::new(&path));
    }
}
