//! Names to terminals, and the limits on how many.

mod failed;
mod named;
mod panes;
mod room;
mod start;

pub use named::{IfExists, Spawned};
pub use start::DEFAULT_PATH;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::Instant;

use self::failed::spawn_failed;
use self::start::{integration, resolve};
use crate::channels::Signals;
use crate::error::ToolError;
use crate::io::pty::Pty;
use crate::io::tmux;
use crate::limits::{self, Limits};
use crate::people::People;
use crate::platform::leaders::{Leader, LeadersFile};
use crate::platform::orphans;
use crate::platform::processes::{self, Survivor};
use crate::record::{Head, Recorder};
use crate::rules::{AllowAll, Rules};
use crate::runtime::SESSION_VARIABLE;
use crate::terminal::{Driver, Handle, Options, ProgramSetup};

/// Variables that speak of the terminal that somebody was started in, and not of ours.
pub const TERMINAL_VARIABLES: [&str; 10] = [
    "TERM",
    "COLORTERM",
    "TMUX",
    "TMUX_PANE",
    "STY",
    "TERM_PROGRAM",
    "TERM_PROGRAM_VERSION",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
];

/// What `spawn` is asked for, as it is meant.
#[derive(Clone, Debug)]
pub struct SpawnSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it starts; here, if nothing is said.
    pub cwd: Option<PathBuf>,
    /// Variables on top of the usual ones.
    pub env: BTreeMap<String, String>,
    /// Only `env` is passed on, and PATH.
    pub clear_env: bool,
    /// Variables in place of the server's own.
    pub inherit_env: Option<BTreeMap<String, String>>,
    /// The size.
    pub cols: usize,
    /// See `cols`.
    pub rows: usize,
    /// A name to find it by.
    pub name: Option<String>,
    /// Lines kept.
    pub scrollback: usize,
    /// The program is ended after that long.
    pub ttl: Option<Duration>,
    /// A shell is made to say what it does.
    pub shell_integration: bool,
    /// The client that asks for it.
    pub client: Arc<str>,
    /// It is recorded.
    pub record: Option<Record>,
    /// What its terminal is.
    pub place: Place,
}

/// What the terminal of a program is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A pseudo-terminal of ours.
    Pty,
    /// A window of tmux: of this session of the user's, or of one of its own in our server.
    Tmux(Option<String>),
}

/// How a program is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What is typed is recorded too, but for secrets.
    pub with_input: bool,
}

impl SpawnSpec {
    /// Returns what starts a program and its arguments in a PTY of the default size, with shell integration.
    pub fn new<W: Into<String>>(argv: impl IntoIterator<Item = W>) -> SpawnSpec {
        SpawnSpec {
            argv: argv.into_iter().map(Into::into).collect(),
            cwd: None,
            env: BTreeMap::new(),
            clear_env: false,
            inherit_env: None,
            cols: limits::COLS,
            rows: limits::ROWS,
            name: None,
            scrollback: limits::SCROLLBACK,
            ttl: None,
            shell_integration: true,
            client: "library".into(),
            record: None,
            place: Place::Pty,
        }
    }

    /// Begins the recording, if there is to be one.
    fn recorder(&self, id: &str, limits: &Limits) -> Result<Option<Recorder>, ToolError> {
        let Some(Record { with_input }) = self.record else { return Ok(None) };
        let command = shell_words::join(&self.argv);
        let timestamp = wall_clock_ms() / 1000;
        let head = Head { size: (self.cols, self.rows), command: &command, timestamp };
        let name = [Some(id), self.name.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let started = Recorder::start(&name.join("-"), &head, with_input, limits);
        started.map(Some).map_err(|error| {
            let next = "leave record out, or set AWAITTY_RECORDINGS to a folder";
            ToolError::new("spawn_failed", format!("record: {error}: {next}"))
        })
    }
}

/// A terminal that is held.
#[derive(Debug)]
pub struct Entry {
    /// `s1`, `s2`, …
    pub id: String,
    /// The name given at spawn.
    pub name: Option<String>,
    /// The command as one line.
    pub command: String,
    /// The program's number.
    pub pid: Pid,
    /// The leader as the file of leaders has it.
    leader: Option<Leader>,
    /// When it was started, in milliseconds since 1970.
    pub created_ms: u64,
    /// Lines that it may keep.
    scrollback: usize,
    /// The terminal's task.
    pub handle: Handle,
    /// The people who look at it.
    pub people: People,
    /// What its processes carry in their environment.
    mark: String,
    /// What the kernel has of the program.
    image: Option<ProgramImage>,
    /// The pane that it is, if it is one.
    pub pane: Option<(tmux::Server, String)>,
    /// How it was started; nothing of a pane that was there before us.
    pub spec: Option<SpawnSpec>,
    /// It is being ended to give way to another.
    is_ending: AtomicBool,
}

impl Entry {
    /// What it is called in results: the name, or the id.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Returns whether an id or a name stands for it. The value of AWAITTY_SESSION is as good as the id.
    pub fn is_called(&self, id: &str) -> bool {
        let is_mark = self.mark.split_once('=') == Some((SESSION_VARIABLE, id));
        self.id == id || self.name.as_deref() == Some(id) || is_mark
    }

