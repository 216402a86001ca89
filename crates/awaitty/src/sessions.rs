//! Names to terminals, and the limits on how many.

mod failed;
mod panes;
mod room;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal};
use tokio::time::Instant;

use self::failed::spawn_failed;
use crate::backend::processes::{self, Survivor};
use crate::backend::pty::{Pty, Start};
use crate::backend::{orphans, tmux};
use crate::driver::{Begun, Driver, Handle};
use crate::error::ToolError;
use crate::people::People;
use crate::policy;
use crate::record::{Head, Recorder};
use crate::shell::Integration;
use crate::signals::Signals;
use crate::socket::{SESSION_VARIABLE, SOCKET_VARIABLE};

/// Variables that speak of the terminal that somebody was started in, and not of ours.
pub const OF_A_TERMINAL: [&str; 10] = [
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

/// Variables whose names begin so are for `secret` alone, and no program sees them.
pub const SECRET_PREFIX: &str = "AWAITTY_SECRET_";

/// Where programs are looked for if nothing is said.
const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What `spawn` is asked for, as it is meant.
#[derive(Clone, Debug)]
pub struct SpawnSpec {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// Where it starts; here, if nothing is said.
    pub cwd: Option<PathBuf>,
    /// Variables on top of the usual ones.
    pub env: BTreeMap<String, String>,
    /// The server's own variables are not passed on.
    pub clear_env: bool,
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
    /// It is recorded.
    pub record: Option<Record>,
}

/// How a program is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// What is typed is recorded too, but for secrets.
    pub with_input: bool,
}

impl SpawnSpec {
    /// Begins the recording, if there is to be one.
    fn recorder(&self, id: &str) -> Result<Option<Recorder>, ToolError> {
        let Some(Record { with_input }) = self.record else { return Ok(None) };
        let command = shell_words::join(&self.argv);
        let timestamp = wall_clock_ms() / 1000;
        let head = Head { size: (self.cols, self.rows), command: &command, timestamp };
        let name = [Some(id), self.name.as_deref()].into_iter().flatten().collect::<Vec<_>>();
        let started = Recorder::start(&name.join("-"), &head, with_input);
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
    image: Option<Image>,
    /// The pane that it is, if it is one.
    pub pane: Option<(tmux::Server, String)>,
}

impl Entry {
    /// What it is called in results: the name, or the id.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
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

/// The terminals of a server.
#[derive(Debug, Default)]
pub struct Sessions {
    entries: Mutex<Vec<Arc<Entry>>>,
    /// Those that are being ended and are not listed any more.
    closing: Mutex<Vec<Arc<Entry>>>,
    last_id: AtomicU64,
    /// The channels, which all terminals and clients of a server share.
    pub signals: Signals,
    /// Who waits for channels of tmux servers.
    pub tmux_channels: tmux::channels::Waiters,
    /// Where programs reach the server, once it listens.
    socket: OnceLock<PathBuf>,
    /// Where the numbers of the leaders are written down, for whoever cleans up after a server that was
    /// killed.
    leaders: OnceLock<PathBuf>,
    /// Held while a pane is attached.
    attaching: tokio::sync::Mutex<()>,
}

impl Sessions {
    fn lock(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Says where programs reach the server.
    pub fn set_socket(&self, path: &Path) {
        let _ = self.socket.set(path.to_owned());
    }

    /// Says where to write down the numbers of leaders.
    pub fn set_leaders(&self, path: PathBuf) {
        let _ = self.leaders.set(path);
    }

    /// Where programs reach the server, if it listens.
    pub fn socket(&self) -> Option<&Path> {
        self.socket.get().map(PathBuf::as_path)
    }

    /// All terminals, oldest first.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.lock().clone()
    }

