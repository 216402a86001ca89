//! Processes that outlive the program under test.

use awaitty_test::{Failure, exit, text};

use crate::{menu, script};

/// Returns a script that starts a daemon, which detaches itself and then reports that.
fn daemon(command: &str) -> String {
    format!("(setsid sh -c 'echo started; exec {command} >/dev/null 2>&1 </dev/null' &)")
}

/// Returns the PID that a report names with a command.
fn leaked(failure: &Failure, command: &str) -> i32 {
    let report = failure.to_string();
    let line = report.lines().find(|line| line.contains(command) && line.contains("PID"));
    let line = line.unwrap_or_else(|| panic!("{command:?} is not named: {report}"));
    line.split_whitespace().nth(2).unwrap().trim_end_matches(':').parse().unwrap()
}

/// Returns whether a process exists. A zombie does not count: its parent is init.
fn is_alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, fields)| !fields.starts_with(['Z', 'X']))
}

#[test]
fn a_program_that_runs_is_ended_without_a_report() {
    menu().close().unwrap();
    let t = script("trap '' HUP; sleep 1000 & sleep 1001");
    t.close().unwrap();
}

#[test]
fn a_daemon_is_killed_and_named() {
    let t = menu();
    t.press("d").unwrap().expect(text("daemon started")).unwrap();
    t.press("q").unwrap().expect(exit(0)).unwrap();
    let failure = t.close().unwrap_err();
    assert!(failure.why().starts_with("a process outlived the program"), "{failure}");
    assert!(!is_alive(leaked(&failure, "sleep 1000")));
}

/// The daemon's parent has exited, so nothing but the environment connects it to the program, which still runs.
#[test]
fn a_daemon_of_a_program_that_runs_is_killed_and_named() {
    let t = script(&format!("{}; cat", daemon("sleep 1234")));
    t.expect(text("started")).unwrap();
    let failure = t.close().unwrap_err();
    assert!(!is_alive(leaked(&failure, "sleep 1234")));
}

#[test]
fn a_background_job_that_outlives_the_program_is_killed_and_named() {
    let t = script("trap '' HUP; sleep 1357 &");
    t.expect(exit(0)).unwrap();
    let failure = t.close().unwrap_err();
    assert!(!is_alive(leaked(&failure, "sleep 1357")));
}

/// A process with another environment is found by its session.
#[test]
fn a_process_with_an_empty_environment_is_found_by_its_session() {
    let t = script("trap '' HUP; env -i sleep 1470 &");
    t.expect(exit(0)).unwrap();
    let failure = t.close().unwrap_err();
    assert!(!is_alive(leaked(&failure, "sleep 1470")));
}

#[test]
fn a_leak_panics_when_the_terminal_is_dropped() {
    let leak = || {
        let t = script(&format!("{}; cat", daemon("sleep 1580")));
        t.expect(text("started")).unwrap();
    };
    let panic = std::panic::catch_unwind(leak).unwrap_err();
    let report = panic.downcast_ref::<String>().unwrap();
    assert!(report.contains("sleep 1580"), "{report}");
}

#[test]
fn a_leak_of_one_test_is_not_blamed_on_another() {
    let leaking = script(&format!("{}; cat", daemon("sleep 1690")));
    leaking.expect(text("started")).unwrap();
    let other = script("echo started");
    other.expect(text("started")).unwrap().expect(exit(0)).unwrap();
    other.close().unwrap();
    leaking.close().unwrap_err();
}

/// The children of the test itself are left alone.
#[test]
fn children_of_the_test_are_not_reaped() {
    let mut child = std::process::Command::new("sh").args(["-c", "exit 7"]).spawn().unwrap();
    let t = script("exit 0");
    t.expect(exit(0)).unwrap();
    t.close().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(7));
}
