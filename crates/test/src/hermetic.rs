//! The environment of programs under test: the same on every machine.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

use tempfile::TempDir;

/// The search path of programs under test.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The prompt of shells under test.
pub const PROMPT: &str = "$ ";

/// Returns the start-up files of shells, which set the prompt. Nothing else is in the home directory. zsh asks a new
/// user questions if it finds no start-up file.
fn start_up_files(prompt: &str) -> [(&'static str, String); 3] {
    let fish = format!("set -g fish_greeting\nfunction fish_prompt; echo -n '{prompt}'; end\n");
    [
        (".bashrc", format!("PS1='{prompt}'\n")),
        (".zshrc", format!("PROMPT='{prompt}'\n")),
        (".config/fish/config.fish", fish),
    ]
}

/// The temporary files of a program under test. They are removed when the value is dropped.
#[derive(Debug)]
pub(crate) struct Files(TempDir);

impl Files {
    /// Creates a home directory with the start-up files of shells.
    pub(crate) fn new(prompt: &str) -> io::Result<Files> {
        let files = Files(tempfile::Builder::new().prefix("awaitty-test-").tempdir()?);
        for (name, text) in start_up_files(prompt) {
            let path = files.home().join(name);
            fs::create_dir_all(path.parent().unwrap_or(files.0.path()))?;
            fs::write(path, text)?;
        }
        Ok(files)
    }

    /// Returns the home directory of the program.
    pub(crate) fn home(&self) -> PathBuf {
        self.0.path().join("home")
    }

    /// Returns the path of the recording.
    pub(crate) fn recording(&self) -> PathBuf {
        self.0.path().join("recording.cast")
    }
}

/// Returns the environment, without the variables that the test adds. The terminal sets `TERM` and `COLORTERM`.
pub(crate) fn environment(home: &Path, prompt: &str) -> BTreeMap<String, String> {
    let home = home.display().to_string();
    let variables = [
        ("TERM", "xterm-256color"),
        ("COLORTERM", "truecolor"),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
        ("PATH", PATH),
        ("HOME", &home),
        // dash and other shells without a start-up file.
        ("PS1", prompt),
    ];
    variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
}
