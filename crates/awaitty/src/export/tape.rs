//! Writes a session as a tape, in the grammar of VHS with our assertions.

use std::fmt::Write;
use std::time::Duration;

use awaitty_core::Key;

use super::act::Anchor;
use super::script::{Script, Step};
use super::{comment, header};

/// The characters that quote a text. A tape has no escapes in texts.
const QUOTES: [char; 3] = ['"', '`', '\''];

/// The wait after input that has no command of its own in a tape.
const SETTLE: &str = "Settle 300ms";

/// Writes a session as a tape.
///
/// # Errors
/// If a tape cannot express it.
pub(super) fn write(script: &Script) -> Result<String, String> {
    let mut tape = String::new();
    for line in header(script, "the working directory of `awaitty test`") {
        let _ = writeln!(tape, "# {line}");
    }
    let shell = shell_line(&script.argv).ok_or_else(|| {
        "as: a tape cannot have this command line, since its texts have no escapes: export as rust or pytest".to_owned()
    })?;
    let _ = writeln!(tape, "Set Shell {shell}");
    let (cols, rows) = script.size;
    let _ = writeln!(tape, "Set Columns {cols}\nSet Rows {rows}");
    for (name, value) in &script.env {
        let _ = match value.as_deref().map(quote) {
            Some(Some(value)) if is_word(name) => writeln!(tape, "Env {name} {value}"),
            Some(_) => {
                writeln!(tape, "# A tape cannot have the value of the variable {}.", comment(name))
            }
            None => writeln!(tape, "# The variable {} was set to a secret.", comment(name)),
        };
    }
    tape.push('\n');
    for step in &script.steps {
        tape += &lines(step)?;
    }
    Ok(tape)
}

/// Returns whether a name needs no quotes.
fn is_word(name: &str) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
}

/// Returns the lines of a step.
fn lines(step: &Step) -> Result<String, String> {
    Ok(match step {
        Step::Type(text) => typed(text),
        Step::Press(key, count) => pressed(key, *count),
        Step::Paste(text) => match quote_words(text) {
            Some(text) => format!("Copy {text}\nPaste\n"),
            None => {
                let lines = text.split('\n').map(typed).collect::<Vec<_>>().join("Enter\n");
                format!("# This was pasted. A tape cannot have the text in one paste.\n{lines}")
            }
        },
        Step::Point(pointer) => match pointer.clicked() {
            Some(pattern) => format!("Click {}\n", regex(pattern)),
            None => format!(
                "# The mouse was used: {} of {}. A tape has only clicks on text.\n",
                pointer.action, pointer.button
            ),
        },
        Step::Secret(variable) => {
            return Err(format!(
                "as: a secret was typed, which a tape cannot read from a variable ({variable}): export as rust or \
                 pytest"
            ));
        }
        Step::Run(command, status) => ran(command, *status),
        Step::Resize(cols, rows) => format!("Resize {cols} {rows}\n"),
        Step::Expect { pattern, anchor, timeout } => {
            let (at, pattern) = (at(*timeout), regex(pattern));
            match anchor {
                Anchor::Input => format!("Expect{at} {pattern}\n"),
                Anchor::Frame => format!("Expect{at} Frame {pattern}\n"),
                Anchor::Screen => format!("Wait+Screen{at} {pattern}\n"),
            }
        }
        Step::Gone { pattern, timeout } => {
            format!("Expect{} Gone {}\n", at(*timeout), regex(pattern))
        }
        Step::Settle(quiet, timeout) => format!("Settle{} {}ms\n", at(*timeout), quiet.as_millis()),
        Step::Exit(Some(status), timeout) => format!("Expect{} Exit {status}\n", at(*timeout)),
        Step::Exit(None, _) => format!("# The exit status is not known.\n{SETTLE}\n"),
        Step::Note(text) => format!("# {}\n", comment(text)),
    })
}

fn at(timeout: Option<Duration>) -> String {
    timeout.map_or_else(String::new, |timeout| format!("@{}ms", timeout.as_millis()))
}

