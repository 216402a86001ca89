//! Asking the client. In the older protocol we send it requests and wait; in the newest our answer is what we want to
//! know, and the client comes again with it.

use std::sync::{Mutex, PoisonError};

use rmcp::model::{
    ClientCapabilities, InputRequest, InputRequests, InputRequiredResult, InputResponses,
    JsonObject, ServerRequest,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Value, json};

use crate::fixtures::{Fixture, filled};

/// What a request brings along.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) arguments: Option<JsonObject>,
    pub(crate) responses: Option<InputResponses>,
    pub(crate) state: Option<String>,
}

/// What came of asking.
#[derive(Debug)]
pub(crate) enum Asked {
    /// All that we wanted to know, together with the arguments.
    Told(JsonObject),
    /// The client is to come again.
    Open(InputRequiredResult),
}

/// The rounds that clients are in. A state that they hand back is a number in this list and means nothing to them.
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
        round.ok_or_else(|| ErrorData::invalid_params("this request state is not ours", None))
    }

    /// Asks for what a fixture wants to know.
    pub(crate) async fn ask<T>(
        &self,
        fixture: &Fixture<T>,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<Asked, ErrorData> {
        if is_newest(context) {
            return self.ask_by_answer(fixture, brought, context);
        }
        let mut told = brought.arguments.unwrap_or_default();
        for round in &fixture.asks {
            for (name, request) in round {
                let request = filled(request, &told)?;
                told.insert(name.clone(), ask_by_request(request, context).await?);
            }
        }
        Ok(Asked::Told(told))
    }

    fn ask_by_answer<T>(
        &self,
        fixture: &Fixture<T>,
        brought: Brought,
        context: &RequestContext<RoleServer>,
    ) -> Result<Asked, ErrorData> {
        let able = context.client_capabilities().unwrap_or_default();
        let mut told = brought.arguments.unwrap_or_default();
        let mut rounds = Vec::new();
        for asked in &fixture.asks {
            let mut requests: InputRequests = filled(&asked.clone().into(), &told)?;
            requests.retain(|_, request| is_able(&able, request));
            rounds.push(requests);
        }
        let round = brought.state.map_or(Ok(0), |state| self.find(&state))?;
        // Only an object answers anything.
        let responses = brought.responses.unwrap_or_default();
        told.extend(responses.into_iter().filter(|(_, response)| response.is_object()));
        let is_told =
            |requests: &InputRequests| requests.keys().all(|name| told.contains_key(name));
        let next = round + usize::from(rounds.get(round).is_some_and(is_told));
        if next >= rounds.len() {
            return Ok(Asked::Told(told));
        }
        let state = fixture.has_state.then(|| self.keep(next));
        Ok(Asked::Open(InputRequiredResult::new(Some(rounds.swap_remove(next)), state)))
    }
}

/// Whether the client speaks the newest protocol, in which a server sends no requests.
pub(crate) fn is_newest(context: &RequestContext<RoleServer>) -> bool {
    context.meta.protocol_version().is_some()
}

async fn ask_by_request(
    request: InputRequest,
    context: &RequestContext<RoleServer>,
) -> Result<Value, ErrorData> {
    let request = match request {
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return Err(ErrorData::internal_error("no such request", None)),
    };
    let failed = |error: rmcp::ServiceError| ErrorData::internal_error(error.to_string(), None);
    Ok(json!(context.peer.send_request(request).await.map_err(failed)?))
}

fn is_able(able: &ClientCapabilities, request: &InputRequest) -> bool {
    match request {
        InputRequest::CreateMessage(_) => able.sampling.is_some(),
        InputRequest::Elicitation(_) => able.elicitation.is_some(),
        InputRequest::ListRoots(_) => able.roots.is_some(),
        _ => false,
    }
}
