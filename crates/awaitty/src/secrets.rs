//! Secrets that `send_input` types into programs. The operator declares them when the server starts. They are kept out
//! of results, logs and the environment of started programs.
//!
//! ```text
//! --secrets FILE ────────┐
//! AWAITTY_SECRET_* ──────┼─► declared ─► If a variable holds one, the server replaces itself (exec) without the
//! env = "VARIABLE" ──────┘              variable, and passes the secrets through a file in memory.
//! ```
//!
//! `/proc/PID/environ` shows the environment at the start of a process, and removing a variable later does not change
//! it. So only a new process image is without the variables.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use awaitty_terminal::platform::files;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Prefix of environment variables that are secrets.
pub const SECRET_PREFIX: &str = "AWAITTY_SECRET_";

/// Environment variable with the file descriptor of the file in memory, set when the server replaces itself.
pub const FD_VARIABLE: &str = "AWAITTY_SECRETS_FD";

/// Environment variable with the path of the secrets file.
pub const FILE_VARIABLE: &str = "AWAITTY_SECRETS";

/// Bytes of a secrets file, and of a file with one secret: many times the size of a private key.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Characters of a secret's name, the same as for channels.
const NAME_CHARS_MAX: usize = 128;

/// Command line options for secrets.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct SecretOptions {
    /// File of secrets for send_input, in TOML and with mode 0600: `NAME = {value = "…"}`, or `file` or `env` instead
    /// of `value`, and `only = ["/usr/bin/psql"]` for the programs that may receive it.
    #[arg(long, value_name = "FILE", env = FILE_VARIABLE)]
    pub secrets: Option<PathBuf>,
}

/// A secret, and the programs that it may be typed into.
#[derive(Clone, Serialize, Deserialize)]
pub struct Secret {
    value: String,
    /// Executables, by path or by name. Empty allows all.
    only: Vec<String>,
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("only", &self.only).finish_non_exhaustive()
    }
}

impl Secret {
    /// Returns the bytes to type.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// Returns the executables that the secret is bound to; all are allowed if there are none.
    pub fn only(&self) -> &[String] {
        &self.only
    }

    /// Returns whether the secret may be typed into a program. `None` stands for an executable that the kernel does not
    /// report.
    pub fn allows(&self, executable: Option<&Path>) -> bool {
        let is_bound_to = |bound: &String| executable.is_some_and(|found| refers_to(bound, found));
        self.only.is_empty() || self.only.iter().any(is_bound_to)
    }
}

/// Returns whether a path or a name refers to an executable. A name refers to the file in PATH, and to files of that
/// name that are owned by root and writable by root only: a wrapper in PATH may start such a file.
fn refers_to(bound: &str, found: &Path) -> bool {
    if bound.contains('/') {
        return fs::canonicalize(bound).is_ok_and(|bound| bound == found);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|directory| directory.join(bound));
    let is_of_root = || {
        let is_safe = |data: fs::Metadata| data.uid() == 0 && data.mode() & 0o022 == 0;
        found.file_name() == Some(bound.as_ref()) && found.metadata().is_ok_and(is_safe)
    };
    in_path.filter_map(|path| fs::canonicalize(path).ok()).next().as_deref() == Some(found)
        || is_of_root()
}

/// The secrets of a server, by name.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Secrets {
    by_name: BTreeMap<String, Secret>,
}

/// An entry of the secrets file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Declaration {
    value: Option<String>,
    file: Option<PathBuf>,
    env: Option<String>,
    #[serde(default)]
    only: Vec<String>,
}

impl Secrets {
    /// Returns the secret of a name. The prefix of a variable's name is optional.
    pub fn get(&self, name: &str) -> Option<&Secret> {
        let prefixed = || self.by_name.get(&format!("{SECRET_PREFIX}{name}"));
        self.by_name.get(name).or_else(prefixed)
    }

