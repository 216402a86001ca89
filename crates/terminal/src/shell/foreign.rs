//! Shells that we did not start: over ssh, in a container, as another user, inside another shell.
//!
//! They are asked what they are, by a line that every shell can read and whose echo is no answer. Then they
//! are either given our script by one typed line (a bootstrap), after which they are like any other; or each
//! command goes with marks of its own (a sentinel), and nothing of ours stays behind.

use std::fmt::Write;

use super::deliver::percent_encoded;
use super::{Kind, Nonce};

/// Programs that bring somebody to another shell.
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

/// Tells whether a program only leads to another, and waits for input all the time to hand it on.
pub fn is_carrier(program: &str) -> bool {
    CARRIERS.contains(&program)
}

/// Tells whether a program is a shell, or leads to one.
pub fn is_foreign(program: &str) -> bool {
    Kind::of(program).is_some()
        || CARRIERS.contains(&program)
        || matches!(program, "ksh" | "mksh" | "busybox")
}

/// A line that makes a shell say what it is. Each shell can read all of it, and fails silently at what is meant
/// for the others.
pub fn probe(nonce: &Nonce) -> String {
    let nonce = nonce.as_str();
    // bash is made to forget the line, if it has remembered it.
    let forget = forget_line(nonce);
    // The status before is kept for the command that follows. No process is started in zsh; see `zsh_sentinel`.
    format!(
        " eval '__awaitty_s=$?;{forget}case ${{ZSH_VERSION:-}} in \
         ?*)builtin printf \"\\033]133;K;zsh;aid={nonce}\\007\";;\
         *)command printf \"\\033]133;K;%s;aid={nonce}\\007\" \"${{BASH_VERSION:+bash}}\";;esac' 2>/dev/null||\
         eval 'builtin printf \"\\033]133;K;fish;aid={nonce}\\007\"'"
    )
}

/// The kind that an answer names.
pub fn kind_of(answer: &str) -> Kind {
    Kind::of(answer).unwrap_or(Kind::Sh)
}

/// Keeps lines of ours out of the file of zsh's history. What zsh remembers until it ends cannot be taken away.
const ZSH_FORGETS: &str = "[[ ${HISTORY_IGNORE-} == *__awaitty_* ]]||\
     HISTORY_IGNORE=\"(${HISTORY_IGNORE-}|*__awaitty_*)\";";

/// What makes a shell forget the line that holds the nonce, where that is possible.
fn forget(kind: Kind, nonce: &str) -> String {
    match kind {
        Kind::Bash => forget_line(nonce),
        Kind::Zsh => ZSH_FORGETS.to_owned(),
        Kind::Fish | Kind::Sh => String::new(),
    }
}

/// Takes the line that holds the nonce out of bash's history, where it is. Without a `!`, which history expansion was once
/// seen to take for its own even in brackets.
fn forget_line(nonce: &str) -> String {
    format!(
        "case ${{BASH_VERSION:-}} in ?*)__awaitty_h=$(HISTTIMEFORMAT= history 1);\
         case $__awaitty_h in *{nonce}*)history -d ${{__awaitty_h%%[^0-9 ]*}};;esac;unset __awaitty_h;;esac;"
    )
}

/// The lines that give a shell our script.
pub fn bootstrap(kind: Kind, nonce: &Nonce) -> Vec<String> {
    let nonce = nonce.as_str();
    let Typed { mut lines, value } = typed(kind, nonce, &squeeze(kind.script()));
    let print = printed(kind, &value);
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

/// The lines that run a command between marks of its own. What it runs is written so that no line editor and no
/// history expansion finds anything in it to act on.
pub fn sentinel(kind: Kind, nonce: &Nonce, command: &str) -> Vec<String> {
    let nonce = nonce.as_str();
    let Typed { mut lines, value } = typed(kind, nonce, command);
    lines.push(match kind {
        Kind::Bash => bash_sentinel(nonce, &printed(kind, &value)),
        Kind::Zsh => zsh_sentinel(nonce, &value),
        Kind::Fish => fish_sentinel(nonce, &printed(kind, &value), lines.is_empty()),
        Kind::Sh => sh_sentinel(nonce, &printed(kind, &value)),
    });
    lines
}

/// Bytes of a text that are typed in one line with what is done with it: of a line the kernel takes 4095 bytes, as
/// long as the shell does not read it key by key.
const INLINE_MAX: usize = 2_000;
/// Bytes of it in a line that does nothing else.
const PIECE: usize = 3_500;

/// A text as it is typed: lines that keep it, where it is long, and the word for it.
struct Typed {
    lines: Vec<String>,
    value: String,
}

/// Each of the lines says that it was read, and the next is typed then: so none is lost, and none is shown after
/// the command has begun.
fn typed(kind: Kind, nonce: &str, text: &str) -> Typed {
    let is_fish = kind == Kind::Fish;
    let encoded = if is_fish { percent_encoded(text) } else { encode(text) };
    let (mut lines, mut kept) = (Vec::new(), format!("'{encoded}'"));
    if encoded.len() > INLINE_MAX {
        let pieces = encoded.as_bytes().chunks(PIECE).map(String::from_utf8_lossy);
        lines = pieces.enumerate().map(|(i, piece)| keep(kind, nonce, &piece, i == 0)).collect();
        kept = if is_fish { "$__awaitty_t" } else { "\"$__awaitty_t\"" }.to_owned();
    }
    Typed { lines, value: kept }
}

/// What prints the text that a word stands for.
fn printed(kind: Kind, value: &str) -> String {
    match kind {
        Kind::Fish => format!("string join '' {value}|string unescape --style=url|string collect"),
        _ => format!("{} %b {value}", printf(kind)),
    }
}

/// A line that keeps a piece of a text. The first keeps the status, which the probe may have kept before.
fn keep(kind: Kind, nonce: &str, piece: &str, is_first: bool) -> String {
    let said = format!("'\\033]133;Y;aid={nonce}\\007'");
    match (kind, is_first) {
        (Kind::Fish, true) => {
            format!(" set -g __awaitty_s $status;set -g __awaitty_t {piece};builtin printf {said}")
        }
        (Kind::Fish, false) => format!(" set -a __awaitty_t {piece};builtin printf {said}"),
        (_, true) => format!(
            " : \"${{__awaitty_s=$?}}\";{}__awaitty_t='{piece}';{} {said}",
            forget(kind, nonce),
            printf(kind)
        ),
        (_, false) => format!(
            " {}__awaitty_t=$__awaitty_t'{piece}';{} {said}",
            forget(kind, nonce),
            printf(kind)
        ),
    }
}

/// What prints in a shell that is no fish. zsh would start a program for `command`.
fn printf(kind: Kind) -> &'static str {
    if kind == Kind::Zsh { "builtin printf" } else { "command printf" }
}

