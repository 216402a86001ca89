//! Errors of whole tapes: misused commands, several errors, and limits.

use awaitty_test::tape::{self, COUNT_MAX, ERRORS_MAX, SCREEN_NAME_MAX, SOURCES_MAX, TAPE_MAX};

use crate::{load, meaning, parse};

/// Checks the errors of a tape.
fn check(text: &str, errors: &[&str]) {
    let expected: Vec<String> = errors.iter().map(|error| format!("! {error}")).collect();
    assert_eq!(meaning(text), expected, "{text}");
}

#[test]
fn all_errors_are_collected() {
    // The tape of VHS's repository that is wrong on purpose.
    check(
        "Set Foo Bar\n\nFoo\n\nType Enter\n\nBar Backspace@\n\nfoo\n",
        &[
            "1:5: the setting \"Foo\" is not known: the settings are …",
            "3:1: the command \"Foo\" is not known: the commands are …",
            "5:6: `Type` needs a text, not \"Enter\": write `Type \"text\"`",
            "7:1: the command \"Bar\" is not known: the commands are …",
            "7:15: `Backspace@` needs a time: write `Backspace@500ms`",
            "9:1: the command \"foo\" is not known: the commands are …",
        ],
    );
    check(
        "Enter 0 Sleep x Type 'Enter 0",
        &[
            "1:7: the value \"0\" of `Enter` is not valid: write a whole number from 1 to 10000",
            "1:15: `Sleep` needs a time, not \"x\": write `Sleep 500ms`",
            "1:22: the text has no closing ': a text ends in its line",
        ],
    );
}

#[test]
fn the_rest_of_a_wrong_command_is_not_a_command() {
    check(
        "Foo 'Enter 0' /Enter 0/ é/Enter@ # Enter 0",
        &["1:1: the command \"Foo\" is not known: the commands are …"],
    );
    let write = "write `Set Theme { \"background\": \"#29283b\" }`";
    check(
        "Set Theme { \"red\": 1,\n \"blue\": \"x\" } Enter 0",
        &[
            &format!("1:13: the colour \"1\" of \"red\" in the theme is not known: {write}"),
            &format!("2:2: the colour \"x\" of \"blue\" in the theme is not known: {write}"),
            "2:22: the value \"0\" of `Enter` is not valid: write a whole number from 1 to 10000",
        ],
    );
    let json = |problem: &str| format!("{problem}: {write}");
    let enter = "the value \"0\" of `Enter` is not valid: write a whole number from 1 to 10000";
    check(
        "Set Theme { \"red\": \"#fff\"\nEnter 0",
        &[&json("2:1: the theme is not valid JSON: expected `,` or `}`"), &format!("2:7: {enter}")],
    );
    check(
        "Set Theme {\n  \"red\" 1,\n  \"blue\": 2\n} Enter 0",
        &[&json("2:9: the theme is not valid JSON: expected `:`"), &format!("4:9: {enter}")],
    );
    check(
        "Set Theme {\n  \"red",
        &[&json("2:6: the theme is not valid JSON: EOF while parsing a string")],
    );
}

#[test]
fn a_theme_ends_inside_a_character_of_several_bytes() {
    let error = "the theme is not valid JSON: EOF while parsing a string";
    let write = "write `Set Theme { \"background\": \"#29283b\" }`";
    check("Set Theme { \"red世", &[&format!("1:17: {error}: {write}")]);
}

#[test]
fn settings_after_the_first_step_are_errors_if_they_change_more_than_looks() {
    let late = |setting: &str, instead: &str| {
        let name = setting.split(' ').next().unwrap_or_default();
        let expected = format!(
            "3:2: `Set {name}` has no effect after the first step: \
             move it before the step at 2:1{instead}"
        );
        check(&format!("Set Shell bash\nHide\n Set {setting}"), &[&expected]);
    };
    late("Shell bash", "");
    late("Width 800", "");
    late("Height 800", "");
    late("Columns 80", ", or write `Resize 100 30`");
    late("Rows 24", ", or write `Resize 100 30`");
    late("WaitTimeout 1s", ", or write `Expect@5s /text/`");
    late("WaitPattern /x/", ", or write `Wait /text/`");
    parse("Hide\nSet TypingSpeed 1");
    parse("Hide\nSet FontSize 1");
    parse("Env A b\nOutput a.gif\nRequire vi\nSource settings.tape\nSet Rows 5\nHide");
    let place = "has no effect after the first step: move it before the step at 1:1";
    check(
        "Enter\nSource settings.tape",
        &[
            &format!("settings.tape:1:1: `Set Shell` {place}"),
            &format!("settings.tape:2:1: `Set Columns` {place}, or write `Resize 100 30`"),
        ],
    );
}

