//! [`Terminals`]: a set of terminals by ID and name, with its limits and rules.

mod ending;
mod entry;
mod failed;
mod named;
mod panes;
mod room;
mod spec;
mod start;

pub use ending::Ending;
pub(crate) use ending::close_with_leaks;
pub use entry::Entry;
pub use named::{IfExists, Spawned};
pub use spec::{Place, Record, SpawnSpec, TERMINAL_VARIABLES};
pub use start::DEFAULT_PATH;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::Instant;

use self::ending::{end, end_and_forget};
use self::entry::names_of;
use self::failed::spawn_failed;
use self::start::{integration, resolve};
use crate::channels::Signals;
use crate::error::ToolError;
use crate::io::disturbance::Disturbance;
use crate::io::pty::Pty;
use crate::io::tmux;
use crate::limits::{self, Limits};
use crate::people::People;
use crate::platform::leaders::LeadersFile;
use crate::platform::orphans;
use crate::platform::proc::{self, ProgramImage};
use crate::platform::processes::{self, Survivor};
use crate::record::Recorder;
use crate::rules::{AllowAll, Rules};
use crate::runtime::SESSION_VARIABLE;
use crate::terminal::{Driver, Options, ProgramSetup};

/// The configuration of a set of terminals.
#[derive(Clone, Debug)]
pub struct Config {
    /// The limits.
    pub limits: Limits,
    /// Whether terminals answer checksum requests (DECRQCRA), with which a program can read text that another one
    /// printed.
    pub answers_checksums: bool,
    /// The rules that a host enforces, such as an operator's policy.
    pub rules: Arc<dyn Rules>,
    /// Names of additional tmux servers (`tmux -L NAME`) whose panes are listed.
    pub tmux_servers: Vec<String>,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            limits: Limits::default(),
            answers_checksums: false,
            rules: Arc::new(AllowAll),
            tmux_servers: Vec::new(),
        }
    }
}

/// Number of the newest set in this process. It is part of the tag of each terminal, because IDs are unique only within
/// a set: each set counts from `s1`.
static LAST_SET: AtomicU64 = AtomicU64::new(0);

/// A set of terminals.
#[derive(Debug)]
pub struct Terminals {
    config: Config,
    /// The number of this set in the process.
    set: u64,
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Terminals that were removed from `entries` and are being ended.
    closing: Mutex<Vec<Arc<Entry>>>,
    /// The set is shut down: nothing can be started.
    is_shut: AtomicBool,
    last_id: AtomicU64,
    /// The channels, which all terminals and clients of a server share.
    pub signals: Signals,
    /// Waits for channels of tmux servers.
    pub tmux_channels: tmux::channels::Waiters,
    /// The socket of the server for programs in the terminals, once it listens.
    socket: OnceLock<PathBuf>,
    /// The file of session leaders, which the next server reads if this one is killed.
    leaders: OnceLock<LeadersFile>,
    /// Held while attaching to a pane.
    attaching: tokio::sync::Mutex<()>,
}

impl Default for Terminals {
    fn default() -> Terminals {
        Terminals::new(Config::default())
    }
}

