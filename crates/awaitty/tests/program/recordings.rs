//! Recordings of real programs in all formats, and what they must not contain.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::client::{Home, Server};

fn server(home: &Home) -> Server {
    Server::start(home.command().arg("mcp").current_dir(&home.dir))
}

/// Saves the recording to a file in the home. Returns the contents of the file.
fn save(server: &mut Server, home: &Home, name: &str) -> String {
    let saved = server.call("save_recording", json!({"session_id": "rec", "path": name}));
    assert_eq!(saved["path"], json!(home.dir.join(name)), "{saved}");
    std::fs::read_to_string(home.dir.join(name)).unwrap()
}

/// Returns the kind and the data of each event of an asciicast.
fn events(cast: &str) -> Vec<(String, String)> {
    let event = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap();
        let text = |i: usize| event[i].as_str().unwrap().to_owned();
        (text(1), text(2))
    };
    cast.lines().skip(1).map(event).collect()
}

fn of_kind(cast: &str, wanted: &str) -> Vec<String> {
    let all = events(cast).into_iter().filter(|(kind, _)| kind == wanted);
    all.map(|(_, data)| data).collect()
}

fn raw_file(server: &mut Server) -> PathBuf {
    let listed = server.call("list_sessions", json!({}))["sessions"][0]["recording"].clone();
    PathBuf::from(listed.as_str().unwrap())
}

#[test]
fn a_recording_has_commands_sizes_and_exit() {
    let home = Home::new("record");
    let mut server = server(&home);
    server.call("spawn", json!({"command": "bash --norc", "name": "rec", "record": true}));
    let ran = json!({"session_id": "rec", "command": "echo '<b>hi</b>'; false"});
    assert_eq!(server.call("run_command", ran)["exit_code"], 1);
    server.call("resize_session", json!({"session_id": "rec", "cols": 90, "rows": 20}));
    let left = json!({"session_id": "rec", "input": "exit 3\n", "wait": {"exit": true}});
    assert_eq!(server.call("send_input", left)["exit_code"], 3);
    let cast = save(&mut server, &home, "a.cast");
    let head: Value = serde_json::from_str(cast.lines().next().unwrap()).unwrap();
    assert_eq!((&head["version"], &head["term"]["cols"]), (&json!(3), &json!(120)));
    assert_eq!(of_kind(&cast, "r"), ["90x20"]);
    assert_eq!(of_kind(&cast, "x"), ["3"]);
    let marks = of_kind(&cast, "m");
    assert_eq!(marks[..2], ["echo '<b>hi</b>'; false", "exit 1: echo '<b>hi</b>'; false"]);
    assert!(of_kind(&cast, "o").concat().contains("<b>hi</b>\r\n"), "{cast}");
    assert!(of_kind(&cast, "i").is_empty(), "input is not recorded unless asked for");
    assert!(save(&mut server, &home, "a.txt").contains("\n<b>hi</b>\n"));
    let page = save(&mut server, &home, "a.html");
    assert!(page.contains("&lt;b&gt;hi") || page.contains("\\u0026lt;b"), "{page}");
    assert!(!page.contains("<b>"), "{page}");
    let two = json!({"session_id": "rec", "path": "b.cast", "version": 2});
    assert_eq!(server.call("save_recording", two)["complete"], true);
    let two = std::fs::read_to_string(home.dir.join("b.cast")).unwrap();
    assert!(two.starts_with("{") && two.contains("\"version\":2"), "{two}");
    let again = json!({"session_id": "rec", "path": "b.cast"});
    assert_eq!(server.call("save_recording", again)["code"], "denied", "the file exists");
}

