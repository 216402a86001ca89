//! Input from the client for a call. In the older protocol the server sends requests and waits for the responses. In
//! the newest protocol it returns the requests as its result, and the client repeats the call with the responses.

use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    JsonObject, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::fixtures::{Fixture, filled};

/// The parts of a request that carry input.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

/// Whether a call has all the input that it needs.
#[derive(Debug)]
pub(crate) enum InputOutcome {
    /// All input: the arguments and the responses of the client by name.
    Complete(JsonObject),
    /// The client must repeat the call with responses to these requests.
    Incomplete(InputRequiredResult),
}

/// The rounds of clients. The state that a client returns is an index into this list.
#[derive(Debug, Default)]
pub(crate) struct Rounds(Mutex<Vec<usize>>);

impl Rounds {
    fn keep(&self, round: usize) -> String {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(round);
        (all.len() - 1).to_string()
    }

    fn find(&self, state: &str) -> Result<usize, ErrorData> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let round = state.parse().ok().and_then(|number: usize| all.get(number).copied());
        round.ok_or_else(|| {
            ErrorData::invalid_params(
                "unknown request state: send back a state that this server returned",
                None,
            )
        })
    }

    /// Collects the input that a fixture needs.
    pub(crate) async fn collect_input<T>(
        &self,
        fixture: &Fixture<T>,
        received: Received,
        context: &RequestContext<RoleServer>,
    ) -> Result<InputOutcome, ErrorData> {
        if is_newest(context) {
            return self.request_by_result(fixture, received, context);
        }
        let mut values = received.arguments.unwrap_or_default();
        for round in &fixture.asks {
            for (name, request) in round {
                let request = filled(request, &values)?;
                values.insert(name.clone(), send_request(request, context).await?);
            }
        }
        Ok(InputOutcome::Complete(values))
    }

    fn request_by_result<T>(
        &self,
        fixture: &Fixture<T>,
        received: Received,
        context: &RequestContext<RoleServer>,
    ) -> Result<InputOutcome, ErrorData> {
        let capabilities = context.client_capabilities().unwrap_or_default();
        let mut values = received.arguments.unwrap_or_default();
        let mut rounds = Vec::new();
        for requests in &fixture.asks {
            let mut requests: InputRequests = filled(&requests.clone().into(), &values)?;
            requests.retain(|_, request| is_supported(&capabilities, request));
            rounds.push(requests);
        }
        let round = received.state.map_or(Ok(0), |state| self.find(&state))?;
        // A response that is no object does not count.
        let responses = received.responses.unwrap_or_default();
        values.extend(responses.into_iter().filter(|(_, response)| response.is_object()));
        let is_answered =
            |requests: &InputRequests| requests.keys().all(|name| values.contains_key(name));
        let next = round + usize::from(rounds.get(round).is_some_and(is_answered));
        if next >= rounds.len() {
            return Ok(InputOutcome::Complete(values));
        }
        let state = fixture.has_state.then(|| self.keep(next));
        Ok(InputOutcome::Incomplete(InputRequiredResult::new(
            Some(rounds.swap_remove(next)),
            state,
        )))
    }
}

/// Returns whether the client uses the newest protocol, in which a server sends no requests.
pub(crate) fn is_newest(context: &RequestContext<RoleServer>) -> bool {
    context.meta.protocol_version().is_some()
}

async fn send_request(
    request: InputRequest,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    let request = match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(ErrorData::internal_error("unsupported kind of input request", None)),
    };
    let failed = |error: rmcp::ServiceError| ErrorData::internal_error(error.to_string(), None);
    Ok(json!(context.peer.send_request(request).await.map_err(failed)?))
}

fn is_supported(capabilities: &ClientCapabilities, request: &InputRequest) -> bool {
    match request {
        InputRequest::CreateMessage(_) => capabilities.sampling.is_some(),
        InputRequest::Elicitation(_) => capabilities.elicitation.is_some(),
        InputRequest::ListRoots(_) => capabilities.roots.is_some(),
        _ => false,
    }
}
