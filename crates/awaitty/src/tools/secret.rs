//! Secrets of `send_input`: checks of the program that reads them, and questions to the attached person.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Seq};
use tokio::time::Instant;

use super::pending::Retry;
use super::screen_output::ScreenMode;
use super::send_input::{Output, Params, Sent, send_result, then_wait};
use super::wait_for_command;
use super::wait_params::WaitRequest;
use super::{Context, ToolResult};
use crate::export;
use crate::policy;
use crate::secrets::Secret;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::people::{People, Question};
use awaitty_terminal::terminal::Driver;

pub(super) fn not_declared(name: &str) -> ToolError {
    ToolError::argument(format!(
        "secret: {name:?} is not declared, and no person is attached to type it: start the server with --secrets FILE, or \
         ask a person to run awaitty attach (with awaitty mcp --daemon)"
    ))
}

/// Checks that a program currently reads with echo off, and that the secret may be typed into that program.
pub(super) fn check_reader(driver: &Driver, secret: &Secret) -> Result<(), ToolError> {
    if !driver.reads_secret() {
        return Err(echo_on_error());
    }
    let denied = |reason: String| Err(ToolError::new("denied", format!("secret: {reason}")));
    let Some(found) = driver.secret_reader() else {
        return denied(
            "echo is off, but no program reads the terminal, so nothing was sent: call again when the program asks for it"
                .to_owned(),
        );
    };
    let executable = found.executable();
    if !secret.allows(executable.as_deref()) {
        let program = executable.map_or_else(
            || format!("{} (PID {}), whose executable is not readable,", found.name, found.pid),
            |path| path.display().to_string(),
        );
        let only = secret.only().join(", ");
        return denied(format!(
            "{program} reads the terminal, but the secret may be typed only into {only}: nothing was sent"
        ));
    }
    Ok(())
}

/// Waits until the program reads, if it has turned echo off but does not read yet.
pub(super) async fn wait_for_reader(entry: &Entry) -> Result<(), ToolError> {
    let state =
        entry.handle.call(|driver| (driver.reads_secret(), driver.secret_reader().is_some()));
    if state.await.ok_or_else(ToolError::gone)? == (true, false) {
        wait_for_command::start(entry, Condition::Ready, SECRET_READ_MAX).await?.ended().await;
    }
    Ok(())
}

fn echo_on_error() -> ToolError {
    ToolError::new(
        "denied",
        "secret: echo is on, so nothing was sent: wait until the program asks for it ({\"text\": \"[Pp]assword\"}); \
         snapshot then shows echo: off",
    )
}

/// The question for the attached person. Dropping it withdraws the question, unless it stays open.
struct OpenQuestion<'a> {
    people: &'a People,
    is_open: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        if !self.is_open {
            self.people.forget();
        }
    }
}

/// The time that a program has between turning echo off and reading.
const SECRET_READ_MAX: Duration = Duration::from_secs(1);

/// The interval between checks whether the program still reads a secret: the kernel does not report that echo was
/// turned on again.
const ECHO_POLL: Duration = Duration::from_millis(250);

/// Asks the attached person to type a secret. The agent does not see it.
pub(super) async fn ask_person(
    context: &Context,
    entry: &Arc<Entry>,
    params: &Params,
    name: &str,
    request: Option<WaitRequest>,
    mode: fn(Seq) -> ScreenMode,
) -> ToolResult<Output> {
    if params.input.is_some() || !params.keys.is_empty() || params.submit {
        return Err(ToolError::argument(
            "secret: the attached person types it and presses Enter: leave out input, keys and submit",
        ));
    }
    if name.is_empty() || name.contains(char::is_control) {
        return Err(ToolError::argument(format!(
            "secret: {name:?} is not a name that can be shown to a person"
        )));
    }
    let asks = async || entry.handle.call(|driver| driver.reads_secret()).await == Some(true);
    wait_for_reader(entry).await?;
    let program = entry.handle.call(|driver| driver.secret_reader().map(|found| found.title()));
    // An earlier call may have left the question open.
    match (program.await.flatten(), entry.people.is_typed(name)) {
        (Some(program), _) => entry.people.ask(Question { name: name.to_owned(), program }),
        (None, true) => {}
        (None, false) => return Err(echo_on_error()),
    }
    let mut question = OpenQuestion { people: &entry.people, is_open: false };
    let no_more = async {
        while asks().await {
            tokio::time::sleep_until(Instant::now() + ECHO_POLL).await;
        }
    };
    let limit = context.call_limit.unwrap_or(policy::SECRET_TIMEOUT);
    let denied =
        |reason: &str| ToolError::new("denied", format!("secret: {reason}; nothing was sent"));
    tokio::select! {
        biased;
        () = entry.people.typed() => {}
        () = no_more => return Err(denied("the program stopped asking before it was typed")),
        () = tokio::time::sleep_until(Instant::now() + policy::SECRET_TIMEOUT) => {
            return Err(denied("the attached person did not type it in time"));
        }
        () = tokio::time::sleep_until(Instant::now() + limit) => {
            question.is_open = true;
            let (mut wait, text) = then_wait(context, entry, None, ScreenMode::Omitted, "pending").await?;
            wait.again = Retry::with("send_input", context.arguments.clone());
            let text = format!("{text}the attached person was asked: call send_input again");
            let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
            let frame = frame.ok_or_else(ToolError::gone)?;
            let sent = Sent::nothing(&frame);
            return Ok(send_result(entry, &sent, (wait, text)));
        }
    }
    drop(question);
    export::note_secret(&context.sessions, entry, name);
    let before =
        entry.handle.call(|driver| driver.session().anchor_seq(awaitty_core::Since::Input));
    let before = before.await.ok_or_else(ToolError::gone)?;
    let sent = Sent { bytes: 0, before, is_hidden_line: true };
    let (mut wait, text) = then_wait(context, entry, request, mode(before), "typed").await?;
    let hint = "the attached person typed it";
    wait.hint.get_or_insert_with(|| hint.to_owned());
    Ok(send_result(entry, &sent, (wait, format!("{text}\n{hint}"))))
}