/// Returns a text in quotes; `None` if no quotes can have it.
fn quote(text: &str) -> Option<String> {
    let quote = QUOTES.into_iter().find(|quote| !text.contains(*quote))?;
    let has_line_end = text.contains(['\n', '\r', '\0']);
    (!has_line_end).then(|| format!("{quote}{text}{quote}"))
}

/// Returns a text in quotes: several texts, which a tape joins with spaces, if it has all quotes.
fn quote_words(text: &str) -> Option<String> {
    let words = || text.split(' ').map(quote).collect::<Option<Vec<_>>>();
    quote(text).or_else(|| Some(words()?.join(" ")))
}

/// Returns the commands that type a text: several, if no quotes can have the whole of it.
fn typed(text: &str) -> String {
    let mut lines = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        // The longest start that some quotes can have.
        let ends = QUOTES.map(|quote| rest.find(quote).unwrap_or(rest.len()));
        let end = ends.into_iter().max().unwrap_or(rest.len());
        let Some(quoted) = quote(&rest[..end]) else { break };
        let _ = writeln!(lines, "Type {quoted}");
        rest = &rest[end..];
    }
    lines
}

fn pressed(key: &str, count: usize) -> String {
    let Ok(parsed) = Key::parse(key) else { return String::new() };
    let name = parsed.to_string();
    let mut characters = name.chars();
    if let (Some(c), None) = (characters.next(), characters.next()) {
        return typed(&c.to_string().repeat(count));
    }
    // A name with a key that is a plus ends with it.
    let (modifiers, last) = match name.strip_suffix("++") {
        Some(modifiers) => (modifiers, "+"),
        None => name.rsplit_once('+').unwrap_or(("", &name)),
    };
    if modifiers.split('+').any(|modifier| modifier == "meta") {
        return format!("# The key {} was pressed, which a tape cannot press.\n", comment(key));
    }
    let mut all: Vec<String> =
        modifiers.split('+').filter(|m| !m.is_empty()).map(capitalize).collect();
    all.push(match last {
        "esc" => "Escape".to_owned(),
        "pageup" => "PageUp".to_owned(),
        "pagedown" => "PageDown".to_owned(),
        last => capitalize(last),
    });
    let count = if count > 1 { format!(" {count}") } else { String::new() };
    format!("{}{count}\n", all.join("+"))
}

/// Returns a name with a capital letter; a character stays as it is.
fn capitalize(name: &str) -> String {
    let mut characters = name.chars();
    match characters.next() {
        Some(first) if !characters.as_str().is_empty() => {
            first.to_uppercase().to_string() + characters.as_str()
        }
        _ => name.to_owned(),
    }
}

fn ran(command: &str, status: Option<i32>) -> String {
    let Some(quoted) = quote_words(command) else {
        let lines: String = command.split('\n').map(|line| typed(line) + "Enter\n").collect();
        return format!("# A tape cannot have this command in one text.\n{lines}{SETTLE}\n");
    };
    match status {
        Some(0) => format!("Run {quoted}\n"),
        Some(status) => format!("# Its exit status was {status}.\nRun! {quoted}\n"),
        None => format!("Run! {quoted}\n"),
    }
}

/// Returns a pattern between slashes.
fn regex(pattern: &str) -> String {
    let mut text = String::from("/");
    let mut characters = pattern.chars();
    while let Some(c) = characters.next() {
        match c {
            '\\' => {
                text.push(c);
                text.extend(characters.next());
            }
            '/' => text.push_str("\\/"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            c => text.push(c),
        }
    }
    text + "/"
}

/// Returns a command line in quotes; `None` if no quotes can have it.
fn shell_line(argv: &[String]) -> Option<String> {
    let escaped = |word: &String| -> String {
        let plain = |c: char| c.is_alphanumeric() || "-_./:,=@%+".contains(c);
        let escape = |c: char| if plain(c) { c.to_string() } else { format!("\\{c}") };
        word.chars().map(escape).collect()
    };
    let backslashes = || {
        let is_possible = argv.iter().all(|word| !word.is_empty() && !word.contains('\n'));
        is_possible.then(|| argv.iter().map(escaped).collect::<Vec<_>>().join(" "))
    };
    quote(&shell_words::join(argv)).or_else(|| quote(&backslashes()?))
}
