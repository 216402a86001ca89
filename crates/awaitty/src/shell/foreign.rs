//! Shells that we did not start: over ssh, in a container, as another user, inside another shell.
//!
//! They are asked what they are, by a line that every shell can read and whose echo is no answer. Then they
//! are either given our script by one typed line (a bootstrap), after which they are like any other; or each
//! command goes with marks of its own (a sentinel), and nothing of ours stays behind.

use std::fmt::Write;

use super::deliver::{LINE_MAX, percent_encoded};
use super::{Kind, Nonce};

/// Programs that bring somebody to another shell.
const CARRIERS: [&str; 14] = [
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
    // The status before is kept for the command that follows.
    format!(
        " eval '__awaitty_s=$?;{forget}command printf \"\\033]133;K;%s;aid={nonce}\\007\" \
         \"${{ZSH_VERSION:+zsh}}${{BASH_VERSION:+bash}}\"' 2>/dev/null||\
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

/// Takes the line that holds the nonce out of bash's history, where it is.
fn forget_line(nonce: &str) -> String {
    format!(
        "case ${{BASH_VERSION:-}} in ?*)__awaitty_h=$(HISTTIMEFORMAT= history 1);\
         case $__awaitty_h in *{nonce}*)history -d ${{__awaitty_h%%[!0-9 ]*}};;esac;unset __awaitty_h;;esac;"
    )
}

/// A line that gives a shell our script.
pub fn bootstrap(kind: Kind, nonce: &Nonce) -> String {
    let nonce = nonce.as_str();
    let script = squeeze(kind.script());
    match kind {
        Kind::Fish => format!(
            " set -g AWAITTY_NONCE {nonce};eval (builtin printf %b '{}'|string collect)",
            encode(&script)
        ),
        _ => {
            let forget = forget(kind, nonce);
            format!(
                " AWAITTY_NONCE={nonce};{forget}eval \"$(command printf %b '{}')\"",
                encode(&script)
            )
        }
    }
}

/// The lines that run a command between marks of its own. What it runs is written so that no line editor and no
/// history expansion finds anything in it to act on.
pub fn sentinel(kind: Kind, nonce: &Nonce, command: &str) -> Vec<String> {
    let nonce = nonce.as_str();
    match kind {
        Kind::Bash => vec![bash_sentinel(nonce, command)],
        Kind::Fish => fish_sentinel(nonce, command),
        Kind::Zsh | Kind::Sh => vec![posix_sentinel(kind, nonce, command)],
    }
}

/// Fish gives up a line that was interrupted, but not its handlers; and it takes long to draw a long line, so that
/// comes in several.
fn fish_sentinel(nonce: &str, command: &str) -> Vec<String> {
    let encoded = percent_encoded(command);
    let mut lines = vec![" set -g __awaitty_s $status;set -g __awaitty_t".to_owned()];
    for piece in encoded.as_bytes().chunks(FISH_PIECE) {
        lines.push(format!(" set -a __awaitty_t {}", String::from_utf8_lossy(piece)));
    }
    if let [_, only] = lines.as_slice() {
        lines = vec![format!("{};{}", lines[0], only.trim_start())];
    }
    lines.push(format!(
        " function __awaitty_e --on-event fish_postexec;\
         builtin printf '\\e]133;D;%s;aid={nonce};dir=%s\\a' $status \"$PWD\";\
         functions -e __awaitty_e __awaitty_r;end;function __awaitty_r;return $__awaitty_s;end;\
         builtin printf '\\e]133;C;aid={nonce}\\a';\
         eval '__awaitty_r;'(string join '' $__awaitty_t|string unescape --style=url|string collect)"
    ));
    lines
}

/// Bytes of a command that fish is given in one line.
const FISH_PIECE: usize = 4_000;

fn posix_sentinel(kind: Kind, nonce: &str, command: &str) -> String {
    // What is wrong with the syntax would end the whole line in a POSIX shell; zsh has another meaning for it.
    let command_word = if kind == Kind::Sh { "command " } else { "" };
    // zsh would start a program for it.
    let printf = if kind == Kind::Zsh { "builtin printf" } else { "command printf" };
    // An interrupt ends the whole line, so the last mark is printed by a trap then, which interrupts the shell
    // once more without the trap. The status before, which the probe may have kept, is handed on to the command,
    // and the command's is left to whoever asks for it next.
    let forget = forget(kind, nonce);
    format!(
        " : \"${{__awaitty_s=$?}}\";{forget}\
         trap '{printf} \"\\033]133;D;130;aid={nonce};dir=%s\\007\" \"$PWD\";trap - INT;unset __awaitty_s;\
         kill -INT $$' INT;\
         (exit $__awaitty_s);{command_word}eval \"$({printf} '\\033]133;C;aid={nonce}\\007'>/dev/tty;\
         {printf} %b '{}';exit $__awaitty_s)\";\
         __awaitty_s=$?;{printf} '\\033]133;D;%s;aid={nonce};dir=%s\\007' $__awaitty_s \"$PWD\";trap - INT;\
         eval \"unset __awaitty_s;(exit $__awaitty_s)\"",
        encode(command)
    )
}

/// In bash an interrupt ends the line without a word if it hit a program, and with a trap the line would go on. So
/// the last mark is printed by PROMPT_COMMAND, which is put back at once and has its first element run as it would
/// have been.
fn bash_sentinel(nonce: &str, command: &str) -> String {
    format!(
        " : \"${{__awaitty_s=$?}}\";{}__awaitty_p=(\"${{PROMPT_COMMAND[@]}}\");\
         PROMPT_COMMAND='__awaitty_s=$?;command printf \"\\033]133;D;%s;aid={nonce};dir=%s\\007\" \
         \"$__awaitty_s\" \"$PWD\";PROMPT_COMMAND=(\"${{__awaitty_p[@]}}\");\
         eval \"unset __awaitty_s __awaitty_p;(exit $__awaitty_s);${{__awaitty_p[0]-}}\"';\
         (exit $__awaitty_s);eval \"$(command printf '\\033]133;C;aid={nonce}\\007'>/dev/tty;\
         command printf %b '{}';exit $__awaitty_s)\"",
        forget_line(nonce),
        encode(command)
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

/// A text in the escapes of `printf %b`, in characters that mean nothing to anybody between single quotes, and
/// in pieces that can be typed as lines.
fn encode(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len() * 5 / 4);
    let mut length = 0;
    for byte in text.bytes() {
        if length >= LINE_MAX - 300 {
            encoded.push_str("'\\\n'");
            length = 0;
        }
        let before = encoded.len();
        match byte {
            b'\'' | b'\\' | b'!' | b'%' => {
                let _ = write!(encoded, "\\0{byte:03o}");
            }
            b' '..=b'~' => encoded.push(char::from(byte)),
            byte => {
                let _ = write!(encoded, "\\0{byte:03o}");
            }
        }
        length += encoded.len() - before;
    }
    encoded
}
