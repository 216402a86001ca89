//! Sessions as tests: what callers and people did to a session becomes a tape, a Rust test or a Python test.
//!
//! ```text
//! inputs, waits that were met, commands, sizes ─► Logs ─► Script ─► tape, rust or pytest
//! pauses before an input ─► a text that appeared ─┘
//! ```
//!
//! The log of a session has an [`Act`] for each input at the place where it reaches the terminal, whatever the
//! transport of the call, and for each wait at the place where it is met. Calls that failed and waits that timed out
//! are not in it. Text that was typed while echo was off never gets there.

mod act;
mod appeared;
mod keys;
mod log;
mod pytest;
mod record;
mod rust;
mod script;
mod steps;
mod tape;
pub(crate) mod trace;
pub(crate) mod words;

use std::path::Path;

use self::script::Script;
pub(crate) use act::{Act, Place, Pointer, Ran};
pub(crate) use log::Logs;
pub(crate) use record::{
    add_input, before_input, ended_command, forget_closed, note_secret, note_wait, page_input,
    script,
};
pub(crate) use trace::Traces;

/// The form of an exported test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// A tape for `awaitty test`.
    Tape,
    /// A test with the crate `awaitty-test`.
    Rust,
    /// A test for pytest that calls the command line.
    Pytest,
}

impl Target {
    const ALL: [(Target, &'static str, &'static str); 3] = [
        (Target::Tape, "tape", "tape"),
        (Target::Rust, "rust", "rs"),
        (Target::Pytest, "pytest", "py"),
    ];

    /// Returns the form with a name; without a name, that of the path, or a tape.
    ///
    /// # Errors
    /// If there is no such form.
    pub(crate) fn choose(name: Option<&str>, path: Option<&Path>) -> Result<Target, String> {
        let found = |is: &dyn Fn(&str, &str) -> bool| {
            Target::ALL
                .iter()
                .find(|(_, name, ending)| is(name, ending))
                .map(|(target, ..)| *target)
        };
        let Some(given) = name else {
            let ending = path.and_then(Path::extension).and_then(|ending| ending.to_str());
            return Ok(found(&|_, known| Some(known) == ending).unwrap_or(Target::Tape));
        };
        found(&|name, _| name == given).ok_or_else(|| {
            format!("as: {given:?} is invalid: use \"tape\", \"rust\" or \"pytest\"")
        })
    }

    /// Returns its name.
    pub(crate) fn name(self) -> &'static str {
        let named = Target::ALL.iter().find(|(target, ..)| *target == self);
        named.map_or("tape", |(_, name, _)| name)
    }

    /// Writes a test.
    ///
    /// # Errors
    /// If the form cannot express it. The text names the next step.
    pub(crate) fn write(self, script: &Script) -> Result<String, String> {
        match self {
            Target::Tape => tape::write(script),
            Target::Rust => Ok(rust::write(script)),
            Target::Pytest => Ok(pytest::write(script)),
        }
    }
}

/// Returns a pattern that matches a text.
pub(crate) fn escape(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for c in text.chars() {
        if r"\.+*?()|[]{}^$#&-~".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}

/// Returns an environment variable for a secret.
fn variable(name: &str) -> String {
    let name = name.strip_prefix(crate::secrets::SECRET_PREFIX).unwrap_or(name);
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let variable: String = name.chars().map(upper).collect();
    match variable.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("SECRET_{variable}"),
        false => variable,
    }
}

/// Returns the name of a session as part of the name of a function.
fn function_name(name: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    name.chars().map(word).collect()
}

/// Returns a text for a comment in one line.
fn comment(text: &str) -> String {
    crate::text::one_line(text)
}

/// Returns the comments at the start of a test: the session, and what may differ in a test.
fn header(script: &Script, directory: &str) -> Vec<String> {
    let command = comment(&shell_words::join(&script.argv));
    let mut lines =
        vec![format!("Exported by awaitty from the session {}: {command}", comment(&script.name))];
    if let Some(cwd) = &script.cwd {
        lines.push(format!("The program ran in {}. Here it runs in {directory}.", comment(cwd)));
    }
    lines
}

#[cfg(test)]
mod tests;
