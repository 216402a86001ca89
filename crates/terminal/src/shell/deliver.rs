//! How a command is handed to a shell that has our script: as it stands, whatever is in it.
//!
//! Line editors have keys of ours for it, so that tabs, `!` and newlines mean nothing to them and nothing of
//! it goes into the history; they say first that their line is free. A shell without a line editor has the
//! command typed to it.

use std::collections::VecDeque;

use super::Kind;
use crate::error::ToolError;
use crate::limits;

/// What is sent for a command, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keys {
    /// At once.
    pub first: Vec<u8>,
    /// Piece by piece, when the shell says that it is ready or wants more.
    pub rest: VecDeque<Vec<u8>>,
    /// Lines that are typed one by one.
    pub lines: usize,
    /// Lines that are shown.
    pub shown: usize,
}

/// Asks the line editor whether its line is free.
const ASK: &str = "\x1b[20107~";
/// Begins a command, which `PASTE_END` ends; in fish, takes a piece of it.
const TAKE: &str = "\x1b[20108~";
/// Runs it.
const RUN: &str = "\x1b[20109~";
/// Bytes that fish is given at a time: it draws each of them.
const PIECE: usize = 2_000;
const PASTE: &str = "\x1b[200~";
const PASTE_END: &str = "\x1b[201~";

/// Bytes of a line that is typed: the kernel takes 4095, and there is something around it.
pub(super) const LINE_MAX: usize = 3_900;

/// What is sent to run a command.
pub fn deliver(kind: Kind, command: &str) -> Keys {
    let edited = |keys: String, shown: &str| Keys {
        first: ASK.into(),
        rest: [(keys + RUN).into()].into(),
        lines: 1,
        shown: shown.lines().count().max(1),
    };
    match kind {
        Kind::Bash => {
            let command = group(command, "{\n");
            edited(format!("{TAKE}{command}{PASTE_END}"), &command)
        }
        // All that is on its line is one command to zsh.
        Kind::Zsh => {
            edited(format!("{TAKE}{}{PASTE_END}", command.trim_end_matches('\n')), command)
        }
        Kind::Fish => edited(encoded(command), command),
        Kind::Sh => typed(command),
    }
}

/// What is sent when a shell wants more of a command than there is. Fish's script cancels it by itself.
pub fn cancel(kind: Kind) -> &'static [u8] {
    if kind == Kind::Fish { b"" } else { b"\x03" }
}

/// For fish, which drops tabs from what is pasted and is slow at quotes: in pieces, which our script puts
/// together.
fn encoded(command: &str) -> String {
    let text = percent_encoded(command.trim_end_matches('\n'));
    let pieces = text.as_bytes().chunks(PIECE).map(String::from_utf8_lossy);
    pieces.map(|piece| format!("{PASTE}{piece}{PASTE_END}{TAKE}")).collect()
}

/// A text with percent signs for what is not plain.
pub(super) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 3 / 2);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'/' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// Several lines are one command in braces, or each of them would be one.
fn group(command: &str, open: &str) -> String {
    match command.trim_end_matches('\n') {
        lines if lines.contains('\n') && !is_nothing(lines) => format!("{open}{lines}\n}}"),
        line => line.to_owned(),
    }
}

/// Tells whether what a shell says of several lines in braces means that something in them is not closed.
pub fn unclosed_group(kind: Kind, command: &str, said: &str) -> bool {
    let words: &[&str] = match kind {
        Kind::Bash => &[GROUP_END, "unexpected end of file"],
        Kind::Sh => &["\"}\" unexpected"],
        Kind::Zsh | Kind::Fish => &[],
    };
    // Where something else is wrong, that is said first.
    let first = said.lines().find(|line| line.to_lowercase().contains("syntax error"));
    command.trim_end().contains('\n')
        && first.is_some_and(|first| words.iter().any(|words| first.contains(words)))
}

/// What bash says of the end of our braces when it has given up what was in them.
const GROUP_END: &str = "near unexpected token `}'";

/// What a shell says of a command that it cannot read, without what it says of our braces and without its own
/// continuation prompts.
pub fn without_group(kind: Kind, said: &str) -> String {
    match kind {
        Kind::Bash => {
            let end = said.lines().last().filter(|last| last.contains(GROUP_END));
            let rest = end.map_or(said, |end| &said[..said.len() - end.len()]);
            if rest.trim_end().is_empty() { said.to_owned() } else { rest.trim_end().to_owned() }
        }
        Kind::Sh => {
            // "sh: 2: Syntax error", behind the prompts on the same row.
            let first = said.find(": Syntax error").map_or(0, |at| {
                let number = said[..at].rfind(|c: char| !c.is_ascii_digit()).unwrap_or(0);
                said[..number].rfind([' ', '\n']).map_or(0, |before| before + 1)
            });
            said[first..].to_owned()
        }
        Kind::Zsh | Kind::Fish => said.to_owned(),
    }
}

