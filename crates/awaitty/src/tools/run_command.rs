//! `run_command`: runs a command in a shell and returns exactly its output and exit status.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Command, CommandId, Condition, Delivery, Progress};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::command_output::{CommandOutput, OutputLimit};
use super::params::timeout;
use super::spec::{self, CommandSpec, Effect, ToolSpec, Waits};
use super::wait_for_command::{start, wait};
use super::writable::{ensure_not_controlled, ensure_writable};
use super::{Context, Tool, ToolResult};
use crate::export::{self, Act, Ran};
use crate::policy;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::shell::{self, CommandInput, Nonce};
use awaitty_terminal::terminal::{Driver, InputReader};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// One line or several.
    command: String,
    /// Default 120000; the command runs on: see wait_for_command.
    timeout_ms: Option<u64>,
    /// Characters of the output. Default 6000: the first 1500 and the last 4500.
    max_chars: Option<usize>,
    /// Behind ssh, su or docker: first type a line that sets up the shell there.
    #[serde(default)]
    bootstrap: bool,
}

pub(super) const SPEC: ToolSpec = ToolSpec {
    waits: Waits::Always,
    is_core: true,
    described: &["timeout_ms"],
    command: CommandSpec {
        alias: None,
        positions: &["session_id", "command"],
        switches: &[],
        after_help: Some(
            "Exit status: that of the command, 124 after a timeout, 4 if the command did not finish for another \
             reason, 1 after another error, and 2 for an invalid command line.",
        ),
    },
    describe_waits: |arguments| spec::describe(arguments, spec::quoted(&arguments["command"])),
    ..ToolSpec::new(
        "run_command",
        "Runs a command in a session's shell, at its prompt. Returns exactly its output, exit_code and cwd.",
        Effect::Acts,
    )
};

pub(super) fn tool() -> Tool {
    super::tool(&SPEC, run)
}

/// The interval between checks whether a shell is at its prompt.
const PROMPT_POLL: Duration = Duration::from_millis(100);

/// The interval between checks whether a line editor waits for keys. Drawing a line takes less.
const EDITOR_POLL: Duration = Duration::from_millis(2);

/// The maximum number of queries to a shell whether it takes a command.
const ASK_ATTEMPTS: u32 = 5;

/// The shell that can run a command.
enum Target {
    /// An integrated shell at its prompt.
    AtPrompt(Nonce, shell::Kind),
    /// None yet: a shell is about to show its prompt.
    NotReady,
    /// A shell without integration, of this kind, if it is known.
    Foreign(Option<shell::Kind>),
}

async fn run(context: Context, params: Params) -> ToolResult<CommandOutput> {
    shell::check_command(&params.command)?;
    let timeout = timeout(params.timeout_ms, policy::COMMAND_TIMEOUT)?;
    let output_limit = OutputLimit::new(params.max_chars)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let id = deliver(&context, &entry, params.command, params.bootstrap, output_limit).await?;
    wait(&context, &entry, id, timeout, output_limit, true).await
}

/// Sends a command to the shell of a session. Returns its id.
pub(super) async fn deliver(
    context: &Context,
    entry: &Arc<Entry>,
    command: String,
    bootstrap: bool,
    output_limit: OutputLimit,
) -> Result<CommandId, ToolError> {
    ensure_not_controlled(context, entry).await?;
    ensure_writable(context, entry, false, false).await?;
    // A later wait_for_command may return more of the output.
    let chars = output_limit.chars().max(policy::limits().result_chars);
    export::before_input(&context.sessions, entry).await;
    let request = CommandRequest { command, chars, bootstrap };
    export::trace::start_command(&context.sessions, entry, &request.command).await;
    let id = request.deliver(entry).await;
    let taken = id.as_ref().map(|id| id.0);
    export::trace::note_command(&context.sessions, entry, taken).await;
    let id = id?;
    let ran = Ran { command: request.command, id: id.0, end: None };
    context.sessions.logs.add(&entry.id, Act::Ran(ran));
    Ok(id)
}

/// A command to run.
#[derive(Clone, Debug)]
struct CommandRequest {
    command: String,
    /// The number of output characters that are kept.
    chars: usize,
    bootstrap: bool,
}

