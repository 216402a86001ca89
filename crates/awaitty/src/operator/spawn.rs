//! Rules for started programs: executable, working directory, environment, and a wrapper command.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use super::globs::Globs;
use super::policy::denied;
use awaitty_terminal::ToolError;

/// Variables that a program inherits with `env = "minimal"`: what it needs to find files and the user's language.
const MINIMAL_ENV: [&str; 9] =
    ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_*", "TZ", "TMPDIR"];

/// Words of a wrapper command; enough for a long sandbox command.
const WRAP_WORDS_MAX: usize = 1_000;

/// The rules of `[spawn]`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SpawnRules {
    allow: Option<Globs>,
    deny: Globs,
    dirs: Option<Globs>,
    /// Names of the variables to inherit; `None` for all.
    pass: Option<Globs>,
    wrap: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct SpawnFile {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
    dirs: Option<Vec<String>>,
    env: EnvRule,
    pass: Vec<String>,
    wrap: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EnvRule {
    #[default]
    Inherit,
    Minimal,
}

impl SpawnRules {
    pub(super) fn new(file: SpawnFile) -> anyhow::Result<SpawnRules> {
        let SpawnFile { allow, deny, dirs, env, pass, wrap } = file;
        ensure!(
            env == EnvRule::Minimal || pass.is_empty(),
            "spawn.pass: all variables are already inherited: add env = \"minimal\", or remove pass"
        );
        ensure!(
            wrap.len() <= WRAP_WORDS_MAX,
            "spawn.wrap: it has {} words, which is more than {WRAP_WORDS_MAX}",
            wrap.len()
        );
        if let Some(program) = wrap.first() {
            ensure!(
                find_in_path(OsStr::new(program)).is_some(),
                "spawn.wrap: {program:?} is not in PATH: install it, or give its path"
            );
        }
        let pass = (env == EnvRule::Minimal).then(|| {
            let names = MINIMAL_ENV.iter().map(|&name| name.to_owned()).chain(pass).collect();
            Globs::of_names(names).context("spawn.pass")
        });
        Ok(SpawnRules {
            allow: allow.map(|all| Globs::of_programs(all).context("spawn.allow")).transpose()?,
            deny: Globs::of_programs(deny).context("spawn.deny")?,
            dirs: dirs.map(|all| Globs::of_paths(all).context("spawn.dirs")).transpose()?,
            pass: pass.transpose()?,
            wrap,
        })
    }

    /// Checks that a program may be started in a directory. `program` is the resolved path of the command.
    ///
    /// # Errors
    /// If it may not.
    pub(crate) fn check(&self, program: &Path, directory: &Path) -> Result<(), ToolError> {
        // A file that disappears before the start cannot be started.
        let real = fs::canonicalize(program).unwrap_or_else(|_| program.to_owned());
        let shown = real.display();
        let names = [program.file_name(), real.file_name()].map(Option::unwrap_or_default);
        let is_denied = |glob: &super::globs::Glob| match glob.is_path() {
            true => glob.matches(program) || glob.matches(&real),
            false => names.iter().any(|name| glob.matches(name)),
        };
        if let Some(glob) = self.deny.iter().find(|glob| is_denied(glob)) {
            let allowed = self.describe_allowed();
            return Err(denied(
                &format!("command: spawn.deny contains {:?}, which matches {shown}", glob.text()),
                &allowed,
            ));
        }
        // A bare name refers to the file that the server's PATH finds, not to any file of that name.
        let is_allowed = |glob: &super::globs::Glob| match glob.is_path() {
            true => glob.matches(&real),
            false => names
                .iter()
                .any(|name| glob.matches(name) && find_in_path(name).as_deref() == Some(&*real)),
        };
        if self.allow.as_ref().is_some_and(|allow| !allow.iter().any(is_allowed)) {
            let allowed = self.describe_allowed();
            return Err(denied(
                &format!("command: spawn.allow does not contain {shown}"),
                &allowed,
            ));
        }
        let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
        match &self.dirs {
            Some(dirs) if !dirs.matches(&[&directory]) => Err(denied(
                &format!("cwd: spawn.dirs does not contain {}", directory.display()),
                &format!("these directories are allowed: {}", dirs.describe()),
            )),
            _ => Ok(()),
        }
    }

    fn describe_allowed(&self) -> String {
        match &self.allow {
            Some(allow) => format!("these programs are allowed: {}", allow.describe()),
            None => format!("all programs are allowed except {}", self.deny.describe()),
        }
    }

    /// Removes the variables that programs must not inherit.
    pub(crate) fn filter(&self, env: &mut BTreeMap<OsString, OsString>) {
        if let Some(pass) = &self.pass {
            env.retain(|name, _| pass.matches(&[name]));
        }
    }

    /// Returns the wrapper command and the path of its program.
    ///
    /// # Errors
    /// If the program does not exist any more.
    pub(crate) fn wrapping(&self) -> Result<Option<(PathBuf, &[String])>, ToolError> {
        let Some(program) = self.wrap.first() else { return Ok(None) };
        let found = find_in_path(OsStr::new(program)).ok_or_else(|| {
            let message =
                format!("spawn.wrap of the policy: {program:?} is no longer in PATH (ENOENT)");
            ToolError::new("spawn_failed", message)
        })?;
        Ok(Some((found, &self.wrap)))
    }

    /// Returns whether there is a wrapper command.
    pub(crate) fn is_wrapped(&self) -> bool {
        !self.wrap.is_empty()
    }

    pub(super) fn describe(&self) -> Vec<(&'static str, String)> {
        let listed = |globs: Option<&Globs>| globs.map_or("all".to_owned(), Globs::describe);
        let wrap = match self.wrap.is_empty() {
            true => "none".to_owned(),
            false => shell_words::join(&self.wrap),
        };
        vec![
            ("spawn.allow", listed(self.allow.as_ref())),
            ("spawn.deny", self.deny.describe()),
            ("spawn.dirs", listed(self.dirs.as_ref())),
            ("spawn.env", listed(self.pass.as_ref())),
            ("spawn.wrap", wrap),
        ]
    }
}

/// Returns the resolved path of a name in the server's PATH, or of a path.
fn find_in_path(name: &OsStr) -> Option<PathBuf> {
    if Path::new(name).components().count() > 1 {
        return fs::canonicalize(name).ok();
    }
    let path = std::env::var_os("PATH").unwrap_or_else(|| crate::sessions::DEFAULT_PATH.into());
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
    };
    let found =
        std::env::split_paths(&path).map(|directory| directory.join(name)).find(is_program)?;
    fs::canonicalize(found).ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use tempfile::TempDir;

    use super::*;

    fn rules(text: &str) -> SpawnRules {
        SpawnRules::new(toml::from_str(text).unwrap()).unwrap()
    }

    fn is_allowed(rules: &SpawnRules, program: &str) -> bool {
        rules.check(Path::new(program), Path::new("/")).is_ok()
    }

    fn path_in(directory: &TempDir, name: &str) -> String {
        directory.path().join(name).to_str().unwrap().to_owned()
    }

    #[test]
    fn links_to_programs_are_resolved() {
        let directory = tempfile::tempdir().unwrap();
        symlink("/bin/sh", path_in(&directory, "harmless")).unwrap();
        let denies_shells = rules("deny = [\"/bin/sh\"]");
        assert!(!is_allowed(&denies_shells, "/bin/sh"));
        assert!(!is_allowed(&denies_shells, &path_in(&directory, "harmless")));
        let up = path_in(&directory, "../").clone() + "../../bin/sh";
        assert!(!is_allowed(&denies_shells, &up), "{up}");
        // Matches the name of the link and of its target.
        let real = fs::canonicalize("/bin/sh").unwrap();
        let name = real.file_name().unwrap().to_str().unwrap();
        assert!(!is_allowed(
            &rules(&format!("deny = [{name:?}]")),
            &path_in(&directory, "harmless")
        ));
        assert!(!is_allowed(&rules("deny = [\"harm*\"]"), &path_in(&directory, "harmless")));
        let allows_directory = rules(&format!("allow = [\"{}/*\"]", directory.path().display()));
        assert!(
            !is_allowed(&allows_directory, &path_in(&directory, "harmless")),
            "a link leads out of it"
        );
        assert!(is_allowed(&rules("allow = [\"/bin/sh\"]"), &path_in(&directory, "harmless")));
    }

    #[test]
    fn a_bare_name_allows_only_the_program_in_the_server_path() {
        let directory = tempfile::tempdir().unwrap();
        fs::copy("/bin/true", path_in(&directory, "sleep")).unwrap();
        let allows_sleep = rules("allow = [\"sleep\"]");
        assert!(is_allowed(&allows_sleep, "/bin/sleep"));
        assert!(!is_allowed(&allows_sleep, &path_in(&directory, "sleep")));
        assert!(!is_allowed(&allows_sleep, "/bin/cat"));
        let error = allows_sleep.check(Path::new("/bin/cat"), Path::new("/")).unwrap_err();
        assert!(
            error.message.contains("spawn.allow") && error.message.contains("sleep"),
            "{error}"
        );
    }

    #[test]
    fn directories_are_compared_with_their_links_resolved() {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(path_in(&directory, "in/below")).unwrap();
        symlink("/", path_in(&directory, "in/out")).unwrap();
        let rules = rules(&format!("dirs = [\"{}/**\"]", path_in(&directory, "in")));
        let checked = |path: &str| rules.check(Path::new("/bin/sh"), Path::new(path)).is_ok();
        assert!(checked(&path_in(&directory, "in")) && checked(&path_in(&directory, "in/below")));
        for path in ["in/out", "in/..", "in/below/../.."] {
            assert!(!checked(&path_in(&directory, path)), "{path}");
        }
    }

    #[test]
    fn a_minimal_environment_has_the_default_and_the_passed_variables() {
        let rules = rules("env = \"minimal\"\npass = [\"CARGO_*\"]");
        let names = ["PATH", "LC_TIME", "LCX", "CARGO_HOME", "OPENAI_API_KEY", "HOME"];
        let mut env = names.map(|name| (OsString::from(name), OsString::from("x"))).into();
        rules.filter(&mut env);
        let left: Vec<_> = env.into_keys().collect();
        assert_eq!(left, ["CARGO_HOME", "HOME", "LC_TIME", "PATH"]);
    }

    #[test]
    fn wrapping_commands_have_a_limit() {
        let words = |count| vec!["sh"; count];
        let load = |count| {
            let file: SpawnFile = toml::from_str(&format!("wrap = {:?}", words(count))).unwrap();
            SpawnRules::new(file)
        };
        assert!(load(WRAP_WORDS_MAX).is_ok() && load(WRAP_WORDS_MAX + 1).is_err());
    }
}
