//! Ticks of cells, observation before cells disappear, and line numbers.

use awaitty_core::{Line, Screen, Tick};

const COLS: usize = 10;
const ROWS: usize = 4;

/// Returns a screen with one letter per row, on which everything was observed.
fn observed_screen() -> Screen {
    let mut screen = Screen::new(COLS, ROWS, 100);
    screen.feed(b"aaa\r\nbbb\r\nccc\r\nddd");
    screen.advance_tick();
    screen
}

/// Returns the ticks of the rows relative to the current one: `0` is drawn since the last observation, `1` before it,
/// `.` never.
fn ticks(screen: &Screen) -> Vec<String> {
    let tick = |row: usize, col: usize| match screen.tick_at(row, col) {
        Tick::NEVER => ".".to_owned(),
        tick => (screen.tick().0 - tick.0).to_string(),
    };
    (0..screen.rows()).map(|row| (0..6).map(|col| tick(row, col)).collect()).collect()
}

fn check_ticks(bytes: &str, expected: [&str; ROWS]) {
    let mut screen = observed_screen();
    screen.feed(bytes.as_bytes());
    assert_eq!(ticks(&screen), expected, "{bytes:?}");
}

/// Returns the text of the screen at each observation.
fn observations(bytes: &str) -> Vec<String> {
    let mut screen = Screen::new(COLS, ROWS, 100);
    let mut observed = Vec::new();
    screen.feed_observed(bytes.as_bytes(), &mut |screen| observed.push(screen.text()));
    observed
}

#[test]
fn writing_and_erasing_draw() {
    check_ticks("", ["111...", "111...", "111...", "111..."]);
    check_ticks("\x1b[Hx", ["011...", "111...", "111...", "111..."]);
    check_ticks("\x1b[Ha", ["011...", "111...", "111...", "111..."]);
    check_ticks("\x1b[2;2H\x1b[K", ["111...", "100000", "111...", "111..."]);
    check_ticks("\x1b[2;2H\x1b[2X", ["111...", "100...", "111...", "111..."]);
    check_ticks("\x1b[2J", ["000000"; ROWS]);
}

#[test]
fn moving_does_not_draw() {
    check_ticks("\n", ["111...", "111...", "111...", "......"]);
    check_ticks("\x1b[2S", ["111...", "111...", "......", "......"]);
    check_ticks("\x1b[T", ["......", "111...", "111...", "111..."]);
    check_ticks("\x1b[Hx\x1b[2;1H\x1b[L", ["011...", "......", "111...", "111..."]);
    check_ticks("\x1b[Hx\x1b[M", ["111...", "111...", "111...", "......"]);
    check_ticks("\x1b[2;3r\x1b[3;1Hx\n", ["111...", "011...", "......", "111..."]);
    check_ticks("\x1b[H\x1b[2@", ["00111.", "111...", "111...", "111..."]);
    check_ticks("\x1b[Hx\x1b[1;2H\x1b[@", ["0011..", "111...", "111...", "111..."]);
    check_ticks("\x1b[?69h\x1b[1;2s\x1b[Hx\x1b[S", ["111...", "111...", "111...", "..1..."]);
}

#[test]
fn the_cursor_and_the_pen_draw_nothing() {
    check_ticks(
        "\x1b[3;3H\x1b[1m\x1b[?25l\t\x1b[6n\x1b]2;t\x07",
        ["111...", "111...", "111...", "111..."],
    );
}

#[test]
fn ticks_go_to_the_scrollback_with_their_line() {
    let mut screen = observed_screen();
    screen.feed(b"\x1b[1;3Hx\x1b[4;1H\n");
    let (line, row) = screen.scrollback().get(0).expect("a line scrolled off");
    assert_eq!((line, row.text()), (Line(1), "aax"));
    assert_eq!((row.tick_at(0), row.tick_at(2), row.tick_at(3)), (Tick(1), Tick(2), Tick::NEVER));
}

#[test]
fn undisturbed_cells_are_not_observed() {
    assert_eq!(observations("abc\r\ndef\r\n\tghi\x1b[1m!"), Vec::<String>::new());
}

#[test]
fn erased_cells_are_observed_first() {
    assert_eq!(observations("PASS\x1b[2K"), ["PASS"]);
    assert_eq!(observations("PASS\x1b[H\x1b[JFAIL"), ["PASS", ""]);
    assert_eq!(observations("PASS\x1bcx"), ["PASS", ""]);
    assert_eq!(observations("PASS\x1b[4D\x1b[2P"), ["PASS"]);
    assert_eq!(observations("PASS\x1b[4D\x1b[2@"), ["PASS"]);
    assert_eq!(observations("PASS\x1b[1;1;1;4$z"), ["PASS"]);
    assert_eq!(observations("PASS\x1b[65;1;1;1;4$x"), ["PASS"]);
    assert_eq!(observations("PASS\x1b#8"), ["PASS"]);
}

