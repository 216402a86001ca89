//! Slow mode: the same tests pass with a disturbed timing.

use std::time::Duration;

use awaitty_test::{Golden, TraceMode, exit, selected, text};

use crate::menu_builder;

/// The number of seeds that a test tries.
const SEEDS: u64 = 5;

#[test]
fn a_test_passes_with_any_timing() {
    let plain = {
        let t = menu_builder().start().unwrap();
        t.expect(text(r"\? keys")).unwrap();
        t.golden("menu", &Golden::new()).unwrap()
    };
    for seed in 0..SEEDS {
        let t = menu_builder().disturb(seed).start().unwrap();
        t.expect(text("Main menu")).unwrap();
        assert_eq!(t.golden("menu", &Golden::new()).unwrap(), plain, "seed {seed}");
        t.press("down").unwrap().expect(selected("Two")).unwrap();
        t.press("enter").unwrap().expect(text("Entry Two")).unwrap();
        t.press("esc").unwrap().expect(text(r"\? keys").in_frame()).unwrap();
        t.press("up").unwrap();
        assert_eq!(t.golden("menu", &Golden::new()).unwrap(), plain, "seed {seed}");
        t.click(text(r"\[ OK \]")).unwrap().expect(text("clicked 7:3")).unwrap();
        t.press("q").unwrap().expect(exit(0)).unwrap();
        t.close().unwrap();
    }
}

#[test]
fn a_broken_program_fails_in_the_same_step_with_any_timing() {
    for seed in 0..SEEDS {
        let t = menu_builder().arg("broken").disturb(seed).start().unwrap();
        t.expect(text(r"\? keys")).unwrap();
        t.press("enter").unwrap().expect(text("Entry One")).unwrap();
        let short = Duration::from_millis(400);
        let footer = text(r"\? keys").in_frame().within(short);
        let failure = t.press("esc").unwrap().expect(footer).unwrap_err();
        let repeat = format!("AWAITTY_TEST_SLOW=1 AWAITTY_TEST_SEED={seed} repeats this timing");
        assert!(failure.to_string().contains(&repeat), "{failure}");
    }
}

#[test]
fn commands_run_with_any_timing() {
    for seed in 0..SEEDS {
        let shell = awaitty_test::shell("bash").disturb(seed).trace(TraceMode::Off);
        let t = shell.start().unwrap();
        let result = t.run("seq 1 30").unwrap().ok().unwrap();
        assert_eq!(result.output.lines().count(), 30, "seed {seed}: {}", result.output);
        t.close().unwrap();
    }
}
