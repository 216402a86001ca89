//! Tests that run in a child process, because they fail on purpose or need environment variables: this test binary runs
//! itself with one of the ignored tests.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use awaitty_test::{Failure, TraceMode, assert_screen, program, text};

use crate::script;

/// Runs an ignored test of this module in a child process. Returns whether it passed, and its output.
fn run(test: &str, variables: &[(&str, &str)]) -> (bool, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("children::{test}"), "--ignored", "--nocapture"]);
    for name in ["SLOW", "SEED", "TRACE", "TRACES"] {
        command.env_remove(format!("AWAITTY_TEST_{name}"));
    }
    // A test that is killed leaves its temporary files.
    let files = tempfile::tempdir().unwrap();
    command.env("TMPDIR", files.path());
    // The report of a panic is the subject, not its backtrace.
    command.env("RUST_BACKTRACE", "0").env("INSTA_UPDATE", "no");
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
#[ignore = "fails on purpose; the tests below run it"]
fn returns_a_failure() -> Result<(), Failure> {
    let t = program("sh").args(["-c", "echo shown; cat"]).size(40, 5).start()?;
    t.expect(text("shown"))?;
    t.expect(text("absent").within(Duration::ZERO))?;
    Ok(())
}

#[test]
fn a_test_that_returns_a_failure_prints_its_report_and_writes_its_trace() {
    let directory = tempfile::tempdir().unwrap();
    let traces = directory.path().to_str().unwrap();
    let (passed, output) = run("returns_a_failure", &[("AWAITTY_TEST_TRACES", traces)]);
    assert!(!passed);
    for expected in [
        r#"Error: expect(text("absent").within(0ns)) failed: timeout after 0ns"#,
        r#"tests/api/children.rs:"#,
        r#": t.expect(text("absent").within(Duration::ZERO))?;"#,
        "  1 │shown                                   │",
    ] {
        assert!(output.contains(expected), "{expected:?} is missing: {output}");
    }
    let path = output.lines().find_map(|line| line.strip_prefix("trace: ")).unwrap();
    assert!(path.starts_with(traces), "{path}");
    let page = std::fs::read_to_string(path).unwrap();
    assert!(page.contains("absent"));
}

#[test]
fn slow_mode_is_set_by_the_environment_and_reported() {
    let off = [("AWAITTY_TEST_TRACE", "off")];
    let (_, output) = run("returns_a_failure", &off);
    assert!(!output.contains("AWAITTY_TEST_SEED") && !output.contains("trace: "), "{output}");
    let (_, output) = run("returns_a_failure", &[off[0], ("AWAITTY_TEST_SLOW", "1")]);
    assert!(output.contains("AWAITTY_TEST_SLOW=1 AWAITTY_TEST_SEED="), "{output}");
    let seeded = [off[0], ("AWAITTY_TEST_SLOW", "1"), ("AWAITTY_TEST_SEED", "77")];
    let (_, output) = run("returns_a_failure", &seeded);
    assert!(output.contains("AWAITTY_TEST_SEED=77 repeats this timing"), "{output}");
}

#[test]
#[ignore = "reads its environment; the test below runs it"]
fn prints_its_burners() {
    for _ in 0..2 {
        script("exit 0").expect(awaitty_test::exit(0)).unwrap();
    }
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
    let names = tasks.filter_map(|task| name(task.unwrap()).ok());
    let burners = names.filter(|name| name.trim() == "burner").count();
    println!("burners: {burners};");
}

#[test]
fn slow_mode_keeps_all_processors_busy_once() {
    let processors = std::thread::available_parallelism().unwrap();
    let (_, output) = run("prints_its_burners", &[("AWAITTY_TEST_SLOW", "1")]);
    assert!(output.contains(&format!("burners: {processors};")), "{output}");
    let (_, output) = run("prints_its_burners", &[]);
    assert!(output.contains("burners: 0;"), "{output}");
}

#[test]
fn wrong_variables_are_errors() {
    let (_, output) = run("returns_a_failure", &[("AWAITTY_TEST_TRACE", "yes")]);
    assert!(output.contains("AWAITTY_TEST_TRACE=\"yes\" is not a mode: use on"), "{output}");
    let wrong = [("AWAITTY_TEST_SLOW", "1"), ("AWAITTY_TEST_SEED", "x")];
    let (_, output) = run("returns_a_failure", &wrong);
    assert!(output.contains("AWAITTY_TEST_SEED=\"x\" is not a number"), "{output}");
    let unwritable = [("AWAITTY_TEST_TRACES", "/dev/null/traces")];
    let (_, output) = run("returns_a_failure", &unwritable);
    assert!(output.contains("the trace cannot be written"), "{output}");
}

#[test]
#[ignore = "fails on purpose; the test below runs it"]
fn differs_from_its_golden() {
    let t = script("echo new; cat");
    t.expect(text("new")).unwrap();
    assert_screen!(t, "differs");
}

/// insta writes the new screen beside the golden, where `cargo insta review` finds it.
#[test]
fn a_golden_that_differs_is_written_for_a_review() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/snapshots");
    let new = golden.join("api__children__differs.snap.new");
    let (passed, output) = run("differs_from_its_golden", &[]);
    assert!(!passed && !new.exists());
    for expected in ["-│old", "+│new", "assert_screen!(\"differs\") failed", "  1 │new "] {
        assert!(output.contains(expected), "{expected:?} is missing: {output}");
    }
    let (passed, _) = run("differs_from_its_golden", &[("INSTA_UPDATE", "new")]);
    let written = std::fs::read_to_string(&new).unwrap();
    std::fs::remove_file(&new).unwrap();
    assert!(!passed && written.contains("│new\n"), "{written}");
    assert!(written.contains("source: crates/test/tests/api/children.rs"), "{written}");
}

/// A test that is killed leaves no program: the kernel hangs up its terminal.
#[test]
#[ignore = "kills its process; the test below runs it"]
fn is_killed() {
    let t = program("sh").args(["-c", "echo PID $$; cat"]).trace(TraceMode::Off).start().unwrap();
    t.expect(text(r"PID \d+")).unwrap();
    let screen = t.screen().unwrap();
    println!("{screen}");
    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL)
        .unwrap();
}

#[test]
fn a_test_that_is_killed_leaves_no_program() {
    let (passed, output) = run("is_killed", &[]);
    assert!(!passed);
    let pid = output.lines().find_map(|line| line.strip_prefix("PID ")).unwrap();
    let ended =
        script(&format!("while kill -0 {} 2>/dev/null; do :; done; echo ended", pid.trim()));
    ended.expect(text("ended")).unwrap();
}