#[test]
fn overwritten_cells_are_observed_first() {
    assert_eq!(observations("10%\r20%\r30%\rxyz"), ["10%", "20%", "30%"]);
    assert_eq!(observations("世\x08x"), ["世"]);
    assert_eq!(observations("ab\x08世"), ["ab"]);
    assert_eq!(observations("ab\rx\rc"), ["ab", "xb"], "observed cells are not observed again");
}

#[test]
fn scrolled_lines_are_observed_once_per_screenful() {
    let lines: String = (1..=12).map(|i| format!("{i}\r\n")).collect();
    assert_eq!(observations(&lines), ["1\n2\n3\n4", "5\n6\n7\n8", "9\n10\n11\n12"]);
    assert_eq!(observations("a\x1b[S"), ["a"]);
    assert_eq!(observations("\x1b[4;1Ha\x1b[T"), ["\n\n\na"]);
    assert_eq!(observations("a\x1b[M"), ["a"]);
    assert_eq!(observations("\x1b[4;1Ha\x1b[L"), ["\n\n\na"]);
}

#[test]
fn a_scroll_between_side_margins_changes_all_its_rows() {
    for scroll in ["\x1b[S", "\x1b[T", "\x1b[2;4H\x1b[M", "\x1b[2;4H\x1b[L"] {
        let observed = observations(&format!("\x1b[3;3H世\x1b[?69h\x1b[4;8s{scroll}"));
        assert_eq!(observed, ["\n\n  世"], "{scroll:?}");
    }
}

#[test]
fn a_screen_is_observed_before_the_other_one_replaces_it() {
    assert_eq!(observations("PASS\x1b[?1049h"), ["PASS"]);
    assert_eq!(observations("\x1b[?47hPASS\x1b[?47l"), ["PASS"]);
}

#[test]
fn observed_cells_are_not_observed_again() {
    let mut screen = observed_screen();
    screen.feed_observed(b"\x1b[H\x1b[2J", &mut |screen| panic!("{}", screen.text()));
    assert_eq!(screen.text(), "");
}

fn numbers(screen: &Screen) -> Vec<u64> {
    (0..screen.rows()).map(|row| screen.line(row).0).collect()
}

/// Returns the number of the line that starts with a text, on the screen or in the scrollback.
fn find(screen: &Screen, text: &str) -> Option<u64> {
    let on = (0..screen.rows()).map(|row| (screen.line(row), screen.row(row).text().to_owned()));
    let off = (0..screen.scrollback().len()).filter_map(|i| screen.scrollback().text(i));
    let mut all = off.map(|(line, text)| (line, text.to_owned())).chain(on);
    all.find(|(_, line)| line.starts_with(text)).map(|(line, _)| line.0)
}

#[test]
fn a_line_keeps_its_number_while_it_scrolls_and_after() {
    let mut screen = Screen::new(COLS, ROWS, 100);
    assert_eq!(numbers(&screen), [1, 2, 3, 4]);
    for i in 1..=20 {
        screen.feed(format!("{i:03}\r\n").as_bytes());
        for before in 1..=i {
            assert_eq!(find(&screen, &format!("{before:03}")), Some(before));
        }
    }
    assert_eq!(numbers(&screen), [18, 19, 20, 21]);
    assert_eq!(screen.scrollback().text(4), Some((Line(5), "005")));
    assert_eq!(screen.scrollback().position(Line(7)), 6);
    assert_eq!(screen.scrollback().first(), Some(Line(1)));
    assert_eq!(screen.scrollback().last(), Some(Line(17)));
}

#[test]
fn dropped_lines_do_not_reset_the_numbers() {
    let mut screen = Screen::new(COLS, ROWS, 5);
    for i in 1..=1000 {
        screen.feed(format!("{i}\r\n").as_bytes());
    }
    assert_eq!(screen.scrollback().len(), 5);
    assert_eq!(screen.scrollback().text(0), Some((Line(993), "993")));
    screen.feed(b"\x1b[3J");
    assert!(screen.scrollback().is_empty());
    screen.feed(b"1001\r\n");
    assert_eq!(screen.scrollback().text(0), Some((Line(998), "998")));
}

