//! The MCP handler for clients of the suite.
#![expect(deprecated, reason = "clients of the older protocol still use it")]

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, LoggingLevel,
    LoggingMessageNotificationParam, PaginatedRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, Tool,
    UnsubscribeRequestParams,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::json;
use tokio::sync::{Mutex, broadcast};

use crate::elicitation::{InputOutcome, Received, Rounds, is_newest};
use crate::fixtures::{Fixtures, filled};

/// The state that all clients share.
#[derive(Debug)]
pub(crate) struct Shared {
    fixtures: Fixtures,
    rounds: Rounds,
    changes: broadcast::Sender<Change>,
}

/// A list whose change is announced.
#[derive(Clone, Copy, Debug)]
enum Change {
    Tools,
    Prompts,
}

impl Shared {
    pub(crate) fn new() -> anyhow::Result<Shared> {
        let fixtures = Fixtures::load()?;
        Ok(Shared { fixtures, rounds: Rounds::default(), changes: broadcast::channel(16).0 })
    }
}

/// A client of the older protocol, or one request of the newest.
#[derive(Debug)]
pub(crate) struct Client {
    shared: Arc<Shared>,
    /// Changes since the client connected. The subscription starts there, so that none is lost before `listen`.
    changes: Mutex<broadcast::Receiver<Change>>,
}

impl Client {
    pub(crate) fn new(shared: &Arc<Shared>) -> Client {
        let changes = Mutex::new(shared.changes.subscribe());
        Client { shared: Arc::clone(shared), changes }
    }

    /// Runs the side effects of a tool.
    async fn act(&self, tool: &str, context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
        match tool {
            "test_tool_with_logging" => {
                for text in ["started", "processing", "completed"] {
                    log(context, text).await;
                }
            }
            "test_logging_tool" => log(context, "called").await,
            "test_tool_with_progress" => {
                let Some(token) = context.meta.get_progress_token() else { return Ok(()) };
                for done in [0.0, 50.0, 100.0] {
                    let note =
                        ProgressNotificationParam::new(token.clone(), done).with_total(100.0);
                    let _ = context.peer.notify_progress(note).await;
                }
            }
            "test_missing_capability" => {
                let capabilities = context.client_capabilities().unwrap_or_default();
                if capabilities.sampling.is_none() {
                    let needed = filled(&json!({"sampling": {}}), &Default::default())?;
                    return Err(ErrorData::missing_required_client_capability(needed));
                }
            }
            // Sending fails if no client listens.
            "test_trigger_tool_change" => drop(self.shared.changes.send(Change::Tools)),
            "test_trigger_prompt_change" => drop(self.shared.changes.send(Change::Prompts)),
            _ => {}
        }
        Ok(())
    }
}

/// Sends a log message if the client requested logs; in the newest protocol each request states that.
async fn log(context: &RequestContext<RoleServer>, text: &str) {
    if !is_newest(context) || context.meta.log_level().is_some() {
        let note = LoggingMessageNotificationParam::new(LoggingLevel::Info, text.into());
        let _ = context.peer.notify_logging_message(note).await;
    }
}

impl ServerHandler for Client {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(self.shared.fixtures.capabilities.clone())
            .with_server_info(Implementation::new("conformance", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let all = self.shared.fixtures.tools.iter().map(|tool| tool.listed.clone());
        Ok(ListToolsResult::with_all_items(all.collect()))
    }

    /// rmcp compares headers with arguments only for tools that this finds.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.shared.fixtures.tool(name).map(|tool| tool.listed.clone())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = self.shared.fixtures.tool(&request.name);
        let tool = tool.ok_or_else(|| ErrorData::invalid_params("unknown tool", None))?;
        self.act(&request.name, &context).await?;
        let received = Received {
            arguments: request.arguments,
            responses: request.input_responses,
            state: request.request_state,
        };
        Ok(match self.shared.rounds.collect_input(tool, received, &context).await? {
            InputOutcome::Complete(values) if tool.fails => {
                CallToolResult::error(filled(&tool.answer, &values)?).into()
            }
            InputOutcome::Complete(values) => {
                CallToolResult::success(filled(&tool.answer, &values)?).into()
            }
            InputOutcome::Incomplete(request) => request.into(),
        })
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let all = self.shared.fixtures.prompts.iter().map(|prompt| prompt.listed.clone());
        Ok(ListPromptsResult::with_all_items(all.collect()))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let prompt = self.shared.fixtures.prompt(&request.name);
        let prompt = prompt.ok_or_else(|| ErrorData::invalid_params("unknown prompt", None))?;
        let received = Received {
            arguments: request.arguments,
            responses: request.input_responses,
            state: request.request_state,
        };
        Ok(match self.shared.rounds.collect_input(prompt, received, &context).await? {
            InputOutcome::Complete(values) => {
                GetPromptResult::new(filled(&prompt.answer, &values)?).into()
            }
            InputOutcome::Incomplete(request) => request.into(),
        })
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let all = self.shared.fixtures.resources.iter().map(|resource| resource.listed.clone());
        Ok(ListResourcesResult::with_all_items(all.collect()))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let all = self.shared.fixtures.templates.iter().map(|template| template.listed.clone());
        Ok(ListResourceTemplatesResult::with_all_items(all.collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let Some((answer, values)) = self.shared.fixtures.resource(&request.uri) else {
            let uri = json!({"uri": request.uri});
            return Err(ErrorData::resource_not_found("no such resource", Some(uri)));
        };
        Ok(ReadResourceResult::new(filled(answer, &values)?).into())
    }

    async fn set_level(
        &self,
        _request: SetLevelRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn subscribe(
        &self,
        _request: SubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(
        &self,
        _request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(
        &self,
        requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.changes.lock().await;
        loop {
            let change = tokio::select! {
                () = context.cancelled() => return Ok(()),
                change = changes.recv() => change,
            };
            // The sink drops notifications that the client did not subscribe to.
            let _ = match change {
                Ok(Change::Tools) => context.sink().notify_tool_list_changed().await,
                Ok(Change::Prompts) => context.sink().notify_prompt_list_changed().await,
                Err(_) => return Ok(()),
            };
        }
    }
}
