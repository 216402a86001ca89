//! The input that runs a command, unchanged, in a shell with the integration script.
//!
//! The script binds keys of the line editor for this, so that tabs, `!` and newlines have no special meaning and the
//! command stays out of the history. The editor first reports that its line is empty. For a shell without a line
//! editor the command is typed.

use std::collections::VecDeque;

use super::Kind;
use crate::error::ToolError;
use crate::limits;

/// The input that runs a command, split by when it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandInput {
    /// The part that is sent immediately.
    pub first: Vec<u8>,
    /// The other parts. Each is sent when the shell is ready or prints its continuation prompt.
    pub rest: VecDeque<Vec<u8>>,
    /// The number of lines that are typed one by one.
    pub typed_lines: usize,
    /// The number of lines that the shell echoes.
    pub echoed_lines: usize,
}

/// The key that asks the line editor whether its line is empty.
const ASK_KEY: &str = "\x1b[20107~";
/// The key that starts a command, up to `PASTE_END`; in fish, it takes a piece of the command off the line.
const TAKE_KEY: &str = "\x1b[20108~";
/// The key that runs the command.
const RUN_KEY: &str = "\x1b[20109~";
/// Bytes that are pasted to fish at a time: it draws each of them.
const PIECE: usize = 2_000;
const PASTE: &str = "\x1b[200~";
const PASTE_END: &str = "\x1b[201~";

/// The maximum length of a typed line, in bytes: the kernel accepts 4095, and quotes and a prefix are added.
pub(super) const LINE_MAX: usize = 3_900;

/// Returns the input that runs a command.
pub fn command_input(kind: Kind, command: &str) -> CommandInput {
    let edited = |keys: String, echoed: &str| CommandInput {
        first: ASK_KEY.into(),
        rest: [(keys + RUN_KEY).into()].into(),
        typed_lines: 1,
        echoed_lines: echoed.lines().count().max(1),
    };
    match kind {
        Kind::Bash => {
            let command = group(command, "{\n");
            edited(format!("{TAKE_KEY}{command}{PASTE_END}"), &command)
        }
        // zsh runs everything on its line as one command.
        Kind::Zsh => {
            edited(format!("{TAKE_KEY}{}{PASTE_END}", command.trim_end_matches('\n')), command)
        }
        Kind::Fish => edited(fish_pastes(command), command),
        Kind::Sh => typed_input(command),
    }
}

/// Returns the input that cancels an incomplete command. The script for fish cancels it without input.
pub fn cancel_input(kind: Kind) -> &'static [u8] {
    if kind == Kind::Fish { b"" } else { b"\x03" }
}

/// Returns a command as pastes for fish. fish drops tabs from a paste and is slow at quotes, so the text is
/// percent-encoded and split; the script joins the pieces.
fn fish_pastes(command: &str) -> String {
    let text = percent_encode(command.trim_end_matches('\n'));
    let pieces = text.as_bytes().chunks(PIECE).map(String::from_utf8_lossy);
    pieces.map(|piece| format!("{PASTE}{piece}{PASTE_END}{TAKE_KEY}")).collect()
}

