//! Programs that we start in tmux: in a server of our own, where they outlive us.
//!
//! tmux starts a launcher, which connects to us and waits. So we listen to the pane before its program has begun, and
//! the program's environment need not fit into a message of tmux's. What became of the start comes back the same way:
//! nothing, if the program runs, because the connection is closed by that.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::Path;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::pane::listen;
use super::{ANSWER_TIMEOUT, Capture, Pane, Server, TmuxError};
use crate::io::pty::{self, Start};

/// The name of our own server.
pub const OWN_SERVER: &str = "awaitty";

/// The option of a pane that holds the name it was given at `spawn`.
pub const NAME_OPTION: &str = "@awaitty_name";

/// How often it is tried again to start something in a server that was about to end.
const ENDING_TRIES: usize = 5;

/// Where a window is made.
#[derive(Clone, Copy, Debug)]
pub enum Where<'a> {
    /// In a session of its own, of that size.
    Own(usize, usize),
    /// In that session of the user's.
    In(&'a str),
}

/// A pane whose program waits to be started.
#[derive(Debug)]
pub struct Waiting {
    launcher: tokio::net::UnixStream,
    /// The pane.
    pub pane: Pane,
    /// What it shows.
    pub capture: Capture,
}

impl Server {
    /// Changes the size of a pane's window, if it is one of our own; says whether it is.
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

    /// Makes a window, whose program waits to be started.
    ///
    /// # Errors
    /// If tmux cannot.
    pub async fn open(
        &self,
        place: Where<'_>,
        name: Option<&str>,
        folder: &Path,
        history: usize,
    ) -> Result<Waiting, TmuxError> {
        let (listener, launcher, _removed) = listen(folder, "tmux-start")?;
        let id = match place {
            Where::Own(cols, rows) => {
                self.new_session(name, (cols, rows), history, &launcher).await?
            }
            Where::In(session) => self.new_window(name, session, &launcher).await?,
        };
        let opened = self.settle(&id, place, name, &listener).await;
        let attached = match opened {
            Ok(launcher) => {
                let attached = match self.pane(&id).await {
                    Ok(info) => Pane::attach(self, &info, folder, history).await,
                    Err(error) => Err(error),
                };
                attached.map(|(pane, capture)| Waiting { launcher, pane, capture })
            }
            Err(error) => Err(error),
        };
        if attached.is_err() {
            let _ = self.run(&["kill-pane", "-t", &id]).await;
        }
        attached
    }

    /// Makes a session with one pane in a server of our own, which is started if need be.
    async fn new_session(
        &self,
        name: Option<&str>,
        (cols, rows): (usize, usize),
        history: usize,
        launcher: &str,
    ) -> Result<String, TmuxError> {
        let (cols, rows, history) = (cols.to_string(), rows.to_string(), history.to_string());
        let mut args = vec!["-f", "/dev/null", "start-server", ";"];
        // A status line would take a row.
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
        // A dot would be taken for what comes before a pane.
        let name = name.map(|name| name.replace('.', "_"));
        if let Some(name) = &name {
            args.extend(["-s", name]);
        }
        args.push(launcher);
        let mut said = self.run(&args).await;
        // A server ends with its last session, and may be about to.
        for _ in 0..ENDING_TRIES {
            if !matches!(said, Err(TmuxError::NoServer(_))) {
                break;
            }
            said = self.run(&args).await;
        }
        super::made(&said?)
    }

    /// Makes a window in a session of the user's, who goes on looking at the one they look at.
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
        super::made(&self.run(&args).await?)
    }

    /// Sets what is particular to a pane of ours, and hears of its launcher.
    async fn settle(
        &self,
        id: &str,
        place: Where<'_>,
        name: Option<&str>,
        listener: &UnixListener,
    ) -> Result<tokio::net::UnixStream, TmuxError> {
        // When its program has ended it stays, with its last words and no others.
        let mut args = vec!["set-option", "-p", "-t", id, "remain-on-exit", "on", ";"];
        args.extend(["set-option", "-p", "-t", id, "remain-on-exit-format", "", ";"]);
        args.extend(["set-option", "-p", "-t", id, NAME_OPTION, name.unwrap_or_default()]);
        if matches!(place, Where::Own(..)) {
            // A person who looks at the window does not change its size. As a global option this ends tmux 3.3a.
            args.extend([";", "set-option", "-w", "-t", id, "window-size", "manual"]);
        }
        self.run(&args).await?;
        match tokio::time::timeout(ANSWER_TIMEOUT, listener.accept()).await {
            Ok(Ok((launcher, _))) => Ok(launcher),
            _ => Err(TmuxError::Other("what starts the program did not start".to_owned())),
        }
    }
}

impl Waiting {
    /// Starts the program.
    ///
    /// # Errors
    /// What the kernel said; the pane is gone then.
    pub async fn start(mut self, start: &Start) -> io::Result<(Pane, Capture)> {
        if let Err(error) = self.tell(start).await {
            self.give_up().await;
            return Err(error);
        }
        Ok((self.pane, self.capture))
    }

    /// Ends the pane, in which nothing was started.
    pub async fn give_up(self) {
        let (server, id) = self.pane.place();
        let _ = server.run(&["kill-pane", "-t", &id]).await;
    }

    /// Tells the launcher what to start, and hears what came of it.
    async fn tell(&mut self, start: &Start) -> io::Result<()> {
        self.launcher.write_all(&encode(start)).await?;
        self.launcher.shutdown().await?;
        let mut said = String::new();
        tokio::time::timeout(ANSWER_TIMEOUT, self.launcher.read_to_string(&mut said)).await??;
        match said.parse() {
            Ok(errno) => Err(io::Error::from_raw_os_error(errno)),
            Err(_) => Ok(()),
        }
    }
}

/// The launcher: hears what to start, and becomes it.
///
/// # Errors
/// If it cannot; whoever waits is told why.
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

/// Encodes a start as NUL-terminated fields, since arguments, paths and variables contain no NUL: the program, `argv[0]`, the
/// directory, the count of arguments, the arguments, and then names and values of variables.
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