#[test]
fn secrets_are_not_recorded() {
    let home = Home::new("record-secret");
    let mut server = server(&home);
    let script = "stty -echo; echo Password:; read x; stty echo; echo; echo got ${#x}; cat";
    let spawn = json!({"command": "sh", "args": ["-c", script], "name": "rec", "record_input": true,
        "wait": {"ready": true}});
    assert_eq!(server.call("spawn", spawn)["outcome"], "met");
    let typed = json!({"session_id": "rec", "input": "hunter2\n", "wait": {"text": "got 7"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    let typed = json!({"session_id": "rec", "input": "hello\n", "wait": {"text": "^hello\nhello"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    let cast = save(&mut server, &home, "a.cast");
    assert_eq!(of_kind(&cast, "i"), ["hello\r"]);
    assert!(!cast.contains("hunter2"), "{cast}");
}

#[test]
fn passwords_read_key_by_key_are_not_recorded() {
    let home = Home::new("record-keys");
    let mut server = server(&home);
    // Line editors turn echo and canonical mode off as well, so the modes alone do not reveal a password prompt.
    let script = "read n; stty -echo -icanon; echo Password:; head -c 8 >word; stty echo icanon; wc -c <word; cat";
    let spawn = json!({"command": "sh", "args": ["-c", script], "name": "rec", "record_input": true,
        "cwd": home.dir, "wait": {"ready": true}});
    assert_eq!(server.call("spawn", spawn)["outcome"], "met");
    // All keys are in one call: echo was still on when the password was queued.
    let keys = json!(["j", "o", "e", "enter", {"text": "hunter2"}, "enter"]);
    let typed = json!({"session_id": "rec", "keys": keys, "wait": {"text": "^8"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    let typed = json!({"session_id": "rec", "input": "hello\n", "wait": {"text": "^hello\nhello"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    let cast = save(&mut server, &home, "a.cast");
    assert_eq!(of_kind(&cast, "i").concat(), "joe\rhello\r");
    assert!(!cast.contains("hunter2"), "{cast}");
}

#[test]
fn a_deleted_recording_is_reported_and_the_session_continues() {
    let home = Home::new("record-gone");
    let mut server = server(&home);
    let spawn = json!({"command": "cat", "name": "rec", "record": true});
    server.call("spawn", spawn);
    let file = raw_file(&mut server);
    std::fs::remove_dir_all(file.parent().unwrap()).unwrap();
    let typed = json!({"session_id": "rec", "input": "one\n", "wait": {"text": "^one\none"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    let note = |server: &mut Server| {
        server.call("list_sessions", json!({}))["sessions"][0]["recording_note"].clone()
    };
    while note(&mut server).is_null() {}
    assert_eq!(note(&mut server), "the file was deleted");
    let typed = json!({"session_id": "rec", "input": "two\n", "wait": {"text": "^two\ntwo"}});
    assert_eq!(server.call("send_input", typed)["outcome"], "met");
    let saved = server.call("save_recording", json!({"session_id": "rec", "path": "a.cast"}));
    assert!(saved["message"].as_str().unwrap().contains("the file was deleted"), "{saved}");
}

#[test]
fn a_recording_survives_a_killed_server() {
    let home = Home::new("record-killed");
    let mut server = server(&home);
    let spawn =
        json!({"command": "sh -c 'echo first; cat'", "record": true, "wait": {"text": "first"}});
    server.call("spawn", spawn);
    let file = raw_file(&mut server);
    let wait_for =
        |wanted: &str| while !std::fs::read_to_string(&file).unwrap().contains(wanted) {};
    wait_for("first");
    server.call("send_input", json!({"input": "second\n", "wait": {"text": "second\nsecond"}}));
    wait_for("second");
    drop(server);
    let cast = std::fs::read_to_string(&file).unwrap();
    assert!(of_kind(&cast, "o").concat().starts_with("first\r\nsecond\r\nsecond"), "{cast}");
}

#[test]
fn the_command_line_saves_recordings() {
    let home = Home::new("record-cli");
    home.json(&["spawn", "--name", "rec", "--record", "--wait-exit", "--", "echo", "hello"]);
    let path = |name: &str| home.dir.join(name).to_str().unwrap().to_owned();
    let saved = home.json(&["save-recording", "rec", &path("a.txt")]);
    assert_eq!((&saved["format"], &saved["path"]), (&json!("txt"), &json!(path("a.txt"))));
    let mode = std::fs::metadata(path("a.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "only the owner has access");
    assert_eq!(std::fs::read_to_string(path("a.txt")).unwrap(), "hello\n");
    let (status, _, errors) = home.run(&["save-recording", "rec", &path("a.txt")]);
    assert!(status == 1 && errors.contains("--force"), "{errors}");
    assert_eq!(home.run(&["save-recording", "rec", &path("a.txt"), "--force"]).0, 0);
    home.json(&["spawn", "--name", "not", "--", "cat"]);
    let (_, _, errors) = home.run(&["save-recording", "not", &path("b.txt")]);
    assert!(errors.contains("spawn it with record: true"), "{errors}");
    assert!(!Path::new(&path("b.txt")).exists());
}
