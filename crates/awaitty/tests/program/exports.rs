//! Sessions as tests: what is exported of calls, people and the page, and that the exported test passes.

use std::process::Command;

use serde_json::{Value, json};

use crate::client::{Home, Server};

/// A program that asks twice.
const GREETER: &str =
    "printf 'Your name: '; read x; echo \"Nice to meet you, $x\"; read y; echo bye; exit 3";

/// The steps of a test for it, which a caller or a person made.
const GREETED: &str = r#"
    t.expect(text("Your name"))?;
    t.type_text("Ann")?;
    t.press("enter")?;
    t.expect(text("Nice to meet you, Ann"))?;
    t.press("enter")?;
    t.expect(exit(3))?;
    Ok(())
}
"#;

fn spawn(server: &mut Server, script: &str, wait: &str) {
    let args = json!(["-c", script]);
    let spawn = json!({"command": "sh", "args": args, "name": "a", "cols": 60, "rows": 10,
        "wait": {"text": wait}});
    let spawned = server.call("spawn", spawn);
    assert_eq!(spawned["outcome"], "met", "{spawned}");
}

/// Makes a pause: a wait that times out, which is not exported.
fn pause(server: &mut Server) {
    let ended = server.call("wait_for_text", json!({"pattern": "NEVER", "timeout_ms": 400}));
    assert_eq!(ended["outcome"], "timeout", "{ended}");
}

/// Returns the test of the session, or the error.
fn export(server: &mut Server, target: &str) -> String {
    let exported = server.call("export_session", json!({"as": target}));
    exported["test"].as_str().map_or_else(|| exported.to_string(), str::to_owned)
}