impl CommandRequest {
    /// Sends the command to the shell and returns its id.
    async fn deliver(&self, entry: &Arc<Entry>) -> Result<CommandId, ToolError> {
        let deadline = Instant::now() + policy::PROMPT_TIMEOUT;
        let mut last_check: Option<Instant> = None;
        loop {
            match self.target(entry).await? {
                Target::AtPrompt(nonce, kind) => {
                    return self.deliver_at_prompt(entry, nonce, kind).await;
                }
                Target::Foreign(kind) => return self.deliver_to_foreign(entry, kind).await,
                Target::NotReady if Instant::now() >= deadline => {
                    return Err(not_at_prompt_error(entry).await);
                }
                // The wait is short, because another command may start meanwhile. The pause prevents a busy loop when a
                // program is ready but not at a prompt, like an editor with an open quote.
                Target::NotReady => {
                    if let Some(last_check) = last_check {
                        tokio::time::sleep_until(last_check + PROMPT_POLL).await;
                    }
                    last_check = Some(Instant::now());
                    wait_until_ready(entry, PROMPT_POLL).await?;
                }
            }
        }
    }

    async fn target(&self, entry: &Arc<Entry>) -> Result<Target, ToolError> {
        let bootstrap = self.bootstrap;
        let target = entry.handle.call(move |driver| match driver.is_captured() {
            true => Err(captured_error()),
            false => Ok(find_target(driver, bootstrap)),
        });
        match target.await.ok_or_else(ToolError::gone)?? {
            Some(target) => Ok(target),
            None => Err(not_at_prompt_error(entry).await),
        }
    }

    /// Sends the command to an integrated shell at its prompt.
    async fn deliver_at_prompt(
        &self,
        entry: &Arc<Entry>,
        nonce: Nonce,
        kind: shell::Kind,
    ) -> Result<CommandId, ToolError> {
        let CommandInput { first, rest, typed_lines: lines, echoed_lines: shown } =
            shell::command_input(kind, &self.command);
        let delivery = Delivery {
            rest,
            lines,
            shown,
            sentinel: false,
            ..self.delivery(&nonce, &self.command)
        };
        // A shell without a line editor is not queried: it prints continuation prompts.
        let ask = (kind != shell::Kind::Sh).then(|| first.clone());
        let echo = self.command.replace('\n', "\r") + "\r";
        let sent = entry.handle.call(move |driver| {
            // Another command may have started.
            if !driver.session().is_at_prompt() {
                return Ok(None);
            }
            // A shell with a line editor checks this itself.
            if kind == shell::Kind::Sh && driver.session().is_half_typed() {
                return Err(half_typed_error());
            }
            Ok(driver.deliver(kind, &first, &echo, delivery).map(Some)?)
        });
        let Some(id) = sent.await.ok_or_else(ToolError::gone)?? else {
            return Err(not_at_prompt_error(entry).await);
        };
        wait_until_taken(entry, id, ask).await?;
        Ok(id)
    }

    /// Sends the command to a shell without integration.
    async fn deliver_to_foreign(
        &self,
        entry: &Arc<Entry>,
        kind: Option<shell::Kind>,
    ) -> Result<CommandId, ToolError> {
        let kind = match kind {
            Some(kind) => kind,
            None => self.probe_kind(entry).await?,
        };
        // Input that is typed before the prompt would be echoed twice.
        let reader =
            entry.handle.call(|driver| driver.reader()).await.ok_or_else(ToolError::gone)?;
        if reader != Some(InputReader::Carrier) {
            wait_until_ready(entry, policy::ANSWER_TIMEOUT).await?;
        } else {
            // For a remote shell, a quiet screen is the only evidence of a prompt.
            start(entry, Condition::Settled(PROMPT_POLL), policy::ANSWER_TIMEOUT)
                .await?
                .ended()
                .await;
        }
        let nonce = new_nonce()?;
        if self.bootstrap {
            let lines = shell::bootstrap(kind, &nonce);
            let delivery = Delivery { sentinel: false, ..self.delivery(&nonce, "") };
            let id = type_lines(entry, kind, lines, delivery).await?;
            let trusted = nonce.clone();
            let _ = entry.handle.call(move |driver| driver.trust_shell(&trusted, kind)).await;
            if wait_for_reply(entry, id, policy::ANSWER_TIMEOUT).await?.is_none() {
                return Err(ToolError::new(
                    "not_at_prompt",
                    "the shell did not return to its prompt after the bootstrap line: check with snapshot, or call \
                     again without bootstrap, so that each command is typed with its own marks",
                ));
            }
            return self.deliver_at_prompt(entry, nonce, kind).await;
        }
        let lines = shell::sentinel(kind, &nonce, &self.command);
        type_lines(entry, kind, lines, self.delivery(&nonce, &self.command)).await
    }

    /// Returns the delivery of lines that print their own marks.
    fn delivery(&self, nonce: &Nonce, text: &str) -> Delivery {
        Delivery {
            nonce: nonce.as_str().to_owned(),
            text: text.to_owned(),
            rest: VecDeque::new(),
            lines: usize::MAX,
            shown: 1,
            sentinel: true,
            chars_max: self.chars,
        }
    }

