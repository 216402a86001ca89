//! Input: clicks, pastes, secrets, keys and resizes.

use std::time::Duration;

use awaitty_test::{exit, text};

use crate::{menu, menu_builder, script};

#[test]
fn a_click_needs_one_match_or_a_number() {
    let t = menu();
    let failure = t.click(text("OK")).unwrap_err();
    let expected = "/OK/ matches 2 times (row 7, column 3: \"OK\"; row 7, column 23: \"OK\")";
    assert!(failure.why().starts_with(expected), "{failure}");
    t.click(text("OK").nth(1)).unwrap().expect(text("clicked 7:23")).unwrap();
    let failure = t.click(text("OK").nth(2)).unwrap_err();
    assert!(failure.why().contains("no match number 2"), "{failure}");
    let failure = t.click(exit(0)).unwrap_err();
    assert!(failure.why().contains("click needs text"), "{failure}");
}

#[test]
fn a_click_waits_for_its_text() {
    let t = menu();
    t.press("l").unwrap().click(text("Loaded")).unwrap().expect(text("clicked 8:3")).unwrap();
    let short = Duration::from_millis(200);
    let failure = t.click(text("absent").within(short)).unwrap_err();
    assert!(failure.why().contains("/absent/ matches nothing"), "{failure}");
}

#[test]
fn a_click_needs_mouse_events() {
    let t = menu_builder().arg("nomouse").timeout(Duration::from_millis(300)).start().unwrap();
    let failure = t.click(text("Cancel")).unwrap_err();
    assert!(failure.why().contains("has not requested mouse events"), "{failure}");
}

#[test]
fn pastes_are_marked_if_the_program_requests_it() {
    let t = menu();
    t.paste("a\nb").unwrap().expect(text(r"pasted 'a\\rb'")).unwrap();
    let failure = t.paste("a\x1b[201~b").unwrap_err();
    assert!(failure.why().contains("ends a bracketed paste"), "{failure}");
    let t = script("read line; echo got $line");
    t.paste("plain\n").unwrap().expect(text("got plain")).unwrap();
}

#[test]
fn unknown_keys_are_refused() {
    let failure = menu().press("down entr").unwrap_err();
    assert!(failure.why().contains("did you mean enter"), "{failure}");
}

#[test]
fn input_after_the_exit_is_refused() {
    let t = script("exit 0");
    t.expect(exit(0)).unwrap();
    assert!(t.type_text("x").unwrap_err().why().contains("has exited"));
    assert!(t.resize(50, 20).unwrap_err().why().contains("has exited"));
}

#[test]
fn a_resize_is_an_input() {
    let t = menu();
    t.resize(50, 12).unwrap().expect(text("size 50x12")).unwrap();
    t.resize(60, 12).unwrap();
    let short = Duration::from_millis(200);
    assert!(t.expect(text("size 50x12").within(short)).is_err(), "it is from before the resize");
    t.expect(text("size 60x12")).unwrap();
    assert!(t.resize(0, 12).unwrap_err().why().contains("out of range"));
    assert!(t.resize(50, 501).unwrap_err().why().contains("out of range"));
}

#[test]
fn a_secret_is_masked_in_reports_and_goldens() {
    let t = script("stty -echo; echo Password:; read line; echo you typed $line; cat");
    t.expect(text("Password:")).unwrap();
    t.type_secret("hunter2\n").unwrap().expect(text("you typed hunter2")).unwrap();
    let short = Duration::from_millis(100);
    let failure = t.expect(text("hunter2 again").within(short)).unwrap_err();
    let report = format!("{failure:?}");
    assert!(!report.contains("hunter2"), "{report}");
    assert!(report.contains("you typed •••••••"), "{report}");
    assert!(report.contains("expect(text(\"••• again\")"), "{report}");
    let golden = t.golden("secret", &awaitty_test::Golden::new()).unwrap();
    assert!(golden.contains("│you typed •••••••\n"), "{golden}");
}
