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

use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixListener;

use super::pane::listen;
use super::{ANSWER_TIMEOUT, Capture, Pane, Server, TmuxError};
use crate::backend::pty::{self, Start};

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

/// What the launcher is told, in bytes, because that is what paths and variables are.
#[derive(Debug, Serialize, Deserialize)]
struct Told {
    program: Vec<u8>,
    arg0: Vec<u8>,
    args: Vec<Vec<u8>>,
    env: Vec<(Vec<u8>, Vec<u8>)>,
    cwd: Vec<u8>,
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
        let bytes = |text: &OsString| text.as_bytes().to_vec();
        let told = Told {
            program: start.program.as_os_str().as_bytes().to_vec(),
            arg0: bytes(&start.arg0),
            args: start.args.iter().map(bytes).collect(),
            env: start.env.iter().map(|(name, value)| (bytes(name), bytes(value))).collect(),
            cwd: start.cwd.as_os_str().as_bytes().to_vec(),
        };
        self.launcher.write_all(&serde_json::to_vec(&told)?).await?;
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
    let mut told = Vec::new();
    socket.read_to_end(&mut told)?;
    let told: Told = serde_json::from_slice(&told)?;
    let text = |bytes: Vec<u8>| OsString::from_vec(bytes);
    let error = pty::become_program(&Start {
        program: text(told.program).into(),
        arg0: text(told.arg0),
        args: told.args.into_iter().map(text).collect(),
        env: told.env.into_iter().map(|(name, value)| (text(name), text(value))).collect(),
        cwd: text(told.cwd).into(),
        // tmux knows it.
        cols: 0,
        rows: 0,
    });
    let errno = error.raw_os_error().unwrap_or_default();
    socket.write_all(errno.to_string().as_bytes())?;
    socket.shutdown(Shutdown::Both)?;
    Err(error)
}
