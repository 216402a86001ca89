//! Panes of tmux servers: the user's, or awaitty's own.
//!
//! A user's server must not be put at risk, so it gets only commands of every release, each from a short-lived client.
//! Control mode is not used: it can end the user's server, and it blocks the server's programs when its reader is slow.
//! The parsers were checked with tmux 3.3a and 3.5a.

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

/// The time that a tmux server has to reply. It runs one command at a time, and other clients may keep it busy.
const REPLY_TIMEOUT: Duration = Duration::from_secs(5);

/// An error of a tmux command.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
pub enum TmuxError {
    /// The program `tmux` was not found.
    #[error("tmux is not installed, or not in PATH")]
    NotInstalled,
    /// No server listens on the socket.
    #[error("no tmux server is running{0}")]
    NoServer(String),
    /// The pane, window or session does not exist (any more).
    #[error("tmux has no pane, window or session {0:?}")]
    NoPane(String),
    /// The limit of channels with a waiter is reached.
    #[error("{} tmux channels have a waiter, which is the limit", channels::CHANNELS_MAX)]
    TooManyChannels,
    /// Any other error.
    #[error("tmux: {0}")]
    Other(String),
}

/// A tmux server: the default one, or a named one (`-L`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Server {
    name: Option<String>,
}

impl Server {
    /// Returns the server with a name.
    pub fn named(name: &str) -> Server {
        Server { name: Some(name.to_owned()) }
    }

    /// Returns the name of the server, unless it is the default one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Returns the PID of the server.
    ///
    /// # Errors
    /// If no server is running.
    pub async fn pid(&self) -> Result<String, TmuxError> {
        self.run(&["display-message", "-p", "#{pid}"]).await
    }

    /// Returns the session id of a pane, or the full name of a channel.
    pub fn id_of(&self, pane: &str) -> String {
        match &self.name {
            Some(name) => format!("tmux:{name}/{pane}"),
            None => format!("tmux:{pane}"),
        }
    }

    /// Returns whether this process runs in the pane.
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

    /// Runs commands in one tmux client and returns their output.
    ///
    /// # Errors
    /// If no server is running, or it rejects a command.
    pub async fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, TmuxError> {
        let mut command = Command::new("tmux");
        // UTF-8, even if the locale of this process differs.
        command.arg("-u");
        if let Some(name) = &self.name {
            command.args(["-L", name]);
        }
        // This command may start the server, which does not belong to the session that this process runs in.
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
        let _registered = RegisteredChild(pid);
        let output = tokio::time::timeout(REPLY_TIMEOUT, child.wait_with_output()).await;
        let output = match output {
            Ok(Ok(output)) => output,
            Ok(Err(error)) => return Err(TmuxError::Other(error.to_string())),
            Err(_) => {
                let seconds = REPLY_TIMEOUT.as_secs();
                return Err(TmuxError::Other(format!("no reply from the server in {seconds} s")));
            }
        };
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(self.parse_error(message))
    }

    fn parse_error(&self, message: String) -> TmuxError {
        let is_no_server =
            ["no server running", "error connecting", "server exited", "lost server"]
                .iter()
                .any(|start| message.starts_with(start));
        if is_no_server {
            let which = self.name.as_ref().map(|name| format!(" at -L {name}"));
            return TmuxError::NoServer(which.unwrap_or_default());
        }
        let missing = message.strip_prefix("can't find ").and_then(|rest| rest.split_once(": "));
        match missing {
            Some((_, target)) => TmuxError::NoPane(target.to_owned()),
            None => TmuxError::Other(message),
        }
    }

    /// Returns all panes of the server.
    ///
    /// # Errors
    /// If no server is running.
    pub async fn panes(&self) -> Result<Vec<PaneInfo>, TmuxError> {
        let separator = separator()?;
        let format = format!("{separator}{}", PaneInfo::FORMAT);
        let listed = self.run(&["list-panes", "-a", "-F", &format]).await?;
        Ok(PaneInfo::parse_all(&listed, &separator))
    }

