//! `awaitty demo`: what a newcomer runs first. It drives a real shell and a real full-screen program
//! through the same tools that an agent has, and prints each call, how it ended and what it showed.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::sessions::Sessions;
use crate::tools::{self, Context};

/// A step: why, the tool, its arguments.
type Step = (&'static str, &'static str, Value);

/// What is shown in a shell.
fn shell_steps() -> Vec<Step> {
    vec![
        (
            "Start a shell, and have its first screen when it has settled.",
            "spawn",
            json!({"command": "sh", "name": "shell", "cols": 72, "rows": 12, "env": {"PS1": "$ "}, "wait": {"settled": 200}}),
        ),
        (
            "Type a command that takes a second, and get the answer when it is there: not before, and not the echo.",
            "send_input",
            json!({"session_id": "shell", "input": "sleep 1; echo READY\n", "wait": {"text": "READY"}}),
        ),
        (
            "Text that is erased in the same write was on the screen all the same.",
            "send_input",
            json!({"session_id": "shell", "input": "printf 'FLASH\\r\\033[K'\n", "wait": {"text": "FLASH"}}),
        ),
        (
            "What was there before the input does not match.",
            "wait_for_text",
            json!({"session_id": "shell", "pattern": "READY", "timeout_ms": 100}),
        ),
        (
            "Output before the exit is read before the exit is told.",
            "send_input",
            json!({"session_id": "shell", "input": "echo BYE; exit 3\n", "wait": {"exit": true}}),
        ),
    ]
}

/// What is shown in a full-screen program.
fn pager_steps() -> Vec<Step> {
    vec![
        (
            "Start a pager on a long text.",
            "spawn",
            json!({"command": "sh", "args": ["-c", "seq -f 'line %g of a long text' 1 500 | less"], "name": "pager",
                   "cols": 72, "rows": 12, "wait": {"text": "line 11"}}),
        ),
        (
            "One line down: a scroll and two rows, not the whole screen.",
            "send_input",
            json!({"session_id": "pager", "keys": ["j"], "wait": {"change": 50}}),
        ),
        (
            "Search, and wait for what it finds.",
            "send_input",
            json!({"session_id": "pager", "input": "/line 250\n", "wait": {"text": "line 250"}}),
        ),
        ("Close it; nothing is left behind.", "close_session", json!({"session_id": "pager"})),
    ]
}

/// Runs the demo.
///
/// # Errors
/// If a step could not be taken, with the tool's own words.
pub async fn run(ended: CancellationToken) -> anyhow::Result<()> {
    let sessions = Arc::new(Sessions::default());
    let steps = async {
        for step in shell_steps().into_iter().chain(pager_steps()) {
            take(&sessions, step).await?;
        }
        anyhow::Ok(())
    };
    let result = tokio::select! {
        result = steps => result,
        () = ended.cancelled() => Ok(()),
    };
    sessions.shut_down().await;
    result?;
    say(
        "\nThat was all of it: no sleep, no polling. `awaitty mcp` serves these tools to an agent.\n",
    )
}

async fn take(sessions: &Arc<Sessions>, (why, name, arguments): Step) -> anyhow::Result<()> {
    let colour = std::io::stdout().is_terminal();
    let paint = |code: &str, text: &str| match colour {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    say(&format!("\n{}\n{} {arguments}\n", paint("1", why), paint("36", name)))?;
    let tool = tools::find(name).ok_or_else(|| anyhow::anyhow!("there is no tool {name}"))?;
    let context = Context::new(sessions, arguments);
    let start = tokio::time::Instant::now();
    let reply = tool.call(context).await?;
    let took = start.elapsed();
    let mut shown =
        format!("{}\n", paint("32", &format!("answered after {} ms", took.as_millis())));
    for line in reply.text.lines() {
        let _ = writeln!(shown, "  {line}");
    }
    say(&shown)
}

/// The demo's only way to print.
fn say(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
