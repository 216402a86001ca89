//! Shells that awaitty did not start: over ssh, in a container, as another user, inside another shell.
//!
//! A probe line, which every shell can parse, makes the shell report its kind; the echo of the line does not look like
//! a reply. Then either a typed line loads the integration script (a bootstrap), or each command is typed with its own
//! marks (a sentinel), which leaves nothing in the shell.

use std::fmt::Write;

use super::deliver::percent_encode;
use super::{Kind, Nonce};

/// Programs that connect the terminal to another shell.
const CARRIERS: [&str; 16] = [
    "ssh",
    "su",
    "sudo",
    "doas",
    "docker",
    "podman",
    "kubectl",
    "nerdctl",
    "lxc",
    "machinectl",
    "nsenter",
    "chroot",
    "script",
    "mosh-client",
    "tmux: client",
    "screen",
];

/// Returns whether a program passes its input on to another program, and so waits for input all the time.
pub fn is_carrier(program: &str) -> bool {
    CARRIERS.contains(&program)
}

/// Returns whether a program is a shell or a carrier.
pub fn is_shell_or_carrier(program: &str) -> bool {
    Kind::of(program).is_some()
        || CARRIERS.contains(&program)
        || matches!(program, "ksh" | "mksh" | "busybox")
}

/// Returns a line that makes a shell report its kind. Every shell can parse all of it and fails silently at the parts
/// for other shells.
pub fn probe(nonce: &Nonce) -> String {
    let nonce = nonce.as_str();
    // Removes the line from bash's history, if it was recorded.
    let forget = forget_line(nonce);
    // The exit status before is kept for the next command. No process is started in zsh; see `zsh_sentinel`.
    format!(
        " eval '__awaitty_s=$?;{forget}case ${{ZSH_VERSION:-}} in \
         ?*)builtin printf \"\\033]133;K;zsh;aid={nonce}\\007\";;\
         *)command printf \"\\033]133;K;%s;aid={nonce}\\007\" \"${{BASH_VERSION:+bash}}\";;esac' 2>/dev/null||\
         eval 'builtin printf \"\\033]133;K;fish;aid={nonce}\\007\"'"
    )
}

/// Returns the kind that a reply to the probe names.
pub fn kind_from_reply(reply: &str) -> Kind {
    Kind::of(reply).unwrap_or(Kind::Sh)
}

/// Keeps awaitty's lines out of zsh's history file. The history in zsh's memory cannot be edited.
const ZSH_FORGETS: &str = "[[ ${HISTORY_IGNORE-} == *__awaitty_* ]]||\
     HISTORY_IGNORE=\"(${HISTORY_IGNORE-}|*__awaitty_*)\";";

/// Returns code that removes the line with the nonce from the shell's history, where that is possible.
fn forget(kind: Kind, nonce: &str) -> String {
    match kind {
        Kind::Bash => forget_line(nonce),
        Kind::Zsh => ZSH_FORGETS.to_owned(),
        Kind::Fish | Kind::Sh => String::new(),
    }
}

/// Returns code that removes the line with the nonce from bash's history. It has no `!`: history expansion was seen to
/// act on one even in brackets.
fn forget_line(nonce: &str) -> String {
    format!(
        "case ${{BASH_VERSION:-}} in ?*)__awaitty_h=$(HISTTIMEFORMAT= history 1);\
         case $__awaitty_h in *{nonce}*)history -d ${{__awaitty_h%%[^0-9 ]*}};;esac;unset __awaitty_h;;esac;"
    )
}

/// Returns the lines that load the integration script.
pub fn bootstrap(kind: Kind, nonce: &Nonce) -> Vec<String> {
    let nonce = nonce.as_str();
    let EncodedText { mut lines, word } = encode_text(kind, nonce, &minify(kind.script()));
    let print = decode_and_print(kind, &word);
    lines.push(match kind {
        Kind::Fish => {
            format!(" set -g AWAITTY_NONCE {nonce};eval ({print});set -e __awaitty_s __awaitty_t")
        }
        _ => {
            let forget = forget(kind, nonce);
            format!(
                " AWAITTY_NONCE={nonce};{forget}eval \"$({print});unset __awaitty_s __awaitty_t\""
            )
        }
    });
    lines
}

/// Returns the lines that run a command between its own marks. They contain nothing that a line editor or history
/// expansion acts on.
pub fn sentinel(kind: Kind, nonce: &Nonce, command: &str) -> Vec<String> {
    let nonce = nonce.as_str();
    let EncodedText { mut lines, word } = encode_text(kind, nonce, command);
    lines.push(match kind {
        Kind::Bash => bash_sentinel(nonce, &decode_and_print(kind, &word)),
        Kind::Zsh => zsh_sentinel(nonce, &word),
        Kind::Fish => fish_sentinel(nonce, &decode_and_print(kind, &word), lines.is_empty()),
        Kind::Sh => sh_sentinel(nonce, &decode_and_print(kind, &word)),
    });
    lines
}