/// Fish gives up a line that was interrupted, but not its handlers.
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

/// An interrupt ends the whole line, so the last mark is printed by a trap then, which interrupts the shell once more
/// without the trap. The status before, which the probe may have kept, is handed on to the command, and the command's
/// is left to whoever asks for it next.
fn sh_sentinel(nonce: &str, print: &str) -> String {
    // `command`, because what is wrong with the syntax would end the whole line otherwise.
    format!(
        " : \"${{__awaitty_s=$?}}\";{}\
         (exit $__awaitty_s);command eval \"$(command printf '\\033]133;C;aid={nonce}\\007'>/dev/tty;\
         {print};exit $__awaitty_s)\";\
         __awaitty_s=$?;command printf '\\033]133;D;%s;aid={nonce};dir=%s\\007' $__awaitty_s \"$PWD\";trap - INT;\
         eval \"unset __awaitty_s __awaitty_t;(exit $__awaitty_s)\"",
        trap_interrupt("command printf", nonce)
    )
}

/// As `sh_sentinel`, but without a process of its own: zsh 5.9 now and then does not hear of the end of one, and waits
/// for ever or until the end of the next.
fn zsh_sentinel(nonce: &str, value: &str) -> String {
    let hand_on = "(){ return $__awaitty_s; }";
    format!(
        " : \"${{__awaitty_s=$?}}\";{ZSH_FORGETS}{}\
         builtin printf -v __awaitty_t %b {value};builtin printf '\\033]133;C;aid={nonce}\\007';\
         {hand_on};eval \"$__awaitty_t\";\
         __awaitty_s=$?;builtin printf '\\033]133;D;%s;aid={nonce};dir=%s\\007' $__awaitty_s \"$PWD\";trap - INT;\
         eval \"unset __awaitty_s __awaitty_t;{hand_on}\"",
        trap_interrupt("builtin printf", nonce)
    )
}

fn trap_interrupt(printf: &str, nonce: &str) -> String {
    format!(
        "trap '{printf} \"\\033]133;D;130;aid={nonce};dir=%s\\007\" \"$PWD\";trap - INT;\
         unset __awaitty_s __awaitty_t;kill -INT $$' INT;"
    )
}

/// In bash an interrupt ends the line without a word if it hit a program, and with a trap the line would go on. So
/// the last mark is printed by PROMPT_COMMAND, which is put back at once and has its first element run as it would
/// have been.
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

/// Tells whether what a sentinel's command printed says that it is not complete.
pub fn unclosed(kind: Kind, command: &str, output: &str) -> bool {
    let says = |words: &[&str]| words.iter().any(|words| output.contains(words));
    match kind {
        Kind::Bash => {
            !says(&["-c: "])
                && says(&["unexpected EOF while looking for matching", "unexpected end of file"])
        }
        // Of an open block zsh names its last word.
        Kind::Zsh => {
            let is_word =
                |word: &&str| word.chars().all(|c| c.is_alphanumeric() || "-_./".contains(c));
            let last = command.split_whitespace().last().filter(is_word).unwrap_or("\\n");
            let near_last = format!("parse error near `{last}'");
            says(&["zsh: unmatched ", "(eval):1: unmatched", "parse error near `\\n'", &near_last])
        }
        Kind::Fish => says(&["quotes are not balanced", "Missing end to balance"]),
        Kind::Sh => {
            says(&["eval: "])
                && says(&["Unterminated quoted string", "end of file unexpected", "EOF in"])
        }
    }
}

/// A script without comments and indentation: it is typed.
fn squeeze(script: &str) -> String {
    let lines = script
        .lines()
        .map(str::trim_start)
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.collect::<Vec<_>>().join("\n")
}

/// A text in the escapes of `printf %b`, in characters that mean nothing to anybody between single quotes.
fn encode(text: &str) -> String {
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
