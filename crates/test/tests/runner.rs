//! Tapes that run: each command against real programs, and the step that fails.
#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

use std::path::{Path, PathBuf};

use awaitty_test::TraceMode;
use awaitty_test::runner::{self, Mode, RunOptions, TapeRun, markers};
use awaitty_test::tape;
use tempfile::TempDir;

/// A directory for the tape, its goldens and its traces.
struct Place(TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run_with(&self, text: &str, change: impl FnOnce(&mut RunOptions)) -> TapeRun {
        let load = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        let tape = tape::parse(text, &load).unwrap_or_else(|errors| panic!("{errors:?}"));
        let mut options = RunOptions {
            mode: Mode::Test { update: false },
            size: (80, 24),
            seed: None,
            trace: TraceMode::Off,
            trace_path: self.path("trace.html"),
            recording: None,
        };
        change(&mut options);
        runner::run(&self.path("menu.tape"), &tape, &options)
    }
}

/// Runs a tape that must pass.
fn pass(text: &str) {
    if let Some(failure) = Place::new().run_with(text, |_| {}).failure {
        panic!("{} {}\n{}", failure.position, failure.source, failure.report);
    }
}

/// Runs a tape whose step at `line` must fail with `report`.
fn fail(text: &str, line: usize, report: &str) {
    let failure = Place::new().run_with(text, |_| {}).failure.expect("a step fails");
    assert_eq!(failure.position.line, line, "{}", failure.report);
    assert!(failure.report.contains(report), "{}", failure.report);
}

/// Returns a tape that starts the menu of tests/programs.
fn menu(rest: &str) -> String {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/menu.py");
    format!("Set Shell \"python3 {}\"\n{rest}", program.display())
}

#[test]
fn typed_text_and_keys_reach_the_program() {
    pass("Type 'echo $((20 + 3))' Enter\nExpect /^23$/");
    pass(&menu("Down 2\nExpect Selected /Three/\nUp\nExpect Selected /Two/"));
    pass("Type 'cat' Enter\nCtrl+C\nType 'echo $?' Enter\nExpect /^130$/");
}

#[test]
fn expectations_count_only_what_is_newer_than_the_input() {
    pass(&menu("Enter\nExpect /Entry One/\nEscape\nExpect /Main menu/\nExpect Frame /\\? keys/"));
    fail(&menu("Enter\nExpect@200ms /\\? keys/"), 3, "in_frame");
    pass(&menu("Type 'l'\nExpect Gone /Loading/\nExpect /Loaded/"));
    pass(&menu("Type 't'\nExpect Title /changed/"));
    pass(&menu("Type 'x'\nExpect Exit 3"));
    fail(&menu("Type 'x'\nExpect Exit 0"), 3, "the program exited with status 3");
}

#[test]
fn waits_of_vhs_accept_what_is_on_the_screen() {
    pass(
        "Type 'echo one' Enter\nExpect /^one$/\nType 'true' Enter\nWait+Screen /one/\nWait\nWait+Line@5s />$/",
    );
    fail("Set WaitTimeout 200ms\nWait+Line /nothing/", 2, "the row of the cursor is");
    fail("Wait@100ms /nothing/", 1, "Wait@100ms /nothing/ failed: timeout");
}

#[test]
fn a_click_goes_to_the_only_match() {
    pass(&menu("Click /\\[ OK \\]/\nExpect /clicked 7:\\d/"));
    fail(&menu("Click /OK/"), 2, "matches");
}

#[test]
fn a_resize_and_a_paste_reach_the_program() {
    pass(&menu("Resize 100 30\nExpect /size 100x30/\nCopy 'a b'\nPaste\nExpect /pasted 'a b'/"));
}

#[test]
fn a_command_must_have_the_status_0_unless_any_is_accepted() {
    pass("Run 'true'\nRun! 'false'\nRun 'cd /'\nType 'pwd' Enter\nExpect /^\\/$/");
    fail("Run 'true'\nRun 'echo reason; false'", 2, "the exit status is 1, not 0");
}

#[test]
fn the_environment_is_that_of_the_tape() {
    pass(
        "Env COLOUR 'dark red'\nSet Env SHAPE round\nType 'echo $COLOUR $SHAPE' Enter\nExpect /^dark red round/",
    );
    pass("Type 'echo $TERM $TZ $LANG' Enter\nExpect /^xterm-256color UTC C.UTF-8/");
    pass("Set Columns 60\nSet Rows 10\nRun 'test \"$(stty size)\" = \"10 60\"'");
}

