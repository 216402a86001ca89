//! Writes the logs of sessions, and reads them for an export.

use std::sync::Arc;

use awaitty_core::{Condition, Pattern, Since};

use super::act::{Act, Anchor, Until, Wait};
use super::appeared;
use super::log::{ACTS_MAX, BYTES_MAX, LogFull};
use super::script::{Script, steps};
use crate::sessions::{Entry, Sessions};
use awaitty_terminal::ToolError;
use awaitty_terminal::runtime::is_secret_variable;
use awaitty_terminal::terminal::exit_of;

/// Adds a pause to the log before an input, if one was made.
pub(crate) async fn before_input(sessions: &Sessions, entry: &Entry) {
    if sessions.logs.is_paused(&entry.id) {
        pause(sessions, entry).await;
    }
}

/// Adds a pause to the log, with a text that appeared.
async fn pause(sessions: &Sessions, entry: &Entry) {
    let after = sessions.logs.idle(&entry.id);
    let text = appeared::text(sessions, entry).await;
    sessions.logs.add(&entry.id, Act::Paused { text, after });
}

/// Removes the logs and the traces of sessions that were closed.
pub(crate) fn forget_closed(sessions: &Sessions) {
    let all = sessions.all();
    sessions.logs.keep(|id| all.iter().any(|entry| entry.id == id));
    sessions.traces.keep(|id| all.iter().any(|entry| entry.id == id));
}

/// Returns the input of a person at the live page.
pub(crate) fn page_input(keys: &str, paste: &str) -> Vec<Act> {
    let typed = [(Act::Typed(keys.to_owned()), keys), (Act::Pasted(paste.to_owned()), paste)];
    typed.into_iter().filter(|(_, text)| !text.is_empty()).map(|(act, _)| act).collect()
}

/// Adds an input. If it was typed while echo was off, only the keys that end it are kept.
pub(crate) fn add_input(sessions: &Sessions, entry: &Entry, act: Act, is_hidden: bool) {
    for act in visible(act, is_hidden) {
        sessions.logs.add(&entry.id, act);
    }
}

/// Returns an input without what was typed while echo was off, except the keys that end it.
pub(super) fn visible(act: Act, is_hidden: bool) -> Vec<Act> {
    let ends_input = |key: &str| ["enter", "esc", "ctrl+c", "ctrl+d"].contains(&key);
    match act {
        Act::Typed(text) if is_hidden => {
            let hidden = text.trim_end_matches(['\r', '\n']);
            let enter = (hidden.len() < text.len()).then(|| Act::Pressed("enter".to_owned()));
            let hidden = (!hidden.is_empty()).then_some(Act::Secret(None));
            hidden.into_iter().chain(enter).collect()
        }
        Act::Pressed(key) if is_hidden && !ends_input(&key) => vec![Act::Secret(None)],
        Act::Pasted(_) | Act::Pointed(_) if is_hidden => vec![Act::Secret(None)],
        act => vec![act],
    }
}

/// Adds a wait that was met by a condition.
pub(crate) async fn note_wait(
    sessions: &Sessions,
    entry: &Arc<Entry>,
    condition: &Condition,
    since: Since,
    timeout: std::time::Duration,
) {
    let settled = |quiet| (quiet >= SETTLED_MIN).then_some(Until::Settled(quiet));
    let until = match condition {
        Condition::Text(pattern) => {
            let pattern = with_flags(pattern);
            let anchor = anchor(entry, &pattern, since).await;
            Some(Until::Text { pattern, anchor })
        }
        Condition::Gone(pattern) => Some(Until::Gone { pattern: with_flags(pattern) }),
        Condition::Settled(quiet) => settled(*quiet),
        Condition::Change { stable, .. } => settled(*stable),
        Condition::Ready | Condition::Rest => Some(Until::Settled(std::time::Duration::ZERO)),
        Condition::Exit => Some(Until::Exit),
        _ => None,
    };
    if let Some(until) = until {
        sessions.logs.add(&entry.id, Act::Waited(Wait { until, timeout }));
    }
}

