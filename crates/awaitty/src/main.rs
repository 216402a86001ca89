//! Entry point: parses the command line and dispatches to the library.

use std::ffi::OsString;
use std::time::Duration;

use awaitty::access::AccessOptions;
use awaitty_terminal::io::tmux;
use awaitty_terminal::platform::{limits, processes};
use awaitty_terminal::workers;

use awaitty::client::Client;
use awaitty::secrets::{SecretOptions, Secrets};
use awaitty::sessions::{Settings, TmuxServers};
use awaitty::{cli, daemon, files, http, mcp, policy, proxy, server, tools};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Drive terminal programs, and know when something happened.
#[derive(Debug, Parser)]
#[command(version, arg_required_else_help = true)]
struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve MCP on standard input and output.
    Mcp {
        /// Use the sessions of the daemon, which outlive this server, instead of separate ones.
        #[arg(long, conflicts_with_all = ["call_limit_ms", "tools", "web", "TmuxServers", "Directories", "Terminals", "Limits", "SecretOptions", "AccessOptions"])]
        daemon: bool,
        /// Milliseconds after which a wait answers `pending` to a client that requested no progress notifications.
        #[arg(long, env = "AWAITTY_CALL_LIMIT_MS", default_value_t = policy::CALL_LIMIT.as_millis() as u64)]
        call_limit_ms: u64,
        /// Tools to offer: `core`, `all`, or names separated by commas.
        #[arg(long, env = "AWAITTY_TOOLS", default_value = "all", value_parser = mcp::choose_tools)]
        tools: std::vec::Vec<&'static str>,
        /// Also serve the live page and MCP over HTTP.
        #[arg(long)]
        web: bool,
        #[command(flatten)]
        network: http::Options,
        #[command(flatten)]
        tmux: TmuxServers,
        #[command(flatten)]
        directories: files::Directories,
        #[command(flatten)]
        access: AccessOptions,
        #[command(flatten)]
        secrets: SecretOptions,
        #[command(flatten)]
        terminals: policy::Terminals,
        #[command(flatten)]
        limits: policy::Limits,
    },
    /// Serve a live page of the sessions, and MCP over HTTP at /mcp.
    Serve {
        #[command(flatten)]
        network: http::Options,
        /// Milliseconds after which a wait answers `pending` to a client that requested no progress notifications.
        /// Default: never, since SSE comments keep the connection alive.
        #[arg(long, env = "AWAITTY_CALL_LIMIT_MS")]
        call_limit_ms: Option<u64>,
        /// Tools to offer: `core`, `all`, or names separated by commas.
        #[arg(long, env = "AWAITTY_TOOLS", default_value = "all", value_parser = mcp::choose_tools)]
        tools: std::vec::Vec<&'static str>,
        /// Print the URLs and the token file as JSON once the server is listening.
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        tmux: TmuxServers,
        #[command(flatten)]
        directories: files::Directories,
        #[command(flatten)]
        access: AccessOptions,
        #[command(flatten)]
        secrets: SecretOptions,
        #[command(flatten)]
        terminals: policy::Terminals,
        #[command(flatten)]
        limits: policy::Limits,
    },
    /// Hold sessions that outlive a command line call. The first call that needs the daemon starts it.
    Daemon {
        #[command(subcommand)]
        action: Option<DaemonAction>,
        /// Milliseconds without a client and without a running program after which the daemon ends.
        #[arg(long, env = "AWAITTY_IDLE_MS", default_value_t = policy::DAEMON_IDLE.as_millis() as u64)]
        idle_ms: u64,
        #[arg(long, hide = true)]
        background: bool,
        #[arg(long, hide = true)]
        guarded: bool,
        #[command(flatten)]
        tmux: TmuxServers,
        #[command(flatten)]
        directories: files::Directories,
        #[command(flatten)]
        access: AccessOptions,
        #[command(flatten)]
        secrets: SecretOptions,
        #[command(flatten)]
        terminals: policy::Terminals,
        #[command(flatten)]
        limits: policy::Limits,
    },
    /// Start a program, wait for its exit and print its screen.
    #[command(
        after_help = "Exit status: that of the program, 128+N if signal N ended it, 124 after a timeout, 4 if the \
        session was closed, 1 after another error, and 2 for an invalid command line."
    )]
    Run {
        /// Milliseconds after which the program is ended.
        #[arg(long, default_value_t = policy::TIMEOUT_MAX.as_millis() as u64)]
        timeout_ms: u64,
        /// Columns of the terminal.
        #[arg(long, default_value_t = policy::COLS as u16)]
        cols: u16,
        /// Rows of the terminal.
        #[arg(long, default_value_t = policy::ROWS as u16)]
        rows: u16,
        /// Print the structured result as JSON.
        #[arg(long)]
        json: bool,
        /// The program and its arguments; options of run must come first.
        #[arg(required = true, trailing_var_arg = true)]
        command: Vec<String>,
    },
    /// Run tapes as tests of terminal programs.
    #[command(
        after_help = "Exit status: 0 if all tapes passed, 1 if one failed, 2 if nothing was run because of an error in \
        a tape or in the arguments. docs/tapes.md has the grammar of tapes."
    )]
    Test(cli::tapes::TestOptions),
    /// Run a tape as a demo, and write it as an animation, a picture, a recording or a page.
    #[command(
        after_help = "Exit status: 0, 1 if a step failed, 2 for an error in the tape or in the arguments. docs/tapes.md \
        has the grammar of tapes."
    )]
    Play(cli::tapes::PlayOptions),
    /// Attach this terminal to a session; ctrl+] detaches.
    Attach {
        /// Session ID or name; optional if there is only one session.
        session_id: Option<String>,
        /// Resize the session to the size of this terminal.
        #[arg(long)]
        resize: bool,
    },
    /// End a session and start it again with the same parameters.
    Restart {
        /// Session name or ID.
        name: String,
        /// Print the structured result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Started by tmux to forward the output of a pane.
    #[command(hide = true)]
    TmuxPipe { socket: std::path::PathBuf },
    /// Waits for a channel of a tmux server as long as its parent process lives.
    #[command(hide = true)]
    TmuxWait { channel: String, server: Option<String> },
    /// Started by tmux to exec the program of a spawned session.
    #[command(hide = true)]
    TmuxStart { socket: std::path::PathBuf },
    /// Show what awaitty does with a shell and a full-screen program.
    Demo,
    /// Work with policy files.
    Policy {
        #[command(subcommand)]
        action: PolicyAction,
    },
    /// Print a shell completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

#[derive(Clone, Debug, Subcommand)]
enum PolicyAction {
    /// Check a policy file and print its rules.
    Check {
        /// The policy file.
        file: std::path::PathBuf,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum DaemonAction {
    /// End the daemon and its sessions.
    Stop {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Print whether the daemon is running, its PID and its number of sessions.
    Status {
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
}

fn main() {
    awaitty::log_to_stderr();
    let status = match cli::signal::parse_plain(std::env::args_os()) {
        Some(arguments) => cli::signal::call(arguments).map_err(anyhow::Error::from),
        None => parse_and_run(),
    };
    if let Err(error) = &status {
        awaitty::log(&format!("{error:#}"));
    }
    // Exits instead of returning: dropping the runtime would wait for a blocked read of standard input.
    std::process::exit(status.unwrap_or(cli::exit::ERROR));
}

fn parse_and_run() -> anyhow::Result<i32> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let whole = command(words.get(1).and_then(|word| word.to_str()));
    let words = cli::join_values(&whole, words);
    let matches = whole.get_matches_from(words);
    let (name, tool_matches) = matches.subcommand().expect("clap requires a subcommand");
    match tools::find(&name.replace('-', "_")) {
        Some(tool) => Ok(cli::call(tool, tool_matches)?),
        None => run(Args::from_arg_matches(&matches)?),
    }
}

/// Returns the command line parser. If the first word is a tool, it contains that tool only: building all of them would
/// slow down a call such as `awaitty signal`.
fn command(word: Option<&str>) -> clap::Command {
    match word.and_then(cli::command_of) {
        Some(tool) => clap::Command::new("awaitty").subcommand(tool),
        None => Args::command().subcommands(cli::commands()),
    }
}

fn run(args: Args) -> anyhow::Result<i32> {
    match args.command {
        Command::Run { timeout_ms, cols, rows, json, command } => {
            return Ok(cli::run::run(&command, timeout_ms, [cols, rows], json)?);
        }
        Command::Test(options) => return Ok(cli::tapes::test(&options)?),
        Command::Play(options) => return Ok(cli::tapes::play(&options)?),
        Command::Restart { name, json } => return Ok(cli::run::restart(&name, json)?),
        Command::Attach { session_id, resize } => {
            let end = cli::attach::run(session_id.as_deref(), resize)?;
            let text = if end == cli::attach::AttachEnd::Detached {
                "detached"
            } else {
                "the session has ended"
            };
            cli::write(format!("{text}\n").as_bytes())?;
        }
        Command::Completions { shell } => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut command(None), "awaitty", &mut text);
            cli::write(&text)?;
        }
        Command::TmuxPipe { socket } => tmux::pipe::run(&socket)?,
        Command::TmuxWait { channel, server } => {
            let is_signalled = tmux::channels::wait(&channel, server.as_deref())?;
            return Ok(if is_signalled { cli::exit::MET } else { cli::exit::ERROR });
        }
        Command::TmuxStart { socket } => tmux::own::launch(&socket)?,
        Command::Man => {
            let mut text = Vec::new();
            clap_mangen::Man::new(command(None)).render(&mut text)?;
            cli::write(&text)?;
        }
        Command::Policy { action: PolicyAction::Check { file, json } } => {
            return Ok(cli::policy::check(&file, json)?);
        }
        Command::Daemon { action: Some(DaemonAction::Stop { json }), .. } => stop(json)?,
        Command::Daemon { action: Some(DaemonAction::Status { json }), .. } => status(json)?,
        Command::Mcp { daemon: true, .. } => proxy::run()?,
        command => {
            // Must run before threads are started: this process may replace itself.
            let secrets = load_secrets(&command)?;
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()?;
            runtime.block_on(serve(command, secrets))?;
        }
    }
    Ok(cli::exit::MET)
}

/// Loads the secrets of a server. The guard of a daemon passes them on to it.
fn load_secrets(command: &Command) -> anyhow::Result<Secrets> {
    match command {
        Command::Daemon { background: true, secrets, .. } => {
            Secrets::pass_on(secrets)?;
            Ok(Secrets::default())
        }
        Command::Mcp { secrets, .. }
        | Command::Serve { secrets, .. }
        | Command::Daemon { secrets, .. } => Secrets::load(secrets),
        _ => Ok(Secrets::default()),
    }
}

async fn serve(command: Command, secrets: Secrets) -> anyhow::Result<()> {
    processes::become_reaper();
    let ended = CancellationToken::new();
    tokio::spawn(watch_signals(ended.clone())?);
    match command {
        Command::Mcp {
            call_limit_ms,
            limits,
            terminals,
            tools,
            web,
            network,
            tmux,
            directories,
            access,
            ..
        } => {
            let sessions = settings(limits, terminals, &directories, tmux)?;
            let call_limit = Duration::from_millis(call_limit_ms);
            let options = options(&access, secrets, sessions)?;
            let options = mcp::Options { call_limit, tools, ..options };
            let (listener, _login_file) =
                if web { open_page(&network).await } else { (None, None) };
            server::serve_stdio(options, listener, ended).await
        }
        Command::Serve {
            network,
            call_limit_ms,
            tools,
            json,
            tmux,
            directories,
            terminals,
            limits,
            access,
            ..
        } => {
            let sessions = settings(limits, terminals, &directories, tmux)?;
            let listener = http::Listener::bind(&network).await?;
            let _login_file = announce(&listener, json)?;
            let call_limit = call_limit_ms.map_or(policy::TIMEOUT_MAX, Duration::from_millis);
            let options = options(&access, secrets, sessions)?;
            let options = mcp::Options { call_limit, tools, ..options };
            server::serve_http(options, listener, ended).await;
            Ok(())
        }
        Command::Daemon { background: true, .. } => daemon::guard(ended).await,
        Command::Daemon {
            idle_ms, guarded, limits, terminals, tmux, directories, access, ..
        } => {
            let sessions = settings(limits, terminals, &directories, tmux)?;
            let idle = Duration::from_millis(idle_ms);
            daemon::run(guarded, idle, options(&access, secrets, sessions)?, ended).await
        }
        Command::Demo => awaitty::demo::run(ended).await,
        _ => Ok(()),
    }
}

/// Returns the server configuration from the access options.
fn options(
    access: &AccessOptions,
    secrets: Secrets,
    sessions: Settings,
) -> anyhow::Result<mcp::Options> {
    let (policy, audit) = access.load()?;
    let socket_access = access.socket_access;
    let sessions = Settings { policy, secrets, ..sessions };
    Ok(mcp::Options { sessions, audit, socket_access, ..mcp::Options::default() })
}

/// Starts the live page of `mcp --web`. A failure is logged only: the agent still needs its tools.
async fn open_page(network: &http::Options) -> (Option<http::Listener>, Option<http::LoginFile>) {
    let opened = async {
        let listener = http::Listener::bind(network).await?;
        // Standard output belongs to MCP.
        let login_file = announce(&listener, false)?;
        Ok::<_, anyhow::Error>((listener, login_file))
    };
    match opened.await {
        Ok((listener, login_file)) => (Some(listener), Some(login_file)),
        Err(error) => {
            awaitty::log(&format!("--web: the live page is not available: {error:#}"));
            (None, None)
        }
    }
}

/// Logs the URLs and the files for authentication. The token itself is only in the files.
fn announce(listener: &http::Listener, as_json: bool) -> anyhow::Result<http::LoginFile> {
    let (url, token_file) = (listener.url(), listener.token_file().display());
    let login_file = listener.create_login_file()?;
    let page = login_file.path().display();
    awaitty::log(&format!(
        "the page is at {url}: open file://{page} in a browser to log in\n\
         awaitty: MCP is at {url}/mcp: send the token from {token_file}"
    ));
    if as_json {
        let addresses = json!({"url": url, "mcp": format!("{url}/mcp"),
            "page_file": page.to_string(), "token_file": token_file.to_string()});
        cli::write(format!("{addresses}\n").as_bytes())?;
    }
    Ok(login_file)
}

/// Applies the settings of the process. Returns the settings for the sessions.
fn settings(
    given: policy::Limits,
    terminals: policy::Terminals,
    directories: &files::Directories,
    tmux: TmuxServers,
) -> anyhow::Result<Settings> {
    limits::raise_descriptors();
    workers::begin();
    policy::set_limits(given).map_err(anyhow::Error::msg)?;
    Ok(Settings {
        answers_checksums: terminals.answer_checksums,
        tmux_servers: tmux.names,
        directories: directories.resolve().map_err(anyhow::Error::msg)?,
        ..Settings::default()
    })
}

/// Connects to the daemon if one is running.
fn running_daemon() -> anyhow::Result<Option<Client>> {
    Ok(Client::connect(&awaitty::socket::daemon_path()?).ok())
}

fn stop(as_json: bool) -> anyhow::Result<()> {
    let client = running_daemon()?;
    let was_running = client.is_some();
    if let Some(client) = client {
        client.end_server()?;
    }
    let text = if was_running { "the daemon has ended" } else { "no daemon was running" };
    print(as_json, &json!({"stopped": was_running}), text)
}

fn status(as_json: bool) -> anyhow::Result<()> {
    let Some(mut client) = running_daemon()? else {
        return print(as_json, &json!({"running": false}), "no daemon is running");
    };
    let (version, pid) = (client.version()?, client.server_pid()?.as_raw_nonzero());
    let sessions = client.call("list_sessions", &json!({}), &mut |_| {})?.structured;
    let count = sessions["sessions"].as_array().map_or(0, Vec::len);
    let status = json!({"running": true, "pid": pid, "version": version, "sessions": count});
    print(as_json, &status, &format!("PID {pid}, version {version}, {count} sessions"))
}

fn print(as_json: bool, json: &serde_json::Value, text: &str) -> anyhow::Result<()> {
    let text = if as_json { json.to_string() } else { text.to_owned() };
    Ok(cli::write(format!("{text}\n").as_bytes())?)
}

/// Returns a task that cancels `ended` on SIGTERM, SIGINT or SIGHUP, and reaps orphans on SIGCHLD.
fn watch_signals(ended: CancellationToken) -> anyhow::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut child = signal(SignalKind::child())?;
    // SIGXFSZ would kill the server when a recording reaches `ulimit -f`. With a handler the write fails instead, which
    // ends the recording. It is not ignored, because started programs would inherit that.
    let mut too_large = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()))?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => ended.cancel(),
                _ = interrupt.recv() => ended.cancel(),
                _ = hangup.recv() => ended.cancel(),
                _ = child.recv() => processes::reap_orphans(),
                _ = too_large.recv() => {}
            }
        }
    })
}