    /// The terminal of that id or name that is known.
    fn known(&self, id: Option<&str>) -> Result<Arc<Entry>, ToolError> {
        let entries = self.lock();
        let found = match id {
            // What a program finds in AWAITTY_SESSION is as good as the id.
            Some(id) => entries.iter().find(|entry| {
                let is_mark = entry.mark.split_once('=') == Some((SESSION_VARIABLE, id));
                entry.id == id || entry.name.as_deref() == Some(id) || is_mark
            }),
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

    /// Starts a program in a new terminal.
    pub fn spawn(&self, spec: SpawnSpec) -> Result<Arc<Entry>, ToolError> {
        let mut entries = self.lock();
        self.check_room(&entries, spec.name.as_deref(), spec.scrollback)?;
        let id = format!("s{}", self.last_id.fetch_add(1, Ordering::Relaxed) + 1);
        let mark =
            format!("{SESSION_VARIABLE}={}-{id}", rustix::process::getpid().as_raw_nonzero());
        let integration = integration(&spec);
        let start = resolve(&spec, &mark, self.socket.get(), integration.as_ref())?;
        let recorder = spec.recorder(&id)?;
        let start = || {
            let pty = Pty::start(&start)?;
            let pid = pty.pid();
            orphans::opened(&mark, pid, pty.terminal());
            Ok((pty, pid))
        };
        let pty = processes::register(start).map_err(|error| {
            recorder.iter().for_each(Recorder::forget);
            spawn_failed(&spec, &error)
        })?;
        let pid = pty.pid();
        if let Some(path) = self.leaders.get() {
            // Without it less is found after a kill; nothing else depends on it.
            let file = std::fs::File::options().append(true).create(true).open(path);
            let _ = file.and_then(|mut file| writeln!(file, "{}", pid.as_raw_nonzero()));
        }
        let shell = integration.map(|integration| (integration.nonce, integration.kind));
        let begun = Begun { shell, recorder };
        let handle = Driver::start(pty, spec.cols, spec.rows, spec.scrollback, begun);
        let command = shell_words::join(&spec.argv);
        let (created_ms, image) = (wall_clock_ms(), image_of(pid));
        let entry = Arc::new(Entry {
            id,
            name: spec.name,
            command,
            pid,
            created_ms,
            scrollback: spec.scrollback,
            handle,
            people: People::default(),
            mark,
            image,
            pane: None,
        });
        entries.push(Arc::clone(&entry));
        self.end_later(&entry, spec.ttl);
        Ok(entry)
    }

    /// Ends a program when its time is over.
    fn end_later(&self, entry: &Arc<Entry>, ttl: Option<Duration>) {
        let Some(ttl) = ttl else { return };
        let entry = Arc::downgrade(entry);
        tokio::spawn(async move {
            tokio::time::sleep_until(Instant::now() + ttl).await;
            let Some(entry) = entry.upgrade() else { return };
            end(&entry, Ending::Kill(Signal::HUP, policy::GRACE)).await;
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
            if !keep {
                let _ = entry.handle.call(Driver::close).await;
            }
            let survivors = end(&entry, ending).await;
            if !keep {
                orphans::forget(&entry.mark);
            }
            if let (Some((server, pane)), Ending::Kill(..), false) = (&entry.pane, ending, keep) {
                let pid = entry.handle.call(|driver| driver.pid()).await;
                server.kill_pane(pane, pid.unwrap_or_default()).await;
            }
            sessions.closing().retain(|other| !Arc::ptr_eq(other, &entry));
            survivors
        };
        let closed = tokio::spawn(close).await;
        // What panicked has ended nothing, and must not be told as if it had.
        closed.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
    }

    /// Ends everything, because the server does.
    pub async fn shut_down(&self) {
        let mut entries = std::mem::take(&mut *self.lock());
        entries.append(&mut self.closing());
        let ending = |entry: &Entry| match entry.pane {
            // It is the user's, or meant to outlive us.
            Some(_) => Ending::LetGo,
            None => Ending::Kill(Signal::HUP, policy::SHUTDOWN_GRACE),
        };
        let all = entries.iter().map(|entry| end(entry, ending(entry)));
        futures::future::join_all(all).await;
    }

    fn closing(&self) -> MutexGuard<'_, Vec<Arc<Entry>>> {
        self.closing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program in memory: its file, and where its stack begins, which is another place each time it is started.
type Image = (PathBuf, Option<String>);

/// What a process runs.
fn image_of(pid: Pid) -> Option<Image> {
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
    LetGo,
}

/// Ends everything that belongs to a terminal, and waits until its program's exit is known. Returns what it could not end.
async fn end(entry: &Entry, ending: Ending) -> Vec<Survivor> {
    match ending {
        Ending::LetGo => {
            let _ = entry.handle.call(Driver::let_go).await;
            Vec::new()
        }
        Ending::Kill(signal, grace) => {
            let survivors = processes::end_all(entry.pid, &entry.mark, signal, grace).await;
            // The task hears of it a moment after everything is gone; of a pane's end tmux tells it when it likes.
            let patience =
                if entry.pane.is_some() { policy::DRAIN_MAX } else { policy::EXIT_TOLD_MAX };
            if let Some(known) = entry.handle.call(Driver::await_exit).await {
                let _ = tokio::time::timeout(patience, known).await;
            }
            survivors
        }
    }
}

/// The wall clock, for people; nothing waits by it.
#[expect(clippy::disallowed_methods, reason = "a person wants to know when a session was started")]
pub(crate) fn wall_clock_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Finds the program and puts its environment together.
fn resolve(
    spec: &SpawnSpec,
    mark: &str,
    socket: Option<&PathBuf>,
    integration: Option<&Integration>,
) -> Result<Start, ToolError> {
    let failed = |message: String| Err(ToolError::new("spawn_failed", message));
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let cwd = spec.cwd.clone().unwrap_or_else(here);
    if !cwd.is_dir() {
        let why = if cwd.exists() { "is a file (ENOTDIR)" } else { "is not there (ENOENT)" };
        let shown = cwd.display().to_string();
        return failed(format!("the directory {shown:?} {why}: give a cwd that is one"));
    }
    let mut env = environment(spec, mark, socket);
    let path = env.get(&OsString::from("PATH")).cloned();
    let name = &spec.argv[0];
    let found = if name.contains('/') {
        let path = cwd.join(name);
        path.exists().then_some(path)
    } else {
        let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
        std::env::split_paths(&path)
            .map(|folder| cwd.join(folder).join(name))
            .find(|path| is_executable(path))
    };
    let Some(program) = found else {
        return failed(format!(
            "{name:?} was not found (ENOENT): give a path, or a command that is in PATH"
        ));
    };
    let mut args: Vec<OsString> = spec.argv[1..].iter().map(OsString::from).collect();
    if let Some(integration) = integration {
        integration.set_env(&args, &mut env);
        args = integration.args(&args);
    }
    Ok(Start {
        program,
        arg0: name.into(),
        args,
        env: env.into_iter().collect(),
        cwd,
        cols: spec.cols as u16,
        rows: spec.rows as u16,
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The server's variables (unless they are to be cleared), what a terminal has to say, the caller's.
fn environment(
    spec: &SpawnSpec,
    mark: &str,
    socket: Option<&PathBuf>,
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    if spec.clear_env {
        env.extend(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    } else {
        env.extend(std::env::vars_os());
    }
    for name in OF_A_TERMINAL {
        env.remove(&OsString::from(name));
    }
    env.retain(|name, _| !name.as_encoded_bytes().starts_with(SECRET_PREFIX.as_bytes()));
    env.insert("TERM".into(), "xterm-256color".into());
    env.insert("COLORTERM".into(), "truecolor".into());
    // Clients start us with almost no environment, and programs then think that we are ASCII.
    let locale = |name: &str| {
        env.get(&OsString::from(name)).map(|value| value.to_string_lossy().to_lowercase())
    };
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| locale(name).filter(|value| !value.is_empty()));
    if !utf8.is_some_and(|value| value.contains("utf-8") || value.contains("utf8")) {
        env.remove(&OsString::from("LC_ALL"));
        env.insert("LC_CTYPE".into(), "C.UTF-8".into());
        env.insert("LANG".into(), "C.UTF-8".into());
    }
    env.extend(spec.env.iter().map(|(name, value)| (name.into(), value.into())));
    if let Some((name, value)) = mark.split_once('=') {
        env.insert(name.into(), value.into());
    }
    if let Some(socket) = socket {
        env.insert(SOCKET_VARIABLE.into(), socket.into());
        add_to_path(&mut env);
    }
    env
}

/// What a shell needs to say what it does. Without it the shell is a program like any other.
fn integration(spec: &SpawnSpec) -> Option<Integration> {
    if !spec.shell_integration {
        return None;
    }
    Integration::new(&spec.argv).unwrap_or_else(|error| {
        crate::log(&format!("the shell is started without marks: {error}"));
        None
    })
}

/// Puts the directory of this program at the end of PATH, so that `awaitty signal` is found there.
fn add_to_path(env: &mut BTreeMap<OsString, OsString>) {
    let program = std::env::current_exe().ok();
    let Some(own) = program.as_deref().and_then(Path::parent) else { return };
    let path = env.get(&OsString::from("PATH")).cloned().unwrap_or_else(|| DEFAULT_PATH.into());
    let folders = std::env::split_paths(&path).chain([own.to_owned()]);
    if !std::env::split_paths(&path).any(|folder| folder == own)
        && let Ok(path) = std::env::join_paths(folders)
    {
        env.insert("PATH".into(), path);
    }
}
