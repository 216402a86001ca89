//! Panes of tmux servers, the user's or our own.
//!
//! A user's server is not ours to risk, so it is only asked what every release answers: commands, each from a
//! client of its own that ends at once. Control mode is not used: it can end the user's server, and holds up its programs
//! when its reader is slow. What is read here was checked with tmux 3.3a and 3.5a.

mod capture;
pub mod channels;
#[cfg(test)]
mod fuzz;
pub mod own;
mod pane;
pub mod pipe;
mod typing;

use std::ffi::OsStr;
use std::process::Stdio;
use std::time::Duration;

use awaitty_core::Exit;
use rustix::process::Pid;
use tokio::process::{Child, Command};

use super::pty;
use crate::platform::processes;
use crate::runtime::{SESSION_VARIABLE, SOCKET_VARIABLE, is_secret_variable};

pub use capture::Capture;
pub use pane::Pane;

/// How long a tmux server has to answer. It does one thing at a time, and a person may have given it much to do.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Why tmux did not do what it was asked to.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TmuxError {
    /// There is no such program.
    #[error("tmux is not installed, or not in PATH")]
    NotInstalled,
    /// Nobody answers at the socket.
    #[error("no tmux server runs{0}")]
    NoServer(String),
    /// There is no such pane, window or session, or no more.
    #[error("tmux has no {0:?}")]
    NoPane(String),
    /// More channels are waited for than is good.
    #[error("{} channels of tmux are waited for already", channels::CHANNELS_MAX)]
    TooManyChannels,
    /// It said something else.
    #[error("tmux: {0}")]
    Other(String),
}

/// A tmux server: the default one, or one by its name (`-L`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    name: Option<String>,
}

impl Server {
    /// The server of that name.
    pub fn named(name: &str) -> Server {
        Server { name: Some(name.to_owned()) }
    }

    /// Its name, if it is not the default one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The number of its process.
    ///
    /// # Errors
    /// If it does not run.
    pub async fn pid(&self) -> Result<String, TmuxError> {
        self.run(&["display-message", "-p", "#{pid}"]).await
    }

    /// The id of a pane of it.
    pub fn id_of(&self, pane: &str) -> String {
        match &self.name {
            Some(name) => format!("tmux:{name}/{pane}"),
            None => format!("tmux:{pane}"),
        }
    }

    /// Tells whether a pane is the one that we run in ourselves.
    pub fn is_own(&self, pane: &str) -> bool {
        // The first part of TMUX is the path of the server's socket.
        let socket = std::env::var("TMUX").unwrap_or_default();
        let socket = socket.split(',').next().unwrap_or_default();
        let is_server = match &self.name {
            Some(name) => socket.rsplit('/').next() == Some(name),
            None => !socket.is_empty(),
        };
        is_server && std::env::var("TMUX_PANE").is_ok_and(|own| own == pane)
    }

