//! [`Entry`]: a terminal in a set of terminals.

use std::sync::atomic::AtomicBool;

use rustix::process::Pid;

use super::spec::SpawnSpec;
use crate::error::ToolError;
use crate::io::tmux;
use crate::people::People;
use crate::platform::leaders::Leader;
use crate::platform::proc::ProgramImage;
use crate::runtime::SESSION_VARIABLE;
use crate::terminal::Handle;

/// A terminal in a set.
#[derive(Debug)]
pub struct Entry {
    /// The ID: `s1`, `s2`, …
    pub id: String,
    /// The name given at spawn.
    pub name: Option<String>,
    /// The command as one line.
    pub command: String,
    /// PID of the program.
    pub pid: Pid,
    /// The session leader as the file of leaders identifies it.
    pub(super) leader: Option<Leader>,
    /// Start time, in milliseconds since the Unix epoch.
    pub created_ms: u64,
    /// Lines of scrollback.
    pub(super) scrollback: usize,
    /// The task of the terminal.
    pub handle: Handle,
    /// People who are attached.
    pub people: People,
    /// The tag: an entry in the environment of its processes, by which they are found.
    pub(super) tag: String,
    /// The image of the program right after its start.
    pub(super) image: Option<ProgramImage>,
    /// The tmux pane, if the terminal is one.
    pub pane: Option<(tmux::Server, String)>,
    /// How it was started. `None` for a pane that we did not start.
    pub spec: Option<SpawnSpec>,
    /// It is being ended, because another one replaces it.
    pub(super) is_ending: AtomicBool,
}

impl Entry {
    /// Returns its name in results: the given name, or the ID.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns whether a name, an ID or a value of `AWAITTY_SESSION` refers to it.
    pub fn is_called(&self, id: &str) -> bool {
        let is_tag = self.tag.split_once('=') == Some((SESSION_VARIABLE, id));
        self.id == id || self.name.as_deref() == Some(id) || is_tag
    }

    /// Returns the names by which a policy refers to it.
    pub fn names(&self) -> Vec<&str> {
        names_of(&self.id, self.name.as_deref())
    }

    /// Checks that no person has taken control.
    ///
    /// # Errors
    /// If a person has.
    pub async fn check_control(&self) -> Result<(), ToolError> {
        match self.handle.call(|driver| driver.control().cloned()).await.flatten() {
            Some(control) => Err(ToolError::human_has_control(&control)),
            None => Ok(()),
        }
    }

    /// Returns whether it is the pane in which this process runs.
    pub fn is_own_pane(&self) -> bool {
        self.pane.as_ref().is_some_and(|(server, pane)| server.is_own(pane))
    }

    /// Returns whether the program has replaced itself by another one (exec), as far as the kernel shows it.
    pub fn is_replaced(&self) -> bool {
        let now = ProgramImage::of(self.pid);
        now.is_some() && now != self.image
    }
}

/// Returns the names by which a policy refers to a terminal: the given name, if it has one, and the ID.
pub(super) fn names_of<'n>(id: &'n str, name: Option<&'n str>) -> Vec<&'n str> {
    name.into_iter().chain([id]).collect()
}
