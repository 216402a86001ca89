//! Screens and outputs as resources: listed, read, completed, and watched.

use std::sync::Arc;
use std::time::Duration;

use awaitty_core::{Condition, Outcome, Pattern, Seq, Since, Spec, Styles};
use futures::future::BoxFuture;
use rmcp::model::{Resource, ResourceTemplate};
use tokio::time::Instant;

use crate::policy;
use crate::sessions::{Entry, Sessions};
use crate::text;
use awaitty_terminal::ToolError;
use awaitty_terminal::terminal::Driver;

/// Whoever watches a screen hears of it no more often than this.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// What tells one state of a resource from another.
pub(super) type State = (Seq, u64);

/// What a resource shows of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Screen,
    Output,
}

impl Part {
    /// Returns the tool that shows the same. The policy's rule about it holds for the resource, too.
    fn tool(self) -> &'static str {
        match self {
            Part::Screen => "snapshot",
            Part::Output => "read_output",
        }
    }
}

const PARTS: [(&str, &str, Part); 2] = [
    ("screen://", "The screen as text", Part::Screen),
    ("output://", "The lines of output, also those that left the screen", Part::Output),
];

fn is_allowed(sessions: &Sessions, part: Part) -> bool {
    sessions.policy().check_tool(part.tool()).is_ok()
}

/// Returns the resources that the policy allows: two per terminal.
pub(super) fn list(sessions: &Sessions) -> Vec<Resource> {
    let of = |entry: &Arc<Entry>| {
        let (id, label) = (entry.id.clone(), text::visible(entry.label()));
        let allowed = PARTS.into_iter().filter(|(.., part)| is_allowed(sessions, *part));
        let resources = allowed.map(|(scheme, what, _)| {
            Resource::new(
                format!("{scheme}{id}"),
                format!("{label} {}", scheme.trim_end_matches("://")),
            )
            .with_description(what)
            .with_mime_type("text/plain")
        });
        resources.collect::<Vec<Resource>>()
    };
    sessions.all().iter().flat_map(of).collect()
}

/// What their addresses look like.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |(scheme, what, _): (&str, &str, Part)| {
        ResourceTemplate::new(format!("{scheme}{{session_id}}"), scheme.trim_end_matches("://"))
            .with_description(what)
            .with_mime_type("text/plain")
    };
    PARTS.map(template).into()
}

async fn find(sessions: &Sessions, uri: &str) -> Result<(Arc<Entry>, Part), ToolError> {
    for (scheme, _, part) in PARTS {
        if let Some(id) = uri.strip_prefix(scheme) {
            sessions.policy().check_tool(part.tool())?;
            return Ok((sessions.find(Some(id)).await?, part));
        }
    }
    Err(ToolError::argument(format!("{uri:?} is no resource: use screen://ID or output://ID")))
}

/// The text of a resource.
pub(super) async fn read(sessions: &Sessions, uri: &str) -> Result<String, ToolError> {
    let (entry, part) = find(sessions, uri).await?;
    let whole = entry.handle.call(move |driver| match part {
        Part::Screen => driver.session().frame().text(),
        Part::Output => driver.session().last_lines(policy::READ_LINES_MAX).join("\n"),
    });
    let whole = whole.await.ok_or_else(ToolError::gone)?;
    let lines: Vec<String> = whole.lines().map(text::visible).collect();
    let how = "the tool read_output gives lines by number";
    Ok(text::cut(lines.join("\n"), policy::limits().result_chars, how))
}

/// Returns the IDs and names of terminals with a resource that begin like that.
pub(super) fn complete(sessions: &Sessions, begun: &str) -> Vec<String> {
    if !PARTS.iter().any(|(.., part)| is_allowed(sessions, *part)) {
        return Vec::new();
    }
    let all = sessions.all();
    let names = all.iter().flat_map(|entry| [Some(entry.id.clone()), entry.name.clone()]);
    names.flatten().filter(|name| name.starts_with(begun)).take(policy::COMPLETIONS_MAX).collect()
}

/// What a resource is now, to be told of what comes after.
///
/// # Errors
/// If there is no such resource.
pub(super) async fn now(sessions: &Sessions, uri: &str) -> Result<State, ToolError> {
    let (entry, part) = find(sessions, uri).await?;
    entry.handle.call(move |driver| state(driver, part)).await.ok_or_else(ToolError::gone)
}

/// Tells of each change of a resource since it was `told`, until its terminal goes away. Whoever cannot say
/// since when is told once at the beginning.
///
/// # Errors
/// If there is no such resource.
pub(super) async fn watch(
    sessions: &Sessions,
    uri: &str,
    mut told: Option<State>,
    tell: impl Fn() -> BoxFuture<'static, bool> + Send,
) -> Result<(), ToolError> {
    let (entry, part) = find(sessions, uri).await?;
    let any = Arc::new(Pattern::new(".", "")?);
    loop {
        let any = Arc::clone(&any);
        let start = move |driver: &mut Driver| {
            // Looking and waiting are one step, so nothing falls between them.
            if Some(state(driver, part)) != told {
                return Ok(None);
            }
            let condition = match part {
                Part::Screen => Condition::Change {
                    stable: Duration::ZERO,
                    styles: Styles::Text,
                    ignore: Vec::new(),
                },
                // Lines that are the same as before move the screen without changing it.
                Part::Output => Condition::Text(any),
            };
            let spec = Spec { condition, since: Since::Now, deadline: None };
            driver.start_wait(spec, policy::TIMEOUT_MAX).map(Some)
        };
        let Some(Ok(running)) = entry.handle.start_wait_unless(start).await else { return Ok(()) };
        let mut over = false;
        if let Some(mut running) = running {
            let Some(ended) = running.ended().await else { return Ok(()) };
            over = matches!(ended.outcome, Outcome::Exited | Outcome::Closed);
        }
        let Some(now) = entry.handle.call(move |driver| state(driver, part)).await else {
            return Ok(());
        };
        told = Some(now);
        if !tell().await || over {
            return Ok(());
        }
        // What changes meanwhile is told once, afterwards.
        tokio::time::sleep_until(Instant::now() + UPDATE_INTERVAL).await;
    }
}

/// What tells one state of a resource from another: the frame, and for the output how far it has come.
fn state(driver: &mut Driver, part: Part) -> State {
    let session = driver.session();
    let screen = session.screen();
    let bottom = screen.line(screen.cursor().row).0;
    (session.frame().seq(), if part == Part::Output { bottom } else { 0 })
}
