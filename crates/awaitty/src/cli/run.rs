//! Subcommands that are not tools: `awaitty run`, `awaitty restart` and `awaitty ls --watch`.

use std::io::{self, Write};
use std::thread;
use std::time::Duration;

use clap::ArgMatches;
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::{Waiting, exit};
use crate::client::Client;

/// Interval at which a watched list is redrawn to update its idle times.
const WATCH_MS: u64 = 1_000;

/// `awaitty run -- CMD`: starts a program, waits for its exit, prints its screen and closes its session. Returns the
/// program's exit status.
///
/// # Errors
/// If the daemon cannot be reached.
pub fn run(command: &[String], timeout_ms: u64, size: [u16; 2], as_json: bool) -> io::Result<i32> {
    let mut client = Client::daemon()?;
    let mut spawn = json!({"cols": size[0], "rows": size[1]});
    if let Value::Object(arguments) = &mut spawn {
        super::fill_spawn(arguments, command.iter().cloned());
    }
    let interrupts = Interrupts::install()?;
    let spawned = client.call("spawn", &spawn, &mut |_| {})?;
    if spawned.is_error {
        super::print(&spawned, as_json)?;
        return Ok(exit::ERROR);
    }
    let id = &spawned.structured["session_id"];
    interrupts.close_session_on_signal(id.clone());
    let wait = json!({"session_id": id, "timeout_ms": timeout_ms});
    let mut waiting = Waiting::default();
    let ended = client.call("wait_for_exit", &wait, &mut |what| waiting.show(what))?;
    waiting.clear();
    client.call("close_session", &json!({"session_id": id}), &mut |_| {})?;
    super::print(&ended, as_json)?;
    Ok(super::program_status(&ended))
}

/// `awaitty restart NAME`: ends a session and starts it again with the same parameters.
///
/// # Errors
/// If the daemon cannot be reached.
pub fn restart(name: &str, as_json: bool) -> io::Result<i32> {
    let spawn = json!({"name": name, "if_exists": "restart"});
    let spawned = Client::daemon()?.call("spawn", &spawn, &mut |_| {})?;
    super::print(&spawned, as_json)?;
    Ok(super::status(&spawned))
}

/// Handlers for the signals that interrupt a run: SIGINT, SIGTERM and SIGHUP.
struct Interrupts {
    runtime: Runtime,
    signals: [Signal; 3],
}

impl Interrupts {
    /// Installs the handlers, so that the signals do not end this process.
    fn install() -> io::Result<Interrupts> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let inside = runtime.enter();
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
        let [interrupt, terminate, hangup] = kinds.map(signal);
        let signals = [interrupt?, terminate?, hangup?];
        drop(inside);
        Ok(Interrupts { runtime, signals })
    }

    /// Starts a thread that closes the session on a signal, which ends the program and the wait for its exit.
    fn close_session_on_signal(mut self, id: Value) {
        thread::spawn(move || {
            let [interrupt, terminate, hangup] = &mut self.signals;
            self.runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            });
            let closed = Client::daemon().and_then(|mut client| {
                client.call("close_session", &json!({ "session_id": id }), &mut |_| {})
            });
            if let Err(error) = closed {
                crate::log(&error.to_string());
                std::process::exit(exit::ERROR);
            }
        });
    }
}

/// Prints the empty list of a daemon that is not running.
///
/// # Errors
/// If standard output cannot be written.
pub(super) fn print_empty_list(as_json: bool) -> io::Result<i32> {
    let none = json!({"sessions": []});
    let text = if as_json { format!("{none}\n") } else { table(&none) };
    super::write(text.as_bytes())?;
    Ok(exit::MET)
}

/// `awaitty ls --watch`: prints the table again whenever a session changes. Waits for a daemon.
///
/// # Errors
/// If the daemon closes the connection.
pub fn watch_list() -> io::Result<i32> {
    let draw = |listed: &Value| {
        let mut stdout = io::stdout();
        write!(stdout, "\x1b[H\x1b[J{}", table(listed).replace('\n', "\r\n"))?;
        stdout.flush()
    };
    let mut client = loop {
        match Client::running_daemon()? {
            Some(client) => break client,
            None => draw(&json!({"sessions": []}))?,
        }
        thread::park_timeout(Duration::from_millis(WATCH_MS));
    };
    loop {
        let listed = client.call("list_sessions", &json!({}), &mut |_| {})?.structured;
        draw(&listed)?;
        let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
        let change = |session: &Value| json!({"session_id": session["session_id"], "change": 0, "since": session["seq"]});
        let running = sessions.iter().filter(|session| session["state"] == "running");
        let mut waits: Vec<Value> = running.map(change).take(99).collect();
        // Never signalled: lets the call time out if there is no session to wait for.
        waits.push(json!({"channel": "awaitty:list", "since": u64::MAX}));
        client.call(
            "wait_for_any",
            &json!({"waits": waits, "timeout_ms": WATCH_MS}),
            &mut |_| {},
        )?;
    }
}

/// Returns whether `--watch` is given.
pub(super) fn is_watch(matches: &ArgMatches) -> bool {
    matches.try_get_one::<bool>("--watch").ok().flatten().copied().unwrap_or(false)
}

/// Formats the sessions as a table.
pub(super) fn table(listed: &Value) -> String {
    let sessions = listed["sessions"].as_array().cloned().unwrap_or_default();
    if sessions.is_empty() {
        return "no sessions: awaitty spawn COMMAND starts one\n".to_owned();
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let state = |session: &Value| match (&session["exit_code"], &session["signal"]) {
        (Value::Number(code), _) => format!("exited {code}"),
        (_, Value::String(signal)) => format!("ended {signal}"),
        _ => text(&session["state"]),
    };
    let head = ["ID", "NAME", "STATE", "SIZE", "SEQ", "IDLE", "COMMAND"].map(str::to_owned);
    let row = |session: &Value| {
        let name = session["name"].as_str().unwrap_or("-").to_owned();
        let size = format!("{}x{}", session["cols"], session["rows"]);
        let idle = format!("{:.1}s", session["idle_ms"].as_f64().unwrap_or(0.0) / 1000.0);
        [
            text(&session["session_id"]),
            name,
            state(session),
            size,
            text(&session["seq"]),
            idle,
            text(&session["command"]),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(sessions.iter().map(row)).collect();
    let width = |col: usize| rows.iter().map(|row| row[col].chars().count()).max().unwrap_or(0);
    let mut table = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().enumerate().map(|(i, cell)| format!("{cell:<0$}", width(i))).collect();
        table += cells.join("  ").trim_end();
        table.push('\n');
    }
    table
}
