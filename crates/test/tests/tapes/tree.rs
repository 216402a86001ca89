//! The syntax tree: values, positions, sources and names of keys.

use std::time::Duration;

use awaitty_terminal::core::Key;
use awaitty_test::tape::{
    Action, Expectation, KeyPress, OutputFormat, Regex, ScreenshotFormat, Scroll, Setting, TapeKey,
    Theme, WaitScope, WindowBar,
};

use crate::{actions, meaning, parse};

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("it is valid")
}

fn key(key: TapeKey) -> KeyPress {
    KeyPress { ctrl: false, alt: false, shift: false, key }
}

fn check(rows: Vec<(&str, Action)>) {
    for (text, expected) in rows {
        assert_eq!(actions(&parse(text)), [expected], "{text}");
    }
}

#[test]
fn commands_of_vhs() {
    let (path, text) = ("a.gif".to_owned(), "ls -l".to_owned());
    let press = |key, count, speed| Action::Press { key, count, speed };
    check(vec![
        ("Output a.gif", Action::Output { path, format: OutputFormat::Gif }),
        ("Require vim", Action::Require("vim".to_owned())),
        ("Env A b", Action::Env { name: "A".to_owned(), value: "b".to_owned() }),
        ("Set Env A b", Action::Env { name: "A".to_owned(), value: "b".to_owned() }),
        ("Type@.5 'ls -l'", Action::Type { text, speed: Some(ms(500)) }),
        ("Up", press(key(TapeKey::Up), 1, None)),
        ("End@1 3", press(key(TapeKey::End), 3, Some(ms(1000)))),
        ("F12", press(key(TapeKey::Function(12)), 1, None)),
        ("Ctrl+c", press(KeyPress { ctrl: true, ..key(TapeKey::Char('c')) }, 1, None)),
        ("Shift+Tab", press(KeyPress { shift: true, ..key(TapeKey::Tab) }, 1, None)),
        (
            "Alt+Ctrl+Left 2",
            press(KeyPress { ctrl: true, alt: true, ..key(TapeKey::Left) }, 2, None),
        ),
        ("ScrollUp", Action::Scroll { direction: Scroll::Up, count: 1, speed: None }),
        ("ScrollDown 3", Action::Scroll { direction: Scroll::Down, count: 3, speed: None }),
        ("Sleep 1m", Action::Sleep(ms(60_000))),
        ("Wait", Action::Wait { scope: WaitScope::Line, timeout: None, pattern: None }),
        (
            "Wait+Screen@2 /a/",
            Action::Wait {
                scope: WaitScope::Screen,
                timeout: Some(ms(2000)),
                pattern: Some(regex("a")),
            },
        ),
        ("Hide", Action::Hide),
        ("Show", Action::Show),
        (
            "Screenshot a.svg",
            Action::Screenshot { path: "a.svg".to_owned(), format: ScreenshotFormat::Svg },
        ),
        ("Copy 'a'", Action::Copy("a".to_owned())),
        ("Paste", Action::Paste),
    ]);
}

#[test]
fn added_commands() {
    let expect = |expectation| Action::Expect { expectation, timeout: None };
    let timeout = Some(ms(5000));
    check(vec![
        ("Expect@5s /a/", Action::Expect { expectation: Expectation::Text(regex("a")), timeout }),
        ("Expect Gone /a/", expect(Expectation::Gone(regex("a")))),
        ("Expect Selected /a/", expect(Expectation::Selected(regex("a")))),
        ("Expect Title /a/", expect(Expectation::Title(regex("a")))),
        ("Expect Frame /a/", expect(Expectation::Frame(regex("a")))),
        ("Expect Exit 3", expect(Expectation::Exit(3))),
        ("Settle@5 300ms", Action::Settle { quiet: ms(300), timeout }),
        (
            "Run 'make'",
            Action::Run { command: "make".to_owned(), any_status: false, timeout: None },
        ),
        ("Run!@5 make", Action::Run { command: "make".to_owned(), any_status: true, timeout }),
        (
            r"Screen@5 menu Mask /\d+/ Mask /b/",
            Action::Screen {
                name: "menu".to_owned(),
                masks: vec![regex(r"\d+"), regex("b")],
                timeout,
            },
        ),
        ("Click@5 /OK/", Action::Click { pattern: regex("OK"), timeout }),
        ("Resize 100 30", Action::Resize { columns: 100, rows: 30 }),
    ]);
}