    /// Types the probe and returns the kind of the shell.
    async fn probe_kind(&self, entry: &Arc<Entry>) -> Result<shell::Kind, ToolError> {
        let nonce = new_nonce()?;
        let (lines, delivery) = (vec![shell::probe(&nonce)], self.delivery(&nonce, ""));
        // Every shell can parse the probe, so it is typed as for the simplest kind.
        let id = type_lines(entry, shell::Kind::Sh, lines, delivery).await?;
        if let Some(reply) = wait_for_reply(entry, id, policy::ANSWER_TIMEOUT).await? {
            return Ok(shell::kind_from_reply(&reply));
        }
        let foreground =
            entry.handle.call(|driver| awaitty_terminal::diagnosis::doing(driver)).await;
        Err(ToolError::new(
            "not_at_prompt",
            format!(
                "no shell at a prompt replied ({}). A probe line was typed: check with snapshot where it went",
                foreground.unwrap_or_default()
            ),
        ))
    }
}

/// Waits until a shell is at its prompt, or a program waits for input.
async fn wait_until_ready(entry: &Arc<Entry>, timeout: Duration) -> Result<(), ToolError> {
    start(entry, Condition::Ready, timeout).await?.ended().await;
    Ok(())
}

fn new_nonce() -> Result<Nonce, ToolError> {
    Nonce::new().map_err(|error| ToolError::new("internal", format!("/dev/urandom: {error}")))
}

/// Returns the shell that can run a command; `None` if there is none.
fn find_target(driver: &mut Driver, bootstrap: bool) -> Option<Target> {
    let session = driver.session();
    if session.exit().is_some() {
        return None;
    }
    if session.is_at_prompt() {
        return driver.shell().map(|(nonce, kind)| Target::AtPrompt(nonce, kind));
    }
    if session.is_taking_command() {
        return None;
    }
    let session_depth = session.shell_depth();
    let (is_coming, has_shell) = (session.is_prompt_coming(), session.has_shell_terminal());
    if is_coming {
        return Some(Target::NotReady);
    }
    // The terminal has no foreground process group for a moment, after a program ends and before the shell takes it
    // back.
    let Some((found, reader)) = driver.foreground_and_reader() else {
        return Some(Target::NotReady);
    };
    // The foreground program is the shell itself, about to show its prompt. Of shells that do not mark the start of a
    // command, only the session's own has a known PID.
    if has_shell && (session_depth > 1 || found.pid == driver.pid()) {
        return Some(Target::NotReady);
    }
    let is_foreign = bootstrap || shell::is_shell_or_carrier(&found.name);
    let kind = shell::Kind::of(&found.name);
    let target = if reader.is_some() { Target::Foreign(kind) } else { Target::NotReady };
    if is_foreign || has_just_ended_sentinel(driver) {
        return Some(target);
    }
    // The last input may be ending the program, as Ctrl+C does.
    driver.session().may_react(driver.now()).then_some(Target::NotReady)
}

/// Returns whether a shell without integration has just ended a command: the process that printed the last mark may
/// still be in the foreground.
fn has_just_ended_sentinel(driver: &Driver) -> bool {
    let last = driver.session().last_command().filter(|command| command.is_sentinel());
    let ended = last.and_then(|command| command.ended);
    ended.is_some_and(|ended| driver.now().since(ended) < policy::ANSWER_TIMEOUT)
}

/// Types lines that print marks with the nonce, each after the shell has read the one before.
async fn type_lines(
    entry: &Arc<Entry>,
    kind: shell::Kind,
    lines: Vec<String>,
    delivery: Delivery,
) -> Result<CommandId, ToolError> {
    let sent = entry.handle.call(move |driver| {
        let bracketed = driver.session().screen().has_bracketed_paste();
        let echo: String = lines.iter().map(|line| format!("{line}\r")).collect();
        let keys = lines.iter().map(|line| match bracketed {
            // The space is typed, because fish drops one at the start of a paste.
            true => format!(" \x1b[200~{}\x1b[201~\r", line.trim_start()),
            false => format!("{line}\r"),
        });
        let mut rest: VecDeque<Vec<u8>> = keys.map(Vec::from).collect();
        let first = rest.pop_front().unwrap_or_default();
        let delivery = Delivery { rest, ..delivery };
        driver.deliver(kind, &first, &echo, delivery)
    });
    let id = sent.await.ok_or_else(ToolError::gone)??;
    wait_until_taken(entry, id, None).await?;
    Ok(id)
}

