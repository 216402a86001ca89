//! `awaitty test` and `awaitty play`.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A directory with tapes, in which commands run.
struct Tapes(TempDir);

impl Tapes {
    fn new(tapes: &[(&str, &str)]) -> Tapes {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in tapes {
            std::fs::write(directory.path().join(name), text).unwrap();
        }
        Tapes(directory)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_awaitty"));
        command.current_dir(self.0.path()).env_remove("GITHUB_ACTIONS").args(words);
        command
    }

    /// Returns the exit status, standard output and standard error.
    fn run(&self, words: &[&str]) -> (i32, String, String) {
        let Output { status, stdout, stderr } = self.command(words).output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (status.code().unwrap(), text(stdout), text(stderr))
    }
}

const PASSES: &str = "Type 'echo $((20 + 3))' Enter\nExpect /^23$/\n";
const FAILS: &str = "Type 'echo one' Enter\nExpect /^one$/\nExpect@100ms /two/\n";

#[test]
fn a_test_run_reports_each_tape_and_the_step_that_failed() {
    let tapes = Tapes::new(&[("a.tape", PASSES), ("b.tape", FAILS)]);
    let (status, output, _) = tapes.run(&["test", "a.tape"]);
    assert_eq!(status, 0, "{output}");
    assert!(output.starts_with("ok ") && output.ends_with("1 passed, 0 failed\n"), "{output}");
    assert!(!output.contains('\u{1b}'), "no colour in a pipe: {output}");
    let (status, output, _) = tapes.run(&["test"]);
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("b.tape:3:1: Expect@100ms /two/"), "{output}");
    assert!(output.contains("timeout after 100ms") && output.contains("│one"), "{output}");
    assert!(output.ends_with("1 passed, 1 failed\n"), "{output}");
    let trace = std::fs::read_to_string(tapes.path("awaitty-traces/b.html")).unwrap();
    assert!(trace.contains("Expect@100ms /two/"));
    assert!(!tapes.path("awaitty-traces/a.html").exists());
    let (_, output, _) = tapes.run(&["test", "a.tape", "--trace", "on", "--traces", "here"]);
    assert!(tapes.path("here/a.html").exists(), "{output}");
}

#[test]
fn nothing_runs_if_a_tape_or_an_argument_is_wrong() {
    let tapes = Tapes::new(&[("a.tape", "Run 'touch ran'\n"), ("b.tape", "Enter\nExpct /x/\n")]);
    let (status, output, errors) = tapes.run(&["test", "a.tape", "b.tape"]);
    assert_eq!((status, output.as_str()), (2, ""), "{errors}");
    assert_eq!(
        errors,
        "awaitty: b.tape:2:1: the command \"Expct\" is not known: did you mean `Expect`?\n"
    );
    assert!(!tapes.path("ran").exists());
    let refused = |words: &[&str], part: &str| {
        let (status, _, errors) = tapes.run(words);
        assert_eq!(status, 2, "{words:?}: {errors}");
        assert!(errors.contains(part), "{words:?}: {errors}");
    };
    refused(&["test", "none.tape"], "none.tape: there is no such file");
    refused(&["test", "--filter", "x", "a.tape"], "--filter x: matches none of 1 tapes");
    refused(&["test", "--repeat", "0"], "0 is not in 1..=100000");
    refused(&["test", "--repeat", "100001"], "100001 is not in 1..=100000");
    refused(&["test", "--jobs", "257"], "257 is not in 1..=256");
    refused(&["test", "--seed", "1"], "--slow");
    let (status, output, errors) = tapes.run(&["test", "a.tape", "--junit", "/dev/null/x.xml"]);
    assert_eq!((status, output.as_str()), (1, ""), "{errors}");
    assert!(errors.contains("--junit /dev/null/x.xml: "), "{errors}");
    assert!(!tapes.path("ran").exists());
    refused(&["play", "b.tape"], "b.tape:2:1");
    refused(&["play", "a.tape"], "the tape has no output");
    refused(&["play", "a.tape", "--output", "a.mp4"], ".gif");
}

#[test]
fn a_run_is_repeated_and_disturbed() {
    let tapes = Tapes::new(&[("a.tape", PASSES), ("b.tape", FAILS)]);
    let (status, output, _) = tapes.run(&["test", "a.tape", "--repeat", "3", "--slow"]);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("(3 of 3 runs passed)"), "{output}");
    let (status, output, _) = tapes.run(&["test", "b.tape", "--slow", "--seed", "7"]);
    assert_eq!(status, 1, "{output}");
    assert!(output.contains("repeat with: --slow --seed 7"), "{output}");
}

