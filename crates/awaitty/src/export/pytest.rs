//! Writes a session as a test for pytest, which calls the command line of awaitty.

use std::fmt::Write;
use std::time::Duration;

use serde_json::{Value, json};

use super::act::{Anchor, Place};
use super::script::{Script, Step};
use super::{comment, function_name, header};

/// The code at the start of each test.
const HELPER: &str = include_str!("helper.py");

/// Writes a session as a test for pytest.
pub(super) fn write(script: &Script) -> String {
    let mut test = String::new();
    for line in header(script, "the working directory of pytest") {
        let _ = writeln!(test, "# {line}");
    }
    test += HELPER;
    let _ = writeln!(test, "\n\ndef test_{}():", function_name(&script.name));
    let mut options = String::new();
    for (name, value) in &script.env {
        let _ = match value {
            Some(value) => write!(options, ", {}: {}", literal(name), literal(value)),
            None => writeln!(test, "    # The variable {} was set to a secret.", comment(name)),
        };
    }
    let argv: Vec<String> = script.argv.iter().map(|word| literal(word)).collect();
    let (cols, rows) = script.size;
    let env = options.strip_prefix(", ").map_or_else(String::new, |env| format!(", env={{{env}}}"));
    let clear = if script.has_clear_env { ", clear_env=True" } else { "" };
    let _ = writeln!(
        test,
        "    with Terminal([{}], {cols}, {rows}{env}{clear}) as t:",
        argv.join(", ")
    );
    if script.steps.is_empty() {
        test += "        pass\n";
    }
    for step in &script.steps {
        for line in lines(step).lines() {
            let _ = writeln!(test, "        {line}");
        }
    }
    test
}

/// Returns the lines of a step.
fn lines(step: &Step) -> String {
    match step {
        Step::Type(text) => format!("t.type({})", literal(text)),
        Step::Press(key, 1) => format!("t.press({})", literal(key)),
        Step::Press(key, count) => format!("t.press(*[{}] * {count})", literal(key)),
        Step::Paste(text) => format!("t.send({})", item(&json!({ "paste": text }))),
        Step::Point(pointer) => {
            let mut mouse = json!({"button": pointer.button, "action": pointer.action});
            match &pointer.place {
                Place::Text(pattern) => mouse["text"] = json!(pattern),
                Place::Cell { row, col, .. } => {
                    (mouse["row"], mouse["col"]) = (json!(row), json!(col));
                }
            }
            format!("t.send({})", item(&json!({ "mouse": mouse })))
        }
        Step::Secret(variable) => format!(
            "# The secret that was typed here is not in the test: set the variable {variable}.\n\
             t.type(os.environ[{}])",
            literal(variable)
        ),
        Step::Run(command, status) => {
            let status = status.map_or_else(|| "None".to_owned(), |status| status.to_string());
            format!("t.run({}, {status})", literal(command))
        }
        Step::Resize(cols, rows) => format!("t.resize({cols}, {rows})"),
        Step::Expect { pattern, anchor, timeout } => {
            let since = match anchor {
                Anchor::Input => "",
                Anchor::Frame => ", since=\"frame\"",
                Anchor::Screen => ", since=\"screen\"",
            };
            format!("t.expect({}{since}{})", literal(pattern), within(*timeout))
        }
        Step::Gone { pattern, timeout } => {
            format!("t.expect_gone({}{})", literal(pattern), within(*timeout))
        }
        Step::Settle(quiet, timeout) => {
            format!("t.settle({}{})", quiet.as_millis(), within(*timeout))
        }
        Step::Exit(status, timeout) => {
            let status = status.map_or_else(|| "None".to_owned(), |status| status.to_string());
            format!("t.expect_exit({status}{})", within(*timeout))
        }
        Step::Note(text) => format!("# {}", comment(text)),
    }
}

fn within(timeout: Option<Duration>) -> String {
    timeout.map_or_else(String::new, |timeout| format!(", timeout_ms={}", timeout.as_millis()))
}

/// Returns an item of `keys` as a dictionary.
fn item(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, value)| format!("{}: {}", literal(name), item(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => literal(text),
        other => other.to_string(),
    }
}

/// Returns a literal of a text: raw, if that is shorter and possible.
pub(super) fn literal(text: &str) -> String {
    let is_plain = |c: char| !c.is_ascii_control() && c.escape_debug().count() == 1;
    let is_raw = text.contains('\\')
        && !text.contains('"')
        && !text.ends_with('\\')
        && text.chars().all(|c| matches!(c, '\\' | '\'') || is_plain(c));
    if is_raw {
        return format!("r\"{text}\"");
    }
    let mut literal = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            '\n' => literal += "\\n",
            '\r' => literal += "\\r",
            '\t' => literal += "\\t",
            c if c == '\'' || is_plain(c) => literal.push(c),
            c => {
                let _ = match c as u32 {
                    code @ ..=0xff => write!(literal, "\\x{code:02x}"),
                    code @ ..=0xffff => write!(literal, "\\u{code:04x}"),
                    code => write!(literal, "\\U{code:08x}"),
                };
            }
        }
    }
    literal + "\""
}
