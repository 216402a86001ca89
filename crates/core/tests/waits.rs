//! The rules of waits, each with its test, on a simulated clock.
//!
//! The numbers in the test names are the sections of docs/waits.md.

mod script;

use std::time::Duration;

use awaitty_core::{Condition, FRAMES_MAX, Seq, Session, Since, Spec, Styles, Time};
use proptest::prelude::*;
use script::*;

#[test]
fn s2_input_is_the_moment_before_the_last_input() {
    let script = [
        (0, Print("READY\r\n$ ")),
        (10, Type("x\r")),
        (20, Wait(text("READY"), Since::Input, 100)),
        (200, Print("x\r\nREADY\r\n")),
        (210, Wait(text("READY"), Since::Input, 100)),
    ];
    check(
        &script,
        &["@120 w1 Timeout \"READY\" line 1 stale", "@210 w2 Met \"READY\" line 3 fresh"],
    );
}

#[test]
fn s2_a_seq_is_the_moment_that_frame_was_replaced() {
    let wait = |seq: u64| Wait(text("one|two"), Since::Frame(Seq(seq)), 0);
    let script = [
        (0, Print("one\r\n")),
        (10, Print("two\r\n")),
        (20, wait(0)),
        (30, wait(1)),
        (40, wait(2)),
    ];
    check(
        &script,
        &[
            "@20 w1 Met \"one\" line 1 fresh",
            "@30 w2 Met \"two\" line 2 fresh",
            "@40 w3 Timeout \"one\" line 1 stale",
        ],
    );
    let future = [(0, Wait(text("x"), Since::Frame(Seq(7)), 0))];
    check(&future, &["there is no seq 7 yet, the newest is 0: pass a seq that a result gave"]);
}

#[test]
fn s2_a_seq_that_was_dropped_reports_truncated_history() {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, 20);
    let ask = |session: &mut Session, condition: Condition, seq: u64| {
        let now = Time::from_ms(5000);
        let spec = Spec { condition, since: Since::Frame(Seq(seq)), deadline: Some(now) };
        session.start_wait(now, spec).map(|_| log_line(5000, &session.poll_ended()[0]))
    };
    for i in 0..=FRAMES_MAX as u64 + 50 {
        session.handle_output(Time::from_ms(i), format!("\r{i}").as_bytes());
        session.handle_drained(Time::from_ms(i));
    }
    let newest = session.frame().seq().0;
    assert_eq!(newest, FRAMES_MAX as u64 + 51);
    let oldest = session.history().oldest().seq().0;
    // A dropped frame is replaced by the oldest one that is left, and that is reported.
    for seq in [0, oldest - 2] {
        let changed = ask(&mut session, change(0), seq).expect("it starts");
        assert!(
            changed.ends_with("Met changed=true stable=true style=true truncated"),
            "{changed}"
        );
        let found = ask(&mut session, text("^7$"), seq).expect("it starts");
        assert!(found.ends_with("Timeout truncated"), "{found}");
    }
    // The newest of the dropped frames is still known.
    for seq in [oldest - 1, oldest, newest - 1] {
        let changed = ask(&mut session, change(0), seq).expect("it starts");
        assert!(changed.ends_with("Met changed=true stable=true style=true"), "{seq}: {changed}");
    }
    let none = ask(&mut session, change(0), newest).expect("it starts");
    assert!(none.ends_with("Timeout changed=false stable=false style=false"), "{none}");
    assert!(ask(&mut session, text("1"), newest + 1).is_err(), "from the future");
    assert!(ask(&mut session, change(0), u64::MAX).is_err());
    assert_eq!(session.waits_running(), 0);
}

