//! Secrets of `send_input`: into which program they may be typed and when, and how a person is asked for one.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Seq};
use tokio::time::Instant;

use super::pending::Retry;
use super::send_input::{Output, Params, Sent, answer, then_wait};
use super::shown::Show;
use super::wait_for_command;
use super::wanted::Wanted;
use super::{Answer, Context};
use crate::policy;
use crate::secrets::Secret;
use crate::sessions::Entry;
use awaitty_terminal::ToolError;
use awaitty_terminal::people::{People, Question};
use awaitty_terminal::terminal::Driver;

pub(super) fn not_declared(name: &str) -> ToolError {
    ToolError::argument(format!(
        "secret: {name:?} is not declared, and no person is attached to type it: start the server with --secrets FILE, or \
         let a person run awaitty attach (with awaitty mcp --daemon)"
    ))
}

/// Checks that a program reads a secret at this moment, and that the secret may be typed into that program.
pub(super) fn check_reader(driver: &Driver, secret: &Secret) -> Result<(), ToolError> {
    if !driver.reads_secret() {
        return Err(would_be_shown());
    }
    let denied = |why: String| Err(ToolError::new("denied", format!("secret: {why}")));
    let Some(found) = driver.secret_reader() else {
        return denied(
            "echo is off, but no program reads the terminal, so nothing was sent: call again when the program asks"
                .to_owned(),
        );
    };
    let executable = found.executable();
    if !secret.allows(executable.as_deref()) {
        let program = executable.map_or_else(
            || format!("{} (PID {}), whose file cannot be seen,", found.name, found.pid),
            |path| path.display().to_string(),
        );
        let only = secret.only().join(", ");
        return denied(format!(
            "{program} reads it, and it may be typed into {only} alone: nothing was sent"
        ));
    }
    Ok(())
}

/// Waits until the program reads, if it has switched off echo and is on its way there.
pub(super) async fn wait_for_reader(entry: &Entry) -> Result<(), ToolError> {
    let state =
        entry.handle.call(|driver| (driver.reads_secret(), driver.secret_reader().is_some()));
    if state.await.ok_or_else(ToolError::gone)? == (true, false) {
        wait_for_command::start(entry, Condition::Ready, SECRET_READ_MAX).await?.ended().await;
    }
    Ok(())
}

fn would_be_shown() -> ToolError {
    ToolError::new(
        "denied",
        "secret: the terminal shows what is typed now, so nothing was sent: wait until the program asks for it \
         ({\"text\": \"[Pp]assword\"}), and snapshot then says echo: off",
    )
}

/// What a person is asked for, until it is dropped, unless it stays open.
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

/// Time for a program that has switched off echo to begin to read.
const SECRET_READ_MAX: Duration = Duration::from_secs(1);

/// How often it is looked whether the program still asks for a secret that a person is to type: the kernel tells
/// nobody that echo was turned on again.
const STILL_ASKED: Duration = Duration::from_millis(250);

/// Has the person who is attached type a secret, which no agent sees.
pub(super) async fn ask_person(
    context: &Context,
    entry: &Arc<Entry>,
    params: &Params,
    name: &str,
    wanted: Option<Wanted>,
    show: fn(Seq) -> Show,
) -> Answer<Output> {
    if params.input.is_some() || !params.keys.is_empty() || params.submit {
        return Err(ToolError::argument(
            "secret: the person attached types it and presses Enter: leave out input, keys and submit",
        ));
    }
    if name.is_empty() || name.contains(char::is_control) {
        return Err(ToolError::argument(format!("secret: {name:?} is no name to ask a person by")));
    }
    let asks = async || entry.handle.call(|driver| driver.reads_secret()).await == Some(true);
    wait_for_reader(entry).await?;
    let program = entry.handle.call(|driver| driver.secret_reader().map(|found| found.title()));
    // An earlier call may have ended before they were done, with the question open.
    match (program.await.flatten(), entry.people.is_typed(name)) {
        (Some(program), _) => entry.people.ask(Question { name: name.to_owned(), program }),
        (None, true) => {}
        (None, false) => return Err(would_be_shown()),
    }
    let mut question = OpenQuestion { people: &entry.people, is_open: false };
    let no_more = async {
        while asks().await {
            tokio::time::sleep_until(Instant::now() + STILL_ASKED).await;
        }
    };
    let limit = context.call_limit.unwrap_or(policy::SECRET_TIMEOUT);
    let denied = |why: &str| ToolError::new("denied", format!("secret: {why}; nothing was sent"));
    tokio::select! {
        biased;
        () = entry.people.typed() => {}
        () = no_more => return Err(denied("the program asks for it no more, and nobody typed it")),
        () = tokio::time::sleep_until(Instant::now() + policy::SECRET_TIMEOUT) => {
            return Err(denied("the person who is attached did not type it"));
        }
        () = tokio::time::sleep_until(Instant::now() + limit) => {
            question.is_open = true;
            let (mut wait, text) = then_wait(context, entry, None, Show::Nothing, "pending").await?;
            wait.again = Retry::with("send_input", context.arguments.clone());
            let text = format!("{text}the person who is attached was asked: call send_input again");
            let frame = entry.handle.call(|driver| Arc::clone(driver.session().frame())).await;
            let frame = frame.ok_or_else(ToolError::gone)?;
            let sent = Sent::nothing(&frame);
            return Ok(answer(entry, &sent, (wait, text)));
        }
    }
    drop(question);
    let before =
        entry.handle.call(|driver| driver.session().anchor_seq(awaitty_core::Since::Input));
    let before = before.await.ok_or_else(ToolError::gone)?;
    let sent = Sent { bytes: 0, before, is_hidden_line: true };
    let (mut wait, text) = then_wait(context, entry, wanted, show(before), "typed").await?;
    let hint = "the person who is attached typed it";
    wait.hint.get_or_insert_with(|| hint.to_owned());
    Ok(answer(entry, &sent, (wait, format!("{text}\n{hint}"))))
}