    /// Returns the attributes of a pane, by any tmux target that names it.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn pane(&self, target: &str) -> Result<PaneInfo, TmuxError> {
        let args = ["display-message", "-p", "-t", target, PaneInfo::FORMAT];
        PaneInfo::parse_one(target, &self.run(&args).await?)
    }

    /// Captures the screen of a pane.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn capture(&self, pane: &str) -> Result<Capture, TmuxError> {
        let separator = separator()?;
        let output = self.run(&Capture::screen(pane, &separator)).await?;
        Capture::parse(pane, &output, &separator)
    }

    /// Captures the screen of a pane and up to `history` lines above it.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn capture_everything(
        &self,
        pane: &str,
        history: usize,
    ) -> Result<Capture, TmuxError> {
        let separator = separator()?;
        let output = self.run(&Capture::everything(pane, &separator, history)).await?;
        Capture::parse(pane, &output, &separator)
    }

    /// Returns the pane that awaitty started with a name.
    pub async fn pane_named(&self, name: &str) -> Option<String> {
        let format = format!("#{{{}}} #{{pane_id}}", own::NAME_OPTION);
        let listed = self.run(&["list-panes", "-a", "-F", &format]).await.ok()?;
        find_named(&listed, name).map(str::to_owned)
    }

    /// Captures the screen of a pane and the rows that scrolled off since there were `history` rows above it.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn capture_since(&self, pane: &str, history: usize) -> Result<Capture, TmuxError> {
        let capture = self.capture(pane).await?;
        let above = capture.history_size.saturating_sub(history);
        if above == 0 {
            return Ok(capture);
        }
        // Twice as many, because more rows may scroll off before the second capture.
        let separator = separator()?;
        let rows = above.saturating_mul(2).saturating_add(capture.info.rows);
        let args = Capture::with_rows_above(pane, &separator, rows);
        Capture::parse(pane, &self.run(&args).await?, &separator)
    }

    /// Waits until the server has written earlier input to the terminal and earlier output to the pipe. Either takes at
    /// most two rounds of the server's event loop, and a client's command takes more.
    pub async fn sync(&self) {
        let _ = self.run(&["display-message", "-p", ""]).await;
    }

    /// Makes the server reap its children. When a pane ends, tmux 3.3a may run a helper (`utempter`) with SIGCHLD
    /// blocked, and then it reaps the pane's process only when another child ends, as this command does.
    pub async fn reap(&self) {
        let _ = self.run(&["run-shell", "-b", ":"]).await;
    }

    /// Closes the pipe of a pane.
    pub async fn end_pipe(&self, pane: &str) {
        let _ = self.run(&["pipe-pane", "-t", pane]).await;
    }

    /// Kills a pane, if the process still runs in it: a restarted server reuses the numbers of panes.
    pub async fn kill_pane(&self, pane: &str, pid: i32) {
        let has_pid = format!("#{{==:#{{pane_pid}},{pid}}}");
        let kill = format!("kill-pane -t {pane}");
        // An error means that the pane has ended already.
        let _ = self.run(&["if-shell", "-F", "-t", pane, &has_pid, &kill]).await;
    }

    /// Leaves copy mode or another tmux mode of the pane.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn leave_mode(&self, pane: &str) -> Result<PaneInfo, TmuxError> {
        self.run(&["copy-mode", "-q", "-t", pane]).await?;
        self.pane(pane).await
    }
}

/// Starts a process that only its handle reaps.
fn start(mut command: Command) -> std::io::Result<(Child, Pid)> {
    // The command may start a server, whose programs inherit its limits.
    pty::restore_limits(command.as_std_mut());
    processes::register(|| {
        let child = command.spawn()?;
        let pid = child.id().and_then(|pid| Pid::from_raw(pid as i32));
        let pid = pid.ok_or(std::io::ErrorKind::NotFound)?;
        Ok(((child, pid), pid))
    })
}

/// The registration of a child process that only its handle reaps. Dropping it removes the registration.
struct RegisteredChild(Pid);

impl Drop for RegisteredChild {
    fn drop(&mut self) {
        processes::unregister(self.0);
    }
}

/// Returns a separator between the outputs of commands. It is random, so that no pane can print it.
fn separator() -> Result<String, TmuxError> {
    let nonce = crate::shell::Nonce::new().map_err(|error| TmuxError::Other(error.to_string()))?;
    Ok(nonce.as_str().to_owned())
}