    /// Has one client give commands, and gives what they print.
    ///
    /// # Errors
    /// If there is no server, or it does not take one of them.
    pub async fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, TmuxError> {
        // As UTF-8, whatever the locale of this process.
        let mut command = Command::new("tmux");
        command.arg("-u");
        if let Some(name) = &self.name {
            command.args(["-L", name]);
        }
        // A server that is started by this is nobody's terminal.
        command.env_remove(SESSION_VARIABLE).env_remove(SOCKET_VARIABLE);
        for (name, _) in std::env::vars_os() {
            if is_secret_variable(&name) {
                command.env_remove(name);
            }
        }
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.kill_on_drop(true);
        let (child, pid) = start(command).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => TmuxError::NotInstalled,
            _ => TmuxError::Other(error.to_string()),
        })?;
        let _reaped = Reaped(pid);
        let output = tokio::time::timeout(ANSWER_TIMEOUT, child.wait_with_output()).await;
        let output = match output {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(TmuxError::Other(error.to_string())),
            Err(_) => return Err(TmuxError::Other("the server does not answer".to_owned())),
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(self.explain(said))
    }

    fn explain(&self, said: String) -> TmuxError {
        let is_gone = ["no server running", "error connecting", "server exited", "lost server"]
            .iter()
            .any(|words| said.starts_with(words));
        if is_gone {
            let which = self.name.as_ref().map(|name| format!(" at -L {name}"));
            return TmuxError::NoServer(which.unwrap_or_default());
        }
        let missing = said.strip_prefix("can't find ").and_then(|rest| rest.split_once(": "));
        match missing {
            Some((_, target)) => TmuxError::NoPane(target.to_owned()),
            None => TmuxError::Other(said),
        }
    }

    /// All its panes.
    ///
    /// # Errors
    /// If there is no server.
    pub async fn panes(&self) -> Result<Vec<PaneInfo>, TmuxError> {
        let mark = mark()?;
        let format = format!("{mark}{}", PaneInfo::FORMAT);
        let listed = self.run(&["list-panes", "-a", "-F", &format]).await?;
        Ok(PaneInfo::parse_all(&listed, &mark))
    }

    /// What is known of a pane, by any name that tmux has for it.
    ///
    /// # Errors
    /// If there is none.
    pub async fn pane(&self, target: &str) -> Result<PaneInfo, TmuxError> {
        let args = ["display-message", "-p", "-t", target, PaneInfo::FORMAT];
        PaneInfo::of(target, &self.run(&args).await?)
    }

    /// What a pane shows now.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn capture(&self, pane: &str) -> Result<Capture, TmuxError> {
        let mark = mark()?;
        let said = self.run(&Capture::screen(pane, &mark)).await?;
        Capture::parse(pane, &said, &mark)
    }

    /// The same with its history.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn capture_everything(
        &self,
        pane: &str,
        history: usize,
    ) -> Result<Capture, TmuxError> {
        let mark = mark()?;
        let said = self.run(&Capture::everything(pane, &mark, history)).await?;
        Capture::parse(pane, &said, &mark)
    }

    /// The pane that was started by us by that name.
    pub async fn pane_named(&self, name: &str) -> Option<String> {
        let format = format!("#{{{}}} #{{pane_id}}", own::NAME_OPTION);
        let listed = self.run(&["list-panes", "-a", "-F", &format]).await.ok()?;
        named(&listed, name).map(str::to_owned)
    }

    /// The same, and the rows that came to be above it since that many were there.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn capture_since(&self, pane: &str, history: usize) -> Result<Capture, TmuxError> {
        let capture = self.capture(pane).await?;
        let above = capture.history_size.saturating_sub(history);
        if above == 0 {
            return Ok(capture);
        }
        // More may come until it is asked again.
        let mark = mark()?;
        let rows = above.saturating_mul(2).saturating_add(capture.info.rows);
        let args = Capture::with_rows_above(pane, &mark, rows);
        Capture::parse(pane, &self.run(&args).await?, &mark)
    }

    /// Has the server do all that it has to do: what was typed before reaches the terminal, and what was printed
    /// before reaches the pipe. A client's way through the server's loop takes several rounds of it, and either takes
    /// at most two.
    pub async fn sync(&self) {
        let _ = self.run(&["display-message", "-p", ""]).await;
    }

    /// Has the server look for children that have ended. When a pane ends tmux 3.3a may run a helper (`utempter`) with
    /// SIGCHLD switched off, and not hear of the pane's process until another child of it ends, as this one does.
    pub async fn reap(&self) {
        let _ = self.run(&["run-shell", "-b", ":"]).await;
    }

    /// Ends the pipe of a pane that we listen to.
    pub async fn end_pipe(&self, pane: &str) {
        let _ = self.run(&["pipe-pane", "-t", pane]).await;
    }

    /// Ends a pane, if it is still that of the process: a server that was started anew begins to count anew.
    pub async fn kill_pane(&self, pane: &str, pid: i32) {
        let is_it = format!("#{{==:#{{pane_pid}},{pid}}}");
        let kill = format!("kill-pane -t {pane}");
        // It may be gone by itself.
        let _ = self.run(&["if-shell", "-F", "-t", pane, &is_it, &kill]).await;
    }

    /// Leaves the pane's copy mode, or another of tmux's own.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn leave_mode(&self, pane: &str) -> Result<PaneInfo, TmuxError> {
        self.run(&["copy-mode", "-q", "-t", pane]).await?;
        self.pane(pane).await
    }
}

/// Starts a process, of whose end only its handle is to hear.
fn start(mut command: Command) -> std::io::Result<(Child, Pid)> {
    // A server that is started by this hands its limits on to what runs in it.
    pty::keep_limits(command.as_std_mut());
    processes::register(|| {
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid as i32));
        let pid = pid.ok_or(std::io::ErrorKind::NotFound)?;
        Ok(((child, pid), pid))
    })
}

/// A process that is ours to reap until this is dropped, whoever gives up on it.
struct Reaped(Pid);

impl Drop for Reaped {
    fn drop(&mut self) {
        processes::unregister(self.0);
    }
}

/// What no pane shows.
fn mark() -> Result<String, TmuxError> {
    let nonce = crate::shell::Nonce::new().map_err(|error| TmuxError::Other(error.to_string()))?;
    Ok(nonce.as_str().to_owned())
}

/// A session id that names a pane: `tmux:%3`, `tmux:work:1.0`, `tmux:SERVER/%3`.
pub fn parse_id(id: &str) -> Option<(Server, &str)> {
    let (server, target) = split_server(id.strip_prefix("tmux:")?);
    // tmux would take whichever pane was used last.
    (!target.is_empty()).then_some((server, target))
}

