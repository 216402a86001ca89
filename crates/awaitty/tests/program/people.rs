//! The command line as people use it: `attach`, `ls --watch`, `run`, colours. A second server is the person's terminal.

use serde_json::{Value, json};

use crate::client::{Home, Server};

/// Starts a server whose sessions are the terminals of a person.
fn person(home: &Home) -> Server {
    Server::start(home.command().arg("mcp"))
}

/// Runs `awaitty` with the daemon of `home` in a person's terminal.
fn start(person: &mut Server, home: &Home, args: &[&str], wait: Value) -> Value {
    let program = env!("CARGO_BIN_EXE_awaitty").to_owned();
    let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
    let env = json!({"XDG_RUNTIME_DIR": home.dir});
    person.call(
        "spawn",
        json!({"command": program, "args": args, "cols": 60, "rows": 12, "env": env, "wait": wait}),
    )
}

#[test]
fn a_person_attaches_and_detaches() {
    let home = Home::new("attach");
    let script = "printf '\\033[31mred\\033[m\\n'; read x; echo got $x; read y; echo got $y; cat";
    home.json(&[
        "spawn",
        "--name",
        "a",
        "--cols",
        "40",
        "--rows",
        "8",
        "--wait-text",
        "red",
        "--",
        "sh",
        "-c",
        script,
    ]);
    let mut person = person(&home);
    let shown = start(&mut person, &home, &["attach", "a"], json!({"text": "ctrl\\+\\] detaches"}));
    assert!(shown["screen_text"].as_str().unwrap().starts_with("red"), "{shown}");
    let styled = person.call("snapshot", json!({"format": "annotated"}));
    assert!(styled["text"].as_str().unwrap().starts_with("[r]red[/]"), "{styled}");
    let typed =
        person.call("send_input", json!({"input": "hello\n", "wait": {"text": "got hello"}}));
    assert_eq!(typed["outcome"], "met");
    // The person also sees input from others.
    home.json(&["send", "a", "other\n"]);
    let seen = person.call("wait_for_text", json!({"pattern": "got other"}));
    assert_eq!(seen["outcome"], "met");
    let left = person.call("send_input", json!({"keys": ["ctrl+]"], "wait": {"exit": true}}));
    assert_eq!((&left["outcome"], &left["exit_code"]), (&json!("met"), &json!(0)), "{left}");
    let screen = person.call("snapshot", json!({}));
    assert!(screen["text"].as_str().unwrap().ends_with("detached"), "{screen}");
    assert_eq!(home.json(&["ls"])["sessions"][0]["state"], "running");
}

/// A script that reads a password and prints its length.
const READS_SECRET: &str =
    "stty -echo; printf 'word: '; read x; stty echo; echo; echo got ${#x}; exec cat";

#[test]
fn an_attached_person_types_a_secret_that_no_agent_sees() {
    let home = Home::new("secret");
    home.json(&["spawn", "--name", "a", "--wait-text", "word:", "--", "sh", "-c", READS_SECRET]);
    let mut agent = Server::start(home.command().args(["mcp", "--daemon"]));
    let secret = json!({"session_id": "a", "secret": "ACCESS_WORD", "wait": {"text": "got \\d+"}});
    let refused = agent.call("send_input", secret.clone());
    assert_eq!(refused["code"], "bad_argument", "{refused}");
    assert!(refused["message"].as_str().unwrap().contains("no person is attached"), "{refused}");
    let mut person = person(&home);
    start(&mut person, &home, &["attach", "a"], json!({"text": "detaches"}));
    // The screen is drawn before the daemon counts the person as attached.
    while agent.call("list_sessions", json!({}))["sessions"][0]["attached"] != 1 {}
    let asked = agent.send("tools/call", json!({"name": "send_input", "arguments": secret}));
    let seen = person.call("wait_for_text", json!({"pattern": "asks you for “ACCESS_WORD” for "}));
    assert_eq!(seen["outcome"], "met", "{seen}");
    let typed = json!({"input": "hunter2\n", "wait": {"text": "s1 120x40 running"}});
    assert_eq!(
        person.call("send_input", typed)["outcome"],
        "met",
        "the prompt for the secret is gone"
    );
    let response = agent.answer(asked).to_string();
    assert!(!response.contains("hunter2"), "{response}");
    let response: Value = serde_json::from_str(&response).unwrap();
    let result = &response["result"]["structuredContent"];
    assert_eq!((&result["outcome"], &result["sent_bytes"]), (&json!("met"), &json!(0)), "{result}");
    assert_eq!(result["match"]["text"], "got 7");
    // Echo is on now, so a secret would be visible.
    let denied = agent.call("send_input", json!({"session_id": "a", "secret": "ACCESS_WORD"}));
    assert_eq!(denied["code"], "denied", "{denied}");
}

#[test]
fn a_secret_request_outlasts_its_call() {
    let home = Home::new("question");
    let mut server = Server::start(home.command().args(["mcp", "--call-limit-ms", "100"]));
    let spawn = json!({"command": "sh", "args": ["-c", READS_SECRET], "wait": {"text": "word:"}});
    server.call("spawn", spawn);
    let attending = server.send("tools/call", json!({"name": "attend", "arguments": {}}));
    let secret = json!({"secret": "ACCESS_WORD"});
    while server.call("list_sessions", json!({}))["sessions"][0]["attached"] != 1 {}
    let pending = server.call("send_input", secret.clone());
    assert_eq!((&pending["outcome"], &pending["retry"]), (&json!("pending"), &secret), "{pending}");
    let attended = server.answer(attending);
    let asked = attended["result"]["structuredContent"]["asked"].as_str().unwrap();
    assert!(asked.starts_with("“ACCESS_WORD” for /"), "{asked}");
    server.send("tools/call", json!({"name": "attend", "arguments": {"known": asked}}));
    server.call("send_input", json!({"input": "hunter2\n", "wait": {"text": "got 7"}}));
    let typed = server.call("send_input", secret.clone());
    assert_eq!(typed["outcome"], "typed", "{typed}");
    let again = server.call("send_input", secret);
    assert_eq!(again["code"], "bad_argument", "the result is returned once: {again}");
}

