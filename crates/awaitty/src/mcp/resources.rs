//! Screens and output as MCP resources: list, read, completion and subscription.

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

/// Minimum time between two update notifications of a resource.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// Version of a resource: the seq of the frame, and for output the last line number.
pub(super) type ResourceVersion = (Seq, u64);

/// The kind of a terminal that a resource shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResourceKind {
    Screen,
    Output,
}

impl ResourceKind {
    /// Returns the tool that shows the same. Its policy rule applies to the resource, too.
    fn tool(self) -> &'static str {
        match self {
            ResourceKind::Screen => "snapshot",
            ResourceKind::Output => "read_output",
        }
    }
}

const KINDS: [(&str, &str, ResourceKind); 2] = [
    ("screen://", "The screen as text", ResourceKind::Screen),
    ("output://", "The lines of output, also those that left the screen", ResourceKind::Output),
];

fn is_allowed(sessions: &Sessions, kind: ResourceKind) -> bool {
    sessions.policy().check_tool(kind.tool()).is_ok()
}

/// Returns the resources that the policy allows: two per terminal.
pub(super) fn list(sessions: &Sessions) -> Vec<Resource> {
    let of = |entry: &Arc<Entry>| {
        let (id, label) = (entry.id.clone(), text::visible(entry.label()));
        let allowed = KINDS.into_iter().filter(|(.., kind)| is_allowed(sessions, *kind));
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

/// Returns the URI templates.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    let template = |(scheme, what, _): (&str, &str, ResourceKind)| {
        ResourceTemplate::new(format!("{scheme}{{session_id}}"), scheme.trim_end_matches("://"))
            .with_description(what)
            .with_mime_type("text/plain")
    };
    KINDS.map(template).into()
}

async fn find(sessions: &Sessions, uri: &str) -> Result<(Arc<Entry>, ResourceKind), ToolError> {
    for (scheme, _, kind) in KINDS {
        if let Some(id) = uri.strip_prefix(scheme) {
            sessions.policy().check_tool(kind.tool())?;
            return Ok((sessions.find(Some(id)).await?, kind));
        }
    }
    let message =
        format!("{uri:?} is not a resource: use screen://SESSION_ID or output://SESSION_ID");
    Err(ToolError::argument(message))
}

/// Returns the text of a resource.
pub(super) async fn read(sessions: &Sessions, uri: &str) -> Result<String, ToolError> {
    let (entry, kind) = find(sessions, uri).await?;
    let whole = entry.handle.call(move |driver| match kind {
        ResourceKind::Screen => driver.session().frame().text(),
        ResourceKind::Output => driver.session().last_lines(policy::READ_LINES_MAX).join("\n"),
    });
    let whole = whole.await.ok_or_else(ToolError::gone)?;
    let lines: Vec<String> = whole.lines().map(text::visible).collect();
    let how = "the tool read_output gives lines by number";
    Ok(text::cut(lines.join("\n"), policy::limits().result_chars, how))
}

/// Returns the IDs and names of terminals that start with `prefix`.
pub(super) fn complete(sessions: &Sessions, prefix: &str) -> Vec<String> {
    if !KINDS.iter().any(|(.., kind)| is_allowed(sessions, *kind)) {
        return Vec::new();
    }
    let all = sessions.all();
    let names = all.iter().flat_map(|entry| [Some(entry.id.clone()), entry.name.clone()]);
    names.flatten().filter(|name| name.starts_with(prefix)).take(policy::COMPLETIONS_MAX).collect()
}

/// Returns the current version of a resource.
///
/// # Errors
/// If the resource is unknown.
pub(super) async fn version(sessions: &Sessions, uri: &str) -> Result<ResourceVersion, ToolError> {
    let (entry, kind) = find(sessions, uri).await?;
    entry.handle.call(move |driver| version_of(driver, kind)).await.ok_or_else(ToolError::gone)
}

/// Calls `notify` after each change of a resource since `notified`, until its terminal is closed or `notify` returns
/// false. Without `notified` the first call is immediate.
///
/// # Errors
/// If the resource is unknown.
pub(super) async fn watch(
    sessions: &Sessions,
    uri: &str,
    mut notified: Option<ResourceVersion>,
    notify: impl Fn() -> BoxFuture<'static, bool> + Send,
) -> Result<(), ToolError> {
    let (entry, kind) = find(sessions, uri).await?;
    let any = Arc::new(Pattern::new(".", "")?);
    loop {
        let any = Arc::clone(&any);
        let start = move |driver: &mut Driver| {
            // Comparing and starting the wait in one step leaves no gap between them.
            if Some(version_of(driver, kind)) != notified {
                return Ok(None);
            }
            let condition = match kind {
                ResourceKind::Screen => Condition::Change {
                    stable: Duration::ZERO,
                    styles: Styles::Text,
                    ignore: Vec::new(),
                },
                // Repeated identical lines scroll the screen without changing it.
                ResourceKind::Output => Condition::Text(any),
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
        let Some(now) = entry.handle.call(move |driver| version_of(driver, kind)).await else {
            return Ok(());
        };
        notified = Some(now);
        if !notify().await || over {
            return Ok(());
        }
        // Further changes in this interval are covered by one notification.
        tokio::time::sleep_until(Instant::now() + UPDATE_INTERVAL).await;
    }
}

/// Returns the current version of a kind.
fn version_of(driver: &mut Driver, kind: ResourceKind) -> ResourceVersion {
    let session = driver.session();
    let screen = session.screen();
    let bottom = screen.line(screen.cursor().row).0;
    (session.frame().seq(), if kind == ResourceKind::Output { bottom } else { 0 })
}