    /// Loads the secrets. If a variable holds one, the process replaces itself (exec) by an image without it, and this
    /// call returns in the new image.
    ///
    /// # Errors
    /// If the file is missing, readable by others or malformed, or exec fails. The error never contains a value.
    pub fn load(options: &SecretOptions) -> anyhow::Result<Secrets> {
        let secrets = match std::env::var(FD_VARIABLE) {
            Ok(number) => read_memory_file(&number)?,
            Err(_) => {
                let (secrets, variables) = declared(options)?;
                if !variables.is_empty() {
                    return Err(replace_process(&secrets, &variables)?);
                }
                secrets
            }
        };
        if !secrets.by_name.is_empty() {
            // Prevents other programs of the same user from reading the memory and the file descriptors of this
            // process.
            files::hide_memory()?;
        }
        Ok(secrets)
    }

    /// Replaces this process by one without secrets in its environment. Its child loads them from the file in memory.
    ///
    /// # Errors
    /// If exec fails.
    pub fn pass_on(options: &SecretOptions) -> anyhow::Result<()> {
        if std::env::var_os(FD_VARIABLE).is_none() {
            let (secrets, variables) = declared(options)?;
            if !variables.is_empty() {
                return Err(replace_process(&secrets, &variables)?);
            }
            return Ok(());
        }
        files::hide_memory()?;
        Ok(())
    }

    /// Replaces the values of secrets in all texts by their names.
    pub(crate) fn remove_from(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                for (name, secret) in &self.by_name {
                    if text.contains(&secret.value) {
                        *text = text.replace(&secret.value, &format!("(secret {name})"));
                    }
                }
            }
            Value::Array(all) => all.iter_mut().for_each(|value| self.remove_from(value)),
            Value::Object(all) => all.values_mut().for_each(|value| self.remove_from(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the values.
    pub(crate) fn values(&self) -> Vec<String> {
        self.by_name.values().map(|secret| secret.value.clone()).collect()
    }

    /// Splits a text into parts without secrets (`Ok`) and the names of the secrets between them (`Err`).
    pub(crate) fn split<'t>(
        &'t self,
        text: &'t str,
    ) -> impl Iterator<Item = Result<&'t str, &'t str>> {
        let mut rest = text;
        let mut name: Option<&'t str> = None;
        std::iter::from_fn(move || {
            if let Some(name) = name.take() {
                return Some(Err(name));
            }
            let found = self.by_name.iter().filter_map(|(name, secret)| {
                Some((rest.find(&secret.value)?, std::cmp::Reverse(secret.value.len()), name))
            });
            let Some((at, length, found)) = found.min() else {
                return Some(Ok(std::mem::take(&mut rest))).filter(|part| *part != Ok(""));
            };
            let part = &rest[..at];
            rest = &rest[at + length.0..];
            if part.is_empty() {
                return Some(Err(found));
            }
            name = Some(found);
            Some(Ok(part))
        })
    }

    /// Returns secrets for a test.
    #[cfg(test)]
    pub(crate) fn of<'s>(values: impl IntoIterator<Item = (&'s str, &'s str)>) -> Secrets {
        let secret = |value: &str| Secret { value: value.to_owned(), only: Vec::new() };
        let named = values.into_iter().map(|(name, value)| (name.to_owned(), secret(value)));
        Secrets { by_name: named.collect() }
    }

    fn add(&mut self, name: &str, value: String, only: Vec<String>) -> anyhow::Result<()> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        ensure!(
            (1..=NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(is_name),
            "the name {name:?} is not 1 to {NAME_CHARS_MAX} characters of A-Z a-z 0-9 . _ -"
        );
        ensure!(
            !value.is_empty() && !value.contains(char::is_control),
            "{name} is empty or contains control characters, so it cannot be typed"
        );
        self.by_name.insert(name.to_owned(), Secret { value, only });
        Ok(())
    }
}

