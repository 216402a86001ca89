//! The rules of a host: which programs may be started, and which terminals may be used.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::error::ToolError;

/// The command that runs every program: its path and its argument vector, which starts with `argv[0]`.
pub type Wrapper<'r> = (PathBuf, &'r [String]);

/// The rules of a host. By default, every method allows everything.
pub trait Rules: Debug + Send + Sync {
    /// Checks that a program may be started in a directory.
    ///
    /// # Errors
    /// If a rule forbids it; the error names the rule.
    fn check_program(&self, program: &Path, directory: &Path) -> Result<(), ToolError> {
        let _ = (program, directory);
        Ok(())
    }

    /// Removes the environment variables that a program must not inherit.
    fn filter_environment(&self, environment: &mut BTreeMap<OsString, OsString>) {
        let _ = environment;
    }

    /// Returns the command that runs every program, if there is one.
    ///
    /// # Errors
    /// If the command cannot be found.
    fn wrapper(&self) -> Result<Option<Wrapper<'_>>, ToolError> {
        Ok(None)
    }

    /// Returns whether programs are run by another command.
    fn has_wrapper(&self) -> bool {
        false
    }

    /// Checks that a terminal with one of these names may be seen.
    ///
    /// # Errors
    /// If a rule forbids it; the error names the rule.
    fn check_seeing(&self, names: &[&str]) -> Result<(), ToolError> {
        let _ = names;
        Ok(())
    }

    /// Checks that a terminal with one of these names may be typed into, resized and closed.
    ///
    /// # Errors
    /// If a rule forbids it; the error names the rule.
    fn check_typing(&self, names: &[&str]) -> Result<(), ToolError> {
        let _ = names;
        Ok(())
    }

    /// Returns the maximum number of terminals of one client; `None` is no limit.
    fn terminals_per_client(&self) -> Option<usize> {
        None
    }
}

/// Rules that allow everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Rules for AllowAll {}
