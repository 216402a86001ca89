//! Warnings about tapes that can run.

use awaitty_test::tape::WarningKind;

use crate::parse;

fn check(text: &str, expected: &[(WarningKind, &str)]) {
    let tape = parse(text);
    let found: Vec<(WarningKind, String)> =
        tape.warnings.iter().map(|warning| (warning.kind, warning.to_string())).collect();
    let expected: Vec<(WarningKind, String)> =
        expected.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn a_plain_tape_has_no_warning() {
    check(
        "Output a.gif\nOutput a.svg\nSet FontSize 20\nSet Theme 'x'\nEnv A b\nType 'ls' Enter\n\
         Expect /x/\nEnter\nExpect /x/\nSet TypingSpeed 1\nExpect Gone /x/\nExpect Gone /x/",
        &[],
    );
}

#[test]
fn ignored_looks_are_one_warning() {
    check(
        "Set Width 800\nSet FontFamily Mono\nSet WindowBar Rings\nSet FontFamily Serif\nEnter",
        &[(WarningKind::Looks, "2:1: FontFamily is ignored: the renderer has no such setting")],
    );
    check(
        "Set FontFamily Mono",
        &[(WarningKind::Looks, "1:1: FontFamily is ignored: the renderer has no such setting")],
    );
}

#[test]
fn sleeps_are_one_warning() {
    check(
        "Enter\nSleep 1\nSleep 2",
        &[(
            WarningKind::Sleep,
            "2:1: 2 `Sleep`: a test that sleeps is slow and depends on timing; \
             write `Expect /text/` or `Settle 300ms`",
        )],
    );
}

#[test]
fn outputs_that_are_not_written() {
    check(
        "Output a.mp4\nOutput a.webm\nOutput frames/",
        &[
            (
                WarningKind::Output,
                "1:1: the output \"a.mp4\" is not written: a video needs an encoder; \
                 use .gif, .svg or .html",
            ),
            (
                WarningKind::Output,
                "2:1: the output \"a.webm\" is not written: a video needs an encoder; \
                 use .gif, .svg or .html",
            ),
            (
                WarningKind::Output,
                "3:1: the output \"frames/\" is not written: a directory of frames is not \
                 supported; use .gif or .cast",
            ),
        ],
    );
}

#[test]
fn looks_and_variables_after_the_first_step() {
    check(
        "Enter\nSet FontSize 5\nEnv A b",
        &[
            (
                WarningKind::Place,
                "2:1: `Set FontSize` has no effect after the first step: move it up",
            ),
            (
                WarningKind::Place,
                "3:1: `Env A` counts from the start of the tape: move it before the first step",
            ),
        ],
    );
}

#[test]
fn repeated_expectations() {
    let repeated = |text: &str, position: &str, source: &str| {
        let message = format!(
            "{position}: `{source}` holds because the same one before it held: remove it, or send \
             an input in between"
        );
        check(text, &[(WarningKind::Repeated, &message)]);
    };
    repeated("Enter\nExpect /x/\nExpect@5s /x/", "3:1", "Expect@5s /x/");
    repeated("Enter\nExpect Frame /x/ Hide Expect Frame /x/", "2:23", "Expect Frame /x/");
    for input in ["Type 'x'", "Enter", "Paste", "Run 'x'", "Click /x/", "Resize 80 24"] {
        check(&format!("Enter\nExpect /x/\n{input}\nExpect /x/"), &[]);
    }
    check("Enter\nExpect /x/\nExpect /y/\nExpect Frame /y/", &[]);
}
