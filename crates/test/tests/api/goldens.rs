//! Golden screens.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use awaitty_test::{Golden, Terminal, assert_screen, text};

use crate::{menu, menu_builder, script};

/// Returns the message of the panic of a comparison.
fn failed(compare: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(compare)).unwrap_err();
    panic.downcast_ref::<String>().unwrap().clone()
}

fn write(t: &Terminal, golden: &Golden) -> String {
    t.golden("test", golden).unwrap()
}

#[test]
fn a_screen_equals_its_golden() {
    let t = menu();
    assert_screen!(t, "menu");
    t.press("down").unwrap();
    assert_screen!(t, "menu_down");
    t.press("enter").unwrap();
    assert_screen!(t, "entry", styles = false);
}

/// insta writes no new snapshot and prints the difference only.
#[test]
fn a_screen_that_differs_fails() {
    let t = menu();
    t.press("down").unwrap();
    let compare = |screen: &str| assert_eq!(screen, "another screen");
    let report = failed(|| t.compare_golden("menu", &Golden::new(), &compare));
    assert!(report.starts_with("assert_screen!(\"menu\") failed: the screen differs"), "{report}");
    assert!(report.contains("│  Two"), "{report}");
}

/// A golden is compared only after the reaction to the last key.
#[test]
fn a_golden_waits_until_the_screen_has_settled() {
    let t = menu();
    t.press("l").unwrap();
    let golden = write(&t, &Golden::new());
    assert!(golden.contains("│Loaded\n") && !golden.contains("Loading"), "{golden}");
}

#[test]
fn a_screen_that_does_not_settle_fails() {
    let t = menu_builder().timeout(Duration::from_millis(500)).start().unwrap();
    t.expect(text(r"\? keys")).unwrap().press("s").unwrap().expect(text("spinner")).unwrap();
    let report = failed(|| t.compare_golden("spinner", &Golden::new(), &|_| ()));
    assert!(report.contains("has not settled"), "{report}");
}

#[test]
fn masks_replace_matches_of_any_length() {
    let t = script(r"printf 'at 9:05 \033[1mok\033[m\nat 10:05 \033[1mok\033[m\n> '; cat");
    t.expect(text("> $")).unwrap();
    let golden = write(&t, &Golden::new().mask([r"\d+:\d\d"]));
    let expected = "screen 40x10\n│at ▒▒▒ ok\n│at ▒▒▒ ok\n│>\nstyles\n1:8-9 \"ok\" bold\n2:8-9 \"ok\" bold\ncursor 3:3\n";
    assert_eq!(golden, expected);
    let failure = t.golden("wrong", &Golden::new().mask(["a("])).unwrap_err();
    assert!(failure.why().contains("wrong at byte 1"), "{failure}");
    assert_screen!(t, "clock", mask = [r"\d+:\d\d"]);
}

#[test]
fn the_cursor_moves_with_a_mask_before_it() {
    let t = script(r"printf 'run 123456 > '; cat");
    t.expect(text("> $")).unwrap();
    let golden = write(&t, &Golden::new().mask([r"\d+"]));
    assert_eq!(golden, "screen 40x10\n│run ▒▒▒ >\ncursor 1:11\n");
    assert_eq!(write(&t, &Golden::new()), "screen 40x10\n│run 123456 >\ncursor 1:14\n");
    let at_mask = write(&t, &Golden::new().mask(["> *$"]));
    assert!(at_mask.contains("│run 123456 ▒▒▒\n"), "{at_mask}");
}

#[test]
fn regions_are_masked_and_styles_left_out() {
    let t = script(r"printf 'ab\033[7mcd\033[mef\n世界gh\n'; cat");
    t.expect(text("gh")).unwrap();
    let golden = write(&t, &Golden::new().regions([(1, 2, 2, 2)]));
    assert_eq!(golden, "screen 40x10\n│a▒▒def\n│▒▒界gh\nstyles\n1:4-4 \"d\" inverse\ncursor 3:1\n");
    let plain = write(&t, &Golden::new().styles(false));
    assert_eq!(plain, "screen 40x10\n│abcdef\n│世界gh\n");
    assert_screen!(t, "regions", regions = [(1, 2, 2, 2)], styles = false);
}

#[test]
fn coloured_blanks_and_cursor_shapes_are_part_of_a_golden() {
    let t = script(r"printf '\033[44m    \033[m\n\033[5 q'; cat");
    t.expect(awaitty_test::cursor(2, 1)).unwrap();
    let golden = write(&t, &Golden::new());
    assert_eq!(golden, "screen 40x10\nstyles\n1:1-4 bg=blue\ncursor 2:1 bar\n");
    let hidden = menu();
    assert!(write(&hidden, &Golden::new()).ends_with("cursor hidden\n"));
}
