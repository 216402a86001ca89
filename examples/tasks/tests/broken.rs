//! A broken program: with `--broken-esc`, Esc does nothing on the screen of a task while the old text is still there.
//! Exactly the step after Esc must fail, in Rust and in a tape.

use std::path::{Path, PathBuf};
use std::time::Duration;

use awaitty_test::runner::{self, Mode, RunOptions, TapeFailure};
use awaitty_test::{Builder, Failure, SIZE, TraceMode, selected, tape, text};

/// The time for the program to react to Esc. The broken program never does.
const REACTION: Duration = Duration::from_secs(2);

/// Opens a task and goes back to the list.
fn open_and_go_back(tasks: Builder) -> Result<(), Failure> {
    let t = tasks.size(60, 12).start()?;
    t.expect(text("Main menu"))?;
    t.press("enter")?.expect(text("4 tasks"))?;
    t.press("down enter")?.expect(text("Task 2 of 4"))?;
    t.press("esc")?.expect(text(r"\? keys").in_frame().within(REACTION))?;
    t.expect(text("4 tasks"))?.expect(selected("Pay the rent"))?;
    t.close()
}

#[test]
fn the_step_after_esc_fails_in_rust() -> Result<(), Failure> {
    open_and_go_back(awaitty_test::bin!("tasks"))?;
    let broken = awaitty_test::bin!("tasks").arg("--broken-esc").trace(TraceMode::Off);
    let Err(failure) = open_and_go_back(broken) else { panic!("the broken program passed") };
    let place = failure.place().map(|place| (place.file.as_str(), place.text.as_str()));
    let line = r#"t.press("esc")?.expect(text(r"\? keys").in_frame().within(REACTION))?;"#;
    assert_eq!(place, Some(("tests/broken.rs", line)), "{failure}");
    assert_eq!(failure.why(), "timeout after 2s");
    // Slow mode adds its seed.
    let report = failure.to_string();
    let lines: Vec<&str> = report.lines().filter(|line| !line.starts_with("slow mode:")).collect();
    insta::assert_snapshot!("report", lines.join("\n"));
    Ok(())
}

/// Runs a tape with the binary of this package, and returns the step that failed.
fn run_tape(name: &str) -> Option<TapeFailure> {
    let path = Path::new("tests").join(name);
    let Ok(text) = std::fs::read_to_string(&path) else { panic!("{path:?} cannot be read") };
    // `awaitty test` finds the program in PATH. This test has no PATH of its own.
    let shell = "Set Shell \"tasks";
    assert!(text.contains(shell), "{text}");
    let text = text.replace(shell, concat!("Set Shell \"", env!("CARGO_BIN_EXE_tasks")));
    let Ok(tape) = tape::parse(&text, &|_| Err(std::io::ErrorKind::NotFound.into())) else {
        panic!("{path:?} has an error")
    };
    let options = RunOptions {
        mode: Mode::Test { update: false },
        size: SIZE,
        seed: None,
        trace: TraceMode::Off,
        trace_path: PathBuf::new(),
        recording: None,
    };
    runner::run(&path, &tape, &options).failure
}

#[test]
fn the_step_after_esc_fails_in_a_tape() {
    assert!(run_tape("esc.tape").is_none(), "the program is not broken");
    let Some(failure) = run_tape("broken/esc.tape") else { panic!("the broken program passed") };
    assert_eq!((failure.position.line, failure.position.column), (12, 1), "{failure:?}");
    assert_eq!(failure.source, r"Expect@2s Frame /\? keys/");
    let lines: Vec<&str> = failure.report.lines().collect();
    assert!(lines[0].ends_with("failed: timeout after 2s"), "{}", failure.report);
    assert_eq!(lines.last(), Some(&"nothing changed since the last input"));
}

/// The tapes have the same steps: only the program and the timeout differ.
#[test]
fn the_broken_tape_has_the_steps_of_the_other_one() {
    let steps = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(Path::new("tests").join(name)).unwrap_or_default();
        let text = text.replace(" --broken-esc", "").replace("Expect@2s", "Expect");
        text.lines().skip(1).map(str::to_owned).collect()
    };
    assert!(steps("esc.tape").len() > 10);
    assert_eq!(steps("esc.tape"), steps("broken/esc.tape"));
}
