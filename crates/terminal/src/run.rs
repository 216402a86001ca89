//! Runs a command in a shell that awaitty started, at its prompt, and returns its output and exit status.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{
    Command, CommandId, Condition, Delivery, Exit, Frame, Outcome, Progress, Since, Spec,
};
use tokio::time::Instant;

use crate::error::ToolError;
use crate::handle::Terminal;
use crate::shell::{self, CommandInput, Kind, Nonce};
use crate::terminal::{Driver, Ends, RunningWait};
use crate::{diagnosis, limits};

/// Timeout for a shell to show its prompt before a command is sent to it, and to take the command. A shell without
/// start-up files takes milliseconds; a loaded machine needs more.
const PROMPT_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval between checks whether a shell is at its prompt while another program has its terminal.
const PROMPT_POLL: Duration = Duration::from_millis(100);

/// Attempts to make a line editor take a command: an interrupt may have discarded the key that asks it.
const ASK_ATTEMPTS: u32 = 5;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// It ended with this exit status, or without one that the shell reported.
    Ended(Option<i32>),
    /// The timeout passed. The command runs on.
    Timeout,
    /// It waits for an answer.
    Asks,
    /// It shows a full screen and waits for input.
    FullScreen,
    /// A quote, bracket or block is not closed. The command was cancelled.
    Unclosed,
    /// The shell exited.
    ShellExited(Option<Exit>),
    /// The terminal was closed.
    Closed,
}

/// The result of a command.
#[derive(Clone, Debug)]
pub struct CommandRun {
    /// How it ended.
    pub end: CommandEnd,
    /// Its output as it looks on a screen, without the middle part that is more than the limit of the terminals.
    pub output: String,
    /// The duration.
    pub elapsed: Duration,
    /// The newest frame.
    pub frame: Arc<Frame>,
    /// What the foreground program does, in words.
    pub doing: String,
}

impl CommandRun {
    fn collect(driver: &Driver, id: CommandId, ends: &Ends) -> CommandRun {
        let session = driver.session();
        let output = session.command_output(id);
        let output = match output.missing {
            0 => output.head,
            missing => format!("{}\n… {missing} characters …\n{}", output.head, output.tail),
        };
        CommandRun {
            end: command_end(driver, id, ends),
            output,
            elapsed: ends.first.elapsed,
            frame: Arc::clone(session.frame()),
            doing: diagnosis::doing(driver),
        }
    }
}

fn command_end(driver: &Driver, id: CommandId, ends: &Ends) -> CommandEnd {
    let exit = driver.session().exit();
    match (ends.first.outcome, &ends.first.condition) {
        (Outcome::Closed, _) => CommandEnd::Closed,
        (Outcome::Timeout, _) => CommandEnd::Timeout,
        (Outcome::Exited, _) => CommandEnd::ShellExited(exit),
        (Outcome::Met, Condition::Asks(_)) => CommandEnd::Asks,
        (Outcome::Met, Condition::FullScreen(_)) => CommandEnd::FullScreen,
        (Outcome::Met, Condition::Unclosed(_)) => CommandEnd::Unclosed,
        (Outcome::Met, _) => match driver.session().command(id) {
            Some(command) if command.progress == Progress::Incomplete => CommandEnd::Unclosed,
            Some(command) if command.progress == Progress::Lost => CommandEnd::ShellExited(exit),
            Some(command) => CommandEnd::Ended(command.status),
            None => CommandEnd::Ended(None),
        },
    }
}

impl Terminal {
    /// Runs a command in the shell of the terminal, once the shell is at its prompt. The program must be a shell with
    /// integration: bash, zsh, fish or sh.
    ///
    /// # Errors
    /// If no such shell is at its prompt, its line is not empty, or the command cannot be typed. Nothing was run then.
    pub async fn run_command(
        &self,
        command: &str,
        timeout: Duration,
    ) -> Result<CommandRun, ToolError> {
        shell::check_command(command)?;
        let (nonce, kind) = self.shell_at_prompt().await?;
        let id = self.deliver(&nonce, kind, command).await?;
        let conditions = [
            Condition::Command(id),
            Condition::Unclosed(id),
            Condition::Asks(Some(id)),
            Condition::FullScreen(id),
        ];
        let collect = move |driver: &Driver, ends: Ends| CommandRun::collect(driver, id, &ends);
        let mut running = self.start_all(conditions.into(), timeout, collect).await?;
        let run = running.ended().await.ok_or_else(ToolError::gone)?;
        if run.end == CommandEnd::Unclosed {
            let cancel = shell::cancel_input(kind);
            let cancelled = self.handle().call(move |driver| driver.type_keys(cancel));
            cancelled.await.ok_or_else(ToolError::gone)?;
        }
        Ok(run)
    }

