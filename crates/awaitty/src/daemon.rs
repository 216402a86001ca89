//! The daemon: a server that belongs to no client, so that sessions outlive a command line call.

use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use rustix::fs::FlockOperation;
use rustix::process::{Pid, Signal};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::mcp::{Host, Options};
use crate::policy;
use crate::socket::{self, Clients, Listener};
use awaitty_terminal::platform::leaders::{self, LeadersFile};
use awaitty_terminal::platform::processes;
use awaitty_terminal::terminal as driver;

/// Starts the daemon and outlives it. Orphans of a killed daemon are reparented to this process, which ends them before
/// another daemon may start.
///
/// # Errors
/// If the daemon cannot be started.
pub async fn guard(ended: CancellationToken) -> anyhow::Result<()> {
    // Fails only for a process group leader, which needs no new session.
    let _ = rustix::process::setsid();
    let lock = File::create(socket::runtime_dir()?.join("guard.lock"))?;
    rustix::fs::flock(&lock, FlockOperation::LockExclusive)?;
    let mut daemon = processes::register(|| {
        let daemon =
            Command::new(std::env::current_exe()?).args(["daemon", "--guarded"]).spawn()?;
        let pid = Pid::from_child(&daemon);
        Ok((daemon, pid))
    })?;
    let pid = Pid::from_child(&daemon);
    close_stdout()?;
    let exit = tokio::task::spawn_blocking(move || daemon.wait());
    tokio::pin!(exit);
    tokio::select! {
        _ = &mut exit => {}
        () = ended.cancelled() => {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
            let _ = exit.await;
        }
    }
    processes::unregister(pid);
    processes::end_orphans().await;
    drop(lock);
    Ok(())
}

/// Runs the daemon until `ended`, or until it has been idle for `idle`. In the background it prints a line to standard
/// output once it is listening.
///
/// # Errors
/// If another daemon is running, or the socket cannot be created.
pub async fn run(
    background: bool,
    idle: Duration,
    options: Options,
    ended: CancellationToken,
) -> anyhow::Result<()> {
    let path = socket::daemon_path()?;
    let lock = File::create(path.with_file_name("daemon.lock"))?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .context("a daemon is already running: `awaitty daemon status` shows it")?;
    let was_killed = path.metadata().is_ok_and(|found| found.file_type().is_socket());
    let listener = Listener::bind(path)?;
    let programs = Listener::bind(socket::daemon_program_path()?)?;
    let leaders_path = listener.path().with_file_name("leaders");
    let leaders = leaders::read(&leaders_path);
    let strays = if was_killed {
        processes::end_strays(socket::SOCKET_VARIABLE, programs.path(), &leaders).await
    } else {
        0
    };
    let _ = std::fs::remove_file(&leaders_path);
    let leaders = LeadersFile::create(leaders_path);
    let host = Host::new(options);
    host.sessions.set_socket(programs.path());
    // Optional: without the file, fewer processes are found after a kill.
    if let Ok(leaders) = leaders {
        host.sessions.set_leaders(leaders);
    }
    host.sessions.signals.keep_journal(&listener.path().with_file_name("channels.log"))?;
    let serving = CancellationToken::new();
    let serve = |listener: Listener, clients| {
        tokio::spawn(listener.serve(Arc::clone(&host), clients, serving.clone()))
    };
    let listening = [serve(listener, Clients::User), serve(programs, Clients::Programs)];
    if background {
        let mut stdout = std::io::stdout();
        if was_killed {
            let _ = writeln!(
                stdout,
                "ready, the previous daemon was killed, and its sessions are lost; \
                 {strays} of their processes were still running and have been ended"
            );
        } else {
            let _ = writeln!(stdout, "ready");
        }
        close_stdout()?;
    }
    tokio::select! {
        () = ended.cancelled() => {}
        () = idle_for(&host, idle) => {}
    }
    // Waits then end as for a closed terminal instead of as cancelled calls.
    for entry in host.sessions.all() {
        let _ = entry.handle.call(driver::Driver::close).await;
    }
    let _ = tokio::time::timeout(policy::SHUTDOWN_GRACE, host.wait_for_calls()).await;
    serving.cancel();
    futures::future::join_all(listening).await;
    host.shut_down().await;
    drop(lock);
    Ok(())
}

/// Redirects standard output to /dev/null: the starting process reads it until EOF.
fn close_stdout() -> std::io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(null)?)
}

/// Returns when no client has been connected and no program has been running for `idle`.
async fn idle_for(host: &Host, idle: Duration) {
    let mut client_count = host.client_count.watch();
    loop {
        if client_count.wait_for(|&count| count == 0).await.is_err() {
            return;
        }
        let deadline = Instant::now() + idle;
        tokio::select! {
            _ = client_count.wait_for(|&count| count > 0) => continue,
            () = tokio::time::sleep_until(deadline) => {}
        }
        if !has_running_program(host).await {
            return;
        }
    }
}

async fn has_running_program(host: &Host) -> bool {
    for entry in host.sessions.all() {
        if entry.handle.call(driver::exit_of).await.flatten().is_none() {
            return true;
        }
    }
    false
}