#[test]
fn goldens_are_updated_beside_the_tape() {
    let tapes = Tapes::new(&[("a.tape", "Run 'clear'\nScreen 'start'\n")]);
    let (status, output, _) = tapes.run(&["test"]);
    assert_eq!(status, 1);
    assert!(output.contains("there is no a.start.golden: --update writes it"), "{output}");
    let (status, output, _) = tapes.run(&["test", "--update"]);
    assert_eq!(status, 0, "{output}");
    assert!(output.contains("wrote a.start.golden"), "{output}");
    assert_eq!(tapes.run(&["test"]).0, 0);
    std::fs::write(tapes.path("a.start.golden"), "screen 80x24\n│other\n").unwrap();
    let (status, output, _) = tapes.run(&["test"]);
    assert_eq!(status, 1);
    assert!(output.contains("-│other"), "{output}");
}

#[test]
fn results_are_json_junit_and_annotations() {
    let tapes = Tapes::new(&[("a.tape", PASSES), ("b.tape", FAILS), ("c.tape", "Sleep 10ms\n")]);
    let (status, output, _) = tapes.run(&["test", "--json", "--junit", "reports/tapes.xml"]);
    let result: Value = serde_json::from_str(&output).unwrap();
    assert_eq!((status, &result["passed"], &result["failed"]), (1, &2.into(), &1.into()));
    assert_eq!(result["tapes"][1]["failures"][0]["line"], 3);
    assert_eq!(result["tapes"][1]["failures"][0]["step"], "Expect@100ms /two/");
    let report = std::fs::read_to_string(tapes.path("reports/tapes.xml")).unwrap();
    assert!(report.contains("tests=\"3\" failures=\"1\""), "{report}");
    let mut command = tapes.command(&["test"]);
    let output = command.env("GITHUB_ACTIONS", "true").output().unwrap();
    let (output, errors) = (output.stdout, String::from_utf8(output.stderr).unwrap());
    let output = String::from_utf8(output).unwrap();
    assert!(output.contains("\n::error file=b.tape,line=3,col=1::"), "{output}");
    assert!(output.contains("::warning file=c.tape,line=1,col=1::"), "{output}");
    assert!(errors.contains("c.tape:1:1: warning: "), "{errors}");
    let (status, output, _) = tapes.run(&["test", "--json", "no.tape"]);
    let errors: Value = serde_json::from_str(&output).unwrap();
    assert_eq!((status, &errors["errors"][0]["tape"]), (2, &"no.tape".into()));
}

#[test]
fn a_demo_writes_all_outputs() {
    let demo = "Output a.gif\nOutput a.svg\nOutput a.png\nOutput a.cast\nOutput a.txt\nOutput a.html\n\
                Set TypingSpeed 1ms\nHide\nType 'clear # hidden' Enter\nWait\nShow\n\
                Type 'echo $((20 + 3))' Enter\nWait\nScreenshot shot.svg\n";
    let tapes = Tapes::new(&[("a.tape", demo)]);
    let (status, output, errors) = tapes.run(&["play", "a.tape", "--json"]);
    assert_eq!(status, 0, "{errors}");
    let written: Value = serde_json::from_str(&output).unwrap();
    assert_eq!(written["outputs"].as_array().map(Vec::len), Some(7), "{written}");
    let bytes = |name: &str| std::fs::read(tapes.path(name)).unwrap();
    let text = |name: &str| String::from_utf8(bytes(name)).unwrap();
    assert!(bytes("a.gif").starts_with(b"GIF89a") && bytes("a.png").starts_with(b"\x89PNG"));
    assert!(text("a.svg").contains("</svg>") && text("shot.svg").contains("23"));
    assert!(text("a.txt").contains("\n23\n"), "{}", text("a.txt"));
    assert!(!text("a.txt").contains("hidden"), "{}", text("a.txt"));
    assert!(text("a.html").contains("<html") && text("a.cast").starts_with('{'));
    let (status, _, errors) = tapes.run(&["play", "a.tape", "--output", "only/b.txt"]);
    assert_eq!(status, 0, "{errors}");
    assert!(text("only/b.txt").contains("23"));
}

#[test]
fn a_demo_whose_step_fails_writes_nothing() {
    let tapes = Tapes::new(&[("a.tape", "Output a.gif\nExpect@50ms /nothing/\n")]);
    let (status, output, errors) = tapes.run(&["play", "a.tape"]);
    assert_eq!((status, output.as_str()), (1, ""));
    assert!(errors.contains("a.tape:2:1: Expect@50ms /nothing/"), "{errors}");
    assert!(!tapes.path("a.gif").exists());
}
