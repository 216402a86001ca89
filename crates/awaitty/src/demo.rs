//! `awaitty demo`: drives a real shell and a real full-screen program through the tools of an agent. Prints each call,
//! its result and its duration.

use std::fmt::Write as _;
use std::io::{IsTerminal, Write as _};
use std::sync::Arc;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::sessions::Sessions;
use crate::tools::{self, Context};

/// A step: explanation, tool, arguments.
type Step = (&'static str, &'static str, Value);

/// Returns the steps with a shell.
fn shell_steps() -> Vec<Step> {
    vec![
        (
            "Start a shell, and return its first screen when output has settled.",
            "spawn",
            json!({"command": "sh", "name": "shell", "cols": 72, "rows": 12, "env": {"PS1": "$ "}, "wait": {"settled": 200}}),
        ),
        (
            "Type a command that takes a second. The call returns when its output appears; the echo does not match.",
            "send_input",
            json!({"session_id": "shell", "input": "sleep 1; echo READY\n", "wait": {"text": "READY"}}),
        ),
        (
            "Text that is erased in the same write matches, too.",
            "send_input",
            json!({"session_id": "shell", "input": "printf 'FLASH\\r\\033[K'\n", "wait": {"text": "FLASH"}}),
        ),
        (
            "Text from before the last input does not match, so this wait times out.",
            "wait_for_text",
            json!({"session_id": "shell", "pattern": "READY", "timeout_ms": 100}),
        ),
        (
            "All output is read before the exit is reported.",
            "send_input",
            json!({"session_id": "shell", "input": "echo BYE; exit 3\n", "wait": {"exit": true}}),
        ),
    ]
}

/// Returns the steps with a full-screen program.
fn pager_steps() -> Vec<Step> {
    vec![
        (
            "Start a pager on a long text.",
            "spawn",
            json!({"command": "sh", "args": ["-c", "seq -f 'line %g of a long text' 1 500 | less"], "name": "pager",
                   "cols": 72, "rows": 12, "wait": {"text": "line 11"}}),
        ),
        (
            "Move one line down: the result is a scroll and two rows, not the whole screen.",
            "send_input",
            json!({"session_id": "pager", "keys": ["j"], "wait": {"change": 50}}),
        ),
        (
            "Search, and wait for the match.",
            "send_input",
            json!({"session_id": "pager", "input": "/line 250\n", "wait": {"text": "line 250"}}),
        ),
        (
            "Close the pager and everything it started.",
            "close_session",
            json!({"session_id": "pager"}),
        ),
    ]
}

/// Runs the demo.
///
/// # Errors
/// The error of the first step that fails.
pub async fn run(ended: CancellationToken) -> anyhow::Result<()> {
    let sessions = Arc::new(Sessions::default());
    let steps = async {
        for step in shell_steps().into_iter().chain(pager_steps()) {
            run_step(&sessions, step).await?;
        }
        anyhow::Ok(())
    };
    let result = tokio::select! {
        result = steps => result,
        () = ended.cancelled() => Ok(()),
    };
    sessions.shut_down().await;
    result?;
    print(
        "\nThe demo has ended. It used neither sleep nor polling. `awaitty mcp` serves these tools to an agent.\n",
    )
}

async fn run_step(sessions: &Arc<Sessions>, (why, name, arguments): Step) -> anyhow::Result<()> {
    let colour = std::io::stdout().is_terminal();
    let paint = |code: &str, text: &str| match colour {
        true => format!("\x1b[{code}m{text}\x1b[0m"),
        false => text.to_owned(),
    };
    print(&format!("\n{}\n{} {arguments}\n", paint("1", why), paint("36", name)))?;
    let tool = tools::find(name).ok_or_else(|| anyhow::anyhow!("tool {name} does not exist"))?;
    let context = Context::new(sessions, arguments);
    let start = tokio::time::Instant::now();
    let reply = tool.call(context).await?;
    let took = start.elapsed();
    let mut shown =
        format!("{}\n", paint("32", &format!("returned after {} ms", took.as_millis())));
    for line in reply.text.lines() {
        let _ = writeln!(shown, "  {line}");
    }
    print(&shown)
}

/// Prints text; nothing else in this file does.
fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
