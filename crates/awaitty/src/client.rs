//! A client of a server's socket, for the command line: it writes and reads lines, and blocks.
//!
//! It starts in the time that a process takes to start: no runtime, and the handshake goes out together
//! with the first call.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustix::fs::FlockOperation;
use serde_json::{Value, json};

use crate::mcp::SHOWN;
use crate::socket;

/// What a call was answered with.
#[derive(Clone, Debug)]
pub struct Answered {
    /// For programs.
    pub structured: Value,
    /// For readers.
    pub text: String,
    /// The picture, if it is one.
    pub image: Option<Vec<u8>>,
    /// It was a mistake of the caller's.
    pub is_error: bool,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    input: UnixStream,
    output: BufReader<UnixStream>,
    last_id: u64,
    /// The server's version, once it has answered.
    version: Option<String>,
}

impl Client {
    /// Connects to the server at a path.
    ///
    /// # Errors
    /// If nobody answers there.
    pub fn connect(path: &Path) -> io::Result<Client> {
        let input = UnixStream::connect(path)?;
        let output = BufReader::new(input.try_clone()?);
        let mut client = Client { input, output, last_id: 0, version: None };
        let version = env!("CARGO_PKG_VERSION");
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": {"name": "awaitty-cli", "version": version}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello});
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        client.input.write_all(format!("{hello}\n{ready}\n").as_bytes())?;
        Ok(client)
    }

    /// Connects to the daemon, starting it if nobody answers, and insists on its being of our version.
    ///
    /// # Errors
    /// If it cannot be started, or is of another version.
    pub fn daemon() -> io::Result<Client> {
        let mut client = Client::any_daemon()?;
        client.check_version()?;
        Ok(client)
    }

    /// Connects to the daemon whatever its version, starting it if nobody answers.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn any_daemon() -> io::Result<Client> {
        let path = socket::daemon_path()?;
        if let Ok(client) = Client::connect(&path) {
            return Ok(client);
        }
        // One at a time: whoever comes second finds the daemon that the first one started.
        let lock = File::create(path.with_file_name("start.lock"))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        if let Ok(client) = Client::connect(&path) {
            return Ok(client);
        }
        let said = start_daemon()?;
        if let Some(died) = said.strip_prefix("ready, ") {
            crate::log(died);
        }
        Client::connect(&path)
    }

    /// Does not wait for longer than that for an answer.
    ///
    /// # Errors
    /// If it is no time at all.
    pub fn limit(&self, longest: Duration) -> io::Result<()> {
        self.input.set_write_timeout(Some(longest))?;
        self.output.get_ref().set_read_timeout(Some(longest))
    }

    /// The process that answers.
    ///
    /// # Errors
    /// If the kernel does not tell.
    pub fn server_pid(&self) -> io::Result<rustix::process::Pid> {
        Ok(rustix::net::sockopt::socket_peercred(&self.input)?.pid)
    }

    /// The server's version.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn version(&mut self) -> io::Result<String> {
        while self.version.is_none() {
            self.next()?;
        }
        Ok(self.version.clone().unwrap_or_default())
    }

    /// Waits until the server has gone away.
    pub fn wait_until_gone(mut self) {
        while self.next().is_ok() {}
    }

    /// The next message; the answer to the handshake is kept here.
    fn next(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server went away: call again, and look at its log if that does not help",
            ));
        }
        let message: Value = serde_json::from_str(&line)?;
        if message["id"] == json!(0) {
            let version = message["result"]["serverInfo"]["version"].as_str();
            self.version = Some(version.unwrap_or("unknown").to_owned());
        }
        Ok(message)
    }

    /// Calls a tool; `progress` hears of a call that takes long.
    ///
    /// # Errors
    /// If the server goes away, or is of another version.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        progress: &mut dyn FnMut(&str),
    ) -> io::Result<Answered> {
        self.last_id += 1;
        let id = self.last_id;
        let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": id}});
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.input.write_all(format!("{call}\n").as_bytes())?;
        loop {
            let message = self.next()?;
            if message["method"] == "notifications/progress" {
                progress(message["params"]["message"].as_str().unwrap_or_default());
            }
            if message["id"] == json!(id) {
                return answered(&message);
            }
        }
    }

    /// Says if the server is of another version than we are.
    ///
    /// # Errors
    /// If it is.
    fn check_version(&mut self) -> io::Result<()> {
        let (own, version) = (env!("CARGO_PKG_VERSION"), self.version()?);
        if version == own {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the daemon is version {version} and this is {own}: `awaitty daemon stop` ends it and its sessions, \
             and the next call starts one of this version"
        )))
    }
}

fn answered(message: &Value) -> io::Result<Answered> {
    if let Some(error) = message["error"]["message"].as_str() {
        return Err(io::Error::other(error.to_owned()));
    }
    let result = &message["result"];
    let image = result["content"][1]["data"].as_str();
    let image =
        image.map(|data| BASE64_STANDARD.decode(data).map_err(io::Error::other)).transpose()?;
    let of_image = &result["_meta"][SHOWN];
    let structured = if image.is_some() { of_image } else { &result["structuredContent"] };
    Ok(Answered {
        structured: structured.clone(),
        image,
        text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
        is_error: result["isError"] == json!(true),
    })
}

/// Starts a daemon in the background and waits for what it says when it listens.
fn start_daemon() -> io::Result<String> {
    let log = socket::runtime_dir()?.join("daemon.log");
    let mut daemon = Command::new(std::env::current_exe()?)
        .args(["daemon", "--background"])
        .env_remove(socket::SOCKET_VARIABLE)
        .env_remove(socket::SESSION_VARIABLE)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::options().create(true).append(true).open(&log)?)
        .spawn()?;
    let mut said = String::new();
    if let Some(output) = &mut daemon.stdout {
        output.read_to_string(&mut said)?;
    }
    if said.starts_with("ready") {
        return Ok(said.trim_end().to_owned());
    }
    Err(io::Error::other(format!("the daemon did not start: {} says why", log.display())))
}
