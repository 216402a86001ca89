//! The daemon and the command line, as processes.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;
use std::thread;

use crate::client::{Home, Server};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use serde_json::{Value, json};

fn daemon_pid(home: &Home) -> Pid {
    let status = home.run(&["daemon", "status", "--json"]).1;
    Pid::from_raw(status["pid"].as_i64().unwrap() as i32).unwrap()
}

/// Returns the process that started the daemon and cleans up after it.
fn guard_of(daemon: Pid) -> Pid {
    let stat = fs::read_to_string(format!("/proc/{}/stat", daemon.as_raw_nonzero())).unwrap();
    let parent = stat.rsplit(") ").next().unwrap().split(' ').nth(1).unwrap();
    Pid::from_raw(parent.parse().unwrap()).unwrap()
}

/// Waits until a process has ended.
fn wait_for_end(pid: Pid) {
    if let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) {
        poll(&mut [PollFd::new(&process, PollFlags::IN)], None).unwrap();
    }
}

/// Returns the command lines of processes whose runtime directory is `dir`.
fn processes_of(dir: &Path) -> Vec<String> {
    let wanted = format!("XDG_RUNTIME_DIR={}", dir.display());
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
        if environ.split(|&byte| byte == 0).any(|entry| entry == wanted.as_bytes()) {
            let command = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " ").trim_end().to_owned());
        }
    }
    found
}

fn all_commands() -> Vec<String> {
    let commands = fs::read_dir("/proc").unwrap().flatten();
    let commands = commands.filter_map(|entry| fs::read(entry.path().join("cmdline")).ok());
    commands
        .map(|line| String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned())
        .collect()
}

#[test]
fn fifty_concurrent_calls_start_one_daemon() {
    let home = Home::new("fifty");
    thread::scope(|scope| {
        let call = || home.run(&["search", "x", "--json"]);
        let calls: Vec<_> = (0..50).map(|_| scope.spawn(call)).collect();
        for call in calls {
            let (status, json, errors) = call.join().unwrap();
            assert_eq!((status, &json["matches"]), (0, &json!([])), "{errors}");
        }
    });
    let daemons = processes_of(&home.dir);
    assert_eq!(
        daemons.iter().filter(|command| command.contains(" --guarded")).count(),
        1,
        "{daemons:?}"
    );
}

#[test]
fn ls_starts_no_daemon() {
    let home = Home::new("list");
    assert_eq!(home.run(&["ls", "--json"]), (0, json!({"sessions": []}), String::new()));
    assert_eq!(home.run(&["list-sessions", "--json"]).1, json!({"sessions": []}));
    let (status, text, errors) = home.run(&["ls"]);
    assert!(status == 0 && text.as_str().unwrap().starts_with("no sessions"), "{text} {errors}");
    assert_eq!(processes_of(&home.dir), Vec::<String>::new());
    // The stale socket of a killed daemon starts none either.
    home.json(&["spawn", "--", "cat"]);
    let pid = daemon_pid(&home);
    let guard = guard_of(pid);
    kill_process(pid, Signal::KILL).unwrap();
    wait_for_end(guard);
    assert_eq!(home.json(&["ls"]), json!({"sessions": []}));
    assert_eq!(processes_of(&home.dir), Vec::<String>::new());
}

#[test]
fn a_killed_daemon_is_cleaned_up() {
    let home = Home::new("killed");
    // One ignores SIGHUP, one has its own session, one has no environment.
    let bare = format!("/bin/sleep 1{:07}", std::process::id());
    let script = format!(
        "trap '' HUP; setsid sleep 1000 & env -i {bare} & env -i setsid {bare}0 & echo UP; cat"
    );
    home.json(&["spawn", "--name", "a", "--wait-text", "UP", "--", "sh", "-c", &script]);
    let pid = daemon_pid(&home);
    kill_process(pid, Signal::KILL).unwrap();
    wait_for_end(pid);
    let (status, json, errors) = home.run(&["search", "UP", "--json"]);
    assert_eq!((status, &json["matches"]), (0, &json!([])));
    assert!(errors.contains("the previous daemon was killed"), "{errors}");
    let left = processes_of(&home.dir);
    assert!(left.iter().all(|command| command.contains(" daemon ")), "{left:?}");
    assert!(!all_commands().iter().any(|command| command.starts_with(&bare)));
    let (_, _, errors) = home.run(&["search", "UP"]);
    assert_eq!(errors, "", "the death is reported once");
}

