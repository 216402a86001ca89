//! The daemon: a server that belongs to no client, so that sessions outlive a call of the command line.

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

/// Starts the daemon in the background, and outlives it: whatever it leaves when it is killed becomes the
/// child of this process, which ends it, and only then lets another daemon start.
///
/// # Errors
/// If the daemon cannot be started.
pub async fn guard(ended: CancellationToken) -> anyhow::Result<()> {
    // It fails only for one that is the leader of its group already, which then has no need of it.
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
    let_go_of_stdout()?;
    let over = tokio::task::spawn_blocking(move || daemon.wait());
    tokio::pin!(over);
    tokio::select! {
        _ = &mut over => {}
        () = ended.cancelled() => {
            let _ = rustix::process::kill_process(pid, Signal::TERM);
            let _ = over.await;
        }
    }
    processes::unregister(pid);
    processes::end_orphans().await;
    drop(lock);
    Ok(())
}

/// Runs the daemon until it is told to end, or was idle for `idle`. In the background it says on standard
/// output when it listens.
///
/// # Errors
/// If there is one already, or its socket cannot be made.
pub async fn run(
    background: bool,
    idle: Duration,
    options: Options,
    ended: CancellationToken,
) -> anyhow::Result<()> {
    let path = socket::daemon_path()?;
    let lock = File::create(path.with_file_name("daemon.lock"))?;
    rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive)
        .context("a daemon is running already: `awaitty daemon status` shows it")?;
    let died = path.metadata().is_ok_and(|found| found.file_type().is_socket());
    let listener = Listener::bind(path)?;
    let programs = Listener::bind(socket::daemon_program_path()?)?;
    let leaders_path = listener.path().with_file_name("leaders");
    let leaders = leaders::read(&leaders_path);
    let strays = if died {
        processes::end_strays(socket::SOCKET_VARIABLE, programs.path(), &leaders).await
    } else {
        0
    };
    let _ = std::fs::remove_file(&leaders_path);
    let leaders = LeadersFile::create(leaders_path);
    let host = Host::new(options);
    host.sessions.set_socket(programs.path());
    // Without the file less is found after a kill; nothing else depends on it.
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
        if died {
            let _ = writeln!(
                stdout,
                "ready, the daemon before had died without a word, and its sessions with it; \
                 {strays} processes of them were left and have been ended"
            );
        } else {
            let _ = writeln!(stdout, "ready");
        }
        let_go_of_stdout()?;
    }
    tokio::select! {
        () = ended.cancelled() => {}
        () = idle_for(&host, idle) => {}
    }
    // Waits end as those of a terminal that is closed, and not as calls that somebody cancelled.
    for entry in host.sessions.all() {
        let _ = entry.handle.call(driver::Driver::close).await;
    }
    let _ = tokio::time::timeout(policy::SHUTDOWN_GRACE, host.all_answered()).await;
    serving.cancel();
    futures::future::join_all(listening).await;
    host.shut_down().await;
    drop(lock);
    Ok(())
}

/// Whoever started us reads standard output to its end, which comes when nobody holds it any more.
fn let_go_of_stdout() -> std::io::Result<()> {
    let null = File::options().write(true).open("/dev/null")?;
    Ok(rustix::stdio::dup2_stdout(null)?)
}

/// Ends when nobody was connected and no program ran for that long.
async fn idle_for(host: &Host, idle: Duration) {
    let mut guests = host.guests.watch();
    loop {
        if guests.wait_for(|&count| count == 0).await.is_err() {
            return;
        }
        let deadline = Instant::now() + idle;
        tokio::select! {
            _ = guests.wait_for(|&count| count > 0) => continue,
            () = tokio::time::sleep_until(deadline) => {}
        }
        if !runs_anything(host).await {
            return;
        }
    }
}

async fn runs_anything(host: &Host) -> bool {
    for entry in host.sessions.all() {
        if entry.handle.call(driver::exit_of).await.flatten().is_none() {
            return true;
        }
    }
    false
}
