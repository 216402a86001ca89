//! Reports of failures.

use std::time::Duration;

use awaitty_test::{Failure, TraceMode, exit, program, selected, text};

use crate::{menu, script};

/// Returns a report without what differs from run to run and from edit to edit.
fn stable(failure: &Failure) -> String {
    let report = failure.to_string();
    let place = regex::Regex::new(r"(?m)^  at (\S+):\d+: ").unwrap();
    let seed = regex::Regex::new(r"\nslow mode: .*").unwrap();
    seed.replace(&place.replace(&report, "  at $1:LINE: "), "").into_owned()
}

#[test]
fn a_report_has_the_expectation_the_screen_and_the_changes() {
    let t = menu();
    t.press("down").unwrap();
    let short = Duration::from_millis(300);
    let failure = t.expect(text("Main Menu").within(short)).unwrap_err();
    insta::assert_snapshot!("text", stable(&failure));
    let failure = t.expect(selected("One").within(short)).unwrap_err();
    insta::assert_snapshot!("selected", stable(&failure));
}

#[test]
fn a_report_shows_the_cursor_and_stale_text() {
    let t = script("printf 'Name: '; stty -echo; cat");
    t.expect(text("Name:")).unwrap();
    let short = Duration::from_millis(200);
    let failure = t.type_text("x").unwrap().expect(text("Name:").within(short)).unwrap_err();
    insta::assert_snapshot!("stale", stable(&failure));
}

#[test]
fn display_and_debug_are_equal() {
    let failure = script("exit 1").expect(exit(0)).unwrap_err();
    assert_eq!(failure.to_string(), format!("{failure:?}"));
    let place = failure.place().unwrap();
    assert_eq!(place.file, "tests/api/failures.rs");
    assert_eq!(place.text, r#"let failure = script("exit 1").expect(exit(0)).unwrap_err();"#);
    assert!(!failure.report_without_place().contains("failures.rs"));
    assert!(failure.report_without_place().starts_with("expect(exit(0)) failed: "));
}

#[test]
fn the_first_line_of_a_chain_is_not_the_line_of_a_later_step() {
    let t = menu();
    let failure = t
        .press("down")
        .unwrap()
        .expect(text("a text that is not there").within(Duration::ZERO))
        .unwrap_err();
    let expected = r#".expect(text("a text that is not there").within(Duration::ZERO))"#;
    assert_eq!(failure.place().unwrap().text, expected);
}

#[test]
fn a_program_that_cannot_be_started_is_named() {
    let failure = program("no-such-program").trace(TraceMode::Off).start().unwrap_err();
    let expected = "start of \"no-such-program\" failed: \"no-such-program\" was not found";
    assert!(failure.to_string().starts_with(expected), "{failure}");
    let failure = program("sh").size(0, 10).start().unwrap_err();
    assert!(failure.why().contains("out of range"), "{failure}");
}