/// Waits until a typed line has run and returns the reply in its mark.
async fn wait_for_reply(
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
) -> Result<Option<String>, ToolError> {
    start(entry, Condition::Command(id), timeout).await?.ended().await;
    let reply = entry.handle.call(move |driver| {
        let command = driver.session().command(id)?;
        let is_over = command.is_over() && command.progress == Progress::Ended;
        let reply = is_over.then(|| command.answer.clone().unwrap_or_default());
        driver.give_up(id);
        reply
    });
    reply.await.ok_or_else(ToolError::gone)
}

/// Waits until a shell has taken the command. A line editor that was interrupted may have lost the key that asks, so it
/// gets the key again once it has read all input; another shell may have lost the mark in its prompt, so it gets the
/// rest of the command.
async fn wait_until_taken(
    entry: &Arc<Entry>,
    id: CommandId,
    ask: Option<Vec<u8>>,
) -> Result<(), ToolError> {
    let (mut attempts, mut left) = (0, if ask.is_some() { 1 } else { usize::MAX });
    while attempts < ASK_ATTEMPTS {
        let timeout = policy::ANSWER_TIMEOUT / ASK_ATTEMPTS;
        start(entry, Condition::Taken(id), timeout).await?.ended().await;
        let ask = ask.clone();
        let pieces = entry.handle.call(move |driver| {
            let pieces = driver.session().command(id).map_or(0, Command::pieces_left);
            // No retry while the number of pieces decreases.
            if pieces > 0 && pieces == left && driver.reader().is_some() {
                let keys = ask.unwrap_or_else(|| driver.take_rest(id));
                driver.type_keys(&keys);
            }
            pieces
        });
        match pieces.await.ok_or_else(ToolError::gone)? {
            0 => break,
            pieces if pieces < left => left = pieces,
            _ => attempts += 1,
        }
    }
    let progress = entry.handle.call(move |driver| {
        let command = driver.session().command(id)?;
        let is_waiting = !command.is_taken();
        let progress = command.progress;
        if is_waiting {
            driver.give_up(id);
        }
        Some((progress, is_waiting))
    });
    match progress.await.ok_or_else(ToolError::gone)? {
        Some((Progress::Refused, _)) => {
            wait_until_redrawn(entry).await;
            Err(half_typed_error())
        }
        Some((Progress::Sent, true)) => Err(ToolError::new(
            "not_at_prompt",
            "the shell shows its prompt but takes no command; it may be in a search or a menu: \
             send_input with keys [\"ctrl+c\"] leaves it. Nothing was run",
        )),
        _ => Ok(()),
    }
}

/// Waits until a line editor has redrawn its line. bash erases it while a bound key runs a function.
async fn wait_until_redrawn(entry: &Arc<Entry>) {
    let deadline = Instant::now() + policy::ANSWER_TIMEOUT;
    while Instant::now() < deadline
        && entry.handle.call(|driver| driver.reader()).await == Some(None)
    {
        tokio::time::sleep_until(Instant::now() + EDITOR_POLL).await;
    }
}

fn captured_error() -> ToolError {
    ToolError::new(
        "unsupported",
        "the pane's output is piped elsewhere (pipe-pane), so the shell's marks cannot be read: type with send_input \
         and wait for text, or end that pipe. Nothing was run",
    )
}

fn half_typed_error() -> ToolError {
    ToolError::new(
        "not_at_prompt",
        "the line at the prompt is not empty: send_input with keys [\"ctrl+u\"] clears it, or \
         \"enter\" runs it. Nothing was run",
    )
}

/// Returns the error for a shell that is not at its prompt.
async fn not_at_prompt_error(entry: &Arc<Entry>) -> ToolError {
    let state = entry.handle.call(|driver| {
        let running = driver.session().running_command().map(|command| command.text.clone());
        (driver.session().exit().is_some(), running, driver.foreground())
    });
    let Some((has_exited, running, foreground)) = state.await else { return ToolError::gone() };
    if has_exited {
        return ToolError::new("exited", "the shell has exited: spawn another");
    }
    let running = running.map_or_else(String::new, |running| format!(" (running {running:?})"));
    let what = match foreground {
        Some(found) => {
            format!("{:?} is in the foreground{running}; {}", found.name, found.words())
        }
        None => format!("no program is in the foreground{running}"),
    };
    ToolError::new(
        "not_at_prompt",
        format!(
            "the shell is not at its prompt: {what}. wait_for_command waits for a command's end, send_input types \
             to the program; if the program leads to another shell, bootstrap: true uses it"
        ),
    )
}