#[test]
fn leaders_files_of_older_versions_are_ignored() {
    let home = Home::new("recycled");
    home.json(&["spawn", "--name", "a", "--", "cat"]);
    let leaders = home.dir.join("awaitty/leaders");
    let written = fs::read_to_string(&leaders).unwrap();
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert!(written.starts_with(&boot_id) && written.lines().count() == 2, "{written:?}");
    // A session of another program, whose leader has exited.
    let script = "sleep 1000 >/dev/null 2>&1 & echo $$ $!";
    let started = Command::new("setsid").args(["sh", "-c", script]).output().unwrap();
    let started = String::from_utf8(started.stdout).unwrap();
    let (leader, other) = started.trim().split_once(' ').unwrap();
    let other = Pid::from_raw(other.parse().unwrap()).unwrap();
    let process = pidfd_open(other, PidfdFlags::empty()).unwrap();
    fs::write(&leaders, format!("{leader}\n")).unwrap();
    let pid = daemon_pid(&home);
    let guard = guard_of(pid);
    kill_process(pid, Signal::KILL).unwrap();
    wait_for_end(guard);
    let errors = home.run(&["search", "x"]).2;
    assert!(errors.contains("the previous daemon was killed"), "{errors}");
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&Timespec::default()));
    assert_eq!(ended, Ok(0), "the other process still runs");
    kill_process(other, Signal::KILL).unwrap();
    // A restarted session replaces its line, a closed one removes it.
    home.json(&["spawn", "--name", "a", "--", "cat"]);
    home.json(&["restart", "a"]);
    assert_eq!(fs::read_to_string(&leaders).unwrap().lines().count(), 2);
    home.json(&["close-session", "a"]);
    assert_eq!(fs::read_to_string(&leaders).unwrap(), boot_id);
}

#[test]
fn sessions_survive_calls_and_clients() {
    let home = Home::new("outlive");
    let mut client = Server::start(home.command().args(["mcp", "--daemon"]));
    client.call("spawn", json!({"command": "cat", "name": "kept"}));
    drop(client);
    assert_eq!(home.json(&["ls"])["sessions"][0]["name"], "kept");
    let sent = home.json(&["send", "kept", "hello\n", "--wait-text", "hello"]);
    assert_eq!(sent["outcome"], "met");
    let guard = guard_of(daemon_pid(&home));
    assert_eq!(home.run(&["daemon", "stop", "--json"]).1, json!({"stopped": true}));
    wait_for_end(guard);
    assert_eq!(processes_of(&home.dir), Vec::<String>::new());
    assert_eq!(home.run(&["daemon", "stop", "--json"]).1, json!({"stopped": false}));
    assert_eq!(home.run(&["daemon", "status", "--json"]).1, json!({"running": false}));
}

#[test]
fn the_daemon_ends_when_it_is_idle() {
    let home = Home::new("idle");
    let mut first = home.command();
    first.env("AWAITTY_IDLE_MS", "50").args(["spawn", "--", "sh", "-c", "read x"]);
    assert!(first.status().unwrap().success());
    // The daemon stays as long as a program runs.
    let pid = daemon_pid(&home);
    home.json(&["send", "s1", "\n", "--wait-exit"]);
    wait_for_end(pid);
    assert_eq!(home.run(&["daemon", "status", "--json"]).1, json!({"running": false}));
}

