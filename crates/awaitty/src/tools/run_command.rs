//! `run_command`: a command in a shell, its output and its status, exactly.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Command, CommandId, Condition, Delivery, Progress};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::Instant;

use super::command_output::{Bound, CommandOutput};
use super::params::timeout;
use super::wait_for_command::{start, wait};
use super::writable::{ensure_not_controlled, ensure_writable};
use super::{Answer, Context, Kind, Tool};
use crate::driver::{Driver, Reader};
use crate::error::ToolError;
use crate::policy;
use crate::sessions::Entry;
use crate::shell::{self, CommandInput, Nonce};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Id or name.
    session_id: Option<String>,
    /// One line or several.
    command: String,
    /// Default 120000; then it goes on, see wait_for_command.
    timeout_ms: Option<u64>,
    /// Characters of the output. Default 6000: the first 1500 and the last 4500.
    max_chars: Option<usize>,
    /// Behind ssh, su or docker: first type a line that makes that shell tell where commands end.
    #[serde(default)]
    bootstrap: bool,
}

pub(super) fn tool() -> Tool {
    super::tool(
        "run_command",
        "Runs a command in a session's shell, at its prompt. Returns exactly its output, exit_code and cwd.",
        Kind::Acts,
        run,
    )
}

/// How soon it is looked again whether a shell that is not at its prompt is on its way there.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How soon it is looked again whether a line editor waits for keys: it draws a line in less.
const LOOK_AT_EDITOR: Duration = Duration::from_millis(2);

/// How often a shell is asked whether it takes a command.
const ASKED_MAX: u32 = 5;

/// Where a command can be run.
enum Place {
    /// In a shell that is at its prompt and tells what it does.
    Shell(Nonce, shell::Kind),
    /// Nowhere yet: a shell is on its way to its prompt, or will be at it soon.
    Coming,
    /// In a shell that does not tell; of this kind, if that is known.
    Foreign(Option<shell::Kind>),
}

async fn run(context: Context, params: Params) -> Answer<CommandOutput> {
    shell::check_command(&params.command)?;
    let timeout = timeout(params.timeout_ms, policy::COMMAND_TIMEOUT)?;
    let bound = Bound::new(params.max_chars)?;
    let entry = context.find(params.session_id.as_deref()).await?;
    let id = deliver(&context, &entry, params.command, params.bootstrap, bound).await?;
    wait(&context, &entry, id, timeout, bound, true).await
}

/// Hands a command to the shell of a session. Returns its number.
pub(super) async fn deliver(
    context: &Context,
    entry: &Arc<Entry>,
    command: String,
    bootstrap: bool,
    bound: Bound,
) -> Result<CommandId, ToolError> {
    ensure_not_controlled(context, entry).await?;
    ensure_writable(context, entry, false, false).await?;
    // wait_for_command may be asked for more of it.
    let chars = bound.chars().max(policy::limits().result_chars);
    Asked { command, chars, bootstrap }.deliver(entry).await
}

/// A command that is to be run.
#[derive(Clone, Debug)]
struct Asked {
    command: String,
    chars: usize,
    bootstrap: bool,
}

impl Asked {
    /// Hands the command to the shell, and gives its number.
    async fn deliver(&self, entry: &Arc<Entry>) -> Result<CommandId, ToolError> {
        let deadline = Instant::now() + policy::PROMPT_TIMEOUT;
        let mut looked: Option<Instant> = None;
        loop {
            match self.place(entry).await? {
                Place::Shell(nonce, kind) => return self.hand_over(entry, nonce, kind).await,
                Place::Foreign(kind) => return self.deliver_abroad(entry, kind).await,
                Place::Coming if Instant::now() >= deadline => {
                    return Err(not_at_prompt(entry).await);
                }
                // Not for long, because another command may begin meanwhile; and not at once again where it is
                // ready and yet not at a prompt, as an editor with an open quote is.
                Place::Coming => {
                    if let Some(looked) = looked {
                        tokio::time::sleep_until(looked + LOOK_AGAIN).await;
                    }
                    looked = Some(Instant::now());
                    wait_until_ready(entry, LOOK_AGAIN).await?;
                }
            }
        }
    }

    async fn place(&self, entry: &Arc<Entry>) -> Result<Place, ToolError> {
        let bootstrap = self.bootstrap;
        let place = entry.handle.call(move |driver| match driver.is_captured() {
            true => Err(captured()),
            false => Ok(place(driver, bootstrap)),
        });
        match place.await.ok_or_else(ToolError::gone)?? {
            Some(place) => Ok(place),
            None => Err(not_at_prompt(entry).await),
        }
    }

    /// Gives the command to a shell at its prompt.
    async fn hand_over(
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
        // A shell without a line editor wants more by itself.
        let ask = (kind != shell::Kind::Sh).then(|| first.clone());
        let echo = self.command.replace('\n', "\r") + "\r";
        let sent = entry.handle.call(move |driver| {
            // Somebody else may have been faster.
            if !driver.session().is_at_prompt() {
                return Ok(None);
            }
            // A shell with a line editor looks itself.
            if kind == shell::Kind::Sh && driver.session().is_half_typed() {
                return Err(half_typed());
            }
            Ok(driver.deliver(kind, &first, &echo, delivery).map(Some)?)
        });
        let Some(id) = sent.await.ok_or_else(ToolError::gone)?? else {
            return Err(not_at_prompt(entry).await);
        };
        taken(entry, id, ask).await?;
        Ok(id)
    }

