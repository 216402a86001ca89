//! The command line: what is asked for is found out here, and done elsewhere.

use std::time::Duration;

use awaitty::{backend::processes, mcp, policy};
use clap::{Parser, Subcommand};
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
        /// A wait by a client that asked for no progress answers `pending` after so many milliseconds.
        #[arg(long, env = "AWAITTY_CALL_LIMIT_MS", default_value_t = policy::CALL_LIMIT.as_millis() as u64)]
        call_limit_ms: u64,
        #[command(flatten)]
        limits: policy::Limits,
    },
    /// Drive a shell and a full-screen program before your eyes.
    Demo,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let result = runtime.block_on(run(args));
    if let Err(error) = &result {
        report(&error.to_string());
    }
    // Not a return: dropping the runtime would wait for a read of standard input that never ends.
    std::process::exit(i32::from(result.is_err()));
}

#[expect(
    clippy::print_stderr,
    reason = "the one place where the command line says what went wrong"
)]
fn report(error: &str) {
    eprintln!("awaitty: {error}");
}

async fn run(args: Args) -> anyhow::Result<()> {
    processes::become_reaper();
    let ended = CancellationToken::new();
    tokio::spawn(watch_signals(ended.clone())?);
    match args.command {
        Command::Mcp { call_limit_ms, limits } => {
            policy::set_limits(limits).map_err(anyhow::Error::msg)?;
            mcp::serve_stdio(Duration::from_millis(call_limit_ms), ended).await
        }
        Command::Demo => awaitty::demo::run(ended).await,
    }
}

/// Ends us politely on the usual signals, and reaps the children that nobody else does.
fn watch_signals(ended: CancellationToken) -> anyhow::Result<impl Future<Output = ()> + Send> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let mut child = signal(SignalKind::child())?;
    Ok(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => ended.cancel(),
                _ = interrupt.recv() => ended.cancel(),
                _ = hangup.recv() => ended.cancel(),
                _ = child.recv() => processes::reap_orphans(),
            }
        }
    })
}