#[test]
fn a_picture_has_room_for_what_is_around_the_terminal() {
    let tape = |width: u32, height: u32| {
        format!(
            "Set Width {width}\nSet Height {height}\nSet Padding 10\nSet Margin 5\n\
             Set WindowBar Rings\nSet WindowBarSize 40"
        )
    };
    let small = |line: u32, setting: &str, min: u32| {
        let message = format!("`Set {setting}` has no room for padding and margin");
        format!("{line}:1: {message}: it must be at least {min}")
    };
    parse(&tape(30, 70));
    check(&tape(29, 70), &[&small(1, "Width 29", 30)]);
    check(&tape(30, 69), &[&small(2, "Height 69", 70)]);
    // The tape of VHS's repository that is wrong on purpose.
    check(
        "Set Height 100\nSet Width 100\nSet Padding 100\n\nOutput demo.gif\n\nType \"x\"",
        &[&small(1, "Height 100", 200), &small(2, "Width 100", 200)],
    );
    parse("Set Width 1\nSet Padding 5\nSet Width 10");
    parse("Set WindowBarSize 40\nSet Height 30");
}

#[test]
fn similar_words_are_suggested() {
    for (word, suggestion) in [
        ("Expct", "did you mean `Expect`?"),
        ("Tpye", "did you mean `Type`?"),
        ("Slep", "did you mean `Sleep`?"),
        ("TYPE", "did you mean `Type`?"),
        ("Screnshot", "did you mean `Screenshot`?"),
        ("Backspac", "did you mean `Backspace`?"),
        ("crtl", "did you mean `Ctrl`?"),
        ("esc", "write `Escape`"),
        ("Pause", "write `Sleep 1s`"),
        ("FontSize", "write `Set FontSize …`"),
        ("x", "the commands are …"),
        ("Retrun", "the commands are …"),
    ] {
        check(word, &[&format!("1:1: the command \"{word}\" is not known: {suggestion}")]);
    }
}

#[test]
fn a_tape_at_its_limits_and_past_them() {
    let comment = format!("Enter #{}", "x".repeat(TAPE_MAX - 7));
    parse(&comment);
    let expected = "1:1: the tape has 1048577 bytes, and 1048576 are allowed: split it";
    check(&format!("{comment}x"), &[expected]);

    parse(&"Source other.tape\n".repeat(SOURCES_MAX));
    check(
        &"Source other.tape\n".repeat(SOURCES_MAX + 1),
        &["65:8: the tape has more than 64 sources: join some of them"],
    );

    parse(&format!("Enter {COUNT_MAX}"));
    assert!(tape::parse(&format!("Enter {}", COUNT_MAX + 1), &load).is_err());

    parse(&format!("Screen {}", "x".repeat(SCREEN_NAME_MAX)));
    check(
        &format!("Screen {}", "x".repeat(SCREEN_NAME_MAX + 1)),
        &["1:8: the name of the screen has more than 100 characters: shorten it"],
    );

    assert_eq!(meaning(&"Foo\n".repeat(ERRORS_MAX)).len(), ERRORS_MAX);
    let found = meaning(&"Foo\n".repeat(2 * ERRORS_MAX));
    assert_eq!(found.len(), ERRORS_MAX + 1);
    let last = "! 1001:1: the tape has more than 1000 errors: correct the others first";
    assert_eq!(found.last().map(String::as_str), Some(last));
}

#[test]
fn values_in_errors_are_short_and_printable() {
    let found = tape::parse(&format!("Sleep {}", "é".repeat(100)), &load);
    let value = found.map_err(|errors| errors[0].value.clone());
    assert_eq!(value.map(|_| ()), Err(format!("{}…", "é".repeat(60))));
    let expected = r#"1:1: the command "Foo\u{1b}[31m" is not known: the commands are …"#;
    check("Foo\u{1b}[31m", &[expected]);
}