#[test]
fn values_of_settings() {
    let set = |text: &str| match actions(&parse(text)).remove(0) {
        Action::Set(setting) => setting,
        other => panic!("{other:?}"),
    };
    assert_eq!(set("Set Width 800"), Setting::Width(800));
    assert_eq!(set("Set LoopOffset 20.5%"), Setting::LoopOffset(20.5));
    assert_eq!(set("Set WindowBar Rings"), Setting::WindowBar(Some(WindowBar::Rings)));
    assert_eq!(set("Set WindowBar ''"), Setting::WindowBar(None));
    assert_eq!(set("Set CursorBlink false"), Setting::CursorBlink(false));
    assert_eq!(set("Set TypingSpeed .1"), Setting::TypingSpeed(ms(100)));
    assert_eq!(set("Set Theme x"), Setting::Theme(Theme::Named("x".to_owned())));
    let theme = set(r##"Set Theme { "name": "N", "red": "#abc", "brightPurple": "#010203",
        "background": "#29283b", "cursorAccent": "#00000080" }"##);
    let Setting::Theme(Theme::Colors(theme)) = theme else { panic!("{theme:?}") };
    assert_eq!(theme.name.as_deref(), Some("N"));
    assert_eq!(theme.palette[1], Some((0xaa, 0xbb, 0xcc)));
    assert_eq!(theme.palette[13], Some((1, 2, 3)));
    assert_eq!(theme.background, Some((0x29, 0x28, 0x3b)));
    assert_eq!(theme.cursor_accent, Some((0, 0, 0)));
    assert_eq!((theme.foreground, theme.palette[0]), (None, None));
}

#[test]
fn slashes_in_patterns_are_plain() {
    assert_eq!(regex(r"a\/b/c\\/\d").as_str(), r"a/b/c\\/\d");
    assert_eq!(regex(r"a\/b").to_string(), r"/a\/b/");
    assert_eq!(regex("a\nb").to_string(), r"/a\nb/");
}

#[test]
fn commands_have_positions_and_sources() {
    let text = "\u{feff}# comment\r\n\r\nType 'é' Enter 2  # twice\r\n\tSet TypingSpeed\t50ms\r\n";
    let tape = parse(text);
    let found: Vec<(String, &str)> =
        tape.commands.iter().map(|c| (c.position.to_string(), c.source.as_str())).collect();
    let expected = [
        ("3:1".to_owned(), "Type 'é'"),
        ("3:10".to_owned(), "Enter 2"),
        ("4:2".to_owned(), "Set TypingSpeed\t50ms"),
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_theme_may_have_several_lines() {
    let tape = parse("Set Theme {\n  \"red\": \"#fff\"\n}\nEnter");
    assert_eq!(tape.commands[1].position.to_string(), "4:1");
}

#[test]
fn arguments_are_in_the_line_of_their_command() {
    let number = "a number belongs after a command, such as `Enter 2`";
    assert_eq!(meaning("Enter\n2"), [format!("! 2:1: \"2\" is not a command: {number}")]);
    let expected = [
        "! 1:6: `Sleep` needs a time: write `Sleep 500ms`".to_owned(),
        format!("! 2:1: \"2s\" is not a command: {number}"),
    ];
    assert_eq!(meaning("Sleep\n2s"), expected);
    let expected =
        "! 2:1: 'b' is not a command: text belongs after a command, such as `Type \"text\"`";
    assert_eq!(meaning("Type a\n'b'"), [expected]);
}

#[test]
fn a_source_has_the_commands_of_its_tape_without_outputs() {
    let tape = parse("Output a.gif\nSource other.tape\nEnter");
    let found: Vec<String> =
        tape.flat().map(|command| format!("{} {command}", command.position)).collect();
    let expected = [
        "1:1 Output \"a.gif\"",
        "other.tape:1:1 Set FontSize 5",
        "other.tape:3:1 Type \"other\"",
        "3:1 Enter",
    ];
    assert_eq!(found, expected);
    assert_eq!(tape.commands.len(), 3);
}

#[test]
fn settings_are_those_before_the_first_step() {
    let tape = parse("Env A b\nSource settings.tape\nSet TypingSpeed 1\nHide\nSet TypingSpeed 2");
    let names: Vec<&str> = tape.settings().map(Setting::name).collect();
    assert_eq!(names, ["Shell", "Columns", "TypingSpeed"]);
}

#[test]
fn the_terminal_knows_every_key() {
    let modifiers = ["", "Ctrl+", "Alt+", "Shift+", "Ctrl+Alt+Shift+"];
    let named = "Enter Backspace Delete Insert Tab Space Escape Up Down Left Right PageUp PageDown \
                 Home End F1 F24";
    let characters = ["a", "Z", "0", "+", "-", "^", "@", "[", "]", "\\", "/", ".", "#", "\"", "é"];
    let mut checked = 0;
    for modifier in modifiers {
        for key in named.split_whitespace().chain(characters) {
            if modifier.is_empty() && characters.contains(&key) {
                continue;
            }
            let found = actions(&parse(&format!("{modifier}{key}"))).remove(0);
            let Action::Press { key: press, .. } = found else { panic!("{found:?}") };
            let name = press.name();
            let expected = format!("{modifier}{key}").to_lowercase();
            assert_eq!(name.to_lowercase(), expected);
            assert!(Key::parse(&name).is_ok(), "{name}");
            checked += 1;
        }
    }
    assert_eq!(checked, 5 * 17 + 4 * 15);
}
