//! The echo of one's own input is not output: which cells count as drawn after an input.

use awaitty_core::{EchoSource, Screen, Tick};

/// The rows of a screen after typing, with `.` for every character that counts as echo.
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
fn the_terminals_echo_is_known() {
    let by = EchoSource::Terminal;
    assert_eq!(
        after(by, "$ ", "echo READY\r", "echo READY\r\nREADY\r\n$ "),
        "$ .... .....|READY|$"
    );
    assert_eq!(after(by, "", "READY\r", "READY\r\nREADY\r\n"), ".....|READY", "cat says it again");
    assert_eq!(after(by, "name? ", "Bob\r", "Bob\r\nhello Bob\r\n"), "name? ...|hello Bob");
    assert_eq!(after(by, "", "a\rb\r", "a\r\nb\r\na\r\nb\r\n"), ".|.|a|b");
}

#[test]
fn nothing_is_echo_where_nobody_echoes() {
    assert_eq!(
        after(EchoSource::None, "password: ", "secret\r", "\r\nsecret\r\n"),
        "password:|secret"
    );
}

#[test]
fn a_line_editors_echo_is_known() {
    let by = EchoSource::LineEditor;
    let readline = "echo READY\r\n\x1b[?2004l\rREADY\r\n\x1b[?2004h$ ";
    assert_eq!(after(by, "\x1b[?2004h$ ", "echo READY\r", readline), "$ .... .....|READY|$");
    let zle = "e\x08echo READY\x1b[?2004l\r\r\nREADY\r\n\x1b[?2004h% ";
    assert_eq!(after(by, "\x1b[?2004h% ", "echo READY\r", zle), "% .... .....|READY|%");
    let fish = "echo \r\x1b[8CREADY\r\x1b[13C\x1b[10Decho READY\r\x1b[13C\r\n\rREADY\r\nP> ";
    assert_eq!(after(by, "P> ", "echo READY\r", fish), "P> .... .....|READY|P>");
}

#[test]
fn a_suggestion_that_is_overwritten_does_not_hide_the_echo() {
    let printed = "ec\x1b[90mho hello\x1b[m\x1b[8Dho REA\x1b[KDY\r\n\x1b[?2004l\rREADY\r\n";
    assert_eq!(
        after(EchoSource::LineEditor, "\x1b[?2004h$ ", "echo READY\r", printed),
        "$ .... .....|READY"
    );
}

#[test]
fn what_was_typed_ahead_is_echoed_twice() {
    let printed = "echo READY\r\n\x1b[?2004h$ echo READY\r\n\x1b[?2004l\rREADY\r\n\x1b[?2004h$ ";
    let rows = after(EchoSource::Terminal, "", "echo READY\r", printed);
    assert_eq!(rows, ".... .....|$ .... .....|READY|$");
}

#[test]
fn a_prompt_that_begins_like_the_input_is_given_back() {
    let printed = "echo READY\r\n\x1b[?2004hecho$ echo READY\r\nREADY\r\n";
    let rows = after(EchoSource::Terminal, "", "echo READY\r", printed);
    assert_eq!(rows, ".... .....|echo$ .... .....|READY");
}

#[test]
fn a_program_that_reads_keys_and_answers_elsewhere_does_not_echo() {
    let by = EchoSource::LineEditor;
    assert_eq!(after(by, "> ", "hello\r", "\r\nResult: hello\r\n"), ">|Result: hello");
    assert_eq!(after(by, "menu: ", "7", "\x1b[4;1H7\r\n"), "menu:|||7");
}

#[test]
fn what_was_typed_before_the_prompt_is_echoed_after_it() {
    let printed = "\x1b[?2004h$ echo READY\r\n\x1b[?2004l\rREADY\r\n";
    assert_eq!(after(EchoSource::LineEditor, "", "echo READY\r", printed), "$ .... .....|READY");
}

#[test]
fn a_full_screen_program_shows_what_was_typed_because_it_means_to() {
    assert_eq!(after(EchoSource::LineEditor, "\x1b[?1049h\x1b[H", "hello", "hello"), "hello");
}
