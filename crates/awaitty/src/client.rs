//! A client of a server's socket, for the command line: it writes and reads lines, and blocks.
//!
//! It starts in the time that a process takes to start: no runtime, and the newer protocol, which needs no handshake.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustix::event::{PollFd, PollFlags};
use rustix::fs::FlockOperation;
use rustix::process::{Pid, PidfdFlags, Signal};
use serde_json::{Value, json};

use crate::access::POLICY_VARIABLE;
use crate::mcp::SHOWN;
use crate::{secrets, socket};

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
}

/// Where a server says what it is.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

impl Client {
    /// Connects to the server at a path.
    ///
    /// # Errors
    /// If nobody answers there.
    pub fn connect(path: &Path) -> io::Result<Client> {
        let input = UnixStream::connect(path)?;
        let output = BufReader::new(input.try_clone()?);
        Ok(Client { input, output, last_id: 0 })
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

    /// Connects to the daemon if one runs, and insists on its being of our version. Starts none.
    ///
    /// # Errors
    /// If it cannot be reached, or is of another version.
    pub fn running_daemon() -> io::Result<Option<Client>> {
        match Client::connect(&socket::daemon_path()?) {
            Ok(mut client) => {
                client.check_version()?;
                Ok(Some(client))
            }
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
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
    pub fn server_pid(&self) -> io::Result<Pid> {
        Ok(rustix::net::sockopt::socket_peercred(&self.input)?.pid)
    }

    /// Ends the server, and waits until its process has ended: the connection ends before.
    ///
    /// # Errors
    /// If it may not be ended.
    pub fn end_server(self) -> io::Result<()> {
        let server = rustix::process::pidfd_open(self.server_pid()?, PidfdFlags::empty())?;
        rustix::process::pidfd_send_signal(&server, Signal::TERM)?;
        let mut ended = [PollFd::new(&server, PollFlags::IN)];
        rustix::io::retry_on_intr(|| rustix::event::poll(&mut ended, None))?;
        Ok(())
    }

    /// The server's version.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn version(&mut self) -> io::Result<String> {
        let told = match self.ask("server/discover", json!({}), &mut |_| {}) {
            // It speaks another protocol.
            Err(error) if error.kind() == io::ErrorKind::Other => Value::Null,
            told => told?,
        };
        let version = told["_meta"][SERVER_INFO]["version"].as_str();
        Ok(version.unwrap_or("unknown").to_owned())
    }

    /// The next message.
    fn next(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server went away: call again, and look at its log if that does not help",
            ));
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Asks for something and gives the result; `progress` hears of what takes long.
    fn ask(
        &mut self,
        method: &str,
        mut params: Value,
        progress: &mut dyn FnMut(&str),
    ) -> io::Result<Value> {
        self.last_id += 1;
        let id = self.last_id;
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "awaitty-cli", "version": env!("CARGO_PKG_VERSION")},
            "io.modelcontextprotocol/clientCapabilities": {},
            "progressToken": id,
        });
        let asked = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.input.write_all(format!("{asked}\n").as_bytes())?;
        loop {
            let mut message = self.next()?;
            if message["method"] == "notifications/progress" {
                progress(message["params"]["message"].as_str().unwrap_or_default());
            }
            if message["id"] != json!(id) {
                continue;
            }
            return match message["error"]["message"].as_str() {
                Some(error) => Err(io::Error::other(error.to_owned())),
                None => Ok(message["result"].take()),
            };
        }
    }

    /// Calls a tool; `progress` hears of a call that takes long.
    ///
    /// # Errors
    /// If the server goes away, or does not know the tool.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        progress: &mut dyn FnMut(&str),
    ) -> io::Result<Answered> {
        let params = json!({"name": tool, "arguments": arguments});
        answered(&self.ask("tools/call", params, progress)?)
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

fn answered(result: &Value) -> io::Result<Answered> {
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
    let mut command = Command::new(std::env::current_exe()?);
    // The daemon runs in another directory.
    for variable in [secrets::FILE_VARIABLE, POLICY_VARIABLE] {
        if let Some(path) = std::env::var_os(variable) {
            command.env(variable, std::path::absolute(path)?);
        }
    }
    let mut daemon = command
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
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let why = text.lines().last().unwrap_or("it did not say why").trim_start_matches("awaitty: ");
    Err(io::Error::other(format!("the daemon did not start: {why} (see {})", log.display())))
}
