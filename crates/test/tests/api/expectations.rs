//! Expectations that hold, and expectations that must not hold on a stale screen.

use std::time::Duration;

use awaitty_test::{
    Failure, Style, WaitRequest, color, cursor, cursor_row, exit, gone, ready, selected, settled,
    styled, text, title,
};

use crate::{menu, menu_builder, script};

/// A timeout for expectations that must fail: long enough for the program to react.
const SHORT: Duration = Duration::from_millis(400);

/// The example of the documentation.
#[test]
fn the_example_runs() -> Result<(), Failure> {
    let t = menu_builder().start()?;
    t.expect(text("Main menu"))?;
    t.press("down")?.expect(selected("Two"))?;
    t.press("enter")?.expect(text("Entry Two"))?;
    t.press("esc")?.expect(text(r"\? keys").in_frame())?;
    t.click(text(r"\[ OK \]"))?.expect(text("clicked 7:3"))?;
    t.type_text("l")?.expect_gone(text("Loading"))?.expect(text("Loaded"))?;
    t.press("q")?.expect(exit(0))?;
    t.close()
}

#[test]
fn text_from_before_the_input_does_not_match() {
    let t = menu();
    t.press("down").unwrap();
    let stale = text(r"\? keys");
    assert!(t.expect(stale.clone().within(SHORT)).is_err());
    t.expect(stale.clone().in_frame()).unwrap();
    t.expect(stale.on_screen()).unwrap();
}

#[test]
fn the_echo_of_the_input_does_not_match() {
    let t = script("read line; echo got $line");
    t.type_text("READY\n").unwrap().expect(text("^READY").within(SHORT)).unwrap_err();
    t.expect(text("got READY")).unwrap();
}

/// Esc does nothing while the old text is still on the screen.
#[test]
fn a_broken_program_fails_in_the_step_that_it_breaks() {
    let t = menu_builder().arg("broken").start().unwrap();
    t.expect(text(r"\? keys")).unwrap();
    t.press("enter").unwrap().expect(text("Entry One")).unwrap();
    t.press("esc").unwrap();
    for expectation in [text("Main menu"), text(r"\? keys").in_frame(), selected("One")] {
        t.expect(expectation.clone().within(SHORT)).expect_err(&expectation.to_string());
    }
}

#[test]
fn the_selection_is_the_one_after_all_keys() {
    let t = menu();
    t.expect(selected("^One$")).unwrap();
    t.press("down down").unwrap().expect(selected("Three")).unwrap();
    t.press("down down").unwrap();
    assert!(t.expect(selected("One").within(SHORT)).is_err(), "it is selected for a moment only");
    t.expect(selected("Two")).unwrap();
    t.press("up").unwrap().expect_gone(selected("Two")).unwrap();
}

/// The selection from before the input is on the screen until the program has handled the key.
#[test]
fn a_selection_from_before_the_input_does_not_match() {
    let slow = "printf '\\033[7mTwo\\033[m\\n'; stty -echo -icanon; head -c1 >/dev/null; \
                i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; \
                printf '\\033[H\\033[2JThree\\n'; cat";
    let t = script(slow);
    t.expect(selected("Two")).unwrap();
    t.press("x").unwrap();
    t.expect(selected("Two").within(SHORT)).unwrap_err();
    t.expect(text("Three")).unwrap();
}

#[test]
fn a_selection_that_stays_is_accepted_at_rest() {
    let t = menu();
    t.press("t").unwrap().expect(selected("One")).unwrap();
}

#[test]
fn text_that_has_not_appeared_yet_is_not_gone() {
    let t = menu();
    t.type_text("l").unwrap().expect(gone("Loading")).unwrap();
    assert!(t.screen().unwrap().contains("Loaded"), "the wait ended after the load");
    t.press("enter").unwrap().expect_gone(text("Loaded")).unwrap();
}

#[test]
fn text_that_stays_is_not_gone() {
    let t = menu();
    let failure = t.expect(gone("Main menu").within(SHORT)).unwrap_err();
    assert!(failure.to_string().contains("row 1 still has \"Main menu\""), "{failure}");
}

#[test]
fn titles_are_expected() {
    let t = menu();
    t.expect(title("^menu$")).unwrap();
    t.press("t").unwrap().expect(title("changed")).unwrap().expect_gone(title("^menu$")).unwrap();
    let failure = t.expect(title("other").within(SHORT)).unwrap_err();
    assert!(failure.to_string().contains("the title is \"menu: changed\""), "{failure}");
}