/// Returns the declared secrets, and the names of the variables that hold some of them.
fn declared(options: &SecretOptions) -> anyhow::Result<(Secrets, Vec<OsString>)> {
    let (mut secrets, mut variables) = (Secrets::default(), Vec::new());
    for (name, value) in std::env::vars_os() {
        let Some(name) = name.to_str().filter(|name| name.starts_with(SECRET_PREFIX)) else {
            continue;
        };
        let value = value.to_str().map(str::to_owned).unwrap_or_default();
        secrets.add(name, value, Vec::new()).context("secret in the environment")?;
        variables.push(name.into());
    }
    let Some(path) = &options.secrets else { return Ok((secrets, variables)) };
    let named = |what: &str| format!("--secrets {}: {what}", path.display());
    let text = read_private(path).with_context(|| named("the file cannot be used"))?;
    let file: BTreeMap<String, Declaration> = toml::from_str(&text).map_err(|error| {
        // The parser's own message would quote the line with the value.
        let line = error.span().map_or(0, |span| text[..span.start].lines().count().max(1));
        anyhow::anyhow!(named(&format!("line {line}: {}", error.message())))
    })?;
    for (name, declaration) in file {
        let Declaration { value, file, env, only } = declaration;
        let value = match (value, file, env) {
            (Some(value), None, None) => value,
            (None, Some(file), None) => {
                let file = path.parent().unwrap_or(Path::new("")).join(file);
                let text = read_private(&file)
                    .with_context(|| named(&format!("{name}: file {}", file.display())))?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
            (None, None, Some(variable)) => {
                let value = std::env::var(&variable).map_err(|_| {
                    anyhow::anyhow!(named(&format!("{name}: variable {variable} is not set")))
                })?;
                variables.push(variable.into());
                value
            }
            _ => bail!(named(&format!("{name}: give one of value, file and env"))),
        };
        secrets.add(&name, value, only).with_context(|| named("the file cannot be used"))?;
    }
    Ok((secrets, variables))
}

/// Reads a file that only its owner can read. A pipe, such as `/dev/fd/3`, has no meaningful mode.
fn read_private(path: &Path) -> anyhow::Result<String> {
    let file = File::open(path)?;
    let found = file.metadata()?;
    if found.is_file() {
        let owner = found.uid();
        ensure!(
            owner == rustix::process::geteuid().as_raw() || owner == 0,
            "it belongs to another user: give a file that you own"
        );
        let mode = found.mode() & 0o777;
        ensure!(mode & 0o077 == 0, "its mode {mode:04o} lets other users access it: chmod 600 it");
    }
    let mut text = String::new();
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text)?;
    ensure!(text.len() as u64 <= FILE_BYTES_MAX, "it has more than {FILE_BYTES_MAX} bytes");
    Ok(text)
}

/// Takes the secrets from the file in memory, and empties it.
fn read_memory_file(number: &str) -> anyhow::Result<Secrets> {
    let number: i32 = number.parse().context(FD_VARIABLE)?;
    let path = files::descriptor_path(number);
    let mut file = File::options().read(true).write(true).open(path).context(FD_VARIABLE)?;
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    file.set_len(0)?;
    serde_json::from_str(&text).context(FD_VARIABLE)
}