    /// Gives the command to a shell that we did not start.
    async fn deliver_abroad(
        &self,
        entry: &Arc<Entry>,
        kind: Option<shell::Kind>,
    ) -> Result<CommandId, ToolError> {
        let kind = match kind {
            Some(kind) => kind,
            None => self.ask_kind(entry).await?,
        };
        // What is typed before the prompt is there would be shown twice.
        let reader =
            entry.handle.call(|driver| driver.reader()).await.ok_or_else(ToolError::gone)?;
        if reader != Some(Reader::Carrier) {
            wait_until_ready(entry, policy::ANSWER_TIMEOUT).await?;
        } else {
            // Of a shell far away only its screen tells when it is at its prompt again.
            start(entry, Condition::Settled(LOOK_AGAIN), policy::ANSWER_TIMEOUT)
                .await?
                .ended()
                .await;
        }
        let nonce = new_nonce()?;
        if self.bootstrap {
            let lines = shell::bootstrap(kind, &nonce);
            let delivery = Delivery { sentinel: false, ..self.delivery(&nonce, "") };
            let asked = type_lines(entry, kind, lines, delivery).await?;
            let trusted = nonce.clone();
            let _ = entry.handle.call(move |driver| driver.trust_shell(&trusted, kind)).await;
            if over_within(entry, asked, policy::ANSWER_TIMEOUT).await?.is_none() {
                return Err(ToolError::new(
                    "not_at_prompt",
                    "the shell did not come back to its prompt after the bootstrap line: snapshot shows why, \
                     and without bootstrap each command brings its own marks",
                ));
            }
            return self.hand_over(entry, nonce, kind).await;
        }
        let lines = shell::sentinel(kind, &nonce, &self.command);
        type_lines(entry, kind, lines, self.delivery(&nonce, &self.command)).await
    }

    /// A command whose marks come with it.
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

    /// Asks a shell what it is.
    async fn ask_kind(&self, entry: &Arc<Entry>) -> Result<shell::Kind, ToolError> {
        let nonce = new_nonce()?;
        let (lines, delivery) = (vec![shell::probe(&nonce)], self.delivery(&nonce, ""));
        // Every shell can read it, so it goes as to the simplest.
        let asked = type_lines(entry, shell::Kind::Sh, lines, delivery).await?;
        match over_within(entry, asked, policy::ANSWER_TIMEOUT).await? {
            Some(answer) => Ok(shell::kind_from_reply(&answer)),
            None => Err(ToolError::new(
                "not_at_prompt",
                format!(
                    "nothing answered as a shell at its prompt would ({}); a line was typed to ask: snapshot \
                     shows what became of it",
                    entry.handle.call(|driver| super::why::doing(driver)).await.unwrap_or_default()
                ),
            )),
        }
    }
}

/// Waits until a shell is at its prompt, or a program waits for input.
async fn wait_until_ready(entry: &Arc<Entry>, timeout: Duration) -> Result<(), ToolError> {
    start(entry, Condition::Ready, timeout).await?.ended().await;
    Ok(())
}

fn new_nonce() -> Result<Nonce, ToolError> {
    Nonce::new().map_err(|error| ToolError::new("internal", format!("no randomness: {error}")))
}

/// Where a command can be run now; `None` if nowhere.
fn place(driver: &mut Driver, bootstrap: bool) -> Option<Place> {
    let session = driver.session();
    if session.exit().is_some() {
        return None;
    }
    if session.is_at_prompt() {
        return driver.shell().map(|(nonce, kind)| Place::Shell(nonce, kind));
    }
    if session.is_taking_command() {
        return None;
    }
    let session_depth = session.shell_depth();
    let (is_coming, has_shell) = (session.is_prompt_coming(), session.has_shell_terminal());
    if is_coming {
        return Some(Place::Coming);
    }
    // For a moment nobody has the terminal, when one has ended and the shell has not taken it back.
    let Some((found, reader)) = driver.look_around() else { return Some(Place::Coming) };
    // What has the terminal is the shell itself, on its way to its prompt, as far as that can be told: of the
    // shells that do not tell when a command begins, only that of the session is known.
    if has_shell && (session_depth > 1 || found.pid == driver.pid()) {
        return Some(Place::Coming);
    }
    let is_foreign = bootstrap || shell::is_shell_or_carrier(&found.name);
    let kind = shell::Kind::of(&found.name);
    let place = if reader.is_some() { Place::Foreign(kind) } else { Place::Coming };
    (is_foreign || is_coming_back(driver)).then_some(place)
}

