//! Every line of the grammar, as listed in `grammar.txt`.

use crate::meaning;

const TABLE: &str = include_str!("grammar.txt");

/// The number of tapes in the table, which a wrong reader of the table would miss.
const TAPES_MIN: usize = 300;

#[test]
fn every_line_of_the_grammar_means_what_the_table_says() {
    let (_, table) = TABLE.split_once("\n\n").unwrap_or_default();
    let (mut tapes, mut wrong) = (0, Vec::new());
    for entry in table.split("\n\n").filter(|entry| !entry.starts_with("## ")) {
        let (tape, expected) = entry.trim_end().split_once('\n').unwrap_or((entry, ""));
        let found = meaning(tape);
        if found.iter().map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n") != expected {
            wrong.push(format!("{tape}\n{expected}\nbut it means:\n  {}", found.join("\n  ")));
        }
        tapes += 1;
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(tapes >= TAPES_MIN, "{tapes}");
}

#[test]
fn a_text_has_no_nul() {
    let expected = "! 1:6: the text contains a NUL: press `Ctrl+@` to type one";
    assert_eq!(meaning("Type 'a\0b'"), [expected]);
}