    /// Returns the names by which a policy knows it.
    pub fn names(&self) -> Vec<&str> {
        names_of(&self.id, self.name.as_deref())
    }

    /// Refuses if a person has taken control.
    ///
    /// # Errors
    /// If a person has.
    pub async fn check_control(&self) -> Result<(), ToolError> {
        match self.handle.call(|driver| driver.control().cloned()).await.flatten() {
            Some(control) => Err(ToolError::human_has_control(&control)),
            None => Ok(()),
        }
    }

    /// Tells whether it is the pane that we run in ourselves.
    pub fn is_own_pane(&self) -> bool {
        self.pane.as_ref().is_some_and(|(server, pane)| server.is_own(pane))
    }

    /// Tells whether the program has become another (`exec`), as far as the kernel tells.
    pub fn is_replaced(&self) -> bool {
        let now = image_of(self.pid);
        now.is_some() && now != self.image
    }
}

/// What a set of terminals is created with.
#[derive(Clone, Debug)]
pub struct Config {
    /// The limits.
    pub limits: Limits,
    /// Whether checksum requests (DECRQCRA) are answered, with which a program can read text that another one printed.
    pub answers_checksums: bool,
    /// What is allowed.
    pub rules: Arc<dyn Rules>,
    /// Other tmux servers (`tmux -L NAME`) whose panes are listed.
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

/// Distinguishes the sets of terminals of one process: their session marks must differ, because the processes of a
/// terminal are found by its mark.
static LAST_SET: AtomicU64 = AtomicU64::new(0);

/// A set of terminals.
#[derive(Debug)]
pub struct Terminals {
    config: Config,
    /// The number of this set among those of the process.
    set: u64,
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Those that are being ended and are not listed any more.
    closing: Mutex<Vec<Arc<Entry>>>,
    /// Nothing is started any more, because the server ends.
    is_shut: AtomicBool,
    last_id: AtomicU64,
    /// The channels, which all terminals and clients of a server share.
    pub signals: Signals,
    /// Who waits for channels of tmux servers.
    pub tmux_channels: tmux::channels::Waiters,
    /// Where programs reach the server, once it listens.
    socket: OnceLock<PathBuf>,
    /// The file that names the session leaders, for the one that cleans up after a server that was killed.
    leaders: OnceLock<LeadersFile>,
    /// Held while a pane is attached.
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

    /// Says where programs reach the server.
    pub fn set_socket(&self, path: &Path) {
        let _ = self.socket.set(path.to_owned());
    }

    /// Sets the file of the session leaders.
    pub fn set_leaders(&self, file: LeadersFile) {
        let _ = self.leaders.set(file);
    }

    /// Where programs reach the server, if it listens.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.get().map(PathBuf::as_path)
    }

    /// All terminals, oldest first.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().clone()
    }

    /// Returns the terminal that a process belongs to: it is of the terminal's session, or descends from one that is.
    pub fn of_process(&self, pid: Pid) -> Option<Arc<Entry>> {
        let entries = self.all();
        let mut pid = pid.as_raw_nonzero().get();
        loop {
            let fields = processes::stat(pid)?;
            let number = |index: usize| fields.get(index)?.parse::<i32>().ok();
            let (parent, session) = (number(1)?, number(3)?);
            let is_of =
                |entry: &&Arc<Entry>| [pid, session].contains(&entry.pid.as_raw_nonzero().get());
            if let Some(entry) = entries.iter().find(is_of) {
                return Some(Arc::clone(entry));
            }
            // The kernel's own processes have no parent.
            if parent == 0 {
                return None;
            }
            pid = parent;
        }
    }

    /// The terminal of that id or name that is known.
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

    /// Returns the options of a new terminal that keeps that many lines.
    fn options(&self, scrollback: usize) -> Options {
        let Limits { frames, output_chars, input_queue, .. } = *self.limits();
        let answers_checksums = self.config.answers_checksums;
        Options { scrollback, frames, output_chars, input_queue, answers_checksums }
    }

