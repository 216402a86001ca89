//! A blocking client of a server's socket, for the command line.
//!
//! It needs no async runtime, and uses the newer protocol, which has no handshake. So it starts as fast as a process
//! can.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use awaitty_terminal::platform::{exit_watch, peers};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rustix::fs::FlockOperation;
use rustix::process::Pid;
use serde_json::{Value, json};

use crate::access::POLICY_VARIABLE;
use crate::mcp::IMAGE_META_KEY;
use crate::{secrets, socket};

/// The result of a tool call.
#[derive(Clone, Debug)]
pub struct CallResult {
    /// The structured result, for programs.
    pub structured: Value,
    /// The text result, for people.
    pub text: String,
    /// The image, if the result has one.
    pub image: Option<Vec<u8>>,
    /// The call failed.
    pub is_error: bool,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Client {
    input: UnixStream,
    output: BufReader<UnixStream>,
    last_id: u64,
}

/// Key of the server's name and version in `_meta`.
const SERVER_INFO: &str = "io.modelcontextprotocol/serverInfo";

impl Client {
    /// Connects to the server at a path.
    ///
    /// # Errors
    /// If no server accepts the connection.
    pub fn connect(path: &Path) -> io::Result<Client> {
        let input = UnixStream::connect(path)?;
        let output = BufReader::new(input.try_clone()?);
        Ok(Client { input, output, last_id: 0 })
    }

    /// Connects to the daemon, after starting it if none is running, and checks that its version is this one.
    ///
    /// # Errors
    /// If it cannot be started, or has another version.
    pub fn daemon() -> io::Result<Client> {
        let mut client = Client::any_daemon()?;
        client.check_version()?;
        Ok(client)
    }

    /// Connects to the daemon if one is running, and checks that its version is this one. Starts none.
    ///
    /// # Errors
    /// If it cannot be reached, or has another version.
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

    /// Connects to the daemon of any version, after starting it if none is running.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn any_daemon() -> io::Result<Client> {
        let path = socket::daemon_path()?;
        if let Ok(client) = Client::connect(&path) {
            return Ok(client);
        }
        // Serializes concurrent starts: the second caller finds the daemon of the first.
        let lock = File::create(path.with_file_name("start.lock"))?;
        rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
        if let Ok(client) = Client::connect(&path) {
            return Ok(client);
        }
        let ready_line = start_daemon()?;
        if let Some(warning) = ready_line.strip_prefix("ready, ") {
            crate::log(warning);
        }
        Client::connect(&path)
    }

    /// Sets the timeout of reads and writes.
    ///
    /// # Errors
    /// If it is zero.
    pub fn limit(&self, timeout: Duration) -> io::Result<()> {
        self.input.set_write_timeout(Some(timeout))?;
        self.output.get_ref().set_read_timeout(Some(timeout))
    }

    /// Returns the PID of the server.
    ///
    /// # Errors
    /// If the kernel does not report it.
    pub fn server_pid(&self) -> io::Result<Pid> {
        peers::peer_pid(&self.input)
    }

    /// Ends the server, and waits for the exit of its process, which comes after the end of the connection.
    ///
    /// # Errors
    /// If the signal is not permitted.
    pub fn end_server(self) -> io::Result<()> {
        exit_watch::terminate(self.server_pid()?)
    }

    /// Returns the server's version.
    ///
    /// # Errors
    /// If it does not respond.
    pub fn version(&mut self) -> io::Result<String> {
        let info = match self.request("server/discover", json!({}), &mut |_| {}) {
            // An older server, which does not know the method.
            Err(error) if error.kind() == io::ErrorKind::Other => Value::Null,
            info => info?,
        };
        let version = info["_meta"][SERVER_INFO]["version"].as_str();
        Ok(version.unwrap_or("unknown").to_owned())
    }

    /// Reads the next message.
    fn next(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::UnexpectedEof,
                "the server closed the connection: call again, and read its log if that does not help",
            ));
        }
        Ok(serde_json::from_str(&line)?)
    }

    /// Sends a request and returns its result. Passes progress messages to `progress`.
    fn request(
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
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.input.write_all(format!("{request}\n").as_bytes())?;
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

    /// Calls a tool. Passes progress messages to `progress`.
    ///
    /// # Errors
    /// If the connection closes, or the tool is unknown.
    pub fn call(
        &mut self,
        tool: &str,
        arguments: &Value,
        progress: &mut dyn FnMut(&str),
    ) -> io::Result<CallResult> {
        let params = json!({"name": tool, "arguments": arguments});
        parse_result(&self.request("tools/call", params, progress)?)
    }

    /// Checks that the server has the version of this program.
    ///
    /// # Errors
    /// If it has another one.
    fn check_version(&mut self) -> io::Result<()> {
        let (own, version) = (env!("CARGO_PKG_VERSION"), self.version()?);
        if version == own {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "the daemon has version {version}, but this program has {own}: run `awaitty daemon stop`, which ends the \
             daemon and its sessions; the next call starts a daemon of this version"
        )))
    }
}

fn parse_result(result: &Value) -> io::Result<CallResult> {
    let image = result["content"][1]["data"].as_str();
    let image =
        image.map(|data| BASE64_STANDARD.decode(data).map_err(io::Error::other)).transpose()?;
    let image_data = &result["_meta"][IMAGE_META_KEY];
    let structured = if image.is_some() { image_data } else { &result["structuredContent"] };
    Ok(CallResult {
        structured: structured.clone(),
        image,
        text: result["content"][0]["text"].as_str().unwrap_or_default().to_owned(),
        is_error: result["isError"] == json!(true),
    })
}

/// Starts a daemon in the background. Returns the line that it prints once it is listening.
fn start_daemon() -> io::Result<String> {
    let log = socket::runtime_dir()?.join("daemon.log");
    let mut command = Command::new(std::env::current_exe()?);
    // The daemon has another working directory.
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
    let mut printed = String::new();
    if let Some(output) = &mut daemon.stdout {
        output.read_to_string(&mut printed)?;
    }
    if printed.starts_with("ready") {
        return Ok(printed.trim_end().to_owned());
    }
    let text = std::fs::read_to_string(&log).unwrap_or_default();
    let why = text.lines().last().unwrap_or("unknown reason").trim_start_matches("awaitty: ");
    Err(io::Error::other(format!("the daemon did not start: {why} (see {})", log.display())))
}
