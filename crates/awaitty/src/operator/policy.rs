//! The policy file: rules for the programs that may be started, the tools that may be called, and the sessions that may
//! be seen and typed into.
//!
//! `docs/policy.md` describes the file for operators.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use awaitty_terminal::rules::{Rules, Wrapper};
use serde::Deserialize;

use super::globs::Globs;
use super::spawn::{SpawnFile, SpawnRules};
use crate::tools;
use awaitty_terminal::ToolError;

/// Bytes of a policy file: thousands of rules.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// A policy. The default allows everything.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    pub(crate) spawn: SpawnRules,
    tools: ToolRules,
    sessions: SessionRules,
    limits: ClientLimits,
    audit: Option<PathBuf>,
}

#[derive(Clone, Debug, Default)]
struct ToolRules {
    allow: Option<Globs>,
    deny: Globs,
}

#[derive(Clone, Debug, Default)]
struct SessionRules {
    see: Option<Globs>,
    act: Option<Globs>,
}

/// Limits of one client.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClientLimits {
    /// Open sessions that it has started.
    pub sessions: Option<usize>,
    /// Calls in flight.
    pub calls: Option<usize>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    spawn: SpawnFile,
    tools: ToolsFile,
    sessions: SessionsFile,
    limits: ClientLimits,
    audit: AuditFile,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ToolsFile {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct SessionsFile {
    see: Option<Vec<String>>,
    #[serde(rename = "type")]
    act: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct AuditFile {
    file: Option<PathBuf>,
}

impl Policy {
    /// Loads a policy file.
    ///
    /// # Errors
    /// If the file cannot be read or is invalid. The error contains the path, the line and the next step.
    pub fn load(path: &Path) -> anyhow::Result<Policy> {
        let named = || format!("--policy {}", path.display());
        let size = fs::metadata(path).with_context(named)?.len();
        ensure!(
            size <= FILE_BYTES_MAX,
            "{}: the file has {size} bytes, which is more than {FILE_BYTES_MAX}",
            named()
        );
        let text = fs::read_to_string(path).with_context(named)?;
        let file: File = toml::from_str(&text)
            .map_err(|error| anyhow::anyhow!("{}: {}", named(), error.to_string().trim_end()))?;
        let directory = std::path::absolute(path)?.parent().map(Path::to_owned).unwrap_or_default();
        Policy::new(file, &directory).with_context(named)
    }

    fn new(file: File, directory: &Path) -> anyhow::Result<Policy> {
        let names = |key: &'static str, texts| Globs::of_names(texts).context(key);
        let tools = ToolRules {
            allow: file.tools.allow.map(|texts| names("tools.allow", texts)).transpose()?,
            deny: names("tools.deny", file.tools.deny)?,
        };
        for (key, globs) in
            [("tools.allow", tools.allow.as_ref()), ("tools.deny", Some(&tools.deny))]
        {
            for glob in globs.into_iter().flat_map(Globs::iter) {
                ensure!(
                    tools::names().any(|name| glob.matches(name)),
                    "{key}: {:?} matches no tool: use names or patterns of {}",
                    glob.text(),
                    tools::names().collect::<Vec<_>>().join(", ")
                );
            }
        }
        let sessions = SessionRules {
            see: file.sessions.see.map(|texts| names("sessions.see", texts)).transpose()?,
            act: file.sessions.act.map(|texts| names("sessions.type", texts)).transpose()?,
        };
        let spawn = SpawnRules::new(file.spawn)?;
        let audit = file.audit.file.map(|file| directory.join(file));
        Ok(Policy { spawn, tools, sessions, limits: file.limits, audit })
    }

    /// Returns the path of the audit log, if there is one.
    pub fn audit_file(&self) -> Option<&Path> {
        self.audit.as_deref()
    }

    /// Returns the limits of a client.
    pub fn client_limits(&self) -> ClientLimits {
        self.limits
    }

    /// Returns whether a tool may be called.
    pub fn allows_tool(&self, name: &str) -> bool {
        self.tool_rule_against(name).is_none()
    }

    /// Checks that a tool may be called.
    ///
    /// # Errors
    /// If it may not.
    pub fn check_tool(&self, name: &str) -> Result<(), ToolError> {
        let Some(rule) = self.tool_rule_against(name) else { return Ok(()) };
        let allowed: Vec<&str> = tools::names().filter(|name| self.allows_tool(name)).collect();
        let allowed = match allowed.is_empty() {
            true => "no tool is allowed".to_owned(),
            false => format!("these tools are allowed: {}", allowed.join(", ")),
        };
        Err(denied(&format!("{name}: {rule}"), &allowed))
    }

    /// Returns the rule that forbids a tool.
    fn tool_rule_against(&self, name: &str) -> Option<String> {
        // Internal tools of the command line only reach tools that have rules.
        if !tools::names().any(|known| known == name) {
            return None;
        }
        match (self.tools.deny.find(&[name]), &self.tools.allow) {
            (Some(glob), _) => Some(format!("tools.deny contains {:?}", glob.text())),
            (None, Some(allow)) if !allow.matches(&[name]) => {
                Some("tools.allow does not contain it".to_owned())
            }
            _ => None,
        }
    }

    /// Returns whether a session with one of these names may be seen.
    pub fn allows_seeing(&self, names: &[&str]) -> bool {
        self.sessions.see.as_ref().is_none_or(|see| see.matches(names))
    }

    /// Describes each rule.
    pub fn describe(&self) -> Vec<(&'static str, String)> {
        let listed = |globs: Option<&Globs>| globs.map_or("all".to_owned(), Globs::describe);
        let number = |limit: Option<usize>| limit.map_or("no limit".to_owned(), |n| n.to_string());
        let mut lines = self.spawn.describe();
        lines.extend([
            ("tools.allow", listed(self.tools.allow.as_ref())),
            ("tools.deny", self.tools.deny.describe()),
            ("sessions.see", listed(self.sessions.see.as_ref())),
            ("sessions.type", listed(self.sessions.act.as_ref())),
            ("limits.sessions", number(self.limits.sessions)),
            ("limits.calls", number(self.limits.calls)),
            (
                "audit.file",
                self.audit.as_ref().map_or("none".to_owned(), |file| file.display().to_string()),
            ),
        ]);
        lines
    }
}

impl Rules for Policy {
    fn check_program(&self, program: &Path, directory: &Path) -> Result<(), ToolError> {
        self.spawn.check(program, directory)
    }

    fn filter_environment(&self, environment: &mut BTreeMap<OsString, OsString>) {
        self.spawn.filter(environment);
    }

    fn wrapper(&self) -> Result<Option<Wrapper<'_>>, ToolError> {
        self.spawn.wrapping()
    }

    fn has_wrapper(&self) -> bool {
        self.spawn.is_wrapped()
    }

    fn check_seeing(&self, names: &[&str]) -> Result<(), ToolError> {
        check_session("sessions.see", self.sessions.see.as_ref(), names)
    }

    fn check_typing(&self, names: &[&str]) -> Result<(), ToolError> {
        self.check_seeing(names)?;
        check_session("sessions.type", self.sessions.act.as_ref(), names)
    }

    fn terminals_per_client(&self) -> Option<usize> {
        self.limits.sessions
    }
}

fn check_session(rule: &str, globs: Option<&Globs>, names: &[&str]) -> Result<(), ToolError> {
    match globs {
        Some(globs) if !globs.matches(names) => {
            let shown = names.first().copied().unwrap_or_default();
            let allowed = format!("these sessions are allowed: {}", globs.describe());
            Err(denied(&format!("session_id: {rule} does not contain {shown:?}"), &allowed))
        }
        _ => Ok(()),
    }
}

/// Returns an error that names the rule and what is allowed.
pub(super) fn denied(rule: &str, allowed: &str) -> ToolError {
    ToolError::new("denied", format!("{rule} (the operator's policy); {allowed}"))
}

/// Loads a policy file and describes its rules.
///
/// # Errors
/// As [`Policy::load`].
pub fn check_file(path: &Path) -> anyhow::Result<Vec<(&'static str, String)>> {
    Ok(Policy::load(path)?.describe())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(text: &str) -> anyhow::Result<Policy> {
        Policy::new(toml::from_str(text)?, Path::new("/etc/awaitty"))
    }

    #[test]
    fn without_rules_everything_is_allowed() {
        let policy = policy("").unwrap();
        assert!(policy.check_tool("spawn").is_ok() && policy.check_typing(&["x"]).is_ok());
        assert!(policy.audit_file().is_none());
    }

    #[test]
    fn deny_wins_over_allow() {
        let policy =
            policy("[tools]\nallow = [\"wait_*\", \"snapshot\"]\ndeny = [\"wait_for_any\"]")
                .unwrap();
        for (tool, is_allowed) in
            [("wait_for_text", true), ("snapshot", true), ("wait_for_any", false), ("spawn", false)]
        {
            let checked = policy.check_tool(tool);
            assert_eq!(checked.is_ok(), is_allowed, "{tool}");
            if let Err(error) = checked {
                assert!(error.code == "denied" && error.message.contains("snapshot"), "{error:?}");
            }
        }
    }

    #[test]
    fn a_session_that_may_not_be_seen_may_not_be_typed_into() {
        let policy =
            policy("[sessions]\nsee = [\"web-*\", \"tmux:%*\"]\ntype = [\"web-1\", \"db\"]")
                .unwrap();
        assert!(
            policy.check_seeing(&["web-2"]).is_ok() && policy.check_typing(&["web-2"]).is_err()
        );
        assert!(policy.check_typing(&["s4", "web-1"]).is_ok());
        assert!(policy.check_typing(&["db"]).is_err());
        assert!(policy.allows_seeing(&["tmux:%3"]) && !policy.allows_seeing(&["tmux:work/%3"]));
    }

    #[test]
    fn errors_name_the_key_and_the_next_step() {
        for (text, part) in [
            ("[tools]\nallow = [\"spwan\"]", "matches no tool"),
            ("[tool]", "unknown field"),
            ("[sessions]\nsees = []", "unknown field"),
            ("[spawn]\nenv = \"some\"", "minimal"),
            ("[spawn]\ndirs = [\"src\"]", "absolute path"),
            ("[spawn]\nallow = [\"[\"]", "spawn.allow"),
            ("[spawn]\nwrap = [\"no-such-command\"]", "spawn.wrap"),
            ("[spawn]\npass = [\"X\"]", "minimal"),
            ("[limits]\ncalls = -1", "calls = -1"),
        ] {
            let error = format!("{:#}", policy(text).unwrap_err());
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_examples_are_valid() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/policies");
        let observer = Policy::load(&directory.join("observer.toml")).unwrap();
        assert!(observer.check_tool("spawn").is_err() && observer.check_tool("snapshot").is_ok());
        assert!(observer.check_seeing(&["tmux:%3"]).is_ok());
        assert!(observer.check_typing(&["tmux:%3"]).is_err());
        let workstation = Policy::load(&directory.join("workstation.toml")).unwrap();
        let home = std::env::home_dir().unwrap();
        let check =
            |program, directory: &Path| workstation.spawn.check(Path::new(program), directory);
        assert!(check("/bin/sh", &home.join("src/x")).is_ok());
        assert!(check("/bin/sh", &home).is_err() && check("/bin/nc", &home.join("src")).is_err());
    }

    #[test]
    fn a_file_has_a_limit_and_paths_in_it_are_relative_to_its_directory() {
        let path = std::env::temp_dir().join(format!("awaitty-policy-{}.toml", std::process::id()));
        let size = usize::try_from(FILE_BYTES_MAX).unwrap();
        let rule = "[audit]\nfile = \"a.log\"\n";
        let text = rule.to_owned() + &" ".repeat(size - rule.len());
        fs::write(&path, text.clone() + " ").unwrap();
        assert!(format!("{:#}", Policy::load(&path).unwrap_err()).contains("more than"));
        fs::write(&path, text).unwrap();
        let policy = Policy::load(&path).unwrap();
        assert_eq!(policy.audit_file(), Some(&*path.with_file_name("a.log")));
        fs::remove_file(&path).unwrap();
    }
}