#[test]
fn the_cursor_is_expected() {
    let t = menu();
    t.press("b").unwrap().expect(cursor(5, 9)).unwrap();
    let failure = t.expect(cursor(5, 8).within(SHORT)).unwrap_err();
    assert!(failure.to_string().contains("the cursor is at row 5, column 9"), "{failure}");
    t.expect_gone(cursor(5, 8)).unwrap();
}

#[test]
fn the_row_of_the_cursor_has_the_blank_of_a_prompt() {
    let t = script("printf 'first\\nYour name: '; read name; cat");
    t.expect(cursor_row("^Your name: $")).unwrap().expect(cursor_row("name:$")).unwrap();
    let failure = t.expect(cursor_row("name:  $").within(SHORT)).unwrap_err();
    let note = "the row of the cursor is \"Your name: \"";
    assert!(failure.to_string().contains(note), "{failure}");
    t.expect_gone(cursor_row("first")).unwrap();
}

#[test]
fn styles_are_expected() {
    let t = menu();
    t.expect(styled("Main menu", Style::new().fg(color::RED).bold())).unwrap();
    t.expect(styled("One", Style::new().inverse())).unwrap();
    t.expect(styled("Two", Style::plain())).unwrap();
    let failure = t.expect(styled("Main", Style::new().fg(color::BLUE)).within(SHORT)).unwrap_err();
    assert!(failure.to_string().contains("\"Main\" in row 1 is fg=red bold"), "{failure}");
    t.press("down").unwrap().expect(styled("Two", Style::new().inverse())).unwrap();
}

#[test]
fn an_exit_is_expected_with_its_status() {
    let t = menu();
    t.press("x").unwrap().expect(exit(3)).unwrap();
    let failure = t.expect(exit(0)).unwrap_err();
    assert_eq!(failure.why(), "the program exited with status 3");
    let failure = t.expect(text("never")).unwrap_err();
    assert_eq!(failure.why(), "the program exited with status 3");
    let killed = script("kill -9 $$");
    assert_eq!(killed.expect(exit(0)).unwrap_err().why(), "signal 9 ended the program");
}

#[test]
fn rest_and_quiet_are_expected() {
    let t = menu();
    t.expect(ready()).unwrap().expect(settled()).unwrap();
    t.settle(Duration::from_millis(50)).unwrap();
    t.press("s").unwrap();
    let failure = t.expect(settled().within(SHORT)).unwrap_err();
    assert!(failure.why().contains("timeout"), "{failure}");
}

#[test]
fn any_wait_can_be_run() {
    let t = menu();
    let change = WaitRequest::change(Duration::from_millis(50));
    t.press("down").unwrap();
    assert!(t.wait(change).unwrap().is_met());
    let timeout = t.wait(WaitRequest::exit().timeout(Duration::ZERO)).unwrap();
    assert!(!timeout.is_met(), "a timeout is a result");
}

#[test]
fn expectations_that_cannot_be_gone_are_refused() {
    let t = menu();
    let failure = t.expect_gone(exit(0)).unwrap_err();
    assert!(failure.why().contains("cannot be gone"), "{failure}");
}

#[test]
fn wrong_patterns_name_the_position() {
    let t = menu();
    for expectation in
        [text("a("), gone("a("), selected("a("), title("a("), styled("a(", Style::new())]
    {
        let failure = t.expect(expectation).unwrap_err();
        assert!(failure.why().contains("wrong at byte 1"), "{failure}");
    }
}

#[test]
fn the_newest_screen_can_be_read() {
    let t = menu();
    assert!(t.screen().unwrap().starts_with("Main menu\n\n  One"));
    assert_eq!(t.frame().unwrap().cols(), 40);
}

/// Tests run as threads of one process.
#[test]
fn many_terminals_run_in_parallel() {
    std::thread::scope(|scope| {
        for number in 0..16 {
            scope.spawn(move || {
                let t = script(&format!("echo start {number}; read line; echo end {number}"));
                t.expect(text(format!("start {number}$"))).unwrap();
                t.type_text("\n").unwrap().expect(text(format!("end {number}$"))).unwrap();
                t.expect(exit(0)).unwrap();
                t.close().unwrap();
            });
        }
    });
}
