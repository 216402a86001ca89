//! Writes a session as a Rust test with the crate `awaitty-test`.

use std::fmt::Write;
use std::time::Duration;

use super::act::Anchor;
use super::script::{Script, Step};
use super::{comment, function_name, header};

/// Writes a session as a Rust test.
pub(super) fn write(script: &Script) -> String {
    let mut body = start(script);
    for step in &script.steps {
        for line in lines(step).lines() {
            let _ = writeln!(body, "    {line}");
        }
    }
    let mut test = String::new();
    for line in header(script, "the directory of the package") {
        let _ = writeln!(test, "//! {line}");
    }
    test.push('\n');
    if body.contains("Duration::") {
        test += "use std::time::Duration;\n\n";
    }
    let mut names = vec!["Failure", "program"];
    names.extend(
        ["exit", "settled", "text"].into_iter().filter(|name| body.contains(&format!("({name}("))),
    );
    names.sort_unstable();
    let _ = writeln!(test, "use awaitty_test::{{{}}};\n", names.join(", "));
    let name = function_name(&script.name);
    let _ = writeln!(
        test,
        "#[test]\nfn session_{name}() -> Result<(), Failure> {{\n{body}    Ok(())\n}}"
    );
    test
}

/// Returns the lines that start the program.
fn start(script: &Script) -> String {
    let (program, args) =
        script.argv.split_first().map_or(("", &[][..]), |(first, rest)| (first, rest));
    let mut call = format!("    let t = program({})", literal(program));
    if !args.is_empty() {
        let args: Vec<String> = args.iter().map(|arg| literal(arg)).collect();
        let _ = write!(call, ".args([{}])", args.join(", "));
    }
    let mut secrets = String::new();
    for (name, value) in &script.env {
        let _ = match value {
            Some(value) => write!(call, "\n        .env({}, {})", literal(name), literal(value)),
            None => writeln!(secrets, "    // The variable {} was set to a secret.", comment(name)),
        };
    }
    let (cols, rows) = script.size;
    format!("{secrets}{call}.size({cols}, {rows}).start()?;\n")
}

/// Returns the lines of a step.
fn lines(step: &Step) -> String {
    match step {
        Step::Type(text) => format!("t.type_text({})?;", literal(text)),
        Step::Press(key, count) => {
            let key = if key == " " { "space" } else { key };
            format!("t.press({})?;", literal(&vec![key; *count].join(" ")))
        }
        Step::Paste(text) => format!("t.paste({})?;", literal(text)),
        Step::Point(pointer) => match pointer.clicked() {
            Some(pattern) => format!("t.click({})?;", text(pattern)),
            None => format!(
                "// The mouse was used: {} of {}. A test has only clicks on text.",
                pointer.action, pointer.button
            ),
        },
        Step::Secret(variable) => format!(
            "// The secret that was typed here is not in the test: set the variable {variable}.\n\
             t.type_secret(&std::env::var({0}).expect({1}))?;",
            literal(variable),
            literal(&format!("{variable} has the secret"))
        ),
        Step::Run(command, Some(0)) => format!("t.run({})?.ok()?;", literal(command)),
        Step::Run(command, Some(status)) => {
            format!("assert_eq!(t.run({})?.status, Some({status}));", literal(command))
        }
        Step::Run(command, None) => format!("t.run({})?;", literal(command)),
        Step::Resize(cols, rows) => format!("t.resize({cols}, {rows})?;"),
        Step::Expect { pattern, anchor, timeout } => {
            let anchor = match anchor {
                Anchor::Input => "",
                Anchor::Frame => ".in_frame()",
                Anchor::Screen => ".on_screen()",
            };
            expect("expect", &(text(pattern) + anchor), *timeout)
        }
        Step::Gone { pattern, timeout } => expect("expect_gone", &text(pattern), *timeout),
        Step::Settle(quiet, None) => format!("t.settle({})?;", duration(*quiet)),
        Step::Settle(_, timeout) => expect("expect", "settled()", *timeout),
        Step::Exit(Some(status), timeout) => expect("expect", &format!("exit({status})"), *timeout),
        Step::Exit(None, _) => "// The exit status is not known.".to_owned(),
        Step::Note(text) => format!("// {}", comment(text)),
    }
}

fn expect(method: &str, what: &str, timeout: Option<Duration>) -> String {
    let within = timeout.map_or_else(String::new, |time| format!(".within({})", duration(time)));
    format!("t.{method}({what}{within})?;")
}

fn text(pattern: &str) -> String {
    format!("text({})", literal(pattern))
}

fn duration(time: Duration) -> String {
    match time.subsec_millis() {
        0 => format!("Duration::from_secs({})", time.as_secs()),
        _ => format!("Duration::from_millis({})", time.as_millis()),
    }
}

/// Returns a literal of a text: raw, if it has characters that need an escape and all of them can be shown.
pub(super) fn literal(text: &str) -> String {
    let escaped = format!("{text:?}");
    let is_shown = |c: char| matches!(c, '"' | '\\' | '\'') || c.escape_debug().count() == 1;
    if escaped.len() == text.len() + 2 || !text.chars().all(is_shown) {
        return escaped;
    }
    let hashes =
        (0..).map(|count| "#".repeat(count)).find(|hashes| !text.contains(&format!("\"{hashes}")));
    let hashes = hashes.unwrap_or_default();
    format!("r{hashes}\"{text}\"{hashes}")
}
