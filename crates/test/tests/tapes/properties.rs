//! Random and mutated tapes: no panic, every error has a position in the text, and the canonical form of a valid tape
//! means the same.
//!
//! The default run is short; `PROPTEST_CASES=1000000 cargo test --release -p awaitty-test --test tapes properties` is
//! the long one.

use awaitty_test::tape::{self, Position};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::{actions, load};

/// A line of each kind. Their parts are what mutations join.
const LINES: &[&str] = &[
    "# a comment",
    "Output \"demo.gif\" Output frames/",
    "Require vim",
    "Set Shell \"bash --norc\"",
    "Set Width 1200 Set Height 600",
    "Set Columns 80 Set Rows 24",
    "Set TypingSpeed .1",
    "Set WaitTimeout 5s",
    "Set WaitPattern /> $/",
    "Set Theme { \"name\": \"W\", \"black\": \"#535178\", \"purple\": \"#AA7FF0\" }",
    "Set Theme \"Catppuccin Mocha\"",
    "Set FontFamily Monoflow",
    "Set LetterSpacing 1.5 Set LineHeight 1.2",
    "Set LoopOffset 20.99%",
    "Set MarginFill \"#674EFF\"",
    "Set WindowBar Colorful Set CursorBlink false",
    "Env HELLO \"WORLD\"",
    "Type@50ms \"it's\" 'a \"b\"' `c`",
    "Enter 2 Backspace@.5 3 F12",
    "Ctrl+Alt+Delete Ctrl+C Alt+. Shift+Tab Ctrl++ Alt+\"x\"",
    "ScrollUp 3 ScrollDown@100ms 2",
    "Sleep 500ms Sleep 1.5",
    "Wait+Screen@5s /a\\/b\\\\/",
    "Wait",
    "Hide Show",
    "Screenshot a.png",
    "Copy \"text\" Paste",
    "Source other.tape Source wrong.tape Source gone.tape",
    "Expect /Main menu/",
    "Expect@5s Gone /[x-z]+(a|b){2}/",
    "Expect Selected /x/ Expect Title /x/ Expect Frame /x/ Expect Exit 0",
    "Settle@10s 300ms",
    "Run \"make\" Run! \"make\"",
    "Screen \"menu\" Mask /\\d\\d:\\d\\d/",
    "Click /\\[ OK \\]/",
    "Resize 100 30",
];

/// Characters that have a meaning in tapes, and characters of several bytes, columns and directions.
const CHARACTERS: &[&str] = &[
    "\"",
    "'",
    "`",
    "/",
    "\\",
    "{",
    "}",
    "@",
    "+",
    "!",
    "#",
    "%",
    ".",
    "-",
    " ",
    "\t",
    "\n",
    "\r",
    "\0",
    "\u{1b}",
    "0",
    "9",
    "99999999999999999999",
    "ms",
    "é",
    "世",
    "🇩🇪",
    "\u{301}",
    "\u{feff}",
    "\u{202e}",
    "\u{2028}",
    "(",
    "[",
    "Enter",
    "Set",
    "Mask",
];

/// A change of a text. Places are fractions of its length.
#[derive(Clone, Debug)]
enum Mutation {
    Insert(f64, String),
    Remove(f64, usize),
    Swap(f64, f64),
    Cut(f64),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let place = || 0.0..1.0;
    let piece = prop_oneof![
        select(CHARACTERS).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
        ".{1,4}",
    ];
    prop_oneof![
        4 => (place(), piece).prop_map(|(at, text)| Mutation::Insert(at, text)),
        4 => (place(), 1..8_usize).prop_map(|(at, length)| Mutation::Remove(at, length)),
        2 => (place(), place()).prop_map(|(one, other)| Mutation::Swap(one, other)),
        1 => place().prop_map(Mutation::Cut),
    ]
}

