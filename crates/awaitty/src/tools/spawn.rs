//! `spawn`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{COLS_MAX, ROWS_MAX};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::close_session::SurvivorOutput;
use super::outcome::WaitOutput;
use super::params::{duration, within};
use super::screen_output::{ScreenMode, header};
use super::spec::{CommandSpec, Effect, ToolSpec};
use super::wait_call::start;
use super::wait_params::WaitParam;
use super::{Context, Tool, ToolResult, command_line};
use crate::export;
use crate::policy;
use crate::sessions::{IfExists, Place, Record, SpawnSpec, Spawned};
use awaitty_terminal::ToolError;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// A program, or without `args` a command line (no shell).
    command: Option<String>,
    /// Its arguments.
    args: Option<Vec<String>>,
    /// Its working directory.
    cwd: Option<PathBuf>,
    /// Variables to add.
    #[serde(default)]
    env: BTreeMap<String, String>,
    /// Start with an empty environment.
    #[serde(default)]
    clear_env: bool,
    /// The variables of the calling process, instead of the server's: `awaitty spawn` fills them in.
    #[schemars(skip)]
    inherit_env: Option<BTreeMap<String, String>>,
    /// Default 120.
    cols: Option<usize>,
    /// Default 40.
    rows: Option<usize>,
    /// A name to use as session_id.
    name: Option<String>,
    /// If `name` is taken: "error" (default), "reuse" or "restart" (without `command`: the same program).
    if_exists: Option<String>,
    /// Lines kept. Default 10000.
    scrollback: Option<usize>,
    /// End the program after this time.
    ttl_ms: Option<u64>,
    /// `pty`, or `tmux`: in awaitty's own tmux server, where it outlives awaitty. Default pty.
    #[serde(default)]
    #[schemars(skip)]
    backend: Backend,
    /// With `backend: "tmux"`: the tmux session that gets a window, `work` or `SERVER/work`. Default: a new session in
    /// awaitty's own tmux server.
    #[schemars(skip)]
    tmux_session: Option<String>,
    /// Make a shell mark where commands start and end. Default true.
    shell_integration: Option<bool>,
    /// For save_recording.
    #[serde(default)]
    record: bool,
    /// Also record input, except secrets.
    #[serde(default)]
    record_input: bool,
    /// Write a page with every step and screen when it is closed.
    #[serde(default)]
    trace: bool,
    /// Return when one of these holds.
    wait: Option<WaitParam>,
}

