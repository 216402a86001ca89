//! What a host allows: which programs may be started, and which terminals may be used.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Debug;
use std::path::{Path, PathBuf};

use crate::error::ToolError;

/// The command that every program runs inside: its path and its words, of which the first is `argv[0]`.
pub type Wrapper<'r> = (PathBuf, &'r [String]);

/// Decides what is allowed. Every method allows everything by default.
pub trait Rules: Debug + Send + Sync {
    /// Checks that a program may be started in a directory.
    ///
    /// # Errors
    /// If a rule forbids it; the error names the rule.
    fn check_program(&self, program: &Path, directory: &Path) -> Result<(), ToolError> {
        let _ = (program, directory);
        Ok(())
    }

    /// Removes the variables that a program must not inherit.
    fn filter_environment(&self, environment: &mut BTreeMap<OsString, OsString>) {
        let _ = environment;
    }

    /// Returns the command that every program runs inside.
    ///
    /// # Errors
    /// If it cannot be found.
    fn wrapper(&self) -> Result<Option<Wrapper<'_>>, ToolError> {
        Ok(None)
    }

    /// Returns whether programs run inside another command.
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

    /// Returns how many terminals one client may have.
    fn terminals_per_client(&self) -> Option<usize> {
        None
    }
}

/// Allows everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct AllowAll;

impl Rules for AllowAll {}
