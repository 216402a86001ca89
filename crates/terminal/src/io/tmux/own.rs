//! Programs that awaitty starts in tmux: in a tmux server of its own, where they outlive it, or in the user's.
//!
//! tmux starts a launcher, which connects to awaitty and waits. So the pane is attached before its program starts, and
//! the program's environment need not fit into a message of tmux's. The launcher sends the error of a failed start over
//! the same connection; a successful exec closes it.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::pane::listen;
use super::{Capture, Pane, REPLY_TIMEOUT, Server, TmuxError};
use crate::io::pty::{self, Start};

/// The name of awaitty's own tmux server.
pub const OWN_SERVER: &str = "awaitty";

/// The pane option with the session name of `spawn`.
pub const NAME_OPTION: &str = "@awaitty_name";

/// The number of retries when the tmux server ends just as a session is created in it.
const ENDING_RETRIES: usize = 5;

/// The tmux session in which a window is created.
#[derive(Clone, Copy, Debug)]
pub enum Placement<'a> {
    /// A new session of that many columns and rows.
    NewSession(usize, usize),
    /// An existing session of the user's.
    Existing(&'a str),
}

/// A pane whose launcher waits for its program.
#[derive(Debug)]
pub struct PendingPane {
    launcher: tokio::net::UnixStream,
    /// The pane.
    pub pane: Pane,
    /// The first capture of the pane.
    pub capture: Capture,
}

impl Server {
    /// Resizes a pane's window, if this is awaitty's own server. Returns whether it is.
    ///
    /// # Errors
    /// If there is no such pane.
    pub async fn resize(&self, pane: &str, cols: usize, rows: usize) -> Result<bool, TmuxError> {
        if *self != Server::named(OWN_SERVER) {
            return Ok(false);
        }
        let (cols, rows) = (cols.to_string(), rows.to_string());
        self.run(&["resize-window", "-t", pane, "-x", &cols, "-y", &rows]).await?;
        Ok(true)
    }

    /// Creates a window, whose launcher waits for the program.
    ///
    /// # Errors
    /// If tmux fails, or the launcher does not connect in time.
    pub async fn create_pane(
        &self,
        place: Placement<'_>,
        name: Option<&str>,
        directory: &Path,
        history: usize,
    ) -> Result<PendingPane, TmuxError> {
        let (listener, launcher, _socket) = listen(directory, "tmux-start")?;
        let id = match place {
            Placement::NewSession(cols, rows) => {
                self.new_session(name, (cols, rows), history, &launcher).await?
            }
            Placement::Existing(session) => self.new_window(name, session, &launcher).await?,
        };
        let configured = self.configure_pane(&id, place, name, &listener).await;
        let attached = match configured {
            Ok(launcher) => {
                let attached = match self.pane(&id).await {
                    Ok(info) => Pane::attach(self, &info, directory, history).await,
                    Err(error) => Err(error),
                };
                attached.map(|(pane, capture)| PendingPane { launcher, pane, capture })
            }
            Err(error) => Err(error),
        };
        if attached.is_err() {
            let _ = self.run(&["kill-pane", "-t", &id]).await;
        }
        attached
    }

    /// Creates a session with one pane in awaitty's own server, and starts the server if it is not running.
    async fn new_session(
        &self,
        name: Option<&str>,
        (cols, rows): (usize, usize),
        history: usize,
        launcher: &str,
    ) -> Result<String, TmuxError> {
        let (cols, rows, history) = (cols.to_string(), rows.to_string(), history.to_string());
        let mut args = vec!["-f", "/dev/null", "start-server", ";"];
        // A status line would occupy a row.
        let options = [
            ["status", "off"],
            ["history-limit", &history],
            ["default-terminal", "xterm-256color"],
            ["escape-time", "0"],
        ];
        for [option, value] in &options {
            args.extend(["set-option", "-g", option, value, ";"]);
        }
        args.extend(["new-session", "-d", "-P", "-F", "#{pane_id}", "-x", &cols, "-y", &rows]);
        // In a tmux target, a dot separates the window from the pane.
        let name = name.map(|name| name.replace('.', "_"));
        if let Some(name) = &name {
            args.extend(["-s", name]);
        }
        args.push(launcher);
        let mut output = self.run(&args).await;
        // A tmux server ends with its last session, possibly just now.
        for _ in 0..ENDING_RETRIES {
            if !matches!(output, Err(TmuxError::NoServer(_))) {
                break;
            }
            output = self.run(&args).await;
        }
        super::parse_new_pane(&output?)
    }

    /// Creates a window in a session of the user's without switching to it.
    async fn new_window(
        &self,
        name: Option<&str>,
        session: &str,
        launcher: &str,
    ) -> Result<String, TmuxError> {
        let target = format!("={session}:");
        let mut args = vec!["new-window", "-d", "-P", "-F", "#{pane_id}", "-t", &target];
        if let Some(name) = name {
            args.extend(["-n", name]);
        }
        args.push(launcher);
        super::parse_new_pane(&self.run(&args).await?)
    }