#[test]
fn the_exit_status_reports_the_outcome() {
    let home = Home::new("status");
    let run = |args: &[&str]| home.run(args).0;
    assert_eq!(
        run(&["spawn", "--wait-text", "UP", "--", "sh", "-c", "echo UP; read x; exit 3"]),
        0
    );
    assert_eq!(run(&["wait-for-text", "s1", "UP"]), 0);
    assert_eq!(run(&["wait-for-text", "UP"]), 0, "the only session need not be named");
    assert_eq!(run(&["wait-for-text", "s2", "UP"]), 1);
    assert_eq!(run(&["wait-for-text", "s1", "("]), 1);
    assert_eq!(run(&["wait-for-text", "s1", "UP", "--timeout-ms", "soon"]), 2);
    assert_eq!(run(&["wait-for-nothing"]), 2);
    assert_eq!(run(&["wait-for-text"]), 2);
    assert_eq!(run(&["spawn", "--env", "NO-VALUE", "--", "true"]), 2);
    assert_eq!(run(&["wait-for-text", "-zz", "--timeout-ms", "0"]), 3, "a pattern with a dash");
    assert_eq!(run(&["wait-for-text", "s1", "NEVER", "--timeout-ms", "0"]), 3);
    assert_eq!(run(&["send", "s1", "\n", "--wait-text", "NEVER"]), 4);
    let exit = home.json(&["wait-for-exit", "s1"]);
    assert_eq!((&exit["exited"], &exit["exit_code"]), (&json!(true), &json!(3)));
}

#[test]
fn run_exits_with_the_status_of_the_program() {
    let home = Home::new("run-status");
    let run = |args: &[&str]| home.run(args).0;
    assert_eq!(run(&["run", "--", "sh", "-c", "exit 0"]), 0);
    assert_eq!(run(&["run", "--", "sh", "-c", "exit 7"]), 7);
    assert_eq!(run(&["run", "sh", "-c", "exit 8"]), 8, "without --");
    assert_eq!(run(&["run", "--json", "--", "sh", "-c", "kill -TERM $$"]), 128 + 15);
    assert_eq!(run(&["run", "--timeout-ms", "0", "--", "cat"]), 124);
    assert_eq!(run(&["run", "--", "/no/such/program"]), 1);
    assert_eq!(run(&["run"]), 2);
    assert_eq!(home.json(&["ls"]), json!({"sessions": []}), "all sessions are closed");
}

#[test]
fn run_command_exits_with_the_status_of_the_command() {
    let home = Home::new("command-status");
    home.json(&["spawn", "--name", "a", "--", "bash", "--norc"]);
    let run = |command: &str| home.run(&["run-command", "a", command]).0;
    assert_eq!(run("true"), 0);
    assert_eq!(home.run(&["run-command", "(exit 4)"]).0, 4, "the only session need not be named");
    assert_eq!(run("(exit 5)"), 5);
    assert_eq!(run("sh -c 'kill -9 $$'"), 128 + 9);
    assert_eq!(run("echo 'open"), 1, "the command did not run");
    assert_eq!(home.run(&["run-command", "nope", "true"]).0, 1);
    assert_eq!(home.run(&["run-command", "a", "cat", "--timeout-ms", "100"]).0, 124);
    home.json(&["send", "a", "--keys", "ctrl+c"]);
    assert_eq!(run("exit 6"), 6, "the status of the shell");
}

#[test]
fn a_command_may_follow_an_interrupt_at_once() {
    let home = Home::new("interrupt");
    home.json(&["spawn", "--name", "a", "--", "bash", "--norc"]);
    for _ in 0..10 {
        assert_eq!(home.run(&["run-command", "a", "cat", "--timeout-ms", "50"]).0, 124);
        home.json(&["send", "a", "--keys", "ctrl+c"]);
        assert_eq!(home.run(&["run-command", "a", "(exit 3)"]).0, 3);
    }
}

#[test]
fn spawn_uses_the_callers_directory_and_environment() {
    let home = Home::new("here");
    let script = "echo $(pwd) $COLOUR $TERM; cat";
    let mut spawn = home.command();
    spawn.current_dir("/usr").env("COLOUR", "blue").args([
        "spawn",
        "--json",
        "--wait-text",
        "term",
    ]);
    let output = spawn.args(["--", "sh", "-c", script]).output().unwrap();
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(shown["screen_text"], "/usr blue xterm-256color");
}

