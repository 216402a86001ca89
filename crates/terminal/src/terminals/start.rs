//! Resolves a program to start: its executable, its arguments and its environment.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;
use rustix::io::Errno;

use super::failed::spawn_failed;
use super::{SpawnSpec, TERMINAL_VARIABLES};
use crate::error::ToolError;
use crate::io::pty::Start;
use crate::rules::Rules;
use crate::runtime::{SOCKET_VARIABLE, is_secret_variable};
use crate::shell::Integration;

/// The search path for programs if the environment has no `PATH`.
pub const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Resolves the executable, and builds the environment of the program.
pub(super) fn resolve(
    spec: &SpawnSpec,
    tag: &str,
    socket: Option<&PathBuf>,
    integration: Option<&Integration>,
    rules: &dyn Rules,
) -> Result<Start, ToolError> {
    let failed = |message: String| Err(ToolError::new("spawn_failed", message));
    let here = || std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let cwd = spec.cwd.clone().unwrap_or_else(here);
    if !cwd.is_dir() {
        let why = if cwd.exists() { "is a file (ENOTDIR)" } else { "is not there (ENOENT)" };
        let shown = cwd.display().to_string();
        return failed(format!("the directory {shown:?} {why}: give a cwd that is one"));
    }
    let mut env = environment(spec, tag, socket, rules);
    let path = env.get(&OsString::from("PATH")).cloned();
    let name = &spec.argv[0];
    let found = if name.contains('/') {
        let path = cwd.join(name);
        path.exists().then_some(path)
    } else {
        let path = path.unwrap_or_else(|| DEFAULT_PATH.into());
        std::env::split_paths(&path)
            .map(|directory| cwd.join(directory).join(name))
            .find(|path| is_executable(path))
    };
    let Some(program) = found else {
        return failed(format!(
            "{name:?} was not found (ENOENT): give a path, or a command that is in PATH"
        ));
    };
    if program.is_dir() || rustix::fs::access(&program, Access::EXEC_OK).is_err() {
        return Err(spawn_failed(spec, &Errno::ACCESS.into()));
    }
    rules.check_program(&program, &cwd)?;
    let mut args: Vec<OsString> = spec.argv[1..].iter().map(OsString::from).collect();
    if let Some(integration) = integration {
        integration.set_env(&args, &mut env);
        args = integration.args(&args);
    }
    let (program, arg0) = match rules.wrapper()? {
        Some((wrapper, words)) => {
            let inner = [program.into_os_string()];
            args = words[1..].iter().map(OsString::from).chain(inner).chain(args).collect();
            (wrapper, words[0].clone())
        }
        None => (program, name.clone()),
    };
    Ok(Start {
        program,
        arg0: arg0.into(),
        args,
        env: env.into_iter().collect(),
        cwd,
        cols: spec.cols as u16,
        rows: spec.rows as u16,
    })
}

fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

/// The server's variables (unless they are to be cleared), what a terminal has to say, the caller's.
fn environment(
    spec: &SpawnSpec,
    tag: &str,
    socket: Option<&PathBuf>,
    rules: &dyn Rules,
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    if spec.clear_env {
        env.extend(std::env::vars_os().filter(|(name, _)| name == "PATH"));
    } else {
        match &spec.inherit_env {
            Some(given) => {
                env.extend(given.iter().map(|(name, value)| (name.into(), value.into())))
            }
            None => env.extend(std::env::vars_os()),
        }
        rules.filter_environment(&mut env);
    }
    for name in TERMINAL_VARIABLES {
        env.remove(&OsString::from(name));
    }
    env.retain(|name, _| !is_secret_variable(name));
    env.insert("TERM".into(), "xterm-256color".into());
    env.insert("COLORTERM".into(), "truecolor".into());
    // Clients start us with almost no environment, and programs then think that we are ASCII.
    let locale = |name: &str| {
        env.get(&OsString::from(name)).map(|value| value.to_string_lossy().to_lowercase())
    };
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| locale(name).filter(|value| !value.is_empty()));
    if !utf8.is_some_and(|value| value.contains("utf-8") || value.contains("utf8")) {
        env.remove(&OsString::from("LC_ALL"));
        env.insert("LC_CTYPE".into(), "C.UTF-8".into());
        env.insert("LANG".into(), "C.UTF-8".into());
    }
    env.extend(spec.env.iter().map(|(name, value)| (name.into(), value.into())));
    if let Some((name, value)) = tag.split_once('=') {
        env.insert(name.into(), value.into());
    }
    if let Some(socket) = socket {
        env.insert(SOCKET_VARIABLE.into(), socket.into());
        add_to_path(&mut env);
    }
    env
}

/// What a shell needs to say what it does. Without it the shell is a program like any other.
pub(super) fn integration(spec: &SpawnSpec) -> Option<Integration> {
    if !spec.shell_integration {
        return None;
    }
    Integration::new(&spec.argv).unwrap_or_else(|error| {
        log::warn!("the shell is started without marks: {error}");
        None
    })
}

/// Puts the directory of this program at the end of PATH, so that `awaitty signal` is found there.
fn add_to_path(env: &mut BTreeMap<OsString, OsString>) {
    let program = std::env::current_exe().ok();
    let Some(own) = program.as_deref().and_then(Path::parent) else { return };
    let path = env.get(&OsString::from("PATH")).cloned().unwrap_or_else(|| DEFAULT_PATH.into());
    let directories = std::env::split_paths(&path).chain([own.to_owned()]);
    if !std::env::split_paths(&path).any(|directory| directory == own)
        && let Ok(path) = std::env::join_paths(directories)
    {
        env.insert("PATH".into(), path);
    }
}