/// Replaces this process by the same program with the same arguments, without some variables. Returns the error if exec
/// fails.
fn replace_process(secrets: &Secrets, variables: &[OsString]) -> anyhow::Result<anyhow::Error> {
    let mut file = files::memory_file("awaitty-secrets")?;
    file.write_all(serde_json::to_string(secrets)?.as_bytes())?;
    let mut words = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(words.next().unwrap_or_default()).args(words);
    for variable in variables {
        command.env_remove(variable);
    }
    let error = command.env(FD_VARIABLE, file.as_raw_fd().to_string()).exec();
    Ok(anyhow::Error::from(error).context("the server could not replace itself (exec)"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Declares a file with this text and mode.
    fn declare(name: &str, text: &str, mode: u32) -> anyhow::Result<Secrets> {
        let directory = std::env::temp_dir();
        let path = directory.join(format!("awaitty-secrets-{name}-{}", std::process::id()));
        fs::write(&path, text)?;
        fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        let found = declared(&SecretOptions { secrets: Some(path.clone()) });
        fs::remove_file(&path)?;
        found.map(|(secrets, _)| secrets)
    }

    #[test]
    fn a_file_declares_values_and_the_programs_that_may_get_them() {
        let text = "db = {value = \"hunter2\", only = [\"/bin/cat\"]}\n[plain]\nvalue = \"x\"\n";
        let secrets = declare("values", text, 0o600).unwrap();
        let db = secrets.get("db").unwrap();
        assert_eq!((db.value(), db.only()), ("hunter2", &["/bin/cat".to_owned()][..]));
        let cat = fs::canonicalize("/bin/cat").unwrap();
        let ls = fs::canonicalize("/bin/ls").unwrap();
        assert!(db.allows(Some(&cat)) && !db.allows(Some(&ls)) && !db.allows(None));
        assert!(secrets.get("plain").unwrap().allows(None), "it is bound to nothing");
        assert!(secrets.get("HOME").is_none(), "a variable is no secret");
        assert!(!format!("{secrets:?}").contains("hunter2"));
    }

    #[test]
    fn a_name_refers_to_the_file_in_path_and_not_to_any_file_of_that_name() {
        let secret = Secret { value: "x".to_owned(), only: vec!["cat".to_owned()] };
        let cat = fs::canonicalize("/bin/cat").unwrap();
        assert!(secret.allows(Some(&cat)));
        let directory = std::env::temp_dir().join(format!("awaitty-cat-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        let other = directory.join("cat");
        fs::copy(&cat, &other).unwrap();
        fs::set_permissions(&other, fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!secret.allows(Some(&other)), "other users can write it");
        fs::remove_dir_all(&directory).unwrap();
    }

    #[test]
    fn a_file_that_others_can_read_or_that_is_malformed_is_rejected() {
        let wrong = |name, text, mode| format!("{:#}", declare(name, text, mode).unwrap_err());
        assert!(wrong("mode", "a = {value = \"b\"}", 0o640).contains("chmod 600"));
        for (name, text, message) in [
            ("none", "a = {only = []}", "a: give one of value, file and env"),
            ("both", "a = {value = \"hunter2\", env = \"B\"}", "a: give one of value"),
            ("unset", "a = {env = \"NO_SUCH_VARIABLE\"}", "NO_SUCH_VARIABLE is not set"),
            ("empty", "a = {value = \"\"}", "a is empty"),
            ("control", "a = {value = \"x\\u001b\"}", "control characters"),
            (
                "long",
                &format!("{} = {{value = \"hunter2\"}}", "a".repeat(NAME_CHARS_MAX + 1)),
                "is not 1 to",
            ),
            ("name", "\"a b\" = {value = \"hunter2\"}", "the name \"a b\""),
            ("key", "a = {valeu = \"hunter2\"}", "valeu"),
            ("syntax", "\na = {value = hunter2}", "line 2"),
        ] {
            let error = wrong(name, text, 0o600);
            assert!(error.contains(message), "{name}: {error}");
            assert!(!error.contains("hunter2"), "{name}: {error}");
        }
    }

    #[test]
    fn a_text_is_split_at_secrets() {
        let secrets = Secrets::of([("A", "pass"), ("B", "password")]);
        let split = |text| secrets.split(text).collect::<Vec<_>>();
        assert_eq!(split("no secret"), [Ok("no secret")]);
        assert_eq!(split("x password!"), [Ok("x "), Err("B"), Ok("!")], "the longer one");
        assert_eq!(split("passpass"), [Err("A"), Err("A")]);
        assert_eq!(split(""), []);
    }

    #[test]
    fn a_name_may_be_as_long_as_its_limit() {
        let name = "a".repeat(NAME_CHARS_MAX);
        let secrets = declare("longest", &format!("{name} = {{value = \"b\"}}"), 0o600).unwrap();
        assert!(secrets.get(&name).is_some());
    }

    #[test]
    fn a_file_has_a_limit() {
        let text = |bytes: usize| {
            let begin = "a = {value = \"b\"} #";
            format!("{begin}{}", "x".repeat(bytes - begin.len()))
        };
        assert!(declare("full", &text(FILE_BYTES_MAX as usize), 0o600).is_ok());
        assert!(declare("long", &text(FILE_BYTES_MAX as usize + 1), 0o600).is_err());
    }
}
