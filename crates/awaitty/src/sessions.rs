//! The terminals of a server, with the settings of its operator: policy, secrets, limits, and directories for files.

use std::ops::Deref;
use std::sync::Arc;

pub use awaitty_terminal::terminals::*;
use serde_json::Value;

use crate::export::{Logs, Traces};
use crate::files::AllowedDirectories;
use crate::operator::Policy;
use crate::policy::limits;
use crate::secrets::{Secret, Secrets};

/// Other tmux servers whose panes are listed.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TmuxServers {
    /// Also list the panes of this tmux server (`tmux -L NAME`); may be given several times.
    #[arg(
        long = "tmux-socket",
        env = "AWAITTY_TMUX_SOCKET",
        value_name = "NAME",
        value_delimiter = ','
    )]
    pub names: Vec<String>,
}

/// The settings of a server's sessions.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Whether checksum requests (DECRQCRA) are answered.
    pub answers_checksums: bool,
    /// Other tmux servers whose panes are listed.
    pub tmux_servers: Vec<String>,
    /// The policy of the operator.
    pub policy: Policy,
    /// The secrets that may be typed.
    pub secrets: Secrets,
    /// The directories in which files may be written.
    pub directories: AllowedDirectories,
}

/// The terminals of a server with its settings. Dereferences to [`Terminals`].
#[derive(Debug)]
pub struct Sessions {
    terminals: Arc<Terminals>,
    policy: Policy,
    secrets: Secrets,
    directories: AllowedDirectories,
    pub(crate) logs: Logs,
    pub(crate) traces: Traces,
}

impl Default for Sessions {
    fn default() -> Sessions {
        Sessions::new(Settings::default())
    }
}

impl Deref for Sessions {
    type Target = Arc<Terminals>;

    fn deref(&self) -> &Arc<Terminals> {
        &self.terminals
    }
}

impl Sessions {
    /// Creates an empty set of sessions.
    pub fn new(settings: Settings) -> Sessions {
        let Settings { answers_checksums, tmux_servers, policy, secrets, directories } = settings;
        let terminals = Terminals::new(Config {
            limits: limits().of_terminals(),
            answers_checksums,
            rules: Arc::new(policy.clone()),
            tmux_servers,
        });
        let (logs, traces) = (Logs::default(), Traces::default());
        Sessions { terminals: Arc::new(terminals), policy, secrets, directories, logs, traces }
    }

    /// Ends all programs as [`Terminals::shut_down`] does, and writes the pages of all traces.
    pub async fn shut_down(&self) {
        self.terminals.shut_down().await;
        self.traces.finish().await;
    }

    /// Returns the policy of the operator.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the secret with a name, if the operator has declared it.
    pub fn secret(&self, name: &str) -> Option<&Secret> {
        self.secrets.get(name)
    }

    /// Returns the directories in which files may be written.
    pub fn directories(&self) -> &AllowedDirectories {
        &self.directories
    }

    /// Returns the declared secrets.
    pub(crate) fn secrets(&self) -> &Secrets {
        &self.secrets
    }

    /// Returns whether a text has the value of a declared secret.
    pub(crate) fn has_secret(&self, text: &str) -> bool {
        self.secrets.split(text).any(|part| part.is_err())
    }

    /// Removes the values of declared secrets from texts.
    pub(crate) fn remove_secrets(&self, value: &mut Value) {
        self.secrets.remove_from(value);
    }
}