/// Tells whether a shell that does not tell has just ended a command of ours: what printed the last mark may
/// still have the terminal.
fn is_coming_back(driver: &Driver) -> bool {
    let last = driver.session().last_command().filter(|command| command.is_sentinel());
    let ended = last.and_then(|command| command.ended);
    ended.is_some_and(|ended| driver.now().since(ended) < policy::ANSWER_TIMEOUT)
}

/// Types lines, which have marks that carry the nonce; each once the one before was read.
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
            // The space is typed, because fish drops one at the beginning of a paste.
            true => format!(" \x1b[200~{}\x1b[201~\r", line.trim_start()),
            false => format!("{line}\r"),
        });
        let mut rest: VecDeque<Vec<u8>> = keys.map(Vec::from).collect();
        let first = rest.pop_front().unwrap_or_default();
        let delivery = Delivery { rest, ..delivery };
        driver.deliver(kind, &first, &echo, delivery)
    });
    let id = sent.await.ok_or_else(ToolError::gone)??;
    taken(entry, id, None).await?;
    Ok(id)
}

/// Waits until a line was answered, and gives what it was answered with.
async fn over_within(
    entry: &Arc<Entry>,
    id: CommandId,
    timeout: Duration,
) -> Result<Option<String>, ToolError> {
    start(entry, Condition::Command(id), timeout).await?.ended().await;
    let answer = entry.handle.call(move |driver| {
        let command = driver.session().command(id)?;
        let is_over = command.is_over() && command.progress == Progress::Ended;
        let answer = is_over.then(|| command.answer.clone().unwrap_or_default());
        driver.give_up(id);
        answer
    });
    answer.await.ok_or_else(ToolError::gone)
}

/// Waits until a shell has taken the command, or says why it did not. A line editor that was interrupted while it
/// was asked may not have heard it, and is asked again once it has read everything; another shell, which may have
/// lost the mark in its prompt, is given the rest at once.
async fn taken(entry: &Arc<Entry>, id: CommandId, ask: Option<Vec<u8>>) -> Result<(), ToolError> {
    let (mut asked, mut left) = (0, if ask.is_some() { 1 } else { usize::MAX });
    while asked < ASKED_MAX {
        let timeout = policy::ANSWER_TIMEOUT / ASKED_MAX;
        start(entry, Condition::Taken(id), timeout).await?.ended().await;
        let ask = ask.clone();
        let pieces = entry.handle.call(move |driver| {
            let pieces = driver.session().command(id).map_or(0, Command::pieces_left);
            // What is read piece by piece takes its time.
            if pieces > 0 && pieces == left && driver.reader().is_some() {
                let keys = ask.unwrap_or_else(|| driver.take_rest(id));
                driver.type_keys(&keys);
            }
            pieces
        });
        match pieces.await.ok_or_else(ToolError::gone)? {
            0 => break,
            pieces if pieces < left => left = pieces,
            _ => asked += 1,
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
            drawn_again(entry).await;
            Err(half_typed())
        }
        Some((Progress::Sent, true)) => Err(ToolError::new(
            "not_at_prompt",
            "the shell shows its prompt but does not take commands from us; is it in a search or a menu? \
             send_input with keys [\"ctrl+c\"] leaves it. Nothing was run",
        )),
        _ => Ok(()),
    }
}

/// Waits until a line editor has drawn its line again, which bash takes away while it looks at it.
async fn drawn_again(entry: &Arc<Entry>) {
    let deadline = Instant::now() + policy::ANSWER_TIMEOUT;
    while Instant::now() < deadline
        && entry.handle.call(|driver| driver.reader()).await == Some(None)
    {
        tokio::time::sleep_until(Instant::now() + LOOK_AT_EDITOR).await;
    }
}

fn captured() -> ToolError {
    ToolError::new(
        "unsupported",
        "the pane's output is piped elsewhere (pipe-pane), so a shell's marks are not seen: type with send_input and \
         wait for text, or end that pipe. Nothing was run",
    )
}

fn half_typed() -> ToolError {
    ToolError::new(
        "not_at_prompt",
        "something is typed at the prompt already: send_input with keys [\"ctrl+u\"] clears the line, or \
         \"enter\" runs it. Nothing was run",
    )
}

/// What is in the way of a command.
async fn not_at_prompt(entry: &Arc<Entry>) -> ToolError {
    let told = entry.handle.call(|driver| {
        let running = driver.session().running_command().map(|command| command.text.clone());
        (driver.session().exit().is_some(), running, driver.foreground())
    });
    let Some((has_exited, running, foreground)) = told.await else { return ToolError::gone() };
    if has_exited {
        return ToolError::new("exited", "the shell has exited: spawn another");
    }
    let running = running.map_or_else(String::new, |running| format!(" (running {running:?})"));
    let what = match foreground {
        Some(found) => {
            format!("{:?} is in the foreground{running}; {}", found.name, found.words())
        }
        None => format!("nothing is in the foreground{running}"),
    };
    ToolError::new(
        "not_at_prompt",
        format!(
            "the shell is not at its prompt: {what}. wait_for_command waits for a command's end, send_input talks \
             to the program; if a shell is behind it, bootstrap: true asks for it"
        ),
    )
}