/// The shortest time without changes of a wait that is kept. `awaitty attach` and other viewers wait for each change of
/// the screen; such a wait says nothing about the session.
pub(super) const SETTLED_MIN: std::time::Duration = std::time::Duration::from_millis(50);

/// Returns a pattern with its flags.
fn with_flags(pattern: &Pattern) -> String {
    let flags: String = pattern.flags().chars().filter(|flag| "imsxU".contains(*flag)).collect();
    match flags.is_empty() {
        true => pattern.text().to_owned(),
        false => format!("(?{flags}){}", pattern.text()),
    }
}

/// Returns which text must count for a test's wait to be met. A test knows no frame numbers.
async fn anchor(entry: &Entry, pattern: &str, since: Since) -> Anchor {
    if since == Since::Input || appeared::is_met(entry, pattern, Since::Input).await {
        return Anchor::Input;
    }
    if since == Since::InputFrame || appeared::is_met(entry, pattern, Since::InputFrame).await {
        return Anchor::Frame;
    }
    Anchor::Screen
}

/// Adds the end of a command, on which a caller waited.
pub(crate) fn ended_command(
    sessions: &Sessions,
    entry: &Entry,
    id: Option<u64>,
    status: Option<i32>,
) {
    sessions.logs.end_command(&entry.id, id, status);
}

/// Names the secret that a person typed because a caller asked for it.
pub(crate) fn note_secret(sessions: &Sessions, entry: &Entry, name: &str) {
    sessions.logs.name_secret(&entry.id, name);
}

/// Returns a session as a test.
///
/// # Errors
/// If its log reached a limit, or awaitty did not start its program.
pub(crate) async fn script(sessions: &Sessions, entry: &Arc<Entry>) -> Result<Script, ToolError> {
    let Some(spec) = &entry.spec else {
        let message = format!(
            "{}: awaitty did not start its program, so a test cannot start it: export a session that spawn started",
            entry.label()
        );
        return Err(ToolError::new("unsupported", message));
    };
    end_with_what_appeared(sessions, entry).await;
    let acts = sessions.logs.acts(&entry.id).map_err(|LogFull| {
        let message = format!(
            "{}: its log passed {ACTS_MAX} inputs and waits or {BYTES_MAX} bytes and was dropped: spawn a session \
             anew, and export it after fewer inputs",
            entry.label()
        );
        ToolError::new("limit_reached", message)
    })?;
    let exit = entry.handle.call(exit_of).await.flatten();
    let is_public = |text: &String| !sessions.has_secret(text);
    if let Some(secret) = spec.argv.iter().find(|word| !is_public(word)) {
        let name = sessions.secrets().split(secret).find_map(Result::err).unwrap_or_default();
        let message = format!(
            "{}: its command line has the secret {name}, which a test must not have: pass it by send_input's secret",
            entry.label()
        );
        return Err(ToolError::new("denied", message));
    }
    let public = |name: &String, value: &String| {
        Some(value.clone()).filter(|value| is_public(value) && !is_secret_variable(name.as_ref()))
    };
    let cwd = spec.cwd.clone().or_else(|| std::env::current_dir().ok());
    Ok(Script {
        name: entry.label().to_owned(),
        argv: spec.argv.clone(),
        cwd: cwd.map(|cwd| cwd.components().as_path().display().to_string()),
        env: spec.env.iter().map(|(name, value)| (name.clone(), public(name, value))).collect(),
        has_clear_env: spec.clear_env,
        size: (spec.cols, spec.rows),
        steps: steps(acts, exit, sessions.secrets()),
    })
}

/// Adds what appeared after the last input, unless the program has exited: its exit is the expectation then.
async fn end_with_what_appeared(sessions: &Sessions, entry: &Entry) {
    let is_running = entry.handle.call(exit_of).await == Some(None);
    if is_running && sessions.logs.ends_with_input(&entry.id) {
        pause(sessions, entry).await;
    }
}