/// The maximum length, in bytes, of a text in the line that uses it: the kernel accepts lines of 4095 bytes in
/// canonical mode.
const INLINE_MAX: usize = 2_000;
/// The maximum length, in bytes, of a piece of a text in a line that only stores it.
const PIECE: usize = 3_500;

/// A text that is typed to a shell.
struct EncodedText {
    /// Lines that store a long text in a variable.
    lines: Vec<String>,
    /// The shell word that expands to the encoded text.
    word: String,
}

/// Encodes a text for a shell. Each of the lines prints a mark when the shell has run it, and the next is typed then:
/// no line is lost, and none is echoed after the command has started.
fn encode_text(kind: Kind, nonce: &str, text: &str) -> EncodedText {
    let is_fish = kind == Kind::Fish;
    let encoded = if is_fish { percent_encode(text) } else { printf_escape(text) };
    let (mut lines, mut word) = (Vec::new(), format!("'{encoded}'"));
    if encoded.len() > INLINE_MAX {
        let pieces = encoded.as_bytes().chunks(PIECE).map(String::from_utf8_lossy);
        lines =
            pieces.enumerate().map(|(i, piece)| store_line(kind, nonce, &piece, i == 0)).collect();
        word = if is_fish { "$__awaitty_t" } else { "\"$__awaitty_t\"" }.to_owned();
    }
    EncodedText { lines, word }
}

/// Returns code that decodes and prints the text of a word.
fn decode_and_print(kind: Kind, word: &str) -> String {
    match kind {
        Kind::Fish => format!("string join '' {word}|string unescape --style=url|string collect"),
        _ => format!("{} %b {word}", printf(kind)),
    }
}

/// Returns a line that stores a piece of a text. The first line also stores the exit status, unless the probe did.
fn store_line(kind: Kind, nonce: &str, piece: &str, is_first: bool) -> String {
    let mark = format!("'\\033]133;Y;aid={nonce}\\007'");
    match (kind, is_first) {
        (Kind::Fish, true) => {
            format!(" set -g __awaitty_s $status;set -g __awaitty_t {piece};builtin printf {mark}")
        }
        (Kind::Fish, false) => format!(" set -a __awaitty_t {piece};builtin printf {mark}"),
        (_, true) => format!(
            " : \"${{__awaitty_s=$?}}\";{}__awaitty_t='{piece}';{} {mark}",
            forget(kind, nonce),
            printf(kind)
        ),
        (_, false) => format!(
            " {}__awaitty_t=$__awaitty_t'{piece}';{} {mark}",
            forget(kind, nonce),
            printf(kind)
        ),
    }
}

/// Returns the printf command of a shell other than fish. zsh would start a program for `command`.
fn printf(kind: Kind) -> &'static str {
    if kind == Kind::Zsh { "builtin printf" } else { "command printf" }
}

/// Returns the sentinel line for fish. An interrupt ends the line but keeps event handlers, so one prints the last
/// mark.
fn fish_sentinel(nonce: &str, print: &str, is_first: bool) -> String {
    let status = if is_first { "set -g __awaitty_s $status;" } else { "" };
    format!(
        " {status}function __awaitty_e --on-event fish_postexec;\
         builtin printf '\\e]133;D;%s;aid={nonce};dir=%s\\a' $status \"$PWD\";\
         functions -e __awaitty_e __awaitty_r;end;function __awaitty_r;return $__awaitty_s;end;\
         builtin printf '\\e]133;C;aid={nonce}\\a';\
         eval '__awaitty_r;'({print})"
    )
}

/// Returns the sentinel line for POSIX shells. An interrupt ends the whole line, so a trap prints the last mark and
/// then interrupts the shell again without the trap. The command sees the previous `$?` (the probe may have stored it),
/// and the next command sees this command's.
fn sh_sentinel(nonce: &str, print: &str) -> String {
    // `command`, because a syntax error would end the whole line otherwise.
    format!(
        " : \"${{__awaitty_s=$?}}\";{}\
         (exit $__awaitty_s);command eval \"$(command printf '\\033]133;C;aid={nonce}\\007'>/dev/tty;\
         {print};exit $__awaitty_s)\";\
         __awaitty_s=$?;command printf '\\033]133;D;%s;aid={nonce};dir=%s\\007' $__awaitty_s \"$PWD\";trap - INT;\
         eval \"unset __awaitty_s __awaitty_t;(exit $__awaitty_s)\"",
        trap_interrupt("command printf", nonce)
    )
}

