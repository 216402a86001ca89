//! Checks of the limits before a session is added.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::{Entry, SpawnSpec, Terminals};
use crate::error::ToolError;

impl Terminals {
    /// Checks all limits for the session of a new program.
    pub(super) fn check_room(
        &self,
        entries: &[Arc<Entry>],
        spec: &SpawnSpec,
    ) -> Result<(), ToolError> {
        self.check_lines(entries, spec.name.as_deref(), spec.scrollback)?;
        let is_of_client = |entry: &&Arc<Entry>| {
            entry.spec.as_ref().is_some_and(|other| other.client == spec.client)
        };
        let count = entries.iter().filter(is_of_client).count();
        match self.rules().terminals_per_client() {
            Some(allowed) if count >= allowed => Err(ToolError::new(
                "limit_reached",
                format!(
                    "this client has {count} sessions, and limits.sessions of the operator's policy allows {allowed}: \
                     end some with close_session"
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Checks the limits for a session with a name and a scrollback.
    pub(super) fn check_lines(
        &self,
        entries: &[Arc<Entry>],
        name: Option<&str>,
        scrollback: usize,
    ) -> Result<(), ToolError> {
        if self.is_shut.load(Ordering::Relaxed) {
            let message = "the server is shutting down: start another, and call again";
            return Err(ToolError::new("spawn_failed", message));
        }
        if entries.len() >= self.limits().sessions {
            return Err(ToolError::new(
                "limit_reached",
                format!(
                    "there are {} sessions, which is the limit: end some with close_session",
                    entries.len()
                ),
            ));
        }
        let kept: usize = entries.iter().map(|entry| entry.scrollback).sum();
        let allowed = self.limits().scrollback_sum;
        if kept + scrollback > allowed {
            return Err(ToolError::new(
                "limit_reached",
                format!(
                    "scrollback: {} sessions reserve {kept} lines, and {scrollback} more would exceed the limit of \
                     {allowed}: end some with close_session, or give a smaller scrollback",
                    entries.len()
                ),
            ));
        }
        let is_taken =
            |entry: &Arc<Entry>| entry.name.as_deref() == name || Some(entry.id.as_str()) == name;
        match name {
            Some(name) if entries.iter().any(is_taken) => Err(ToolError::argument(format!(
                "name: a session {name:?} exists already: if_exists \"reuse\" returns it, \"restart\" ends it \
                 and starts a new one; or choose another name"
            ))),
            _ => Ok(()),
        }
    }
}