    async fn start_all<T: Send + 'static>(
        &self,
        conditions: Vec<Condition>,
        timeout: Duration,
        collect: impl FnOnce(&Driver, Ends) -> T + Send + 'static,
    ) -> Result<RunningWait<T>, ToolError> {
        let spec = |condition| Spec { condition, since: Since::Input, deadline: None };
        let specs = conditions.into_iter().map(spec).collect();
        let start = move |driver: &mut Driver| driver.start_waits(specs, timeout);
        let collect = |driver: &mut Driver, ends: Ends| collect(driver, ends);
        let started =
            self.handle().start_waits(start, collect).await.ok_or_else(ToolError::gone)?;
        started?.ok_or_else(ToolError::gone)
    }

    /// Waits until a shell with integration is at its prompt.
    async fn shell_at_prompt(&self) -> Result<(Nonce, Kind), ToolError> {
        let deadline = Instant::now() + PROMPT_TIMEOUT;
        loop {
            let next_check = Instant::now() + PROMPT_POLL;
            let found = self.handle().call(|driver| {
                let session = driver.session();
                let shell = session.is_at_prompt().then(|| driver.shell()).flatten();
                (shell, session.exit().is_some(), diagnosis::doing(driver))
            });
            let (shell, has_exited, doing) = found.await.ok_or_else(ToolError::gone)?;
            if let Some(shell) = shell {
                return Ok(shell);
            }
            if has_exited {
                return Err(ToolError::new("exited", "the shell has exited: start another"));
            }
            if Instant::now() >= deadline {
                return Err(ToolError::new(
                    "not_at_prompt",
                    format!(
                        "no shell is at its prompt ({doing}): start bash, zsh, fish or sh without a script, or end \
                         the program that it runs"
                    ),
                ));
            }
            let ready = vec![Condition::Ready];
            let is_met = |_: &Driver, ends: Ends| ends.first.outcome == Outcome::Met;
            let is_met = self.start_all(ready, PROMPT_POLL, is_met).await?.ended().await;
            let is_at_prompt = self.inspect(|session| session.is_at_prompt()).await?;
            if is_met == Some(true) && !is_at_prompt {
                // A program that is no shell is ready too.
                tokio::time::sleep_until(next_check).await;
            }
        }
    }

    /// Sends a command to the shell at its prompt, and waits until the shell has taken it.
    async fn deliver(
        &self,
        nonce: &Nonce,
        kind: Kind,
        command: &str,
    ) -> Result<CommandId, ToolError> {
        let CommandInput { first, rest, typed_lines: lines, echoed_lines: shown } =
            shell::command_input(kind, command);
        let delivery = Delivery {
            nonce: nonce.as_str().to_owned(),
            text: command.to_owned(),
            rest,
            lines,
            shown,
            sentinel: false,
            chars_max: limits::RESULT_CHARS,
        };
        // A shell without a line editor prints continuation prompts instead of taking a key that asks it.
        let ask = (kind != Kind::Sh).then(|| first.clone());
        let echo = command.replace('\n', "\r") + "\r";
        let sent = self.handle().call(move |driver| {
            // A shell with a line editor checks this itself.
            if kind == Kind::Sh && driver.session().is_half_typed() {
                return Err(half_typed_error());
            }
            Ok(driver.deliver(kind, &first, &echo, delivery)?)
        });
        let id = sent.await.ok_or_else(ToolError::gone)??;
        self.wait_until_taken(id, ask).await?;
        Ok(id)
    }

    /// Waits until the shell has read all of a command. A line editor that was interrupted gets the key again.
    async fn wait_until_taken(&self, id: CommandId, ask: Option<Vec<u8>>) -> Result<(), ToolError> {
        let (mut attempts, mut left) = (0, if ask.is_some() { 1 } else { usize::MAX });
        while attempts < ASK_ATTEMPTS {
            let (taken, timeout) = (vec![Condition::Taken(id)], PROMPT_TIMEOUT / ASK_ATTEMPTS);
            self.start_all(taken, timeout, |_, _| ()).await?.ended().await;
            let ask = ask.clone();
            let pieces = self.handle().call(move |driver| {
                let pieces = driver.session().command(id).map_or(0, Command::pieces_left);
                // The shell needs no help while the number of pieces decreases.
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
        let refused = self.handle().call(move |driver| {
            let command = driver.session().command(id)?;
            let (progress, is_waiting) = (command.progress, !command.is_taken());
            if is_waiting {
                driver.give_up(id);
            }
            (is_waiting || progress == Progress::Refused).then_some(progress)
        });
        match refused.await.ok_or_else(ToolError::gone)? {
            None => Ok(()),
            Some(Progress::Refused) => Err(half_typed_error()),
            Some(_) => Err(ToolError::new(
                "not_at_prompt",
                "the shell shows its prompt but takes no command; it may be in a search or a menu: press ctrl+c \
                 first. Nothing was run",
            )),
        }
    }
}

fn half_typed_error() -> ToolError {
    ToolError::new(
        "not_at_prompt",
        "the line at the prompt is not empty: press ctrl+u to erase it, or enter to run it. Nothing was run",
    )
}