/// Parses a session id that names a pane: `tmux:%3`, `tmux:work:1.0`, `tmux:SERVER/%3`.
pub fn parse_id(id: &str) -> Option<(Server, &str)> {
    let (server, target) = split_server(id.strip_prefix("tmux:")?);
    // tmux interprets an empty target as the most recently used pane.
    (!target.is_empty()).then_some((server, target))
}

/// Splits `NAME` or `SERVER/NAME` into the server and the name.
pub fn split_server(name: &str) -> (Server, &str) {
    match name.split_once('/') {
        Some((server, name)) => (Server::named(server), name),
        None => (Server::default(), name),
    }
}

/// The attributes of a pane.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PaneInfo {
    /// The pane's id, like `%3`.
    pub id: String,
    /// The PID of its first process.
    pub pid: i32,
    /// Whether its process has ended and the pane remains.
    pub is_dead: bool,
    /// The exit status and the signal that ended the process, as far as tmux reports them.
    exit: (Option<i32>, Option<i32>),
    /// Whether its output is piped to a command.
    pub is_piped: bool,
    /// Whether it is in copy mode or another tmux mode.
    pub is_in_mode: bool,
    /// Its number of columns.
    pub cols: usize,
    /// Its number of rows.
    pub rows: usize,
    /// When its session was created, in seconds since 1970.
    pub created: u64,
    /// Whether it shows the alternate screen.
    pub is_alternate: bool,
    /// The path of its terminal device.
    pub tty: String,
    /// The name of the program in the foreground.
    pub command: String,
    /// The working directory of that program.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its target: `SESSION:WINDOW.PANE`.
    pub place: String,
}

impl PaneInfo {
    /// Returns how its process ended.
    pub fn exit(&self) -> Exit {
        match self.exit {
            (_, Some(signal)) => Exit::Signal(signal),
            (Some(code), None) => Exit::Code(code),
            (None, None) => Exit::Unknown,
        }
    }

    /// The tmux format of a pane: numbers on the first line, then each free text on a line of its own.
    const FORMAT: &str = "#{pane_id} #{pane_pid} #{pane_dead} #{pane_pipe} #{pane_in_mode} #{pane_width} \
        #{pane_height} #{session_created} #{alternate_on} =#{pane_dead_status} =#{pane_dead_signal} \
        #{pane_tty}\n#{pane_current_command}\n#{pane_current_path}\n#{pane_title}\n\
        #{session_name}:#{window_index}.#{pane_index}";

    /// Parses the attributes of the requested pane and rejects those of any other pane.
    fn parse_one(target: &str, output: &str) -> Result<PaneInfo, TmuxError> {
        // A target other than a pane id is a name, which only tmux can resolve.
        let is_target = |pane: &PaneInfo| !is_id(target) || pane.id == target;
        // For a pane that does not exist tmux prints nothing and exits with status 0.
        let first = PaneInfo::parse_all(output, "").into_iter().next();
        first.filter(is_target).ok_or_else(|| TmuxError::NoPane(target.to_owned()))
    }