#[test]
fn line_numbers_survive_a_resize() {
    let mut screen = Screen::new(20, 6, 100);
    screen.feed(b"one\r\ntwo is rather long\r\nthree\r\nfour\r\n$ ");
    let names = ["one", "two", "three", "four", "$"];
    let before: Vec<_> = names.iter().map(|name| find(&screen, name)).collect();
    assert_eq!(before, [Some(1), Some(2), Some(3), Some(4), Some(5)]);
    for (cols, rows) in [(8, 6), (8, 3), (30, 3), (30, 10), (5, 2), (20, 6)] {
        screen.resize(cols, rows);
        let after: Vec<_> = names.iter().map(|name| find(&screen, name)).collect();
        assert_eq!(after, before, "{cols}x{rows}");
    }
    assert_eq!(screen.text(), "one\ntwo is rather long\nthree\nfour\n$");
    assert_eq!((screen.cursor().row, screen.cursor().col), (4, 2));
    screen.feed(b"\r\nsix");
    assert_eq!(find(&screen, "six"), Some(6));
}

#[test]
fn wrapped_lines_are_joined_again_when_there_is_room() {
    let mut screen = Screen::new(10, 5, 100);
    screen.feed("0123456789abcdefghij世界\r\nnext\r\n".as_bytes());
    assert_eq!(screen.text(), "0123456789\nabcdefghij\n世界\nnext");
    screen.resize(40, 5);
    assert_eq!(screen.text(), "0123456789abcdefghij世界\nnext");
    screen.resize(7, 3);
    assert_eq!(screen.text(), "世界\nnext", "a wide character is not cut in two");
    let above = (0..3).filter_map(|i| screen.scrollback().text(i)).map(|(_, text)| text);
    assert_eq!(above.collect::<Vec<_>>(), ["0123456", "789abcd", "efghij"]);
    screen.resize(10, 5);
    assert_eq!(screen.text(), "0123456789\nabcdefghij\n世界\nnext");
}

#[test]
fn a_full_scrollback_of_plain_lines_is_small() {
    let mut screen = Screen::new(120, 40, 10_000);
    for i in 0..10_040 {
        screen.feed(format!("{i:08} {}\r\n", "x".repeat(71)).as_bytes());
    }
    assert_eq!(screen.scrollback().len(), 10_000);
    let bytes = screen.scrollback().memory();
    assert!(bytes <= 1_500_000, "{bytes}");
}

/// Returns a 20x6 screen after 30 lines, of which five are visible.
fn scrolled() -> Screen {
    let mut screen = Screen::new(20, 6, 100);
    (0..30).for_each(|i| screen.feed(format!("old {i}\r\n").as_bytes()));
    screen
}

#[test]
fn cleared_text_does_not_return_after_a_resize() {
    for (cols, rows) in [(21, 6), (20, 5), (20, 7), (10, 9)] {
        let mut screen = scrolled();
        screen.feed(b"\x1b[H\x1b[2J$ ");
        screen.resize(cols, rows);
        assert_eq!(screen.text(), "$", "{cols}x{rows}");
    }
    let mut screen = scrolled();
    screen.resize(20, 8);
    assert_eq!(screen.text(), "old 23\nold 24\nold 25\nold 26\nold 27\nold 28\nold 29");
}

#[test]
fn a_line_from_the_scrollback_is_joined_only_to_its_own_rest() {
    let after = |bytes: &str| {
        let mut screen = Screen::new(10, 3, 100);
        screen.feed(b"AAAAAAAAAABBBBBBBBBBCCCCC\r\nx");
        screen.feed(bytes.as_bytes());
        screen.resize(30, 3);
        screen.text()
    };
    assert_eq!(after(""), "AAAAAAAAAABBBBBBBBBBCCCCC\nx");
    assert_eq!(after("\x1b[H\x1b[2J$ ls\r\nfile\r\nmore"), "$ ls\nfile\nmore");
    assert_eq!(after("\x1b[H\x1b[2M"), "x");
    assert_eq!(after("\x1b[H\x1bM"), "AAAAAAAAAA\n\nBBBBBBBBBBCCCCC");
}

#[test]
fn the_main_screen_keeps_its_cursor_for_each_alternate_mode() {
    for mode in [47, 1047, 1049] {
        let mut screen = Screen::new(10, 4, 100);
        screen.feed(b"one\r\ntwo\r\nthree\r\nfour");
        screen.feed(format!("\x1b[?{mode}h\x1b[H").as_bytes());
        screen.resize(10, 2);
        screen.feed(format!("\x1b[?{mode}l").as_bytes());
        assert_eq!(screen.text(), "three\nfour", "{mode}");
        assert_eq!(screen.scrollback().len(), 2, "{mode}");
    }
}

#[test]
fn a_cursor_past_the_text_does_not_wrap_after_a_resize() {
    let mut screen = Screen::new(20, 4, 0);
    screen.feed(b"abc\x1b[1;18H");
    screen.resize(10, 4);
    screen.feed(b"x");
    assert_eq!(screen.text(), "abc      x");
}
