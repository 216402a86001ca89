//! The echo of input: its cells do not count as drawn.

use awaitty_core::{EchoSource, Screen, Tick};

/// Returns the rows of a screen after input, with `.` for every character that counts as echo.
fn after(by: EchoSource, before: &str, typed: &str, printed: &str) -> String {
    let mut screen = Screen::new(40, 6, 10);
    screen.feed(before.as_bytes());
    screen.advance_tick();
    screen.expect_echo(typed, by);
    screen.feed(printed.as_bytes());
    let row = |row: usize| {
        let shown = screen.row(row);
        let cell = |col: usize| match shown.slice(col, col + 1) {
            text if shown.tick_at(col) == Tick::ECHO && text != " " => ".".to_owned(),
            text => text.to_owned(),
        };
        (0..shown.width()).map(cell).collect::<String>()
    };
    let rows: Vec<String> = (0..screen.rows()).map(row).collect();
    rows.join("|").trim_end_matches('|').to_owned()
}

#[test]
fn the_echo_of_the_line_discipline_is_recognised() {
    let by = EchoSource::Terminal;
    assert_eq!(
        after(by, "$ ", "echo READY\r", "echo READY\r\nREADY\r\n$ "),
        "$ .... .....|READY|$"
    );
    assert_eq!(after(by, "", "READY\r", "READY\r\nREADY\r\n"), ".....|READY", "cat repeats it");
    assert_eq!(after(by, "name? ", "Bob\r", "Bob\r\nhello Bob\r\n"), "name? ...|hello Bob");
    assert_eq!(after(by, "", "a\rb\r", "a\r\nb\r\na\r\nb\r\n"), ".|.|a|b");
}

#[test]
fn without_echo_all_output_counts() {
    assert_eq!(
        after(EchoSource::None, "password: ", "secret\r", "\r\nsecret\r\n"),
        "password:|secret"
    );
}

#[test]
fn the_echo_of_a_line_editor_is_recognised() {
    let by = EchoSource::LineEditor;
    let readline = "echo READY\r\n\x1b[?2004l\rREADY\r\n\x1b[?2004h$ ";
    assert_eq!(after(by, "\x1b[?2004h$ ", "echo READY\r", readline), "$ .... .....|READY|$");
    let zle = "e\x08echo READY\x1b[?2004l\r\r\nREADY\r\n\x1b[?2004h% ";
    assert_eq!(after(by, "\x1b[?2004h% ", "echo READY\r", zle), "% .... .....|READY|%");
    let fish = "echo \r\x1b[8CREADY\r\x1b[13C\x1b[10Decho READY\r\x1b[13C\r\n\rREADY\r\nP> ";
    assert_eq!(after(by, "P> ", "echo READY\r", fish), "P> .... .....|READY|P>");
}

#[test]
fn an_overwritten_suggestion_does_not_hide_the_echo() {
    let printed = "ec\x1b[90mho hello\x1b[m\x1b[8Dho REA\x1b[KDY\r\n\x1b[?2004l\rREADY\r\n";
    assert_eq!(
        after(EchoSource::LineEditor, "\x1b[?2004h$ ", "echo READY\r", printed),
        "$ .... .....|READY"
    );
}

#[test]
fn type_ahead_is_echoed_twice() {
    let printed = "echo READY\r\n\x1b[?2004h$ echo READY\r\n\x1b[?2004l\rREADY\r\n\x1b[?2004h$ ";
    let rows = after(EchoSource::Terminal, "", "echo READY\r", printed);
    assert_eq!(rows, ".... .....|$ .... .....|READY|$");
}

#[test]
fn a_prompt_that_starts_like_the_input_counts_as_output() {
    let printed = "echo READY\r\n\x1b[?2004hecho$ echo READY\r\nREADY\r\n";
    let rows = after(EchoSource::Terminal, "", "echo READY\r", printed);
    assert_eq!(rows, ".... .....|echo$ .... .....|READY");
}

#[test]
fn output_elsewhere_on_the_screen_is_not_an_echo() {
    let by = EchoSource::LineEditor;
    assert_eq!(after(by, "> ", "hello\r", "\r\nResult: hello\r\n"), ">|Result: hello");
    assert_eq!(after(by, "menu: ", "7", "\x1b[4;1H7\r\n"), "menu:|||7");
}

#[test]
fn input_typed_before_the_prompt_is_echoed_after_it() {
    let printed = "\x1b[?2004h$ echo READY\r\n\x1b[?2004l\rREADY\r\n";
    assert_eq!(after(EchoSource::LineEditor, "", "echo READY\r", printed), "$ .... .....|READY");
}

#[test]
fn the_alternate_screen_has_no_echo() {
    assert_eq!(after(EchoSource::LineEditor, "\x1b[?1049h\x1b[H", "hello", "hello"), "hello");
}
