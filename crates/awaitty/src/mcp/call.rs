//! One tool call: access check, progress, result, and audit entry. Reads of resources have audit entries, too.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::FutureExt;
use rmcp::RoleServer;
use rmcp::model::ProgressNotificationParam;
use rmcp::service::RequestContext;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{Host, Server};
use crate::operator::{AuditEntry, Who, redact};
use crate::policy;
use crate::sessions::wall_clock_ms;
use crate::tools::{self, Context, Reply, Tool};
use awaitty_terminal::ToolError;

/// Outcome of a call whose client disconnected before the result.
const ABANDONED: &str = "abandoned";

/// A call that is written to the audit log on drop, so that every end is logged.
struct Audited<'h> {
    host: &'h Host,
    entry: AuditEntry,
    started: Instant,
    is_typed_hidden: Arc<AtomicBool>,
}

impl Audited<'_> {
    fn note_end(&mut self, result: &Result<Reply, ToolError>) {
        match result {
            Ok(Reply { structured, .. }) => {
                let text = |name: &str| structured[name].as_str().map(str::to_owned);
                self.entry.outcome = text("outcome").unwrap_or_else(|| "ok".to_owned());
                self.entry.seq = structured["seq"].as_u64();
                self.entry.session_id = text("session_id").or(self.entry.session_id.take());
            }
            Err(error) => self.note_error(error),
        }
    }

    fn note_error(&mut self, error: &ToolError) {
        self.entry.outcome = error.code.to_owned();
        self.entry.message = Some(error.message.clone());
    }
}

impl Drop for Audited<'_> {
    fn drop(&mut self) {
        let mut entry = std::mem::take(&mut self.entry);
        let is_typed_hidden = self.is_typed_hidden.load(Ordering::Relaxed);
        redact(&mut entry.arguments, is_typed_hidden);
        self.host.sessions.remove_secrets(&mut entry.arguments);
        entry.time_ms = wall_clock_ms();
        entry.elapsed_ms = self.started.elapsed().as_millis() as u64;
        self.host.audit(|| entry);
    }
}

impl Server {
    /// Calls a tool for the client.
    pub(super) async fn call(
        &self,
        tool: &'static Tool,
        arguments: Value,
        context: &RequestContext<RoleServer>,
    ) -> Result<Reply, ToolError> {
        let is_typed_hidden = Arc::default();
        let mut audited = self.audited(tool, &arguments, context, &is_typed_hidden);
        let result = self.check_and_call(tool, arguments, context, is_typed_hidden).await;
        if let Some(audited) = &mut audited {
            audited.note_end(&result);
        }
        result
    }

    fn audited(
        &self,
        tool: &Tool,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
        is_typed_hidden: &Arc<AtomicBool>,
    ) -> Option<Audited<'_>> {
        let is_typed_hidden = Arc::clone(is_typed_hidden);
        self.audited_method(tool.spec.name, arguments, context, is_typed_hidden)
    }

    fn audited_method(
        &self,
        name: &str,
        arguments: &Value,
        context: &RequestContext<RoleServer>,
        is_typed_hidden: Arc<AtomicBool>,
    ) -> Option<Audited<'_>> {
        if !self.host.has_audit() {
            return None;
        }
        let client = context.client_info().map(|info| format!("{} {}", info.name, info.version));
        let who = Who { via: self.connection.via, client, pid: self.connection.pid };
        let entry = AuditEntry {
            who,
            tool: name.to_owned(),
            arguments: arguments.clone(),
            session_id: arguments["session_id"].as_str().map(str::to_owned),
            outcome: ABANDONED.to_owned(),
            ..AuditEntry::default()
        };
        Some(Audited { host: &self.host, entry, started: Instant::now(), is_typed_hidden })
    }

    /// Runs `work` for a resource request, and writes an audit entry under the name of its method.
    pub(super) async fn use_resource<T>(
        &self,
        method: &str,
        uri: &str,
        context: &RequestContext<RoleServer>,
        work: impl Future<Output = Result<T, ToolError>>,
    ) -> Result<T, ToolError> {
        let arguments = json!({"uri": uri});
        let mut audited = self.audited_method(method, &arguments, context, Arc::default());
        let result = match self.check_resources() {
            Ok(()) => work.await,
            Err(refused) => Err(refused),
        };
        if let Some(audited) = &mut audited {
            match &result {
                Ok(_) => audited.entry.outcome = "ok".to_owned(),
                Err(error) => audited.note_error(error),
            }
        }
        result
    }

    async fn check_and_call(
        &self,
        tool: &'static Tool,
        arguments: Value,
        context: &RequestContext<RoleServer>,
        is_typed_hidden: Arc<AtomicBool>,
    ) -> Result<Reply, ToolError> {
        self.connection.caller.check_tool(tool)?;
        let host = &self.host;
        let client: Arc<str> = self.connection.via.into();
        let _client_call = host.enter_call(&client)?;
        let Ok(_slot) = host.calls.try_acquire() else {
            let full = format!(
                "{} calls are in progress, which is the limit: read their responses first",
                policy::limits().calls
            );
            return Err(ToolError::new("limit_reached", full));
        };
        let has_progress = context.meta.get_progress_token().is_some();
        let tool_context = Context {
            sessions: Arc::clone(&host.sessions),
            caller: self.connection.caller,
            client,
            is_typed_hidden,
            call_limit: (!has_progress).then_some(host.options.call_limit),
            arguments,
        };
        let _waiting = host.waits.begin(tool.spec, &tool_context.arguments);
        // A panic in a tool must not leave the caller without a response.
        let work = AssertUnwindSafe(tool.call(tool_context.clone())).catch_unwind();
        let panicked = || {
            let why =
                "the tool failed because of a bug; the server and other calls are not affected";
            Err(ToolError::new("internal", why))
        };
        let cancelled = "the call was cancelled, or the server is shutting down";
        tokio::select! {
            biased;
            done = work => done.unwrap_or_else(|_| panicked()),
            () = context.ct.cancelled() => Err(ToolError::new("cancelled", cancelled)),
            () = report_progress(&tool_context, tool, context) => panicked(),
        }
    }
}

/// Sends progress notifications while the call runs, if the client requested them.
async fn report_progress(
    tool_context: &Context,
    tool: &Tool,
    context: &RequestContext<RoleServer>,
) {
    let Some(token) = context.meta.get_progress_token() else {
        return std::future::pending().await;
    };
    for seconds in 1u32.. {
        let done = f64::from(seconds) * policy::PROGRESS_INTERVAL.as_secs_f64();
        tokio::time::sleep_until(Instant::now() + policy::PROGRESS_INTERVAL).await;
        let waiting = tools::describe_wait(tool_context, tool.spec.name).await;
        let note = ProgressNotificationParam::new(token.clone(), done).with_message(waiting);
        // A client that does not read delays its own notifications, not the call.
        let _ = context.peer.notify_progress(note).await;
    }
}