/// What is named within a server: `NAME`, or `SERVER/NAME`.
pub fn split_server(name: &str) -> (Server, &str) {
    match name.split_once('/') {
        Some((server, name)) => (Server::named(server), name),
        None => (Server::default(), name),
    }
}

/// What tmux says of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneInfo {
    /// `%3`.
    pub id: String,
    /// The number of its first process.
    pub pid: i32,
    /// Its process has ended, and the pane was left.
    pub is_dead: bool,
    /// How that ended: status and signal, as far as tmux says.
    exit: (Option<i32>, Option<i32>),
    /// Its output is piped somewhere.
    pub is_piped: bool,
    /// It is in copy mode, or another of tmux's own.
    pub is_in_mode: bool,
    /// Its size.
    pub cols: usize,
    /// See `cols`.
    pub rows: usize,
    /// When its window was made, in seconds since 1970.
    pub created: u64,
    /// It shows the alternate screen.
    pub is_alternate: bool,
    /// The file of its terminal.
    pub tty: String,
    /// The program in the foreground.
    pub command: String,
    /// Where that is.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Session, window and pane, as a person names them.
    pub place: String,
}

impl PaneInfo {
    /// How its process ended, if it has.
    pub fn exit(&self) -> Exit {
        match self.exit {
            (_, Some(signal)) => Exit::Signal(signal),
            (Some(code), None) => Exit::Code(code),
            (None, None) => Exit::Unknown,
        }
    }

    /// Numbers first, and what may hold anything on lines of its own.
    const FORMAT: &str = "#{pane_id} #{pane_pid} #{pane_dead} #{pane_pipe} #{pane_in_mode} #{pane_width} \
        #{pane_height} #{session_created} #{alternate_on} =#{pane_dead_status} =#{pane_dead_signal} \
        #{pane_tty}\n#{pane_current_command}\n#{pane_current_path}\n#{pane_title}\n\
        #{session_name}:#{window_index}.#{pane_index}";

    /// What tmux says of the pane that it was asked about, and of no other.
    fn of(target: &str, said: &str) -> Result<PaneInfo, TmuxError> {
        // What is not a pane's own number is a name, and tmux knows whose.
        let is_it = |pane: &PaneInfo| !is_id(target) || pane.id == target;
        // For a pane that is no more tmux says nothing, and that all is well.
        let first = PaneInfo::parse_all(said, "").into_iter().next();
        first.filter(is_it).ok_or_else(|| TmuxError::NoPane(target.to_owned()))
    }

    /// All panes that are told of, each after a mark: what may hold anything may hold a line that looks like a pane.
    fn parse_all(said: &str, mark: &str) -> Vec<PaneInfo> {
        let mut lines = said.lines();
        let mut panes = Vec::new();
        while let Some(line) = lines.next() {
            // A line that does not begin a pane is the rest of a name with a newline in it.
            let pane = line.strip_prefix(mark).and_then(PaneInfo::parse);
            let Some(mut pane) = pane else { continue };
            let mut next = || lines.next().unwrap_or_default().to_owned();
            (pane.command, pane.path, pane.title, pane.place) = (next(), next(), next(), next());
            panes.push(pane);
        }
        panes
    }

    fn parse(line: &str) -> Option<PaneInfo> {
        let words: Vec<&str> = line.split(' ').collect();
        let &[id, pid, dead, piped, mode, cols, rows, created, alternate, status, signal, tty] =
            words.as_slice()
        else {
            return None;
        };
        // A flag is a number, and nothing where it is not set.
        let flag = |word: &str| !matches!(word, "" | "0");
        Some(PaneInfo {
            id: Some(id).filter(|id| is_id(id))?.to_owned(),
            // To the kernel, the others are groups of processes.
            pid: pid.parse().ok().filter(|pid| *pid > 0)?,
            is_dead: flag(dead),
            exit: (
                status.strip_prefix('=')?.parse().ok(),
                signal_number(signal.strip_prefix('=')?),
            ),
            is_piped: flag(piped),
            is_in_mode: flag(mode),
            cols: cols.parse().ok()?,
            rows: rows.parse().ok()?,
            created: created.parse().unwrap_or_default(),
            is_alternate: flag(alternate),
            tty: tty.to_owned(),
            ..PaneInfo::default()
        })
    }
}

/// Tells whether this is how tmux numbers panes.
fn is_id(word: &str) -> bool {
    let number = word.strip_prefix('%').filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// The pane that has been made, by what tmux says then. A hook of the user's may have it say more.
fn made(said: &str) -> Result<String, TmuxError> {
    let strange = || TmuxError::Other("it did not say which pane it has made".to_owned());
    said.lines().find(|line| is_id(line)).map(str::to_owned).ok_or_else(strange)
}

/// The pane of that name in a list of names and panes.
fn named<'l>(listed: &'l str, name: &str) -> Option<&'l str> {
    let mut panes = listed.lines().filter_map(|line| line.split_once(' '));
    // Panes without a name are most.
    let is_it = |(found, pane): &(&str, &str)| *found == name && !name.is_empty() && is_id(pane);
    panes.find(is_it).map(|(_, pane)| pane)
}