#[test]
fn s2_input_frame_counts_all_text_of_a_frame_that_shows_more_than_the_echo() {
    let ask = |pattern: &str| Wait(text(pattern), Since::InputFrame, 500);
    // Two screens share their footer, which is not drawn again.
    let script = [
        (0, Print("\x1b[?1049h\x1b[Hmenu\x1b[5;1Hq quit")),
        (5, Type("j")),
        (10, ask("quit")),
        (20, Print("\x1b[Hfile")),
        (30, ask("quit")),
    ];
    let found = ["@20 w1 Met \"quit\" line 5 stale", "@30 w2 Met \"quit\" line 5 stale"];
    check(&script, &found);
    // A frame that shows only the echo does not count, nor does the same screen drawn again.
    let echoed = [
        (0, Print("quit\r\n? ")),
        (5, Type("j")),
        (10, ask("quit")),
        (20, Print("j")),
        (30, Print("\x1b[Hquit")),
    ];
    check(&echoed, &["@510 w1 Timeout \"quit\" line 1 stale"]);
    // A selection that moved makes another frame.
    let moved = [
        (0, Print("\x1b[H\x1b[7mone\x1b[m\x1b[2;1Htwo")),
        (5, Type("")),
        (10, ask("one")),
        (20, Print("\x1b[Hone\x1b[2;1H\x1b[7mtwo")),
    ];
    check(&moved, &["@20 w1 Met \"one\" line 1 fresh"]);
    // Text that has scrolled off since the input was in a newer frame too.
    let scrolled = [
        (0, Type("x\r")),
        (10, Print("x\r\nDONE\r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n")),
        (20, ask("DONE")),
    ];
    check(&scrolled, &["@20 w1 Met \"DONE\" line 2 fresh, no longer visible"]);
}

#[test]
fn s2_a_timeout_reports_stale_text_in_a_newer_frame() {
    let ask = || Wait(text("quit"), Since::Input, 50);
    let newer =
        [(0, Print("menu\r\nquit")), (5, Type("j")), (10, Print("\x1b[Hfile")), (20, ask())];
    check(&newer, &["@70 w1 Timeout \"quit\" line 2 stale, in a newer frame"]);
    let same = [(0, Print("menu\r\nquit")), (5, Type("j")), (20, ask())];
    check(&same, &["@70 w1 Timeout \"quit\" line 2 stale"]);
}

#[test]
fn s2_now_is_the_call_and_screen_is_all_visible_text() {
    let script = [
        (0, Print("here\r\n")),
        (10, Wait(text("here"), Since::Now, 50)),
        (20, Wait(text("here"), Since::Screen, 50)),
        (100, Wait(text("here"), Since::Now, 50)),
        (110, Print("here\r\n")),
    ];
    check(
        &script,
        &[
            "@20 w2 Met \"here\" line 1 fresh",
            "@60 w1 Timeout \"here\" line 1 stale",
            "@110 w3 Met \"here\" line 2 fresh",
        ],
    );
}

#[test]
fn s2_a_repeated_wait_gives_the_same_result() {
    let ask = || Wait(text("DONE"), Since::Input, 0);
    let script =
        [(0, Type("x\r")), (1, Print("x\r\nDONE\r\n")), (2, ask()), (3, ask()), (900, ask())];
    let log = run(&script);
    let tails: Vec<&str> =
        log.iter().filter_map(|line| line.split_once(" Met").map(|(_, tail)| tail)).collect();
    assert_eq!(tails, [" \"DONE\" line 2 fresh"; 3], "{log:?}");
}

#[test]
fn s3_2_lines_that_scrolled_off_since_the_anchor_are_searched() {
    let lines = "1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n7\r\n8\r\n9\r\n";
    let script = [
        (0, Print("0\r\n")),
        (5, Type("x")),
        (10, Print(lines)),
        (20, Wait(text("^2$"), Since::Input, 0)),
        (30, Wait(text("^0$"), Since::Input, 0)),
    ];
    check(&script, &["@20 w1 Met \"2\" line 3 fresh, no longer visible", "@30 w2 Timeout"]);
}

#[test]
fn s3_2_history_that_does_not_reach_the_anchor_is_reported() {
    let flood = "line\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline\r\nline\r\n";
    let mut script = vec![(0, Type("x")), (1, Print("first\r\n"))];
    script.extend((2..6).map(|ms| (ms, Print(flood))));
    script.push((10, Wait(text("nowhere"), Since::Input, 0)));
    check(&script, &["@10 w1 Timeout truncated"]);
}