/// The backend that runs a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Backend {
    #[default]
    Pty,
    Tmux,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Output {
    session_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    pid: i32,
    cols: usize,
    rows: usize,
    /// The session existed before the call.
    #[serde(skip_serializing_if = "Option::is_none")]
    reused: Option<bool>,
    /// The path of the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    #[serde(flatten)]
    wait: WaitOutput,
    /// Processes of the previous session that still run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    survivors: Vec<SurvivorOutput>,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    is_core: true,
    command: CommandSpec { alias: None, positions: &["command"], switches: &[], after_help: None },
    ..ToolSpec::new(
        "spawn",
        "Starts a program in a new terminal. With `wait` it returns the first screen.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

/// Checks that a name does not look like an id and needs no quoting.
fn check_name(name: &str) -> Result<(), ToolError> {
    let valid = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    if name
        .strip_prefix('s')
        .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    {
        return Err(ToolError::argument(format!(
            "name: {name:?} looks like a session id; choose another name"
        )));
    }
    if name.is_empty() || name.len() > policy::NAME_MAX || !name.chars().all(valid) {
        return Err(ToolError::argument(format!(
            "name: {name:?} is invalid: use 1 to {} letters, digits, dots, dashes or underscores",
            policy::NAME_MAX
        )));
    }
    Ok(())
}

/// Parses `if_exists`.
fn if_exists(params: &Params) -> Result<IfExists, ToolError> {
    let Some(word) = params.if_exists.as_deref() else { return Ok(IfExists::Error) };
    let if_exists = match word {
        "error" => IfExists::Error,
        "reuse" => IfExists::Reuse,
        "restart" => IfExists::Restart,
        _ => {
            return Err(ToolError::argument(format!(
                "if_exists: {word:?} is invalid: use \"error\", \"reuse\" or \"restart\""
            )));
        }
    };
    if params.name.is_none() {
        return Err(ToolError::argument(format!(
            "if_exists: {word:?} applies to a session with the same name: give name, too"
        )));
    }
    Ok(if_exists)
}

/// Restarts the session with a name, with its original parameters.
async fn restart(context: &Context, name: &str) -> Result<Spawned, ToolError> {
    let given = context.arguments.as_object().into_iter().flatten();
    let mut other = given.filter(|(name, value)| {
        !["name", "if_exists", "wait", "inherit_env"].contains(&name.as_str()) && !value.is_null()
    });
    if let Some((parameter, _)) = other.next() {
        return Err(ToolError::argument(format!(
            "command: it is missing. A restart without it reuses all parameters of the session {name:?}: leave out \
             {parameter}, or give command"
        )));
    }
    context.sessions.restart(name).await
}

/// Returns whether the call restarts a traced session with its original parameters.
async fn is_restart_of_traced(context: &Context, params: &Params) -> bool {
    let Some(name) = params.name.as_deref().filter(|_| params.command.is_none()) else {
        return false;
    };
    let old = context.sessions.find(Some(name)).await;
    old.is_ok_and(|old| context.sessions.traces.get(&old.id).is_some())
}

/// Checks all parameters before anything is started.
fn spec(command: String, params: Params, client: &Arc<str>) -> Result<SpawnSpec, ToolError> {
    let argv = match params.args {
        Some(args) => std::iter::once(command).chain(args).collect(),
        None => command_line::split(&command)?,
    };
    if argv.first().is_none_or(String::is_empty) {
        return Err(ToolError::argument("command: it is empty: name a program"));
    }
    if let Some(nul) = argv
        .iter()
        .chain(params.env.values())
        .chain(params.env.keys())
        .chain(params.inherit_env.iter().flatten().flat_map(|(name, value)| [name, value]))
        .find(|text| text.contains('\0'))
    {
        return Err(ToolError::argument(format!(
            "command, args, env: {nul:?} contains a NUL byte, which is not allowed: remove it"
        )));
    }
    if let Some(name) = &params.name {
        check_name(name)?;
    }
    let place = match (params.backend, params.tmux_session) {
        (Backend::Pty, None) => Place::Pty,
        (Backend::Tmux, session) => Place::Tmux(session),
        (Backend::Pty, Some(session)) => {
            return Err(ToolError::argument(format!(
                "tmux_session: {session:?} requires backend: \"tmux\""
            )));
        }
    };
    let ttl =
        params.ttl_ms.map(|ms| duration("ttl_ms", Some(ms), Duration::ZERO, policy::TIMEOUT_MAX));
    Ok(SpawnSpec {
        argv,
        cwd: params.cwd,
        env: params.env,
        inherit_env: params.inherit_env,
        clear_env: params.clear_env,
        cols: within("cols", params.cols.unwrap_or(policy::COLS), 1, COLS_MAX)?,
        rows: within("rows", params.rows.unwrap_or(policy::ROWS), 1, ROWS_MAX)?,
        name: params.name,
        scrollback: within(
            "scrollback",
            params.scrollback.unwrap_or(policy::limits().scrollback),
            0,
            policy::SCROLLBACK_MAX,
        )?,
        ttl: ttl.transpose()?,
        shell_integration: params.shell_integration.unwrap_or(true),
        client: Arc::clone(client),
        record: (params.record || params.record_input || params.trace)
            .then_some(Record { path: None, with_input: params.record_input || params.trace }),
        place,
        disturbance: None,
    })
}

async fn run(context: Context, mut params: Params) -> ToolResult<Output> {
    let signals = &context.sessions.signals;
    let wait = params.wait.take().map(|wait| wait.to_request(signals)).transpose()?;
    let if_exists = if_exists(&params)?;
    let is_traced = params.trace || is_restart_of_traced(&context, &params).await;
    let spawned = match (params.command.take(), if_exists, &params.name) {
        (Some(command), _, _) => {
            context.sessions.spawn(spec(command, params, &context.client)?, if_exists).await?
        }
        (None, IfExists::Restart, Some(name)) => restart(&context, name).await?,
        (None, _, _) => return Err(ToolError::missing("command")),
    };
    let Spawned { entry, is_reused, survivors } = spawned;
    export::forget_closed(&context.sessions);
    if is_traced && !is_reused {
        export::trace::start(&context.sessions, &entry).await;
    }
    let trace = context.sessions.traces.get(&entry.id).map(|trace| trace.page());
    let size = entry.handle.call(|driver| {
        let screen = driver.session().screen();
        (screen.cols(), screen.rows())
    });
    let (cols, rows) = size.await.ok_or_else(ToolError::gone)?;
    let (wait, text) = match wait {
        Some(request) => start(&context, &entry, &request, ScreenMode::Full).await?,
        None => {
            let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
            let frame = frame.ok_or_else(ToolError::gone)?;
            let what = if is_reused { "reused" } else { "started" };
            (WaitOutput::at(&frame), header(&entry, &frame, what))
        }
    };
    let output = Output {
        session_id: entry.id.clone(),
        name: entry.name.clone(),
        pid: entry.pid.as_raw_nonzero().get(),
        cols,
        rows,
        reused: is_reused.then_some(true),
        trace: trace.map(|page| page.display().to_string()),
        wait,
        survivors: SurvivorOutput::all(survivors),
    };
    let reused = if is_reused { " reused" } else { "" };
    let trace = output.trace.as_ref().map_or_else(String::new, |page| format!(" trace={page}"));
    let mut text = format!("session_id={} pid={}{reused}{trace}\n{text}", entry.id, output.pid);
    SurvivorOutput::describe(&output.survivors, &mut text);
    Ok((output, text))
}
