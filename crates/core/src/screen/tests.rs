//! Tests of the parser, which is private: bytes in, actions out.

use super::parser::{Action, Parser};
use super::sequence::PARAMS_MAX;

/// Returns the parser's actions for the input, fed in pieces of `cut` bytes.
fn actions(input: &[u8], cut: usize) -> Vec<String> {
    let mut parser = Parser::default();
    let mut log: Vec<String> = Vec::new();
    for mut chunk in input.chunks(cut) {
        while let Some(action) = parser.next(&mut chunk) {
            let entry = match action {
                Action::Ascii(text) => format!("text {}", text.escape_ascii()),
                Action::Text(text) => format!("text {text}"),
                Action::Char(c) => format!("text {c}"),
                Action::Control(byte) => format!("control {byte:02x}"),
                Action::Escape | Action::Csi => format!("{action:?} {}", head(&parser)),
                Action::Osc => format!("Osc {}", parser.string().escape_ascii()),
                Action::Dcs => format!("Dcs {} {}", head(&parser), parser.string().escape_ascii()),
            };
            match (log.last_mut(), entry.strip_prefix("text ")) {
                (Some(last), Some(text)) if last.starts_with("text ") => last.push_str(text),
                _ => log.push(entry),
            }
        }
    }
    log
}

fn head(parser: &Parser) -> String {
    let sequence = parser.sequence();
    let mut text = String::new();
    if sequence.private_marker != 0 {
        text.push(char::from(sequence.private_marker));
    }
    for i in 0..sequence.len() {
        if i > 0 {
            text.push(if sequence.is_sub(i) { ':' } else { ';' });
        }
        if sequence.is_given(i) {
            text += &sequence.value(i).to_string();
        }
    }
    text.extend(sequence.intermediates().iter().map(|&byte| char::from(byte)));
    text.push(char::from(sequence.final_byte));
    text
}

fn check(input: &str, expected: &[&str]) {
    for cut in [input.len().max(1), 1, 2, 3] {
        assert_eq!(actions(input.as_bytes(), cut), expected, "{input:?} in pieces of {cut}");
    }
}

#[test]
fn text_and_controls() {
    check("abc\r\nd\x7fe", &["text abc", "control 0d", "control 0a", "text de"]);
    check("a世界é", &["text a世界é"]);
    check("", &[]);
}

#[test]
fn sequences() {
    check("\x1b7\x1b(0\x1b#8", &["Escape 7", "Escape (0", "Escape #8"]);
    check("\x1b[m\x1b[1;2H\x1b[;5H", &["Csi m", "Csi 1;2H", "Csi ;5H"]);
    check("\x1b[?25h\x1b[>4;1m\x1b[38:2::1:2:3m", &["Csi ?25h", "Csi >4;1m", "Csi 38:2::1:2:3m"]);
    check("\x1b[!p\x1b[1 q\x1b[?6$p", &["Csi !p", "Csi 1 q", "Csi ?6$p"]);
}

#[test]
fn strings() {
    check("\x1b]0;title\x07x", &["Osc 0;title", "text x"]);
    check("\x1b]0;ti世tle\x1b\\x", &["Osc 0;ti\\xe4\\xb8\\x96tle", "text x"]);
    check("\x1bP$qm\x1b\\\x1bP1;2|data\x1b\\", &["Dcs $q m", "Dcs 1;2| data"]);
    check("\x1b_Gkitty\x1b\\\x1b^pm\x1b\\\x1bXsos\x07\x1b\\x", &["text x"]);
    // The encoding of this star contains 9C, the code of the C1 string terminator.
    check("\x1b]2;\u{2733}\x07x", &["Osc 2;\\xe2\\x9c\\xb3", "text x"]);
}

#[test]
fn c1_controls_as_characters() {
    check("\u{9b}1mx", &["Csi 1m", "text x"]);
    check("a\u{85}b", &["text a", "Escape E", "text b"]);
    check("\u{9d}0;t\u{9c}x", &["Osc 0;t", "text x"]);
    check("\u{9f}apc\u{9c}x", &["text x"]);
    check("\u{a0}\u{c2}", &["text \u{a0}\u{c2}"]);
}

#[test]
fn open_sequences_can_be_abandoned() {
    check("\x1b[1\x18x", &["control 18", "text x"]);
    check("\x1b]0;t\x18x\x1b\\", &["text x", "Escape \\"]);
    check("\x1b[1\x1b[2mx", &["Csi 2m", "text x"]);
    check("\x1b]0;t\x1b[2mx", &["Csi 2m", "text x"]);
    check("\x1bPq\x1b7x", &["Escape 7", "text x"]);
    check("\x1b世x", &["text 世x"]);
}

#[test]
fn controls_inside_a_sequence_act_at_once() {
    check("\x1b[1\r2m", &["control 0d", "Csi 12m"]);
    check("\x1b\n7", &["control 0a", "Escape 7"]);
}

#[test]
fn an_invalid_byte_invalidates_only_its_sequence() {
    check("\x1b[1!2mx", &["text x"]);
    check("\x1b[1?mx", &["text x"]);
    check("\x1b[!!!mx", &["text x"]);
    check("\x1b[1\u{e9}mx", &["text x"]);
}

#[test]
fn parameters_at_the_limit_and_past_it() {
    let params = |n: usize| vec!["7"; n].join(";");
    let at = format!("\x1b[{}m", params(PARAMS_MAX));
    check(&at, &[&format!("Csi {}m", params(PARAMS_MAX))]);
    let past = format!("\x1b[{};8:9mx", params(PARAMS_MAX));
    check(&past, &[&format!("Csi {}m", params(PARAMS_MAX)), "text x"]);
    check("\x1b[65535;65536;99999999999m", &["Csi 65535;65535;65535m"]);
}

#[test]
fn input_can_end_inside_a_sequence_or_character() {
    for (input, midway) in [("x", false), ("\x1b", true), ("\x1b[1", true), ("\x1b]0", true)] {
        let mut parser = Parser::default();
        let mut rest = input.as_bytes();
        while parser.next(&mut rest).is_some() {}
        assert_eq!(parser.is_mid_sequence(), midway, "{input:?}");
    }
    let mut parser = Parser::default();
    assert!(parser.next(&mut &b"\xe4\xb8"[..]).is_none());
    assert!(parser.is_mid_sequence());
}
