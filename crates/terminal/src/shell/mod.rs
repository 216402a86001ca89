//! Shell integration: starting a shell that marks its prompts and commands, and sending commands to it.
//!
//! A shell that `spawn` starts reads an integration script after the user's own start-up files. The script adds marks
//! (OSC 133) to the shell's output; the core interprets them. The marks carry a nonce, so that no program can forge
//! them. The scripts keep the user's hooks and write no files (docs/decisions/0004).

mod deliver;
mod foreign;
mod nonce;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use deliver::is_blank;
pub use deliver::{
    CommandInput, cancel_input, check_command, command_input, is_group_incomplete,
    strip_group_errors,
};
pub use foreign::{
    bootstrap, is_carrier, is_sentinel_incomplete, is_shell_or_carrier, kind_from_reply, probe,
    sentinel,
};
pub use nonce::{Nonce, NonceFile};

use crate::runtime;

/// The shells with an integration script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// bash, from 4.4 on.
    Bash,
    /// zsh.
    Zsh,
    /// fish 3 and 4.
    Fish,
    /// dash and other POSIX shells, which have no hooks except their prompts.
    Sh,
}

impl Kind {
    /// Returns the kind of a program, by its name or path.
    pub fn of(program: &str) -> Option<Kind> {
        let name = Path::new(program).file_name()?.to_str()?;
        match name.strip_prefix('-').unwrap_or(name) {
            "bash" => Some(Kind::Bash),
            "zsh" => Some(Kind::Zsh),
            "fish" => Some(Kind::Fish),
            "sh" | "dash" | "ash" => Some(Kind::Sh),
            _ => None,
        }
    }

    fn script(self) -> &'static str {
        match self {
            Kind::Bash => include_str!("bash.bash"),
            Kind::Zsh => include_str!("zsh.zsh"),
            Kind::Fish => include_str!("fish.fish"),
            Kind::Sh => include_str!("sh.sh"),
        }
    }
}

/// The variable with the path of the nonce file. The scripts read the file, empty it and unset the variable.
const NONCE_FILE_VARIABLE: &str = "AWAITTY_NONCE_FILE";

/// The arguments, variables and files that make a shell load its integration script.
#[derive(Debug)]
pub struct Integration {
    /// The nonce of the shell's marks.
    pub nonce: Nonce,
    /// The kind of shell.
    pub kind: Kind,
    /// The file that passes the nonce to the shell.
    pub file: NonceFile,
    directory: PathBuf,
}

impl Integration {
    /// Prepares the integration of a command line, if it starts an interactive shell.
    ///
    /// # Errors
    /// If the scripts or the nonce file cannot be written.
    pub fn new(argv: &[String]) -> io::Result<Option<Integration>> {
        let Some((program, args)) = argv.split_first() else { return Ok(None) };
        let Some(kind) = Kind::of(program).filter(|kind| is_interactive(*kind, args)) else {
            return Ok(None);
        };
        let (nonce, directory) = (Nonce::new()?, write_scripts()?);
        let file = NonceFile::write(&directory, &nonce)?;
        Ok(Some(Integration { nonce, kind, file, directory }))
    }

    /// Returns the shell's arguments with the ones that load the script added.
    pub fn args(&self, args: &[OsString]) -> Vec<OsString> {
        match self.kind {
            Kind::Bash if !has_no_rc(args) => {
                let mut new_args = vec!["--rcfile".into(), self.directory.join("bash.bash").into()];
                // Bash requires its long options before the others.
                let replaced = ["--rcfile", "--init-file", "--login", "-l"];
                let mut args = args.iter();
                while let Some(arg) = args.next() {
                    match arg.to_str() {
                        Some("--rcfile" | "--init-file") => drop(args.next()),
                        Some(arg) if replaced.contains(&arg) => {}
                        _ => new_args.push(arg.clone()),
                    }
                }
                new_args
            }
            Kind::Fish => {
                let source = format!("source {}", shell_words::quote(&self.path("fish.fish")));
                [OsString::from("-C"), source.into()].iter().chain(args).cloned().collect()
            }
            _ => args.to_vec(),
        }
    }