/// The number of a signal, which tmux tells by its name where it has one.
fn signal_number(told: &str) -> Option<i32> {
    const NAMES: &str = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP \
        TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS";
    let by_name = || NAMES.split(' ').position(|name| name == told).map(|at| at as i32 + 1);
    told.parse().ok().or_else(by_name)
}

/// A text between quotes of tmux's own language.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_servers_and_panes() {
        assert_eq!(parse_id("tmux:%3"), Some((Server::default(), "%3")));
        assert_eq!(parse_id("tmux:work:1.0"), Some((Server::default(), "work:1.0")));
        assert_eq!(parse_id("tmux:other/%3"), Some((Server::named("other"), "%3")));
        assert_eq!((parse_id("s1"), parse_id("tmux:"), parse_id("tmux:a/")), (None, None, None));
        assert_eq!(Server::named("other").id_of("%3"), "tmux:other/%3");
    }

    #[test]
    fn panes_are_read_whatever_they_are_called() {
        let said = "%3 42 0 1 0 80 24 1700000000 1 = = /dev/pts/1\nvim\n/a b\nti tle\nwork:1.0\n\
            %4 43 1 0 1 10 5 1700000000 0 =0 = /dev/pts/2\nsh\n/x\nrest of a\nname\nwork:1.1\n%5 44 0 0 0 9 9 1 0 = =KILL /dev/pts/3\na\nb\nc\nd\n";
        let panes = PaneInfo::parse_all(said, "");
        assert_eq!(
            panes.iter().map(|pane| pane.id.as_str()).collect::<Vec<_>>(),
            ["%3", "%4", "%5"]
        );
        assert!(panes[0].is_piped && !panes[0].is_in_mode && panes[0].is_alternate);
        assert_eq!((panes[0].command.as_str(), panes[0].path.as_str()), ("vim", "/a b"));
        assert_eq!((panes[1].is_dead, panes[1].exit()), (true, Exit::Code(0)));
        assert_eq!((panes[0].exit(), panes[2].exit()), (Exit::Unknown, Exit::Signal(9)));
    }

    #[test]
    fn a_folder_whose_name_looks_like_a_pane_is_none() {
        let forged = "%7 1 0 0 0 80 24 1 0 = = /dev/pts/9\nsh\n/\ntitle\nwork:1.7";
        let said =
            format!("M%3 42 0 0 0 80 24 1 0 = = /dev/pts/1\nsh\n/a\nb\nc\n{forged}\nt\nwork:1.0\n");
        let panes = PaneInfo::parse_all(&said, "M");
        assert_eq!(panes.iter().map(|pane| pane.id.as_str()).collect::<Vec<_>>(), ["%3"]);
    }

    #[test]
    fn no_pane_is_taken_for_another() {
        let said = "%3 42 0 0 0 80 24 1 0 = = /dev/pts/1\nsh\n/\nt\nwork:1.0\n";
        let found = |target: &str| PaneInfo::of(target, said).map(|pane| pane.id);
        assert_eq!((found("%3"), found("work:1.0")), (Ok("%3".to_owned()), Ok("%3".to_owned())));
        assert_eq!(found("%4"), Err(TmuxError::NoPane("%4".to_owned())));
        assert_eq!(PaneInfo::of("%3", ""), Err(TmuxError::NoPane("%3".to_owned())));
        for pid in ["-1", "0", "2147483648"] {
            let said = said.replace("42", pid);
            assert_eq!(PaneInfo::parse_all(&said, ""), [], "{pid} is no process");
        }
        assert_eq!(made("%5\n"), Ok("%5".to_owned()));
        assert_eq!(made("a hook said\n%5\n"), Ok("%5".to_owned()));
        // Without a name tmux would take whichever pane was used last, and we would end it.
        assert!(made("").is_err() && made("\n").is_err() && made("%\n%x\n").is_err());
        let listed = " %1\nbuild x %2\nbuild %3\n";
        assert_eq!((named(listed, "build"), named(listed, "")), (Some("%3"), None));
    }

    #[test]
    fn signals_have_names_or_numbers() {
        assert_eq!(signal_number("KILL"), Some(9));
        assert_eq!(signal_number("SYS"), Some(31));
        assert_eq!(signal_number("35"), Some(35));
        assert_eq!(signal_number(""), None);
    }

    #[test]
    fn quotes_are_closed_and_opened_again() {
        assert_eq!(quoted("it's"), "'it'\"'\"'s'");
    }
}