#[test]
fn ls_watch_shows_new_sessions() {
    let home = Home::new("watch");
    let mut person = person(&home);
    start(&mut person, &home, &["ls", "--watch"], json!({"text": "no sessions"}));
    home.json(&["spawn", "--name", "fresh", "--", "cat"]);
    assert_eq!(
        person.call("wait_for_text", json!({"pattern": "fresh +running"}))["outcome"],
        "met"
    );
}

#[test]
fn a_long_wait_shows_its_pattern_and_the_last_line() {
    let home = Home::new("long");
    home.json(&[
        "spawn",
        "--name",
        "a",
        "--wait-text",
        "step",
        "--",
        "sh",
        "-c",
        "echo step 3 of 9; cat",
    ]);
    let mut person = person(&home);
    let args = ["wait-for-text", "a", "NEVER", "--timeout-ms", "60000"];
    let shown = start(&mut person, &home, &args, json!({"text": "NEVER.*step 3 of 9"}));
    assert_eq!(shown["outcome"], "met", "{shown}");
}

#[test]
fn colours_are_written_only_to_terminals() {
    let home = Home::new("colour");
    let script = "printf '\\033[31mhi\\033[m'; cat";
    home.json(&["spawn", "--name", "a", "--wait-text", "hi", "--", "sh", "-c", script]);
    let piped = home.command().args(["snapshot", "a"]).output().unwrap();
    assert!(!piped.stdout.contains(&0x1b));
    assert!(piped.stdout.starts_with(b"[a] seq="));
    let mut person = person(&home);
    start(&mut person, &home, &["snapshot", "a"], json!({"exit": true}));
    let raw = person.call("read_output", json!({"raw": true}));
    let raw = raw["raw"].as_str().unwrap();
    assert!(raw.contains("\\x1b[1;36m[a]") && raw.contains("\\x1b[0;38;5;1mhi"), "{raw}");
}

#[test]
fn run_starts_waits_and_prints() {
    let home = Home::new("run");
    let (status, text, _) = home.run(&["run", "--", "sh", "-c", "echo one; echo two; exit 3"]);
    assert_eq!(status, 3);
    let text = text.as_str().unwrap();
    assert!(text.contains("exit_code=3") && text.ends_with("1\tone\n2\ttwo\n"), "{text}");
    let (status, json, _) = home.run(&["run", "--json", "--", "sh", "-c", "exit 3"]);
    assert_eq!((status, &json["exit_code"]), (3, &json!(3)));
    assert_eq!(home.run(&["run", "--timeout-ms", "50", "--", "cat"]).0, 124);
    assert_eq!(home.run(&["run", "--", "no-such-program"]).0, 1);
    assert_eq!(home.run(&["run"]).0, 2);
    assert_eq!(home.json(&["ls"]), json!({"sessions": []}));
}

#[test]
fn completions_and_man_page_name_the_tools() {
    let home = Home::new("man");
    for shell in ["bash", "zsh", "fish"] {
        let (status, text, _) = home.run(&["completions", shell]);
        assert!(status == 0 && text.as_str().unwrap().contains("wait-for-text"), "{shell}");
    }
    let (status, text, _) = home.run(&["man"]);
    assert!(status == 0 && text.as_str().unwrap().contains("wait\\-for\\-text"));
}

#[test]
fn the_commands_of_the_readme_run() {
    let home = Home::new("readme");
    let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
    let text = std::fs::read_to_string(readme).unwrap();
    let (_, rest) = text.split_once("## From the command line").unwrap();
    let block = rest.split("```").nth(1).unwrap().strip_prefix("sh\n").unwrap();
    // The binary under test replaces the one that the README builds.
    let (build, rest) = block.split_once('\n').unwrap();
    assert!(build.starts_with("cargo build --release && PATH="), "{build}");
    let directory = std::path::Path::new(env!("CARGO_BIN_EXE_awaitty")).parent().unwrap();
    let path = format!("{}:{}", directory.display(), std::env::var("PATH").unwrap());
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", rest]).env("PATH", path).env("XDG_RUNTIME_DIR", &home.dir);
    let output = shell.env_remove("AWAITTY_SOCKET").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{shown} {}", String::from_utf8_lossy(&output.stderr));
    for part in
        ["settled=true", "found=true", "exit status 3", "status=0 message=\"fine\"", "closed"]
    {
        assert!(shown.contains(part), "{part:?} in {shown}");
    }
}

#[test]
fn a_program_finds_its_session_id_in_the_environment() {
    let home = Home::new("own");
    let script = "awaitty resize $AWAITTY_SESSION 50 5 >/dev/null; stty size; cat";
    let shown = home.json(&["spawn", "--wait-text", "5 50", "--", "sh", "-c", script]);
    assert_eq!(shown["outcome"], "met", "{shown}");
}