impl Terminals {
    /// Creates an empty set.
    pub fn new(config: Config) -> Terminals {
        Terminals {
            config,
            set: LAST_SET.fetch_add(1, Ordering::Relaxed) + 1,
            entries: Mutex::default(),
            closing: Mutex::default(),
            is_shut: AtomicBool::new(false),
            last_id: AtomicU64::new(0),
            signals: Signals::default(),
            tmux_channels: tmux::channels::Waiters::default(),
            socket: OnceLock::new(),
            leaders: OnceLock::new(),
            attaching: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the limits.
    pub fn limits(&self) -> &Limits {
        &self.config.limits
    }

    /// Returns the rules.
    pub fn rules(&self) -> &dyn Rules {
        &*self.config.rules
    }

    /// Returns the tmux servers whose panes are listed: the default one, our own, and the configured ones.
    pub fn tmux_servers(&self) -> Vec<tmux::Server> {
        let named = self.config.tmux_servers.iter().map(|name| tmux::Server::named(name));
        let own = tmux::Server::named(tmux::own::OWN_SERVER);
        [tmux::Server::default(), own].into_iter().chain(named).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the socket for programs in the terminals.
    pub fn set_socket(&self, path: &Path) {
        let _ = self.socket.set(path.to_owned());
    }

    /// Sets the file of the session leaders.
    pub fn set_leaders(&self, file: LeadersFile) {
        let _ = self.leaders.set(file);
    }

    /// Returns the socket for programs in the terminals, if the server listens.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.get().map(PathBuf::as_path)
    }

    /// Returns all terminals, oldest first.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().clone()
    }

    /// Returns the terminal that a process belongs to: the process, or an ancestor, is in the session of the terminal.
    pub fn of_process(&self, pid: Pid) -> Option<Arc<Entry>> {
        let entries = self.all();
        let mut pid = pid.as_raw_nonzero().get();
        loop {
            let (parent, session) = proc::parent_and_session(pid)?;
            let is_of =
                |entry: &&Arc<Entry>| [pid, session].contains(&entry.pid.as_raw_nonzero().get());
            if let Some(entry) = entries.iter().find(is_of) {
                return Some(Arc::clone(entry));
            }
            // Init and kernel threads have no parent.
            if parent == 0 {
                return None;
            }
            pid = parent;
        }
    }

    /// Returns the terminal with an ID or a name; without `id`, the only one in the set.
    fn known(&self, id: Option<&str>) -> Result<Arc<Entry>, ToolError> {
        let entries = self.lock();
        let found = match id {
            Some(id) => entries.iter().find(|entry| entry.is_called(id)),
            None if entries.len() == 1 => entries.first(),
            None => None,
        };
        let known: Vec<String> = entries
            .iter()
            .map(|entry| match &entry.name {
                Some(name) => format!("{} ({name})", entry.id),
                None => entry.id.clone(),
            })
            .collect();
        let known = match known.as_slice() {
            [] => "There is none yet: spawn one".to_owned(),
            known => format!("There are: {}", known.join(", ")),
        };
        found.cloned().ok_or_else(|| {
            let what = match id {
                Some(id) => format!("there is no session {id:?}"),
                None => "session_id is needed unless exactly one session is running".to_owned(),
            };
            ToolError::new("unknown_session", format!("{what}. {known}"))
        })
    }

    /// Returns the options of a new terminal.
    fn options(&self, scrollback: usize) -> Options {
        let Limits { frames, output_chars, input_queue, .. } = *self.limits();
        let answers_checksums = self.config.answers_checksums;
        Options { scrollback, frames, output_chars, input_queue, answers_checksums }
    }

    /// Starts a program in a new PTY, and lists it.
    fn launch(
        &self,
        entries: &mut Vec<Arc<Entry>>,
        spec: SpawnSpec,
    ) -> Result<Arc<Entry>, ToolError> {
        self.check_room(entries, &spec)?;
        let id = format!("s{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        self.rules().check_seeing(&names_of(&id, spec.name.as_deref()))?;
        let tag = format!(
            "{SESSION_VARIABLE}={}.{}-{id}",
            rustix::process::getpid().as_raw_nonzero(),
            self.set
        );
        let integration = integration(&spec);
        let start = resolve(&spec, &tag, self.socket.get(), integration.as_ref(), self.rules())?;
        let recorder = spec.recorder(&id, self.limits())?;
        let start = || {
            let mut pty = Pty::start(&start)?;
            if let Some(seed) = spec.disturbance {
                pty.disturb(Disturbance::new(seed));
            }
            let pid = pty.pid();
            orphans::add_terminal(&tag, pid, pty.terminal());
            Ok((pty, pid))
        };
        let pty = processes::register(start).map_err(|error| {
            recorder.iter().for_each(Recorder::forget);
            spawn_failed(&spec, &error)
        })?;
        let pid = pty.pid();
        let leader = self.leaders.get().and_then(|file| file.add(pid));
        let is_wrapped = self.rules().has_wrapper();
        let setup = ProgramSetup { shell: integration, recorder, is_wrapped };
        let options = self.options(spec.scrollback);
        let handle = Driver::start(pty, spec.cols, spec.rows, options, setup);
        let command = shell_words::join(&spec.argv);
        let (created_ms, image) = (wall_clock_ms(), ProgramImage::of(pid));
        let (ttl, scrollback) = (spec.ttl, spec.scrollback);
        let entry = Arc::new(Entry {
            id,
            name: spec.name.clone(),
            command,
            pid,
            leader,
            created_ms,
            scrollback,
            handle,
            people: People::default(),
            tag,
            image,
            pane: None,
            spec: Some(spec),
            is_ending: AtomicBool::new(false),
        });
        entries.push(Arc::clone(&entry));
        self.end_later(&entry, ttl);
        Ok(entry)
    }

    /// Ends a program after its `ttl`.
    fn end_later(&self, entry: &Arc<Entry>, ttl: Option<Duration>) {
        let Some(ttl) = ttl else { return };
        let entry = Arc::downgrade(entry);
        tokio::spawn(async move {
            tokio::time::sleep_until(Instant::now() + ttl).await;
            let Some(entry) = entry.upgrade() else { return };
            end(&entry, Ending::Kill(Signal::HUP, limits::GRACE)).await;
        });
    }

    /// Ends the program of a terminal and everything that it started, or detaches from a tmux pane. Removes the
    /// terminal from the set unless `keep` is true. Continues even if the caller drops the future. Returns the
    /// processes that survived.
    pub async fn close(
        self: &Arc<Self>,
        entry: &Arc<Entry>,
        ending: Ending,
        keep: bool,
    ) -> Vec<Survivor> {
        if !keep {
            self.lock().retain(|other| !Arc::ptr_eq(other, entry));
            self.closing().push(Arc::clone(entry));
        }
        let (sessions, entry) = (Arc::clone(self), Arc::clone(entry));
        let close = async move {
            let survivors =
                if keep { end(&entry, ending).await } else { end_and_forget(&entry, ending).await };
            sessions.closing().retain(|other| !Arc::ptr_eq(other, &entry));
            if !keep {
                sessions.forget_leader(&entry, &survivors);
            }
            survivors
        };
        let closed = tokio::spawn(close).await;
        // After a panic it is unknown which processes still run, so the caller gets the panic instead of a result.
        closed.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// Removes the leader of a closed session from the file of leaders, unless processes survived.
    fn forget_leader(&self, entry: &Entry, survivors: &[Survivor]) {
        if let (Some(file), Some(leader)) = (self.leaders.get(), entry.leader)
            && survivors.is_empty()
        {
            file.remove(leader);
        }
    }

    /// Ends all programs, and detaches from all panes. Nothing can be started afterwards.
    pub async fn shut_down(&self) {
        let mut entries = {
            let mut entries = self.lock();
            self.is_shut.store(true, Ordering::Relaxed);
            std::mem::take(&mut *entries)
        };
        entries.append(&mut self.closing());
        let ending = |entry: &Entry| match entry.pane {
            // A pane belongs to the user, or was started to outlive the server.
            Some(_) => Ending::Detach,
            None => Ending::Kill(Signal::HUP, limits::SHUTDOWN_GRACE),
        };
        let all = entries.iter().map(|entry| end(entry, ending(entry)));
        futures::future::join_all(all).await;
    }

    fn closing(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the wall-clock time in milliseconds since the Unix epoch, for display. No wait depends on it.
#[expect(clippy::disallowed_methods, reason = "people read when a session was started")]
pub fn wall_clock_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