    /// Starts a program in a new pseudo-terminal, and lists it.
    fn launch(
        &self,
        entries: &mut Vec<Arc<Entry>>,
        spec: SpawnSpec,
    ) -> Result<Arc<Entry>, ToolError> {
        self.check_room(entries, &spec)?;
        let id = format!("s{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        self.rules().check_seeing(&names_of(&id, spec.name.as_deref()))?;
        let mark = format!(
            "{SESSION_VARIABLE}={}.{}-{id}",
            rustix::process::getpid().as_raw_nonzero(),
            self.set
        );
        let integration = integration(&spec);
        let start = resolve(&spec, &mark, self.socket.get(), integration.as_ref(), self.rules())?;
        let recorder = spec.recorder(&id, self.limits())?;
        let start = || {
            let pty = Pty::start(&start)?;
            let pid = pty.pid();
            orphans::add_terminal(&mark, pid, pty.terminal());
            Ok((pty, pid))
        };
        let pty = processes::register(start).map_err(|error| {
            recorder.iter().for_each(Recorder::forget);
            spawn_failed(&spec, &error)
        })?;
        let pid = pty.pid();
        let leader = self.leaders.get().and_then(|file| file.add(pid));
        let is_wrapped = self.rules().has_wrapper();
        let begun = ProgramSetup { shell: integration, recorder, is_wrapped };
        let options = self.options(spec.scrollback);
        let handle = Driver::start(pty, spec.cols, spec.rows, options, begun);
        let command = shell_words::join(&spec.argv);
        let (created_ms, image) = (wall_clock_ms(), image_of(pid));
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
            mark,
            image,
            pane: None,
            spec: Some(spec),
            is_ending: AtomicBool::new(false),
        });
        entries.push(Arc::clone(&entry));
        self.end_later(&entry, ttl);
        Ok(entry)
    }

    /// Ends a program when its time is over.
    fn end_later(&self, entry: &Arc<Entry>, ttl: Option<Duration>) {
        let Some(ttl) = ttl else { return };
        let entry = Arc::downgrade(entry);
        tokio::spawn(async move {
            tokio::time::sleep_until(Instant::now() + ttl).await;
            let Some(entry) = entry.upgrade() else { return };
            end(&entry, Ending::Kill(Signal::HUP, limits::GRACE)).await;
        });
    }

    /// Ends a terminal's program and everything it started, or lets a pane of tmux go; forgets the terminal unless it is
    /// kept. It goes on to its end even if the caller goes away. Returns what it could not end.
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
        // What panicked has ended nothing, and must not be told as if it had.
        closed.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// Removes the leader of a closed session from the file of leaders, unless processes are left of it.
    fn forget_leader(&self, entry: &Entry, survivors: &[Survivor]) {
        if let (Some(file), Some(leader)) = (self.leaders.get(), entry.leader)
            && survivors.is_empty()
        {
            file.remove(leader);
        }
    }

    /// Ends everything, because the server does.
    pub async fn shut_down(&self) {
        let mut entries = {
            let mut entries = self.lock();
            self.is_shut.store(true, Ordering::Relaxed);
            std::mem::take(&mut *entries)
        };
        entries.append(&mut self.closing());
        let ending = |entry: &Entry| match entry.pane {
            // It is the user's, or meant to outlive us.
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

/// Returns the names by which a policy knows a session: the name, if it has one, and the id.
fn names_of<'n>(id: &'n str, name: Option<&'n str>) -> Vec<&'n str> {
    name.into_iter().chain([id]).collect()
}

/// A program in memory: its file, and where its stack begins, which is another place each time it is started.
type ProgramImage = (PathBuf, Option<String>);

/// What a process runs.
fn image_of(pid: Pid) -> Option<ProgramImage> {
    let pid = pid.as_raw_nonzero().get();
    let file = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    // A package upgrade deletes the file of a program that runs, and the kernel says so in its name.
    let file = match file.to_str().and_then(|name| name.strip_suffix(" (deleted)")) {
        Some(name) => PathBuf::from(name),
        None => file,
    };
    // The 28th field, of which the first two are not among these.
    Some((file, processes::stat(pid)?.get(25).cloned()))
}

/// What becomes of a terminal that is closed.
#[derive(Clone, Copy, Debug)]
pub enum Ending {
    /// All its processes get the signal, and KILL after that long.
    Kill(Signal, Duration),
    /// It goes on without us, as only a pane can.
    Detach,
}

/// Ends a terminal that is not kept: its waits, its processes, and its pane if it is one. Returns what it could not end.
async fn end_and_forget(entry: &Entry, ending: Ending) -> Vec<Survivor> {
    let _ = entry.handle.call(Driver::close).await;
    let survivors = end(entry, ending).await;
    orphans::forget(&entry.mark);
    if let (Some((server, pane)), Ending::Kill(..)) = (&entry.pane, ending) {
        let pid = entry.handle.call(|driver| driver.pid()).await;
        server.kill_pane(pane, pid.unwrap_or_default()).await;
    }
    survivors
}

/// Ends everything that belongs to a terminal, and waits until its program's exit is known. Returns what it could not end.
async fn end(entry: &Entry, ending: Ending) -> Vec<Survivor> {
    match ending {
        Ending::Detach => {
            let _ = entry.handle.call(Driver::let_go).await;
            Vec::new()
        }
        Ending::Kill(signal, grace) => {
            let survivors = processes::end_all(entry.pid, &entry.mark, signal, grace).await;
            // The task hears of it a moment after everything is gone; of a pane's end tmux tells it when it likes.
            let patience =
                if entry.pane.is_some() { limits::DRAIN_MAX } else { limits::EXIT_REPORT_MAX };
            if let Some(known) = entry.handle.call(Driver::await_exit).await {
                let _ = tokio::time::timeout(patience, known).await;
            }
            survivors
        }
    }
}

/// The wall clock, for people; nothing waits by it.
#[expect(clippy::disallowed_methods, reason = "a person wants to know when a session was started")]
pub fn wall_clock_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}