/// Runs a test for pytest without pytest, with the daemon of `home`.
fn run_python(home: &Home, test: &str, function: &str) {
    let path = home.dir.join("exported.py");
    std::fs::write(&path, test).unwrap();
    let call = format!("import runpy, sys; runpy.run_path(sys.argv[1])['{function}']()");
    let mut python = Command::new("python3");
    python.args(["-c", &call]).arg(&path).env("AWAITTY", env!("CARGO_BIN_EXE_awaitty"));
    python.env("XDG_RUNTIME_DIR", &home.dir).env_remove("AWAITTY_SOCKET");
    let output = python.output().unwrap();
    assert!(output.status.success(), "{}\n{test}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn waits_of_a_caller_are_kept_and_failed_calls_and_timeouts_are_not() {
    let home = Home::new("export-calls");
    let mut server = Server::start(home.command().arg("mcp"));
    spawn(&mut server, GREETER, "Your name");
    pause(&mut server);
    let failed = server.call("send_input", json!({"input": "no", "keys": ["nope"]}));
    assert_eq!(failed["code"], "bad_key", "{failed}");
    server.call("snapshot", json!({}));
    let wait = json!({"text": "nice TO meet", "flags": "i", "timeout_ms": 60_000});
    server.call("send_input", json!({"input": "Ann\n", "wait": wait}));
    server.call("send_input", json!({"keys": ["enter"], "wait": {"exit": true, "text": "NEVER"}}));
    let tape = export(&mut server, "tape");
    let steps = tape.split_once("\n\n").unwrap().1;
    let wanted = "Expect /Your name/\nType \"Ann\"\nEnter\nExpect@60000ms /(?i)nice TO meet/\n\
                  Enter\nExpect@30000ms Exit 3\n";
    assert_eq!(steps, wanted, "{tape}");
    assert!(tape.contains("Set Columns 60\nSet Rows 10\n"), "{tape}");
    run_python(&home, &export(&mut server, "pytest"), "test_a");
}

#[test]
fn an_input_after_a_pause_expects_what_appeared() {
    let home = Home::new("export-pause");
    let mut server = Server::start(home.command().arg("mcp"));
    spawn(&mut server, GREETER, "Your name");
    server.call("send_input", json!({"input": "Ann"}));
    pause(&mut server);
    server.call("send_input", json!({"input": "\n"}));
    pause(&mut server);
    server.call("send_input", json!({"input": "\n"}));
    while server.call("list_sessions", json!({}))["sessions"][0]["state"] != "exited" {}
    let rust = export(&mut server, "rust");
    assert!(rust.ends_with(GREETED), "{rust}");
}

#[test]
fn a_person_at_attach_is_exported_and_the_test_passes() {
    let home = Home::new("export-attach");
    let spawn = ["spawn", "--name", "a", "--wait-text", "Your name", "--", "sh", "-c", GREETER];
    home.json(&spawn);
    let mut person = Server::start(home.command().arg("mcp"));
    let program = env!("CARGO_BIN_EXE_awaitty");
    let attach = json!({"command": program, "args": ["attach", "a"], "cols": 100, "rows": 30,
        "env": {"XDG_RUNTIME_DIR": home.dir}, "wait": {"text": "detaches"}});
    person.call("spawn", attach);
    let keys = json!(["A", "n", "n", "enter"]);
    let typed = person.call("send_input", json!({"keys": keys, "wait": {"text": "Nice to meet"}}));
    assert_eq!(typed["outcome"], "met", "{typed}");
    pause(&mut person);
    let left = person.call("send_input", json!({"keys": ["enter"], "wait": {"exit": true}}));
    assert_eq!(left["outcome"], "met", "{left}");
    let (status, rust, _) = home.run(&["export", "a", "--as", "rust"]);
    assert_eq!(status, 0);
    assert!(rust.as_str().unwrap().ends_with(GREETED), "{rust}");
    let python = home.json(&["export", "a", "--as", "pytest"]);
    run_python(&home, python["test"].as_str().unwrap(), "test_a");
}

#[test]
fn secrets_are_in_no_export() {
    let home = Home::new("export-secret");
    let mut command = home.command();
    let mut server = Server::start(command.arg("mcp").env("AWAITTY_SECRET_PW", "hunter2"));
    let ask = "stty -echo; printf 'word: '; read x; stty echo; echo; echo got ${#x};";
    spawn(&mut server, &format!("{ask} {ask} exec cat"), "word:");
    let steps = json!([{"secret": "PW", "wait": {"text": "got \\d[^$]*word:"}},
        {"input": "sesame\n", "wait": {"text": "got 6"}},
        {"input": "say hunter2 now\n", "wait": {"text": "hunter2 now"}}]);
    let done = server.call("run_steps", json!({ "steps": steps }));
    assert_eq!(done["outcome"], "met", "{done}");
    let rust = export(&mut server, "rust");
    let wanted = r#"
    // The secret that was typed here is not in the test: set the variable PW.
    t.type_secret(&std::env::var("PW").expect("PW has the secret"))?;
    t.press("enter")?;
    t.expect(text(r"got \d[^$]*word:"))?;
    // The secret that was typed here is not in the test: set the variable SECRET_1.
    t.type_secret(&std::env::var("SECRET_1").expect("SECRET_1 has the secret"))?;
    t.press("enter")?;
    t.expect(text("got 6"))?;
    t.type_text("say ")?;
"#;
    assert!(rust.contains(wanted), "{rust}");
    let (python, tape) = (export(&mut server, "pytest"), export(&mut server, "tape"));
    assert!(tape.contains("unsupported") && tape.contains("(PW)"), "{tape}");
    for text in [rust, python, tape] {
        assert!(!text.contains("hunter2") && !text.contains("sesame"), "{text}");
    }
    let spawn = json!({"command": "sh", "args": ["-c", "cat # hunter2"], "name": "b"});
    server.call("spawn", spawn);
    let refused = server.call("export_session", json!({"session_id": "b"}));
    assert_eq!(refused["code"], "denied", "{refused}");
    assert!(!refused.to_string().contains("hunter2"), "{refused}");
}

#[test]
fn commands_and_sizes_of_a_shell_are_exported() {
    let home = Home::new("export-shell");
    let mut server = Server::start(home.command().arg("mcp"));
    let shell = json!({"command": "bash", "args": ["--norc"], "wait": {"ready": true}});
    server.call("spawn", shell);
    server.call("run_command", json!({"command": "true"}));
    server.call("run_command", json!({"command": "(exit 4)"}));
    server.call("send_input", json!({"input": "false\n", "wait": {"command": true}}));
    server.call("resize_session", json!({"cols": 90, "rows": 20, "wait": {"settled": 100}}));
    server.call("run_command", json!({"command": "read x"}));
    server.call("send_input", json!({"input": "answer\n", "wait": {"command": true}}));
    server.call("close_session", json!({"keep": true}));
    let tape = export(&mut server, "tape");
    let wanted = "\nSettle 100ms\nRun \"true\"\n# Its exit status was 4.\nRun! \"(exit 4)\"\n\
                  # Its exit status was 1.\nRun! \"false\"\nResize 90 20\nSettle 100ms\n\
                  Type \"read x\"\nEnter\n";
    assert!(tape.contains(wanted), "{tape}");
    assert!(!tape.contains("Exit"), "closing it is not an exit of the program: {tape}");
}

#[test]
fn the_command_line_writes_a_new_file() {
    let home = Home::new("export-file");
    home.json(&["spawn", "--name", "a", "--wait-text", "UP", "--", "sh", "-c", "echo UP; cat"]);
    let file = home.dir.join("a.rs");
    let file = file.to_str().unwrap();
    let written = home.json(&["export", "a", "-o", file]);
    assert_eq!((&written["path"], &written["as"]), (&json!(file), &json!("rust")), "{written}");
    assert_eq!(written["test"], Value::Null);
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("t.expect(text(\"UP\"))?;"), "{text}");
    let (status, _, errors) = home.run(&["export", "a", "-o", file]);
    assert!(status == 1 && errors.contains("--force"), "{status} {errors}");
    let (status, _, _) = home.run(&["export", "a", "--as", "tape", "-o", file, "--force"]);
    assert_eq!(status, 0);
    let (_, tape, _) = home.run(&["export", "a", "--as", "tape"]);
    assert_eq!(Value::String(std::fs::read_to_string(file).unwrap()), tape);
    let (status, _, errors) = home.run(&["export", "a", "--as", "vhs"]);
    assert!(status == 1 && errors.contains("\"vhs\""), "{status} {errors}");
}

#[test]
fn an_export_obeys_the_policy_and_the_allowed_directories() {
    let home = Home::new("export-policy");
    let policy = home.dir.join("policy.toml");
    std::fs::write(&policy, "[tools]\ndeny = [\"export_session\"]\n").unwrap();
    let mut server = Server::start(home.command().arg("mcp").arg("--policy").arg(&policy));
    spawn(&mut server, "echo UP; cat", "UP");
    let denied = server.call("export_session", json!({}));
    assert_eq!(denied["code"], "denied", "{denied}");
    let directory = home.dir.join("tests");
    std::fs::create_dir(&directory).unwrap();
    let mut command = home.command();
    let mut server = Server::start(command.arg("mcp").arg("--write-dir").arg(&directory));
    spawn(&mut server, "echo UP; cat", "UP");
    let mut to = |path: &str| server.call("export_session", json!({ "path": path }));
    let saved = to("a.py");
    assert_eq!((&saved["as"], &saved["code"]), (&json!("pytest"), &Value::Null), "{saved}");
    assert!(std::fs::read_to_string(directory.join("a.py")).unwrap().contains("def test_a():"));
    for path in ["a.py", "../b.py", "/etc/b.py"] {
        assert_eq!(to(path)["code"], "denied", "{path}");
    }
}