/// Returns the sentinel line for zsh. It works like `sh_sentinel`, but starts no process: zsh 5.9 sometimes misses the
/// end of one and waits forever or until the next one ends.
fn zsh_sentinel(nonce: &str, word: &str) -> String {
    let set_status = "(){ return $__awaitty_s; }";
    format!(
        " : \"${{__awaitty_s=$?}}\";{ZSH_FORGETS}{}\
         builtin printf -v __awaitty_t %b {word};builtin printf '\\033]133;C;aid={nonce}\\007';\
         {set_status};eval \"$__awaitty_t\";\
         __awaitty_s=$?;builtin printf '\\033]133;D;%s;aid={nonce};dir=%s\\007' $__awaitty_s \"$PWD\";trap - INT;\
         eval \"unset __awaitty_s __awaitty_t;{set_status}\"",
        trap_interrupt("builtin printf", nonce)
    )
}

fn trap_interrupt(printf: &str, nonce: &str) -> String {
    format!(
        "trap '{printf} \"\\033]133;D;130;aid={nonce};dir=%s\\007\" \"$PWD\";trap - INT;\
         unset __awaitty_s __awaitty_t;kill -INT $$' INT;"
    )
}

/// Returns the sentinel line for bash. An interrupt of a program ends the line silently, and with a trap the line would
/// continue. So PROMPT_COMMAND prints the last mark; it then restores the user's value and runs its first element.
fn bash_sentinel(nonce: &str, print: &str) -> String {
    format!(
        " : \"${{__awaitty_s=$?}}\";{}__awaitty_p=(\"${{PROMPT_COMMAND[@]}}\");\
         PROMPT_COMMAND='__awaitty_s=$?;command printf \"\\033]133;D;%s;aid={nonce};dir=%s\\007\" \
         \"$__awaitty_s\" \"$PWD\";PROMPT_COMMAND=(\"${{__awaitty_p[@]}}\");\
         eval \"unset __awaitty_s __awaitty_p __awaitty_t;(exit $__awaitty_s);${{__awaitty_p[0]-}}\"';\
         (exit $__awaitty_s);eval \"$(command printf '\\033]133;C;aid={nonce}\\007'>/dev/tty;\
         {print};exit $__awaitty_s)\"",
        forget_line(nonce),
    )
}

/// Returns whether the output of a sentinel's command means that the command is incomplete.
pub fn is_sentinel_incomplete(kind: Kind, command: &str, output: &str) -> bool {
    let has = |texts: &[&str]| texts.iter().any(|text| output.contains(text));
    match kind {
        Kind::Bash => {
            !has(&["-c: "])
                && has(&["unexpected EOF while looking for matching", "unexpected end of file"])
        }
        // For an open block zsh names the last word of the command.
        Kind::Zsh => {
            let is_word =
                |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
            let last = command.split_whitespace().last().filter(is_word).unwrap_or("\\n");
            let near_last = format!("parse error near `{last}'");
            has(&["zsh: unmatched ", "(eval):1: unmatched", "parse error near `\\n'", &near_last])
        }
        Kind::Fish => has(&["quotes are not balanced", "Missing end to balance"]),
        Kind::Sh => {
            has(&["eval: "])
                && has(&["Unterminated quoted string", "end of file unexpected", "EOF in"])
        }
    }
}

/// Removes comments and indentation from a script, because it is typed.
fn minify(script: &str) -> String {
    let lines = script
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// Escapes a text for `printf %b`, with characters that have no special meaning in single quotes.
fn printf_escape(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 5 / 4);
    for byte in text.bytes() {
        match byte {
            b'\'' | b'\\' | b'!' | b'%' => {
                let _ = write!(encoded, "\\0{byte:03o}");
            }
            b' '..=b'~' => encoded.push(char::from(byte)),
            byte => {
                let _ = write!(encoded, "\\0{byte:03o}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn no_line_is_too_long_to_be_typed() {
        let nonce = Nonce::new().unwrap();
        for kind in [Kind::Bash, Kind::Zsh, Kind::Fish, Kind::Sh] {
            for length in [0, INLINE_MAX, INLINE_MAX + 1, limits::COMMAND_MAX] {
                let lines = sentinel(kind, &nonce, &"x".repeat(length));
                assert_eq!(lines.len() > 1, length > INLINE_MAX, "{kind:?} {length}");
                assert!(lines.iter().all(|line| line.len() < limits::CANONICAL_LINE_MAX));
            }
            let lines = bootstrap(kind, &nonce);
            assert!(lines.iter().all(|line| line.len() < limits::CANONICAL_LINE_MAX));
            assert!(lines.iter().all(|line| !line.contains('\n')));
        }
    }
}