#[test]
fn s3_2_a_match_counts_if_one_of_its_cells_was_drawn() {
    let script = [
        (0, Print("Status: 50%")),
        (5, Type("")),
        (10, Wait(text("Status: 100%"), Since::Input, 100)),
        (11, Wait(text("Status"), Since::Input, 100)),
        (20, Print("\x1b[3D100%")),
    ];
    check(
        &script,
        &[
            "@20 w1 Met \"Status: 100%\" line 1 fresh",
            "@111 w2 Timeout \"Status\" line 1 stale, in a newer frame",
        ],
    );
    let scrolled = [
        (0, Print("old\r\n\r\n\r\n\r\n")),
        (5, Type("")),
        (10, Wait(text("old"), Since::Input, 50)),
        (20, Print("\r\nnew")),
    ];
    check(&scrolled, &["@60 w1 Timeout"]);
    let alternate = [
        (0, Print("\x1b[?1049h\x1b[Hmenu one")),
        (5, Type("j")),
        (10, Wait(text("one"), Since::Input, 50)),
        (11, Wait(text("two"), Since::Input, 50)),
        (20, Print("\x1b[2;1Hmenu two")),
    ];
    let stale = "@60 w1 Timeout \"one\" line 1 stale, in a newer frame";
    check(&alternate, &["@20 w2 Met \"two\" line 2 fresh", stale]);
}