    /// Adds the variables that load the script.
    pub fn set_env(&self, args: &[OsString], env: &mut BTreeMap<OsString, OsString>) {
        env.insert(NONCE_FILE_VARIABLE.into(), self.file.path().into());
        let mut swap = |name: &str, value: OsString, backup: &str| {
            let user_value = env.insert(name.into(), value);
            if let Some(user_value) = user_value {
                env.insert(backup.into(), user_value);
            }
        };
        match self.kind {
            Kind::Bash if has_no_rc(args) => {
                // With --norc bash reads no start-up file, so the script can wait until the first prompt.
                let load = format!(
                    "unset PROMPT_COMMAND; . {}",
                    shell_words::quote(&self.path("bash.bash"))
                );
                env.insert("PROMPT_COMMAND".into(), load.into());
            }
            Kind::Bash => {
                if args.iter().any(|arg| arg == "-l" || arg == "--login") {
                    env.insert("AWAITTY_LOGIN".into(), "1".into());
                }
                env.insert("AWAITTY_RC".into(), rc_file(args).unwrap_or_default());
            }
            Kind::Zsh => {
                let directory = self.directory.join("zsh");
                swap("ZDOTDIR", directory.clone().into(), "AWAITTY_ZDOTDIR");
                env.insert("AWAITTY_ZDOTDIR_OURS".into(), directory.into());
            }
            Kind::Sh => {
                swap("ENV", self.directory.join("sh.sh").into(), "AWAITTY_ENV");
                env.insert("AWAITTY_ENV_OURS".into(), "1".into());
            }
            Kind::Fish => {}
        }
    }

    fn path(&self, name: &str) -> String {
        self.directory.join(name).to_string_lossy().into_owned()
    }
}

/// Returns whether these arguments make bash skip the user's start-up files.
fn has_no_rc(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--norc")
}

/// Returns the start-up file that these arguments name.
fn rc_file(args: &[OsString]) -> Option<OsString> {
    let at = args.iter().position(|arg| arg == "--rcfile" || arg == "--init-file")?;
    args.get(at + 1).cloned()
}

/// Returns whether a shell with these arguments reads commands from its terminal and can load a script first.
fn is_interactive(kind: Kind, args: &[String]) -> bool {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let is_allowed = match (kind, arg) {
            (Kind::Bash, "--rcfile" | "--init-file" | "-O" | "+O" | "-o" | "+o") => {
                args.next().is_some()
            }
            (Kind::Zsh | Kind::Sh, "-o" | "+o") => args.next().is_some(),
            (_, "--login" | "--interactive") => true,
            (Kind::Bash, "--norc" | "--noprofile" | "--noediting") => true,
            (Kind::Fish, "--private" | "--no-config") => true,
            // Combined short options: with `c` or `s` the commands do not come from the terminal, and with `f` zsh
            // reads no start-up files.
            (_, flags) => {
                let letters = flags.strip_prefix(['-', '+']).unwrap_or_default();
                let excluded = if kind == Kind::Zsh { "csf" } else { "cs" };
                !letters.is_empty()
                    && letters.chars().all(|c| c.is_ascii_alphabetic() && !excluded.contains(c))
            }
        };
        if !is_allowed {
            return false;
        }
    }
    true
}

/// Writes the scripts to the runtime directory and returns their directory. They are the same for every shell, so they
/// stay there, and scripts that are up to date are not written again.
fn write_scripts() -> io::Result<PathBuf> {
    let directory = runtime::runtime_dir()?.join("shell");
    let files = [
        ("bash.bash", Kind::Bash.script()),
        ("fish.fish", Kind::Fish.script()),
        ("sh.sh", Kind::Sh.script()),
        ("zsh/.zshrc", Kind::Zsh.script()),
        ("zsh/.zshenv", include_str!("zshenv.zsh")),
        ("zsh/.zprofile", include_str!("zprofile.zsh")),
    ];
    fs::create_dir_all(directory.join("zsh"))?;
    for (name, text) in files {
        let path = directory.join(name);
        if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        // A rename is atomic: another shell may be reading the file.
        let new = directory.join(format!("{}.{}", name.replace('/', "-"), std::process::id()));
        fs::write(&new, text)?;
        fs::rename(&new, &path)?;
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_integrated(command: &str) -> bool {
        let argv = shell_words::split(command).unwrap();
        Kind::of(&argv[0]).is_some_and(|kind| is_interactive(kind, &argv[1..]))
    }

    #[test]
    fn only_interactive_shells_are_integrated() {
        for shell in [
            "bash",
            "/bin/bash -i",
            "bash -l",
            "bash --norc",
            "bash --rcfile x",
            "bash -O extglob",
            "zsh",
            "zsh -il",
            "zsh -o vi",
            "fish",
            "fish -il",
            "fish --private",
            "sh",
            "dash -i",
        ] {
            assert!(is_integrated(shell), "{shell}");
        }
        for other in [
            "bash -c ls",
            "bash script",
            "bash --version",
            "bash --posix",
            "bash -s",
            "bash -ic ls",
            "zsh -f",
            "zsh script",
            "fish -c ls",
            "fish x.fish",
            "sh -c ls",
            "python3",
            "bash --rcfile",
        ] {
            assert!(!is_integrated(other), "{other}");
        }
    }
}