    /// Sets the options of a new pane and accepts the connection of its launcher.
    async fn configure_pane(
        &self,
        id: &str,
        place: Placement<'_>,
        name: Option<&str>,
        listener: &UnixListener,
    ) -> Result<tokio::net::UnixStream, TmuxError> {
        // The pane remains after its program has ended, with the last screen and no text of tmux's.
        let mut args = vec!["set-option", "-p", "-t", id, "remain-on-exit", "on", ";"];
        args.extend(["set-option", "-p", "-t", id, "remain-on-exit-format", "", ";"]);
        args.extend(["set-option", "-p", "-t", id, NAME_OPTION, name.unwrap_or_default()]);
        if matches!(place, Placement::NewSession(..)) {
            // An attached client must not change the window's size. As a global option this crashes tmux 3.3a.
            args.extend([";", "set-option", "-w", "-t", id, "window-size", "manual"]);
        }
        self.run(&args).await?;
        match tokio::time::timeout(REPLY_TIMEOUT, listener.accept()).await {
            Ok(Ok((launcher, _))) => Ok(launcher),
            _ => Err(TmuxError::Other("the launcher of the program did not start".to_owned())),
        }
    }
}

impl PendingPane {
    /// Starts the program.
    ///
    /// # Errors
    /// The error of `exec`. The pane is killed then.
    pub async fn start(mut self, start: &Start) -> io::Result<(Pane, Capture)> {
        if let Err(error) = self.launch_program(start).await {
            self.kill().await;
            return Err(error);
        }
        Ok((self.pane, self.capture))
    }

    /// Kills the pane instead of starting a program in it.
    pub async fn kill(self) {
        let (server, id) = self.pane.place();
        let _ = server.run(&["kill-pane", "-t", &id]).await;
    }

    /// Sends the program to the launcher and waits for the result of `exec`.
    async fn launch_program(&mut self, start: &Start) -> io::Result<()> {
        self.launcher.write_all(&encode(start)).await?;
        self.launcher.shutdown().await?;
        let mut reply = String::new();
        tokio::time::timeout(REPLY_TIMEOUT, self.launcher.read_to_string(&mut reply)).await??;
        match reply.parse() {
            Ok(errno) => Err(io::Error::from_raw_os_error(errno)),
            Err(_) => Ok(()),
        }
    }
}

/// Runs the launcher: receives a program over the socket and replaces this process with it.
///
/// # Errors
/// If `exec` fails. The errno is also sent over the socket.
pub fn launch(socket: &Path) -> io::Result<()> {
    let mut socket = UnixStream::connect(socket)?;
    let mut request = Vec::new();
    socket.read_to_end(&mut request)?;
    let start = decode(&request).ok_or_else(|| io::Error::other("the start request is cut"))?;
    let error = pty::become_program(&start);
    let errno = error.raw_os_error().unwrap_or_default();
    socket.write_all(errno.to_string().as_bytes())?;
    socket.shutdown(Shutdown::Both)?;
    Err(error)
}

/// Encodes a start as NUL-terminated fields, since arguments, paths and variables contain no NUL: the program,
/// `argv[0]`, the directory, the count of arguments, the arguments, and then names and values of variables.
fn encode(start: &Start) -> Vec<u8> {
    let count = OsString::from(start.args.len().to_string());
    let head = [start.program.as_os_str(), &start.arg0, start.cwd.as_os_str(), &count];
    let variables = start.env.iter().flat_map(|(name, value)| [name, value]);
    let fields =
        head.into_iter().chain(start.args.iter().chain(variables).map(OsString::as_os_str));
    fields.flat_map(|field| [field.as_bytes(), &[0]].concat()).collect()
}

/// Decodes a start; `None` if it is cut.
fn decode(request: &[u8]) -> Option<Start> {
    let mut fields = request.strip_suffix(&[0])?.split(|&byte| byte == 0);
    let mut next = || Some(OsString::from_vec(fields.next()?.to_vec()));
    let (program, arg0, cwd) = (next()?.into(), next()?, next()?.into());
    let count: usize = next()?.to_str()?.parse().ok()?;
    let args = (0..count).map(|_| next()).collect::<Option<_>>()?;
    let mut env = Vec::new();
    while let Some(name) = next() {
        env.push((name, next()?));
    }
    // tmux sets the size.
    Some(Start { program, arg0, args, env, cwd, cols: 0, rows: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_request_is_decoded_as_it_was_encoded_or_rejected_if_cut() {
        let text = OsString::from;
        let start = Start {
            program: "/bin/sh".into(),
            arg0: text("sh"),
            args: vec![text(""), OsString::from_vec(vec![0xff, b'\n'])],
            env: vec![(text("A"), text("")), (text("B"), text("b=c"))],
            cwd: "/tmp".into(),
            cols: 0,
            rows: 0,
        };
        let request = encode(&start);
        assert_eq!(format!("{:?}", decode(&request)), format!("{:?}", Some(start)));
        assert!(decode(&request[..request.len() - 1]).is_none());
        assert!(decode(b"/bin/sh\0sh\0").is_none());
    }
}
