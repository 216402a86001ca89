//! Shells that say what they do: how they are started so, and how a command is handed to one.
//!
//! A shell that `spawn` starts is given a script of ours on top of the user's own start-up files, which run as
//! they would have. The script adds marks (OSC 133) to what the shell prints; what they mean is decided in the
//! core. They carry a nonce, so that no program can forge them. The scripts chain to whatever the user has
//! hooked in, and write nothing anywhere (docs/decisions/0004).

mod deliver;
mod foreign;
mod nonce;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

pub use deliver::is_nothing;
pub use deliver::{Keys, cancel, check_command, deliver, unclosed_group, without_group};
pub use foreign::{bootstrap, is_carrier, is_foreign, kind_of, probe, sentinel, unclosed};
pub use nonce::{Nonce, NonceFile};

use crate::runtime;

/// The shells that we know how to talk to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// bash, from 4.4 on.
    Bash,
    /// zsh.
    Zsh,
    /// fish 3 and 4.
    Fish,
    /// dash and other POSIX shells, which have no hooks but their prompts.
    Sh,
}

impl Kind {
    /// The kind of a program, by its name.
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

/// The variable that names the file with the nonce of a shell. The scripts read the file, empty it, and unset the variable.
const NONCE_FILE_VARIABLE: &str = "AWAITTY_NONCE_FILE";

/// What is to be added to a shell so that it says what it does.
#[derive(Debug)]
pub struct Integration {
    /// What its marks carry.
    pub nonce: Nonce,
    /// Which shell it is.
    pub kind: Kind,
    /// The file that hands the nonce to the shell.
    pub file: NonceFile,
    folder: PathBuf,
}

impl Integration {
    /// What a command line needs, if it starts a shell for a person, and not one for a script.
    ///
    /// # Errors
    /// If our scripts cannot be put anywhere.
    pub fn new(argv: &[String]) -> io::Result<Option<Integration>> {
        let Some((program, args)) = argv.split_first() else { return Ok(None) };
        let Some(kind) = Kind::of(program).filter(|kind| is_for_a_person(*kind, args)) else {
            return Ok(None);
        };
        let (nonce, folder) = (Nonce::new()?, write_scripts()?);
        let file = NonceFile::write(&folder, &nonce)?;
        Ok(Some(Integration { nonce, kind, file, folder }))
    }

    /// The arguments to start it with.
    pub fn args(&self, args: &[OsString]) -> Vec<OsString> {
        match self.kind {
            Kind::Bash if !has_no_rc(args) => {
                let mut ours = vec!["--rcfile".into(), self.folder.join("bash.bash").into()];
                // Bash wants its long options before the others.
                let taken = ["--rcfile", "--init-file", "--login", "-l"];
                let mut args = args.iter();
                while let Some(arg) = args.next() {
                    match arg.to_str() {
                        Some("--rcfile" | "--init-file") => drop(args.next()),
                        Some(arg) if taken.contains(&arg) => {}
                        _ => ours.push(arg.clone()),
                    }
                }
                ours
            }
            Kind::Fish => {
                let source = format!("source {}", shell_words::quote(&self.path("fish.fish")));
                [OsString::from("-C"), source.into()].iter().chain(args).cloned().collect()
            }
            _ => args.to_vec(),
        }
    }

    /// Sets the variables to start it with.
    pub fn set_env(&self, args: &[OsString], env: &mut BTreeMap<OsString, OsString>) {
        env.insert(NONCE_FILE_VARIABLE.into(), self.file.path().into());
        let mut swap = |name: &str, ours: OsString, kept: &str| {
            let theirs = env.insert(name.into(), ours);
            if let Some(theirs) = theirs {
                env.insert(kept.into(), theirs);
            }
        };
        match self.kind {
            Kind::Bash if has_no_rc(args) => {
                // No file of the user's comes after this one, so the first prompt is early enough.
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
                let ours = self.folder.join("zsh");
                swap("ZDOTDIR", ours.clone().into(), "AWAITTY_ZDOTDIR");
                env.insert("AWAITTY_ZDOTDIR_OURS".into(), ours.into());
            }
            Kind::Sh => {
                swap("ENV", self.folder.join("sh.sh").into(), "AWAITTY_ENV");
                env.insert("AWAITTY_ENV_OURS".into(), "1".into());
            }
            Kind::Fish => {}
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_string_lossy().into_owned()
    }
}

/// Tells whether bash is told to read no file of the user's.
fn has_no_rc(args: &[OsString]) -> bool {
    args.iter().any(|arg| arg == "--norc")
}

/// The file that bash is told to read.
fn rc_file(args: &[OsString]) -> Option<OsString> {
    let at = args.iter().position(|arg| arg == "--rcfile" || arg == "--init-file")?;
    args.get(at + 1).cloned()
}

/// Tells whether a shell with these arguments reads commands from its terminal, and can be told to read a
/// file of ours first.
fn is_for_a_person(kind: Kind, args: &[String]) -> bool {
    let mut args = args.iter().map(String::as_str);
    while let Some(arg) = args.next() {
        let is_fine = match (kind, arg) {
            (Kind::Bash, "--rcfile" | "--init-file" | "-O" | "+O" | "-o" | "+o") => {
                args.next().is_some()
            }
            (Kind::Zsh | Kind::Sh, "-o" | "+o") => args.next().is_some(),
            (_, "--login" | "--interactive") => true,
            (Kind::Bash, "--norc" | "--noprofile" | "--noediting") => true,
            (Kind::Fish, "--private" | "--no-config") => true,
            // Of several letters in one, `c` and `s` say where commands come from, and with `f` zsh reads
            // no files.
            (_, flags) => {
                let letters = flags.strip_prefix(['-', '+']).unwrap_or_default();
                let barred = if kind == Kind::Zsh { "csf" } else { "cs" };
                !letters.is_empty()
                    && letters.chars().all(|c| c.is_ascii_alphabetic() && !barred.contains(c))
            }
        };
        if !is_fine {
            return false;
        }
    }
    true
}

/// Puts the scripts where shells can read them, unless they are there already. They are the same for all
/// shells, so they are left there.
fn write_scripts() -> io::Result<PathBuf> {
    let folder = runtime::runtime_dir()?.join("shell");
    let files = [
        ("bash.bash", Kind::Bash.script()),
        ("fish.fish", Kind::Fish.script()),
        ("sh.sh", Kind::Sh.script()),
        ("zsh/.zshrc", Kind::Zsh.script()),
        ("zsh/.zshenv", include_str!("zshenv.zsh")),
        ("zsh/.zprofile", include_str!("zprofile.zsh")),
    ];
    fs::create_dir_all(folder.join("zsh"))?;
    for (name, text) in files {
        let path = folder.join(name);
        if fs::read(&path).is_ok_and(|found| found == text.as_bytes()) {
            continue;
        }
        // Renamed into place, because another shell may be reading it.
        let new = folder.join(format!("{}.{}", name.replace('/', "-"), std::process::id()));
        fs::write(&new, text)?;
        fs::rename(&new, &path)?;
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(command: &str) -> bool {
        let argv = shell_words::split(command).unwrap();
        Kind::of(&argv[0]).is_some_and(|kind| is_for_a_person(kind, &argv[1..]))
    }

    #[test]
    fn only_shells_for_people_are_integrated() {
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
            assert!(person(shell), "{shell}");
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
            assert!(!person(other), "{other}");
        }
    }
}