#[test]
fn a_program_that_is_required_must_be_there() {
    pass("Require bash");
    fail("Require bash\nRequire no-such-program", 2, "\"no-such-program\" is not in PATH");
    fail(
        "Set Columns 90\nSet Shell no-such-program\nEnter",
        2,
        "\"no-such-program\" was not found",
    );
}

#[test]
fn a_golden_is_written_on_request_and_compared() {
    let place = Place::new();
    let golden = place.path("menu.list.golden");
    let tape = menu("Screen 'list'\nDown\nScreen 'list'");
    let missing = place.run_with(&tape, |_| {}).failure.unwrap();
    assert!(missing.report.contains("--update writes it"), "{}", missing.report);
    let one = menu("Screen 'list'");
    let written = place.run_with(&one, |options| options.mode = Mode::Test { update: true });
    assert!(written.failure.is_none());
    assert_eq!(written.written, std::slice::from_ref(&golden));
    assert!(std::fs::read_to_string(&golden).unwrap().contains("Main menu"));
    let failure = place.run_with(&tape, |_| {}).failure.unwrap();
    assert_eq!(failure.position.line, 4, "the first comparison passes: {}", failure.report);
    assert!(
        failure.report.contains("-3:1-7") && failure.report.contains("+4:1-7"),
        "{}",
        failure.report
    );
}

#[test]
fn a_mask_hides_what_differs_between_runs() {
    let place = Place::new();
    let tape =
        |text: &str| menu(&format!("Type '{text}'\nExpect /key/\nScreen 'key' Mask /key '.'/"));
    let update = |options: &mut RunOptions| options.mode = Mode::Test { update: true };
    assert!(place.run_with(&tape("a"), update).failure.is_none());
    assert!(place.run_with(&tape("c"), |_| {}).failure.is_none());
}

#[test]
fn a_process_that_outlives_the_tape_is_a_failure() {
    fail(&menu("Type 'd'\nExpect /daemon started/\nType 'q'\nExpect Exit 0"), 5, "sleep 1000");
}

#[test]
fn a_trace_has_the_lines_of_the_tape() {
    let place = Place::new();
    let on_failure = |options: &mut RunOptions| options.trace = TraceMode::RetainOnFailure;
    let page = place.path("trace.html");
    assert!(place.run_with(&menu("Down\nExpect Selected /Two/"), on_failure).failure.is_none());
    assert!(!page.exists(), "the tape passed");
    let failure =
        place.run_with(&menu("Down\nExpect@100ms /Nowhere/"), on_failure).failure.unwrap();
    assert_eq!(failure.trace, Some(page.clone()));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("Expect@100ms /Nowhere/") && html.contains("menu.tape"));
}

#[test]
fn a_demo_marks_what_is_hidden_and_takes_screenshots() {
    let place = Place::new();
    let recording = place.path("demo.cast");
    let tape = "Set TypingSpeed 0ms\nHide\nType 'echo a' Enter\nWait\nShow\nScreenshot a.txt";
    let run = place.run_with(tape, |options| {
        options.mode = Mode::Play;
        options.recording = Some(recording.clone());
    });
    assert!(run.failure.is_none());
    assert_eq!(run.screenshots[0].path, "a.txt");
    assert!(run.screenshots[0].frame.text().contains("echo a"));
    let recorded = std::fs::read_to_string(recording).unwrap();
    let hidden = recorded.find(markers::HIDE).unwrap();
    assert!(hidden < recorded.find(markers::SHOW).unwrap());
}

#[test]
fn a_tape_passes_with_disturbed_timing() {
    let place = Place::new();
    for seed in 0..5 {
        let tape =
            menu("Down\nExpect Selected /Two/\nEnter\nExpect /Entry Two/\nType 'q'\nExpect Exit 0");
        let run = place.run_with(&tape, |options| options.seed = Some(seed));
        assert!(run.failure.is_none(), "seed {seed}: {}", run.failure.unwrap().report);
    }
}

#[test]
fn the_step_at_which_the_program_is_broken_fails() {
    // Escape does nothing, while the text that both screens share is still there.
    let broken = menu("Enter\nExpect /Entry One/\nEscape\nExpect@300ms Frame /\\? keys/")
        .replace("menu.py", "menu.py broken");
    fail(&broken, 5, "timeout");
}