#[test]
fn a_daemon_of_another_version_is_reported() {
    let home = Home::new("version");
    fs::create_dir(home.dir.join("awaitty")).unwrap();
    fs::set_permissions(home.dir.join("awaitty"), PermissionsExt::from_mode(0o700)).unwrap();
    let listener = UnixListener::bind(home.dir.join("awaitty/daemon.sock")).unwrap();
    let info =
        json!({"io.modelcontextprotocol/serverInfo": {"name": "awaitty", "version": "9.9.9"}});
    let error = json!({"code": -32601, "message": "server/discover"});
    for (answer, version) in
        [(json!({"result": {"_meta": info}}), "9.9.9"), (json!({"error": error}), "unknown")]
    {
        thread::scope(|scope| {
            scope.spawn(|| {
                let (stream, _) = listener.accept().unwrap();
                let mut line = String::new();
                BufReader::new(&stream).read_line(&mut line).unwrap();
                let mut answer = answer.clone();
                answer["jsonrpc"] = json!("2.0");
                answer["id"] = serde_json::from_str::<Value>(&line).unwrap()["id"].clone();
                writeln!(&stream, "{answer}").unwrap();
            });
            let (status, _, errors) = home.run(&["ls"]);
            assert_eq!(status, 1);
            assert!(errors.contains(version) && errors.contains("awaitty daemon stop"), "{errors}");
        });
    }
    drop(listener);
    // The socket is stale now, so a new daemon replaces it.
    assert_eq!(home.run(&["search", "x"]).0, 0);
}

#[test]
fn sockets_are_private_to_the_user() {
    let home = Home::new("mode");
    home.json(&["search", "x"]);
    let mode = |path: &str| fs::metadata(home.dir.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("awaitty"), 0o700);
    for socket in ["daemon.sock", "daemon-programs.sock"] {
        assert_eq!(mode(&format!("awaitty/{socket}")), 0o600, "{socket}");
    }
    home.run(&["daemon", "stop"]);
    fs::set_permissions(home.dir.join("awaitty"), PermissionsExt::from_mode(0o755)).unwrap();
    let (status, _, errors) = home.run(&["ls"]);
    assert_eq!(status, 1);
    assert!(errors.contains("only you can use"), "{errors}");
}

#[test]
fn a_server_removes_its_own_socket_and_stale_ones() {
    let home = Home::new("sockets");
    let sockets = || {
        let entries = fs::read_dir(home.dir.join("awaitty")).unwrap().flatten();
        entries.filter(|entry| entry.path().extension().is_some_and(|end| end == "sock")).count()
    };
    // Dropping a `Server` kills it with SIGKILL.
    drop(Server::start(home.command().arg("mcp")));
    assert_eq!(sockets(), 1);
    let second = Server::start(home.command().arg("mcp"));
    assert_eq!(sockets(), 1, "only the socket of the second server");
    second.end();
    assert_eq!(sockets(), 0);
}

#[test]
fn waits_end_as_closed_when_the_daemon_is_stopped() {
    let home = Home::new("stopped");
    home.json(&["spawn", "--name", "a", "--", "cat"]);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| home.run(&["wait-for-text", "a", "NEVER", "--json"]));
        while home.json(&["ls"])["sessions"][0]["waits"] != json!(1) {}
        home.run(&["daemon", "stop"]);
        let (status, json, _) = waiting.join().unwrap();
        assert_eq!((status, &json["outcome"]), (4, &json!("closed")), "{json}");
    });
}

#[test]
fn an_interrupted_run_ends_its_program() {
    let home = Home::new("interrupted");
    let mut run = home.command().args(["run", "--", "cat"]).spawn().unwrap();
    while home.json(&["ls"])["sessions"][0]["waits"] != json!(1) {}
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(4));
    assert_eq!(home.json(&["ls"]), json!({"sessions": []}));
}

#[test]
fn a_relative_cwd_resolves_in_the_callers_directory() {
    let home = Home::new("cwd");
    let mut spawn = home.command();
    spawn.current_dir("/usr").args([
        "spawn",
        "--json",
        "--cwd",
        "bin",
        "--wait-exit",
        "--",
        "pwd",
        "-P",
    ]);
    let shown: Value = serde_json::from_slice(&spawn.output().unwrap().stdout).unwrap();
    assert!(shown["screen_text"].as_str().unwrap().ends_with("/bin"), "{shown}");
}

#[test]
fn an_unreachable_server_is_reported_in_json() {
    let home = Home::new("unreachable");
    let mut signal = home.command();
    signal.env("AWAITTY_SOCKET", "/no/such/socket").args(["signal", "a", "--json"]);
    let output = signal.output().unwrap();
    let error: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((output.status.code(), &error["code"]), (Some(1), &json!("unreachable")));
}