    /// Parses all panes. Each starts with `separator`, because a line of free text may look like the start of a pane.
    fn parse_all(output: &str, separator: &str) -> Vec<PaneInfo> {
        let mut lines = output.lines();
        let mut panes = Vec::new();
        while let Some(line) = lines.next() {
            // Any other line is the rest of a free text with a newline in it.
            let pane = line.strip_prefix(separator).and_then(PaneInfo::parse);
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
        // A flag is a number, or empty if it is not set.
        let flag = |word: &str| !matches!(word, "" | "0");
        Some(PaneInfo {
            id: Some(id).filter(|id| is_id(id))?.to_owned(),
            // The kernel interprets a PID of 0 or less as a process group.
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

/// Returns whether a word is a pane id, like `%3`.
fn is_id(word: &str) -> bool {
    let number = word.strip_prefix('%').filter(|number| number.bytes().all(|b| b.is_ascii_digit()));
    number.is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Parses the ID of a new pane. Hooks of the user may print other lines.
fn parse_new_pane(output: &str) -> Result<String, TmuxError> {
    let no_id = || TmuxError::Other("it did not print the id of the new pane".to_owned());
    output.lines().find(|line| is_id(line)).map(str::to_owned).ok_or_else(no_id)
}

/// Returns the pane with a name, from a list of names and panes.
fn find_named<'l>(listed: &'l str, name: &str) -> Option<&'l str> {
    let mut panes = listed.lines().filter_map(|line| line.split_once(' '));
    // Most panes have an empty name, which must not match.
    let is_match = |(found, pane): &(&str, &str)| *found == name && !name.is_empty() && is_id(pane);
    panes.find(is_match).map(|(_, pane)| pane)
}

/// Returns the number of a signal. tmux prints its name, if it has one.
fn signal_number(text: &str) -> Option<i32> {
    const NAMES: &str = "HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP \
        TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS";
    let by_name = || NAMES.split(' ').position(|name| name == text).map(|at| at as i32 + 1);
    text.parse().ok().or_else(by_name)
}

/// Quotes a text for tmux's command parser.
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
    fn panes_with_newlines_in_their_names_are_parsed() {
        let output = "%3 42 0 1 0 80 24 1700000000 1 = = /dev/pts/1\nvim\n/a b\nti tle\nwork:1.0\n\
            %4 43 1 0 1 10 5 1700000000 0 =0 = /dev/pts/2\nsh\n/x\nrest of a\nname\nwork:1.1\n%5 44 0 0 0 9 9 1 0 = =KILL /dev/pts/3\na\nb\nc\nd\n";
        let panes = PaneInfo::parse_all(output, "");
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
    fn a_directory_name_is_not_parsed_as_a_pane() {
        let forged = "%7 1 0 0 0 80 24 1 0 = = /dev/pts/9\nsh\n/\ntitle\nwork:1.7";
        let output =
            format!("M%3 42 0 0 0 80 24 1 0 = = /dev/pts/1\nsh\n/a\nb\nc\n{forged}\nt\nwork:1.0\n");
        let panes = PaneInfo::parse_all(&output, "M");
        assert_eq!(panes.iter().map(|pane| pane.id.as_str()).collect::<Vec<_>>(), ["%3"]);
    }

    #[test]
    fn other_panes_and_invalid_pids_are_rejected() {
        let output = "%3 42 0 0 0 80 24 1 0 = = /dev/pts/1\nsh\n/\nt\nwork:1.0\n";
        let found = |target: &str| PaneInfo::parse_one(target, output).map(|pane| pane.id);
        assert_eq!((found("%3"), found("work:1.0")), (Ok("%3".to_owned()), Ok("%3".to_owned())));
        assert_eq!(found("%4"), Err(TmuxError::NoPane("%4".to_owned())));
        assert_eq!(PaneInfo::parse_one("%3", ""), Err(TmuxError::NoPane("%3".to_owned())));
        for pid in ["-1", "0", "2147483648"] {
            let output = output.replace("42", pid);
            assert_eq!(PaneInfo::parse_all(&output, ""), [], "{pid} is no PID of a process");
        }
        assert_eq!(parse_new_pane("%5\n"), Ok("%5".to_owned()));
        assert_eq!(parse_new_pane("output of a hook\n%5\n"), Ok("%5".to_owned()));
        // An empty target would kill the most recently used pane.
        for invalid in ["", "\n", "%\n%x\n"] {
            assert!(parse_new_pane(invalid).is_err(), "{invalid:?}");
        }
        let listed = " %1\nbuild x %2\nbuild %3\n";
        assert_eq!((find_named(listed, "build"), find_named(listed, "")), (Some("%3"), None));
    }

    #[test]
    fn signals_are_parsed_by_name_or_number() {
        assert_eq!(signal_number("KILL"), Some(9));
        assert_eq!(signal_number("SYS"), Some(31));
        assert_eq!(signal_number("35"), Some(35));
        assert_eq!(signal_number(""), None);
    }

    #[test]
    fn single_quotes_are_quoted_for_tmux() {
        assert_eq!(quoted("it's"), "'it'\"'\"'s'");
    }
}
