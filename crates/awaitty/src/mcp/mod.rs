//! MCP: lists and calls the tools, and works around pitfalls of rmcp. The tools themselves are defined in `tools`.

mod call;
mod host;
mod outbox;
mod prompts;
mod resources;

pub use host::{ClientCount, CountedClient, Host, Options, choose_tools};
pub use outbox::HangupDetector;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use futures::future::BoxFuture;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult,
    CompletionInfo, ContentBlock, CustomRequest, CustomResult, ErrorCode, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, JsonObject, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, MetaObject,
    PaginatedRequestParams, PromptMessage, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ResourceUpdatedNotificationParam, Role,
    ServerCapabilities, ServerConfig, SubscribeRequestParams, SubscriptionFilter,
    Tool as ListedTool, ToolAnnotations, UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::access::{Caller, Connection};
use crate::tools::{self, Reply, Tool};
use awaitty_terminal::ToolError;

/// Instructions that a model reads before it uses any tool.
const INSTRUCTIONS: &str = "\
Runs terminal programs (shells, REPLs, TUIs, agent CLIs) and waits for what they do. Never sleep or poll.
spawn starts a program. run_command runs a shell command and gives exactly its output and exit_code. send_input types; \
with `wait` it returns when a condition holds, and shows what changed. run_steps does several inputs in one call. \
snapshot shows the screen.
Which `wait`: text (regex) for a result you can name; change (ms) for full-screen programs and menus; ready for prompts \
and REPLs; submit: true for chat boxes; exit for programs that end; command for a typed shell command; gone for \
a spinner's text. Give several: the first that holds ends the wait, met_by names it.
Waits consider only output after your last input: nothing stale matches, your echo does not count, and nothing is \
missed if you call later. since \"frame\" also accepts text that a new screen shares with the old one, \"screen\" all visible \
text.
outcome: met, timeout, exited, closed, asks (the command waits for an answer: send_input), pending (after 50 s: call \
again with `retry`, nothing is lost). These are results, not errors.
Default timeouts: 10 s; change 5 s; exit, channel, wait_for_any 30 s; run_steps 60 s; run_command 120 s. Default max_chars: 20000; \
run_command 6000.
Each entry of `keys` is one keystroke. `selected:` names the highlighted row. Pass a result's seq as `since` to see what changed. \
session_id may be left out while one session runs; a pane of the user's tmux is one too (tmux:%3, see list_sessions).";

/// The MCP handler of one client.
#[derive(Debug)]
pub struct Server {
    host: Arc<Host>,
    connection: Connection,
    /// Subscribed resources. Dropping a guard ends the subscription.
    subscriptions: Mutex<HashMap<String, DropGuard>>,
}

/// Key of the description of an image in a result's `_meta`.
pub const IMAGE_META_KEY: &str = "awaitty/shown";

fn reply(result: Result<Reply, ToolError>) -> CallToolResult {
    let (mut call_result, structured, text) = match result {
        Ok(Reply { structured, text, image: Some(image) }) => {
            // Clients that display structured content display nothing else, so a result with an image has none. Its
            // data goes into `_meta`.
            let content = vec![
                ContentBlock::text(text),
                ContentBlock::image(BASE64_STANDARD.encode(&image.bytes), image.mime),
            ];
            let meta = JsonObject::from_iter([(IMAGE_META_KEY.to_owned(), structured)]);
            let mut call_result = CallToolResult::success(content);
            call_result.meta = Some(MetaObject(meta));
            return call_result;
        }
        Ok(Reply { structured, text, .. }) => {
            (CallToolResult::success(Vec::new()), structured, text)
        }
        Err(ToolError { code, message }) => {
            let text = format!("{code}: {message}");
            (CallToolResult::error(Vec::new()), json!({ "code": code, "message": message }), text)
        }
    };
    call_result.structured_content = Some(structured);
    call_result.content = vec![ContentBlock::text(text)];
    call_result
}