fn mutate(text: &str, mutations: &[Mutation]) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    for mutation in mutations {
        let place = |fraction: f64| (fraction * chars.len() as f64) as usize;
        match mutation {
            Mutation::Insert(at, text) => {
                let at = place(*at);
                chars.splice(at..at, text.chars());
            }
            Mutation::Remove(at, length) => {
                let start = place(*at);
                let end = (start + length).min(chars.len());
                chars.drain(start..end);
            }
            Mutation::Swap(one, other) if !chars.is_empty() => {
                let (one, other) = (place(*one), place(*other));
                chars.swap(one, other);
            }
            Mutation::Swap(..) => {}
            Mutation::Cut(at) => chars.truncate(place(*at)),
        }
    }
    chars.into_iter().collect()
}

/// Returns whether a position is in a text, or directly after a line.
fn is_inside(position: &Position, text: &str) -> bool {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = position.line.checked_sub(1).and_then(|line| text.split('\n').nth(line));
    line.is_some_and(|line| (1..=line.chars().count() + 1).contains(&position.column))
}

/// Checks a text. Returns whether it is a tape.
fn check(text: &str) -> Result<bool, TestCaseError> {
    match tape::parse(text, &load) {
        Err(errors) => {
            prop_assert!(!errors.is_empty());
            for error in errors {
                let source = error.position.file.as_deref().and_then(|file| load(file).ok());
                let inside = is_inside(&error.position, source.as_deref().unwrap_or(text));
                prop_assert!(inside, "{error} of {text:?}");
                prop_assert!(!error.to_string().contains('\0'));
            }
            Ok(false)
        }
        Ok(tape) => {
            let canonical = tape.to_string();
            let again = tape::parse(&canonical, &load);
            let again = again.map_err(|errors| TestCaseError::fail(format!("{errors:?}")))?;
            prop_assert_eq!(actions(&again), actions(&tape), "{}", canonical);
            prop_assert_eq!(again.to_string(), canonical);
            for command in &tape.commands {
                prop_assert!(is_inside(&command.position, text));
                prop_assert!(text.contains(&command.source));
            }
            for warning in &tape.warnings {
                let source = warning.position.file.as_deref().and_then(|file| load(file).ok());
                prop_assert!(is_inside(&warning.position, source.as_deref().unwrap_or(text)));
            }
            Ok(true)
        }
    }
}

proptest! {
    #[test]
    fn mutated_tapes(
        lines in vec(select(LINES), 1..6),
        mutations in vec(mutation(), 0..6),
    ) {
        check(&mutate(&lines.join("\n"), &mutations))?;
    }

    #[test]
    fn arbitrary_text(text in any::<String>()) {
        check(&text)?;
    }

    #[test]
    fn joined_pieces(pieces in vec(select(CHARACTERS), 0..20)) {
        check(&pieces.concat())?;
    }

    #[test]
    fn arbitrary_texts_are_typed_as_they_are(text in "[^\"\n\r\0]*") {
        let line = format!("Type \"{text}\"");
        if let Ok(tape) = tape::parse(&line, &load) {
            let typed = tape::Action::Type { text, speed: None };
            prop_assert_eq!(actions(&tape), [typed]);
        } else {
            // The text ends in a backslash before the quote, or looks like one that escapes.
            prop_assert!(false, "{line}");
        }
    }

    #[test]
    fn times_are_exact(nanos in 0..=tape::TIME_MAX.as_nanos() as u64) {
        let line = format!("Sleep {}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
        let tape = tape::parse(&line, &load);
        let time = tape::Action::Sleep(std::time::Duration::from_nanos(nanos));
        prop_assert_eq!(tape.map(|tape| actions(&tape)), Ok(vec![time]));
        check(&line)?;
    }
}

#[test]
fn the_lines_that_are_mutated_are_valid() {
    for line in LINES.iter().filter(|line| !line.starts_with(['#']) && !line.contains("wrong")) {
        assert!(matches!(check(line), Ok(true)), "{line}");
    }
}