/// Starts a wait for each pattern on a screen that shows `printed`, and returns the patterns that match.
fn matching<'p>(printed: &'static str, patterns: &[&'p str]) -> Vec<&'p str> {
    let ask = |pattern: &&str| (1, Wait(text(pattern), Since::Screen, 0));
    let mut script = vec![(0, Print(printed))];
    script.extend(patterns.iter().map(ask));
    let log = run(&script);
    let is_met = |(line, _): &(&String, &&'p str)| line.contains(" Met ");
    log.iter().zip(patterns).filter(is_met).map(|(_, &pattern)| pattern).collect()
}

#[test]
fn s3_3_written_blanks_and_blanks_before_the_cursor_count_at_the_end_of_a_row() {
    let prompts = [">>> ", ">>> $", "^>>> $", r">>>\s$", ">>>$", ">>>  "];
    assert_eq!(matching(">>> ", &prompts), &prompts[..5]);
    assert_eq!(matching("Python 3\r\n>>> ", &prompts), &prompts[..5]);
    assert_eq!(matching("Password: ", &["Password: $", "Password:$", "Password: {2}"]).len(), 2);
    // The cursor is behind blanks that the program did not write.
    assert_eq!(matching("Name:\x1b[2C", &["Name:  $", "Name: {2}", "Name: {3}"]).len(), 2);
    // The blanks of another row count only if the program wrote them.
    assert_eq!(matching("a \r\nb\r\n", &["^a $", "^a$", "^b$", "^b $"]), ["^a $", "^a$", "^b$"]);
    // Erased cells are not written.
    assert_eq!(matching("ab  \x1b[1;3H\x1b[K\r\n", &["ab $", "ab$"]), ["ab$"]);
}

#[test]
fn s3_3_a_pattern_is_tried_without_trailing_blanks_too() {
    let padded = "text                          \r\nmore      \r\n";
    let patterns = ["^text$", "text$", r"text\nmore$", r"more\s+$", "more {6}$"];
    assert_eq!(matching(padded, &patterns), patterns);
    // On the alternate screen as well, and after the row has left the screen.
    let full = "\x1b[?1049h\x1b[Hmenu   \x1b[2;1Hitem   ";
    assert_eq!(matching(full, &["menu$", "menu   $", r"menu\nitem"]).len(), 3);
    let script = [
        (0, Type("")),
        (1, Print("name: \r\n1\r\n2\r\n3\r\n4\r\n5\r\n6\r\n")),
        (2, Wait(text("name: $"), Since::Input, 0)),
        (3, Wait(text("name:$"), Since::Input, 0)),
    ];
    let log = run(&script);
    assert!(log.iter().all(|line| line.contains("Met")), "{log:?}");
}

#[test]
fn s3_3_a_prompt_with_a_trailing_blank_ends_a_running_wait() {
    let script = [
        (0, Wait(text(">>> $"), Since::Input, 100)),
        (0, Wait(text("^Name: "), Since::Input, 100)),
        (10, Print("Python 3\r\n>>> ")),
        (20, Print("\r\nName:")),
        (30, Print(" ")),
    ];
    check(&script, &["@10 w1 Met \">>> \" line 2 fresh", "@30 w2 Met \"Name: \" line 3 fresh"]);
}

#[test]
fn s3_2_a_pattern_is_tried_on_rows_and_on_unwrapped_lines() {
    let long = "0123456789012345678901234567DONE and more\r\n";
    let script = [
        (0, Wait(text("DONE and"), Since::Input, 50)),
        (1, Wait(text("^NE and more$"), Since::Input, 50)),
        (2, Wait(text("^0.*more$"), Since::Input, 50)),
        (3, Wait(text(r"more\nnext"), Since::Input, 50)),
        (10, Print(long)),
        (20, Print("next")),
    ];
    check(
        &script,
        &[
            "@10 w1 Met \"DONE and\" line 1 fresh",
            "@10 w2 Met \"NE and more\" line 2 fresh",
            "@10 w3 Met \"0123456789012345678901234567DONE and more\" line 1 fresh",
            "@20 w4 Met \"more\\nnext\" line 2 fresh",
        ],
    );
}

#[test]
fn s3_4_the_echo_of_the_input_is_not_output() {
    let script = [
        (0, Print("$ ")),
        (5, Type("echo READY\r")),
        (10, Wait(text("READY"), Since::Input, 100)),
        (20, Print("echo READY\r\n")),
        (30, Print("READY\r\n$ ")),
    ];
    check(&script, &["@30 w1 Met \"READY\" line 2 fresh"]);
    let before = [
        (0, Print("$ ")),
        (5, Type("echo READY\r")),
        (10, Print("echo READY\r\nREADY\r\n$ ")),
        (20, Wait(text("READY"), Since::Input, 0)),
    ];
    check(&before, &["@20 w1 Met \"READY\" line 2 fresh"]);
}

#[test]
fn s3_5_a_running_wait_finds_text_erased_in_the_same_write() {
    for transient in
        ["PASS\r\x1b[K", "PASS\r    ", "PASS\x1b[2J", "PASS\x1b[?1049h", "PASS\r\n\n\n\n\n\n\n\n"]
    {
        let script = [(0, Wait(text("PASS"), Since::Input, 50)), (10, Print(transient))];
        let log = run(&script);
        assert_eq!(log, ["@10 w1 Met \"PASS\" line 1 fresh, no longer visible"], "{transient:?}");
    }
}

#[test]
fn s3_5_a_later_wait_searches_the_kept_frames() {
    let script = [
        (0, Type("x")),
        (10, Print("PASS")),
        (12, Print("\r\x1b[K")),
        (50, Wait(text("PASS"), Since::Input, 0)),
        (60, Wait(text("PASS"), Since::Now, 0)),
    ];
    check(&script, &["@50 w1 Met \"PASS\" line 1 fresh, no longer visible", "@60 w2 Timeout"]);
}

#[test]
fn s3_5_a_later_wait_finds_text_erased_in_the_same_read() {
    let script = [
        (0, Type("x")),
        (10, Print("PASS\r\x1b[K")),
        (50, Wait(text("PASS"), Since::Input, 0)),
        (60, Wait(text("PASS"), Since::Now, 0)),
        (70, Type("x")),
        (80, Wait(text("PASS"), Since::Input, 0)),
    ];
    let found = "@50 w1 Met \"PASS\" line 1 fresh, no longer visible";
    check(&script, &[found, "@60 w2 Timeout", "@80 w3 Timeout"]);
}

#[test]
fn s3_5_a_flood_keeps_only_its_first_transient_frames() {
    let script = [
        (0, Type("x")),
        (10, Print("[1]\r\x1b[K[2]\r\x1b[K[3]\r\x1b[K[4]\r\x1b[K[5]\r\x1b[K")),
        (50, Wait(text("\\[4\\]"), Since::Input, 0)),
        (50, Wait(text("\\[5\\]"), Since::Input, 0)),
    ];
    let found = "@50 w1 Met \"[4]\" line 1 fresh, no longer visible";
    check(&script, &[found, "@50 w2 Timeout"]);
}

#[test]
fn s3_6_a_match_precedes_the_exit_and_the_exit_precedes_the_timeout() {
    let script = [
        (0, Wait(text("DONE"), Since::Input, 10)),
        (1, Wait(text("else"), Since::Input, 50)),
        (10, PrintPart("DONE\r\n")),
        (10, Do::Exit(3)),
    ];
    check(&script, &["@10 w1 Met \"DONE\" line 1 fresh exit 3", "@10 w2 Exited exit 3"]);
}

#[test]
fn s3_6_output_read_before_the_deadline_precedes_the_timeout() {
    let script = [(0, Wait(text("DONE"), Since::Input, 10)), (9, PrintPart("DONE"))];
    check(&script, &["@10 w1 Met \"DONE\" line 1 fresh"]);
}

#[test]
fn s3_7_a_wait_after_the_exit_ends_at_once() {
    let script = [
        (0, Print("LAST OUTPUT")),
        (1, Do::Exit(0)),
        (2, Wait(text("OUTPUT"), Since::Input, 9999)),
        (3, Wait(text("nothing"), Since::Input, 9999)),
        (4, Wait(Condition::Exit, Since::Now, 9999)),
        (5, Wait(change(300), Since::Input, 9999)),
    ];
    check(
        &script,
        &[
            "@2 w1 Met \"OUTPUT\" line 1 fresh exit 0",
            "@3 w2 Exited exit 0",
            "@4 w3 Met exit 0",
            "@5 w4 Exited changed=true stable=false style=true last=5 rows=[] exit 0",
        ],
    );
}

#[test]
fn s3_gone_waits_until_no_match_is_on_the_screen() {
    let script = [
        (0, Print("Loading")),
        (1, Wait(gone("Loading"), Since::Input, 100)),
        (2, Wait(gone("nothing"), Since::Input, 100)),
        (50, Print("\r\x1b[KDone")),
        (60, Wait(gone("Done"), Since::Input, 10)),
    ];
    check(&script, &["@2 w2 Met gone", "@50 w1 Met gone", "@70 w3 Timeout still there"]);
}

#[test]
fn s4_1_a_change_is_met_once_the_text_is_stable() {
    let script = [
        (0, Print("menu")),
        (10, Type("")),
        (20, Wait(change(300), Since::Input, 5000)),
        (100, Print(" a")),
        (200, Print(" b")),
    ];
    check(&script, &["@500 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s4_1_a_change_that_was_stable_before_the_call_is_met_at_once() {
    let script = [(0, Type("x")), (10, Print("out")), (400, Wait(change(300), Since::Input, 5000))];
    check(&script, &["@400 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s4_1_output_that_is_not_drained_restarts_the_clock() {
    let script = [
        (0, Print("menu")),
        (10, Wait(change(300), Since::Frame(Seq(0)), 5000)),
        (299, PrintPart(" more")),
    ];
    check(&script, &["@600 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s4_1_an_echo_alone_is_a_change_since_a_seq() {
    let script = [
        (0, Print("$ ")),
        (10, Type("ls")),
        (20, Print("ls")),
        (100, Wait(change(50), Since::Input, 0)),
        (100, Wait(change(50), Since::Frame(Seq(1)), 0)),
    ];
    let by_frame = "@100 w2 Met changed=true stable=true style=true";
    check(&script, &["@100 w1 Timeout changed=false stable=false style=false", by_frame]);
}

#[test]
fn s4_1_an_unchanged_screen_times_out() {
    let script = [(0, Print("x")), (5, Type("")), (10, Wait(change(100), Since::Input, 500))];
    check(&script, &["@510 w1 Timeout changed=false stable=false style=false"]);
}

#[test]
fn s4_2_only_text_counts_and_restarts_the_clock() {
    let script = [
        (0, Type("")),
        (1, Wait(change(100), Since::Input, 500)),
        (10, Print("word")),
        (50, Print("\x1b[3;3H\x1b[6n\x1b[Hword")),
        (80, Print("\x1b[H\x1b[31mword")),
    ];
    check(&script, &["@110 w1 Met changed=true stable=true style=true"]);
    let style_alone = [
        (0, Print("word")),
        (1, Type("")),
        (2, Wait(change(100), Since::Input, 500)),
        (50, Print("\x1b[H\x1b[31mword")),
    ];
    check(&style_alone, &["@502 w1 Timeout changed=false stable=false style=true"]);
}

#[test]
fn s4_2_with_all_styles_a_colour_counts_and_does_not_restart_the_clock() {
    let styles = Condition::Change {
        stable: Duration::from_millis(100),
        styles: Styles::All,
        ignore: Vec::new(),
    };
    let script = [
        (0, Print("word")),
        (200, Type("")),
        (210, Wait(styles, Since::Input, 500)),
        (250, Print("\x1b[H\x1b[31mword")),
    ];
    check(&script, &["@250 w1 Met changed=true stable=true style=true"]);
}

/// A menu of two entries with the first one selected.
const FIRST: &str = "\x1b[2;3H\x1b[7mone\x1b[m\x1b[3;3Htwo";
/// The same menu with the second one selected.
const SECOND: &str = "\x1b[2;3Hone\x1b[3;3H\x1b[7mtwo\x1b[m";

#[test]
fn s4_1_a_moved_selection_is_a_change() {
    let with = |styles: Styles| {
        let stable = Duration::from_millis(200);
        let condition = Condition::Change { stable, styles, ignore: Vec::new() };
        [
            (0, Print(FIRST)),
            (500, Type("")),
            (510, Wait(condition, Since::Input, 900)),
            (550, Print(SECOND)),
        ]
    };
    // The text has been unchanged for long enough already.
    let met = "@550 w1 Met changed=true stable=true style=true";
    check(&with(Styles::Selection), &[met]);
    check(&with(Styles::All), &[met]);
    check(&with(Styles::Text), &["@1410 w1 Timeout changed=false stable=false style=true"]);
    // A selection that moved away and back is no change.
    let mut back = with(Styles::Selection).to_vec();
    back[2].0 = 600;
    back.swap(2, 3);
    back.insert(3, (560, Print(FIRST)));
    check(&back, &["@1500 w1 Timeout changed=false stable=false style=false"]);
}

#[test]
fn s4_2_a_changed_colour_is_not_a_changed_selection() {
    let stable = Duration::from_millis(100);
    let condition = Condition::Change { stable, styles: Styles::Selection, ignore: Vec::new() };
    let script = [
        (0, Print(FIRST)),
        (200, Type("")),
        (210, Wait(condition, Since::Input, 500)),
        (250, Print("\x1b[3;3H\x1b[31mtwo")),
    ];
    check(&script, &["@710 w1 Timeout changed=false stable=false style=true"]);
    // Text restarts the clock, the selection does not.
    let stable = Duration::from_millis(100);
    let condition = Condition::Change { stable, styles: Styles::Selection, ignore: Vec::new() };
    let script = [
        (0, Print(FIRST)),
        (200, Type("")),
        (210, Wait(condition, Since::Input, 500)),
        (250, Print("\x1b[5;1Hhelp")),
        (300, Print(SECOND)),
    ];
    check(&script, &["@350 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s4_1_ignored_rows_have_no_selection() {
    let stable = Duration::from_millis(100);
    let ignore = vec![pattern("one|two")];
    let condition = Condition::Change { stable, styles: Styles::Selection, ignore };
    let script = [
        (0, Print(FIRST)),
        (200, Type("")),
        (210, Wait(condition, Since::Input, 500)),
        (250, Print(SECOND)),
    ];
    check(&script, &["@710 w1 Timeout changed=false stable=false style=true"]);
}

fn spinner() -> Vec<(u64, Do)> {
    let shapes = ["\x1b[3;1H|", "\x1b[3;1H/", "\x1b[3;1H-", "\x1b[3;1H\\"];
    let mut script = vec![(0, Type(""))];
    script.extend((0..20u64).map(|i| (10 + 50 * i, Print(shapes[i as usize % 4]))));
    script
}

#[test]
fn s4_3_a_spinner_is_changed_and_not_stable() {
    let mut script = spinner();
    script.insert(1, (1, Wait(change(300), Since::Input, 600)));
    check(&script, &["@601 w1 Timeout changed=true stable=false style=true last=41 rows=[2]"]);
}

#[test]
fn s4_3_rows_that_stopped_changing_are_not_reported() {
    let mut script = spinner();
    script.insert(1, (1, Wait(change(300), Since::Input, 600)));
    // The first row changes more often than the spinner, and stops.
    let counts = ["1", "2", "3", "4", "5", "6", "7", "8", "9"].map(|n| n.as_bytes()[0] as char);
    let lines: Vec<String> = counts.iter().map(|count| format!("\x1b[Hcount {count}")).collect();
    let lines: Vec<&'static str> = lines.into_iter().map(|line| &*line.leak()).collect();
    script.extend(lines.into_iter().zip(20u64..).map(|(line, ms)| (ms, Print(line))));
    script.sort_by_key(|(ms, _)| *ms);
    check(&script, &["@601 w1 Timeout changed=true stable=false style=true last=41 rows=[2]"]);
}

#[test]
fn s4_3_an_ignored_spinner_does_not_restart_the_clock() {
    let ignore = vec![pattern(r"^[-|/\\]$")];
    let condition =
        Condition::Change { stable: Duration::from_millis(300), styles: Styles::Text, ignore };
    let mut script = spinner();
    script.insert(1, (1, Wait(condition, Since::Input, 2000)));
    script.insert(3, (40, Print("\x1b[Hdone")));
    check(&script, &["@340 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s4_4_exit_compares_with_the_anchors_frame() {
    let script =
        [(0, Wait(change(300), Since::Input, 5000)), (5, PrintPart("bye")), (6, Do::Exit(1))];
    check(&script, &["@6 w1 Exited changed=true stable=false style=true last=0 rows=[] exit 1"]);
}

#[test]
fn s4_5_without_stable_time_the_first_change_is_enough() {
    let script = [(0, Wait(change(0), Since::Input, 5000)), (70, Print("x"))];
    check(&script, &["@70 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s4_an_echo_alone_is_not_a_change() {
    let script = [
        (0, Print("? ")),
        (5, Type("y\r")),
        (6, Wait(change(100), Since::Input, 5000)),
        (10, Print("y\r\n")),
        (600, Print("answer")),
    ];
    check(&script, &["@700 w1 Met changed=true stable=true style=true"]);
}

#[test]
fn s5_settled_is_met_with_and_without_a_change() {
    let script = [
        (0, Print("x")),
        (1000, Type("y\r")),
        (1000, Wait(settled(300), Since::Input, 5000)),
        (1010, Print("y\r\n")),
        (1600, Print("answer")),
        (2000, Type("z\r")),
        (2000, Wait(settled(300), Since::Input, 5000)),
        (2010, Print("z\r\nchange")),
    ];
    check(
        &script,
        &["@1310 w1 Met settled=true changed=false", "@2310 w2 Met settled=true changed=true"],
    );
}

#[test]
fn s5_settled_counts_from_the_read_of_the_input() {
    let script = [
        (0, Type("y\r")),
        (0, Unread(true)),
        (0, Wait(settled(300), Since::Input, 5000)),
        (400, Unread(false)),
    ];
    check(&script, &["@600 w1 Met settled=true changed=false"]);
}

#[test]
fn s5_settled_counts_from_the_last_byte_of_input() {
    let script = [
        (0, Type("\x1by")),
        (0, Pending(true)),
        (0, Wait(settled(300), Since::Input, 5000)),
        (100, Print("x")),
        (250, Pending(false)),
    ];
    check(&script, &["@550 w1 Met settled=true changed=true"]);
}

#[test]
fn s7_an_exit_wait_is_met_by_the_exit() {
    let script = [
        (0, Wait(Condition::Exit, Since::Now, 100)),
        (1, Wait(Condition::Exit, Since::Now, 10)),
        (50, Do::Exit(7)),
    ];
    check(&script, &["@11 w2 Timeout", "@50 w1 Met exit 7"]);
}

#[test]
fn s10_a_close_ends_all_waits_at_once() {
    let script = [
        (0, Wait(text("x"), Since::Input, 9999)),
        (1, Wait(Condition::Exit, Since::Now, 9999)),
        (5, Close),
        (6, Wait(text("x"), Since::Input, 9999)),
    ];
    check(&script, &["@5 w1 Closed", "@5 w2 Closed", "@6 w3 Closed"]);
}

#[test]
fn s10_a_timeout_of_zero_checks_once() {
    check(&[(0, Wait(text("x"), Since::Input, 0))], &["@0 w1 Timeout"]);
}

#[test]
fn s4_a_smaller_screen_is_a_change_for_running_and_later_waits() {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, 20);
    session.handle_output(Time::from_ms(1), b"a\r\nb\r\nc\r\nd\r\ne");
    session.handle_drained(Time::from_ms(1));
    let wait = |session: &mut Session, condition: Condition, since: Since| {
        let spec = Spec { condition, since, deadline: Some(Time::from_ms(99)) };
        session.start_wait(Time::from_ms(2), spec).expect("it starts");
    };
    wait(&mut session, change(50), Since::Now);
    wait(&mut session, settled(10), Since::Now);
    session.resize(Time::from_ms(2), COLS, 1);
    wait(&mut session, change(50), Since::Input);
    wait(&mut session, text("NEVER"), Since::Frame(Seq(1)));
    for ms in [12, 52, 99] {
        session.handle_time(Time::from_ms(ms));
    }
    let log: Vec<String> = session.poll_ended().iter().map(|ended| log_line(99, ended)).collect();
    assert_eq!(
        log,
        [
            "@99 w2 Met settled=true changed=true",
            "@99 w1 Met changed=true stable=true style=true",
            "@99 w3 Met changed=true stable=true style=true",
            "@99 w4 Timeout",
        ]
    );
}

#[test]
fn s10_a_cancelled_wait_leaves_no_state() {
    let mut session = Session::new(Time::from_ms(0), COLS, ROWS, 20);
    let deadline = Some(Time::from_ms(500));
    let conditions = [text("x"), gone("^"), change(9), settled(9), Condition::Exit];
    let ids: Vec<_> = conditions
        .into_iter()
        .map(|condition| {
            session.start_wait(Time::from_ms(0), Spec { condition, since: Since::Input, deadline })
        })
        .collect();
    for id in ids.into_iter().rev() {
        session.cancel_wait(id.expect("it was started"));
    }
    assert_eq!(session.waits_running(), 0);
    assert_eq!(session.poll_wake(), None);
    session.handle_output(Time::from_ms(1), b"x");
    session.handle_drained(Time::from_ms(1));
    assert!(session.poll_ended().is_empty());
}

#[test]
fn s3_patterns_match_invisible_text() {
    let hidden = "a\u{fe01}\u{fe02}\x1b[8mb\u{e0041}\x1b[m";
    let script = [
        (0, Wait(text("a\u{fe01}\u{fe02}b\u{e0041}"), Since::Input, 50)),
        (1, Wait(text("^ab$"), Since::Input, 50)),
        (10, Print(hidden)),
    ];
    let log = run(&script);
    assert_eq!(log.len(), 2);
    assert!(log[0].starts_with("@10 w1 Met") && log[1] == "@51 w2 Timeout", "{log:?}");
}

#[test]
fn s10_a_thousand_waits_for_one_pattern_all_end() {
    let mut script = vec![(0, Type(""))];
    script.extend((0..1000).map(|_| (1, Wait(text("DONE"), Since::Input, 9999))));
    script.push((5, Print("DONE\r\x1b[K")));
    let log = run(&script);
    assert_eq!(log.len(), 1000);
    assert!(log.iter().all(|line| line.contains("Met \"DONE\" line 1")));
}

proptest! {
    /// The result of a wait for text does not depend on the chunks in which the same bytes are fed.
    #[test]
    fn s3_chunk_sizes_do_not_change_the_result(
        words in prop::collection::vec("(DONE|x|\\r|\\n|\\x1b\\[K|\\x1b\\[2J|\\x1b\\[H|\\x1b\\[M| ){1,6}", 1..12),
        chunks in prop::collection::vec(1usize..9, 1..9),
        running in any::<bool>(),
    ) {
        let bytes = words.concat();
        let result = |chunks: &[usize]| {
            let mut session = Session::new(Time::from_ms(0), 12, 3, 20);
            let spec = || Spec { condition: text("DONE"), since: Since::Input, deadline: Some(Time::from_ms(9)) };
            if running {
                session.start_wait(Time::from_ms(0), spec()).expect("it starts");
            }
            let mut rest = bytes.as_bytes();
            for chunk in chunks.iter().cycle() {
                let (now, later) = rest.split_at((*chunk).min(rest.len()));
                session.handle_output(Time::from_ms(1), now);
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            session.handle_drained(Time::from_ms(1));
            if !running {
                session.start_wait(Time::from_ms(2), spec()).expect("it starts");
            }
            session.handle_time(Time::from_ms(9));
            let ended = session.poll_ended();
            (ended.len(), log_line(9, &ended[0]))
        };
        prop_assert_eq!(result(&chunks), result(&[usize::MAX]));
    }
}