/// Converts a tool for the tool list, with a short schema if `is_brief`.
fn listed(tool: &Tool, is_brief: bool) -> ListedTool {
    // Omitted hints have their default: a tool may write, destroy and access the network, and is not idempotent.
    let hints = match tool.spec.is_read_only() {
        true => ToolAnnotations::new().read_only(true).open_world(false),
        false if tool.spec.is_idempotent() => {
            ToolAnnotations::new().destructive(tool.spec.is_destructive()).idempotent(true)
        }
        false => ToolAnnotations::new().destructive(tool.spec.is_destructive()),
    };
    let input = if is_brief { &tool.brief } else { &tool.listed };
    let listed = ListedTool::new(tool.spec.name, tool.spec.description, Arc::clone(input));
    let listed = listed.with_annotations(hints);
    match &tool.output {
        Some(_) if is_brief => listed.with_raw_output_schema(tools::any_output()),
        Some(output) => listed.with_raw_output_schema(Arc::clone(output)),
        None => listed,
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_completions();
        ServerConfig::new(capabilities.build())
            .with_server_info(Implementation::new("awaitty", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let offered = tools::all().filter(|tool| self.offers(tool));
        let is_brief = self.host.options.is_core();
        let listed = offered.map(|tool| listed(tool, is_brief));
        Ok(ListToolsResult::with_all_items(listed.collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let host = &*self.host;
        let tool = tools::find(&request.name).filter(|tool| host.options.offers(tool));
        let tool = tool.or_else(|| tools::find_own(&request.name));
        let Some(tool) = tool else {
            return Err(ErrorData::invalid_params(format!("Unknown tool: {}", request.name), None));
        };
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        Ok(reply(self.call(tool, arguments, &context).await).into())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(prompts::list()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let given = |name: &str| {
            request.arguments.as_ref().and_then(|all| Some(all.get(name)?.as_str()?.to_owned()))
        };
        let text = prompts::get(&request.name, given)
            .map_err(|wrong| ErrorData::invalid_params(wrong, None))?;
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)]).into())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = match self.check_resources() {
            Ok(()) => resources::list(&self.host.sessions),
            Err(_) => Vec::new(),
        };
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.host.sessions, &request.uri);
        let read = self.use_resource("resources/read", &request.uri, &context, read);
        let text = read.await.map_err(not_found)?;
        Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into())
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let values = match request.argument.name.as_str() {
            "session_id" if self.check_resources().is_ok() => {
                resources::complete(&self.host.sessions, &request.argument.value)
            }
            _ => Vec::new(),
        };
        let info = CompletionInfo::with_all_values(values)
            .map_err(|wrong| ErrorData::internal_error(wrong, None))?;
        Ok(CompleteResult::new(info))
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (host, uri) = (Arc::clone(&self.host), request.uri);
        let version = resources::version(&host.sessions, &uri);
        let version = self.use_resource("resources/subscribe", &uri, &context, version);
        let (version, peer) = (version.await.map_err(not_found)?, context.peer);
        let ended = CancellationToken::new();
        self.subscriptions().insert(uri.clone(), ended.clone().drop_guard());
        tokio::spawn(ended.run_until_cancelled_owned(async move {
            let changed = ResourceUpdatedNotificationParam::new(uri.clone());
            let notify = move || -> BoxFuture<'static, bool> {
                let (peer, changed) = (peer.clone(), changed.clone());
                Box::pin(async move { peer.notify_resource_updated(changed).await.is_ok() })
            };
            let _ = resources::watch(&host.sessions, &uri, Some(version), notify).await;
        }));
        Ok(())
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.subscriptions().remove(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.check_resources().map_err(not_found)?;
        let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
        let watch = |uri: String| {
            let (host, sink) = (Arc::clone(&self.host), context.sink().clone());
            async move {
                let changed = uri.clone();
                let notify = move || -> BoxFuture<'static, bool> {
                    let (sink, uri) = (sink.clone(), changed.clone());
                    Box::pin(async move { sink.notify_resource_updated(uri).await.is_ok() })
                };
                // The client got its confirmation earlier, and the resource may have changed since. So the first
                // notification is sent at once.
                let _ = resources::watch(&host.sessions, &uri, None, notify).await;
            }
        };
        let watching = futures::future::join_all(uris.into_iter().map(watch));
        tokio::select! {
            () = context.cancelled() => {}
            // A closed terminal ends its watch, but the stream stays open until the client cancels it.
            _ = watching => context.cancelled().await,
        }
        Ok(())
    }

    /// rmcp calls this for known methods with malformed parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(match request.method.as_str() {
            method @ ("tools/call" | "tools/list") => {
                ErrorData::invalid_params(format!("malformed params for {method}"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None),
        })
    }
}

impl Server {
    pub(crate) fn new(host: Arc<Host>, connection: Connection) -> Server {
        Server { host, connection, subscriptions: Mutex::default() }
    }

    fn offers(&self, tool: &Tool) -> bool {
        self.host.options.offers(tool)
            && self.host.sessions.policy().allows_tool(tool.spec.name)
            && self.connection.caller.may_call(tool)
    }

    /// Checks that the caller may read resources, which cover all sessions.
    fn check_resources(&self) -> Result<(), ToolError> {
        match self.connection.caller {
            Caller::User | Caller::Reader => Ok(()),
            Caller::Program(_) => Err(ToolError::new(
                "denied",
                "programs in a terminal cannot read resources: use the tools snapshot and read_output",
            )),
        }
    }

    fn subscriptions(&self) -> MutexGuard<'_, HashMap<String, DropGuard>> {
        self.subscriptions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_found(error: ToolError) -> ErrorData {
    ErrorData::resource_not_found(error.message, None)
}