/// A shell without hooks prints the mark itself: `__awaitty_c` is a function of our script.
fn typed(command: &str) -> Keys {
    let text = if command.lines().any(|line| line.len() > LINE_MAX) {
        format!("__awaitty_c; eval {}", quote(command))
    } else {
        match group(command, "{ __awaitty_c\n") {
            line if line.starts_with("{ __awaitty_c\n") => line,
            line => format!("__awaitty_c; {line}"),
        }
    };
    let mut rest: VecDeque<Vec<u8>> = match text.len() {
        // All of it fits into what the kernel keeps for whoever reads later.
        ..LINE_MAX => [text.replace('\n', "\r") + "\r"].map(Vec::from).into(),
        // The kernel can show what is beyond that after the shell has begun to run it: so each line waits for the
        // prompt that asks for it.
        _ => text.lines().map(|line| format!("{line}\r").into()).collect(),
    };
    let lines = text.lines().count();
    Keys { first: rest.pop_front().unwrap_or_default(), rest, lines, shown: lines }
}

/// A text in single quotes, in lines that are not too long to be typed: between two quotes a line can be
/// continued.
pub(super) fn quote(text: &str) -> String {
    let (mut quoted, mut length) = ("'".to_owned(), 1);
    for c in text.chars() {
        if length >= LINE_MAX {
            quoted.push_str("'\\\n'");
            length = 1;
        }
        match c {
            '\'' => {
                quoted.push_str("'\\''");
                length += 4;
            }
            '\n' => {
                quoted.push('\n');
                length = 0;
            }
            c => {
                quoted.push(c);
                length += c.len_utf8();
            }
        }
    }
    quoted + "'"
}

/// Tells whether there is nothing to run: blank lines and comments.
pub fn is_nothing(command: &str) -> bool {
    command.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Looks whether a command can be typed.
///
/// # Errors
/// If it is too long, or has a character that the terminal would act on.
pub fn check_command(command: &str) -> Result<(), ToolError> {
    if command.len() > limits::COMMAND_MAX {
        return Err(ToolError::argument(format!(
            "command: it has {} bytes, and {} can be typed: put it into a file and run that",
            command.len(),
            limits::COMMAND_MAX
        )));
    }
    let is_barred = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\x1b') || c == '\u{9b}';
    if let Some(c) = command.chars().find(|&c| is_barred(c)) {
        return Err(ToolError::argument(format!(
            "command: U+{:04X} cannot be typed: write it as an escape, as in printf '\\{:03o}'",
            c as u32, c as u32
        )));
    }
    if command.contains(PASTE_END) {
        return Err(ToolError::argument(
            "command: it holds the end of a paste, ESC [201~: write ESC as \\033",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_are_one_command() {
        assert_eq!(group("a\nb\n", "{\n"), "{\na\nb\n}");
        assert_eq!(group("a\n", "{\n"), "a");
        assert_eq!(group("# a\n\n# b", "{\n"), "# a\n\n# b");
    }

    #[test]
    fn what_is_wrong_is_told_from_what_is_not_closed() {
        let (wrong, open) = (
            "bash: syntax error near unexpected token `)'",
            "bash: syntax error near unexpected token `}'",
        );
        let both = format!("{wrong}\n{open}");
        assert!(!unclosed_group(Kind::Bash, "a\nb )", &both));
        assert_eq!(without_group(Kind::Bash, &both), wrong);
        assert!(unclosed_group(Kind::Bash, "if a\nthen b", open));
        assert_eq!(without_group(Kind::Bash, open), open);
        let said = "> > dash: 2: Syntax error: \")\" unexpected (expecting \"}\")";
        assert!(!unclosed_group(Kind::Sh, "a\nb )", said));
        assert_eq!(without_group(Kind::Sh, said), &said[4..]);
    }

    #[test]
    fn long_lines_are_typed_in_pieces() {
        let long = "a'b".repeat(5_000);
        let keys = typed(&format!("echo {long}"));
        assert_eq!(keys.rest.len() + 1, keys.lines, "line by line");
        let text: Vec<u8> = [keys.first].into_iter().chain(keys.rest).flatten().collect();
        let text = String::from_utf8(text).unwrap();
        assert!(text.split('\r').all(|line| line.len() < limits::CANONICAL_LINE_MAX));
        assert_eq!(keys.lines, text.trim_end().split('\r').count());
        assert_eq!(
            shell_words::split(text.replace("'\\\r'", "''").trim_end()).unwrap()[2],
            format!("echo {long}")
        );
        let edge = "x".repeat(LINE_MAX);
        assert!(!String::from_utf8(typed(&edge).first).unwrap().contains("eval"));
        let short = format!("echo {}\necho", "x".repeat(LINE_MAX - 100));
        assert!(typed(&short).rest.is_empty(), "at once");
    }

    #[test]
    fn what_the_terminal_would_act_on_is_refused() {
        assert!(check_command("printf 'a\tb\x1b[1m'\nls").is_ok());
        assert!(check_command("a\x03b").unwrap_err().message.contains("U+0003"));
        assert!(check_command("a\x1b[201~b").is_err());
        assert!(check_command(&"x".repeat(limits::COMMAND_MAX)).is_ok());
        assert!(check_command(&"x".repeat(limits::COMMAND_MAX + 1)).is_err());
    }
}
