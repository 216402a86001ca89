//! The environment of programs under test: the same on every machine.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use tempfile::TempDir;

/// The search path of programs under test.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The prompt of shells under test.
pub const PROMPT: &str = "$ ";

/// The start-up files of shells, which set the prompt. Nothing else is in the home directory. zsh asks a new user
/// questions if it finds no start-up file.
const FILES: [(&str, &str); 3] = [
    (".bashrc", "PS1='$ '\n"),
    (".zshrc", "PROMPT='$ '\n"),
    (".config/fish/config.fish", "set -g fish_greeting\nfunction fish_prompt; echo -n '$ '; end\n"),
];

/// Creates a home directory, which is removed when the value is dropped.
pub(crate) fn home() -> io::Result<TempDir> {
    let home = tempfile::Builder::new().prefix("awaitty-test-").tempdir()?;
    for (name, text) in FILES {
        let path = home.path().join(name);
        fs::create_dir_all(path.parent().unwrap_or(home.path()))?;
        fs::write(path, text)?;
    }
    Ok(home)
}

/// Returns the environment, without the variables that the test adds. The terminal sets `TERM` and `COLORTERM`.
pub(crate) fn environment(home: &Path) -> BTreeMap<String, String> {
    let home = home.display().to_string();
    let variables = [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("PATH", PATH),
        ("HOME", &home),
        // dash and other shells without a start-up file.
        ("PS1", PROMPT),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
