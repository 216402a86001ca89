//! docs/tapes.md has what the parser has.

use std::fs;
use std::path::Path;

use awaitty_test::tape::{Action, WarningKind};

use crate::parse;

/// Returns docs/tapes.md.
fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tapes.md");
    fs::read_to_string(path).expect("the document exists")
}

/// A valid value for each setting.
const SETTINGS: [&str; 23] = [
    "Shell bash",
    "Width 800",
    "Height 600",
    "Columns 80",
    "Rows 24",
    "TypingSpeed 1",
    "WaitTimeout 1",
    "WaitPattern /x/",
    "Theme x",
    "FontFamily x",
    "FontSize 20",
    "LetterSpacing 1",
    "LineHeight 1",
    "Framerate 30",
    "PlaybackSpeed 1",
    "LoopOffset 1",
    "Padding 1",
    "Margin 1",
    "MarginFill x.png",
    "BorderRadius 1",
    "WindowBar Rings",
    "WindowBarSize 1",
    "CursorBlink true",
];

#[test]
fn every_setting_is_documented_as_honoured_or_ignored() {
    let document = document();
    for text in SETTINGS {
        let tape = parse(&format!("Set {text}"));
        let Action::Set(setting) = &tape.commands[0].action else { panic!("{text}") };
        let name = format!("`{}`", setting.name());
        let is_row = |line: &&str| line.split('|').nth(1).is_some_and(|cell| cell.contains(&name));
        let row = document.lines().filter(|line| line.ends_with(" |")).find(is_row);
        let end = if setting.is_honoured() { "| honoured |" } else { "| ignored with a warning |" };
        assert!(row.is_some_and(|row| row.ends_with(end)), "{name}: {row:?}");
        let warns = tape.warnings.iter().any(|warning| warning.kind == WarningKind::Looks);
        assert_eq!(warns, !setting.is_honoured(), "{name}");
    }
}

#[test]
fn the_example_is_valid() {
    let document = document();
    let example = document.split("```elixir\n").nth(1).and_then(|rest| rest.split("```").next());
    let tape = parse(example.expect("the document has an example"));
    assert_eq!(tape.warnings, []);
    assert_eq!(tape.commands.len(), 15);
}