/// Percent-encodes a text, except for ASCII letters, digits and `-_./`.
pub(super) fn percent_encode(text: &str) -> String {
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

/// Encloses several lines in braces, so that the shell runs them as one command.
fn group(command: &str, open: &str) -> String {
    match command.trim_end_matches('\n') {
        lines if lines.contains('\n') && !is_blank(lines) => format!("{open}{lines}\n}}"),
        line => line.to_owned(),
    }
}

/// Returns whether a shell's output means that a command of several lines, in braces, is incomplete.
pub fn is_group_incomplete(kind: Kind, command: &str, output: &str) -> bool {
    let words: &[&str] = match kind {
        Kind::Bash => &[GROUP_END, "unexpected end of file"],
        Kind::Sh => &["\"}\" unexpected"],
        Kind::Zsh | Kind::Fish => &[],
    };
    // Another syntax error would be reported first.
    let first = output.lines().find(|line| line.to_lowercase().contains("syntax error"));
    command.trim_end().contains('\n')
        && first.is_some_and(|first| words.iter().any(|words| first.contains(words)))
}

/// bash's error about the closing brace, after it has discarded the lines in the braces.
const GROUP_END: &str = "near unexpected token `}'";

/// Returns a shell's syntax errors without the one about the added braces and without continuation prompts.
pub fn strip_group_errors(kind: Kind, output: &str) -> String {
    match kind {
        Kind::Bash => {
            let end = output.lines().last().filter(|last| last.contains(GROUP_END));
            let rest = end.map_or(output, |end| &output[..output.len() - end.len()]);
            if rest.trim_end().is_empty() { output.to_owned() } else { rest.trim_end().to_owned() }
        }
        Kind::Sh => {
            // "sh: 2: Syntax error", after the prompts on the same row.
            let first = output.find(": Syntax error").map_or(0, |at| {
                let number = output[..at].rfind(|c: char| !c.is_ascii_digit()).unwrap_or(0);
                output[..number].rfind([' ', '\n']).map_or(0, |before| before + 1)
            });
            output[first..].to_owned()
        }
        Kind::Zsh | Kind::Fish => output.to_owned(),
    }
}

/// Returns the input for a shell without hooks. The script's function `__awaitty_c` prints the mark.
fn typed_input(command: &str) -> CommandInput {
    let text = if command.lines().any(|line| line.len() > LINE_MAX) {
        format!("__awaitty_c; eval {}", quote(command))
    } else {
        match group(command, "{ __awaitty_c\n") {
            line if line.starts_with("{ __awaitty_c\n") => line,
            line => format!("__awaitty_c; {line}"),
        }
    };
    let mut rest: VecDeque<Vec<u8>> = match text.len() {
        // The kernel's input buffer holds all of it.
        ..LINE_MAX => [text.replace('\n', "\r") + "\r"].map(Vec::from).into(),
        // The kernel may echo a longer text after the shell starts to run it, so each line waits for its continuation
        // prompt.
        _ => text.lines().map(|line| format!("{line}\r").into()).collect(),
    };
    let lines = text.lines().count();
    let first = rest.pop_front().unwrap_or_default();
    CommandInput { first, rest, typed_lines: lines, echoed_lines: lines }
}

/// Returns a text in single quotes, in lines of at most `LINE_MAX`: a backslash between two quoted parts continues
/// the line.
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

/// Returns whether a command consists of blank lines and comments only.
pub fn is_blank(command: &str) -> bool {
    command.lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// Checks that a command can be typed.
///
/// # Errors
/// If it is too long or has a control character that the terminal would interpret.
pub fn check_command(command: &str) -> Result<(), ToolError> {
    if command.len() > limits::COMMAND_MAX {
        return Err(ToolError::argument(format!(
            "command: it has {} bytes; the limit is {}. Write it to a file and run the file",
            command.len(),
            limits::COMMAND_MAX
        )));
    }
    let is_barred = |c: char| c.is_control() && !matches!(c, '\n' | '\t' | '\x1b') || c == '\u{9b}';
    if let Some(c) = command.chars().find(|&c| is_barred(c)) {
        return Err(ToolError::argument(format!(
            "command: the control character U+{:04X} cannot be typed. Write it as an escape, as in printf '\\{:03o}'",
            c as u32, c as u32
        )));
    }
    if command.contains(PASTE_END) {
        return Err(ToolError::argument(
            "command: it contains ESC [201~, the end of a bracketed paste. Write ESC as \\033",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_become_one_group() {
        assert_eq!(group("a\nb\n", "{\n"), "{\na\nb\n}");
        assert_eq!(group("a\n", "{\n"), "a");
        assert_eq!(group("# a\n\n# b", "{\n"), "# a\n\n# b");
    }

    #[test]
    fn syntax_errors_differ_from_incomplete_commands() {
        let (wrong, open) = (
            "bash: syntax error near unexpected token `)'",
            "bash: syntax error near unexpected token `}'",
        );
        let both = format!("{wrong}\n{open}");
        assert!(!is_group_incomplete(Kind::Bash, "a\nb )", &both));
        assert_eq!(strip_group_errors(Kind::Bash, &both), wrong);
        assert!(is_group_incomplete(Kind::Bash, "if a\nthen b", open));
        assert_eq!(strip_group_errors(Kind::Bash, open), open);
        let output = "> > dash: 2: Syntax error: \")\" unexpected (expecting \"}\")";
        assert!(!is_group_incomplete(Kind::Sh, "a\nb )", output));
        assert_eq!(strip_group_errors(Kind::Sh, output), &output[4..]);
    }

    #[test]
    fn long_lines_are_typed_in_pieces() {
        let long = "a'b".repeat(5_000);
        let input = typed_input(&format!("echo {long}"));
        assert_eq!(input.rest.len() + 1, input.typed_lines, "line by line");
        let text: Vec<u8> = [input.first].into_iter().chain(input.rest).flatten().collect();
        let text = String::from_utf8(text).unwrap();
        assert!(text.split('\r').all(|line| line.len() < limits::CANONICAL_LINE_MAX));
        assert_eq!(input.typed_lines, text.trim_end().split('\r').count());
        assert_eq!(
            shell_words::split(text.replace("'\\\r'", "''").trim_end()).unwrap()[2],
            format!("echo {long}")
        );
        let edge = "x".repeat(LINE_MAX);
        assert!(!String::from_utf8(typed_input(&edge).first).unwrap().contains("eval"));
        let short = format!("echo {}\necho", "x".repeat(LINE_MAX - 100));
        assert!(typed_input(&short).rest.is_empty(), "in one part");
    }

    #[test]
    fn control_characters_and_long_commands_are_refused() {
        assert!(check_command("printf 'a\tb\x1b[1m'\nls").is_ok());
        assert!(check_command("a\x03b").unwrap_err().message.contains("U+0003"));
        assert!(check_command("a\x1b[201~b").is_err());
        assert!(check_command(&"x".repeat(limits::COMMAND_MAX)).is_ok());
        assert!(check_command(&"x".repeat(limits::COMMAND_MAX + 1)).is_err());
    }
}
