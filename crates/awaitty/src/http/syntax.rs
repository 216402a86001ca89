//! Error responses for malformed bodies. rmcp answers 415 with a plain text, as for a wrong content type; clients
//! expect 400 with a JSON-RPC error.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, Method, Response, StatusCode, header};
use axum::response::IntoResponse;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::IgnoredAny;
use serde_json::json;

use super::{BODY_MAX, refuse};

/// JSON-RPC code for text that is not JSON.
const PARSE_ERROR: i32 = -32700;

/// JSON-RPC code for JSON that is not a message.
const INVALID_REQUEST: i32 = -32600;

/// Returns whether the content type is JSON.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    kind.is_some_and(|kind| kind.starts_with(b"application/json"))
}

/// Reads and checks the body of a JSON POST request, up to the limit, and returns the request with it.
///
/// # Errors
/// The response to send, if the body is too long or not JSON.
pub(super) async fn check(request: Request) -> Result<Request, Response<Body>> {
    if request.method() != Method::POST || !is_json(request.headers()) {
        return Ok(request);
    }
    let (parts, body) = request.into_parts();
    let whole = match Limited::new(body, BODY_MAX).collect().await {
        Ok(whole) => whole.to_bytes(),
        Err(error) if error.is::<LengthLimitError>() => {
            let why = format!("the body has more than {BODY_MAX} bytes: send less at a time");
            return Err(refuse(StatusCode::PAYLOAD_TOO_LARGE, &why));
        }
        Err(error) => {
            let why = format!("the body could not be read: {error}");
            return Err(refuse(StatusCode::BAD_REQUEST, &why));
        }
    };
    match json_error(&whole) {
        Some(why) => {
            let why = format!("the body is not JSON: {why}: send one JSON-RPC message");
            Err(error_response(PARSE_ERROR, &why))
        }
        None => Ok(Request::from_parts(parts, Body::from(whole))),
    }
}

/// Returns the response to JSON that is not a message.
pub(super) fn not_a_message() -> Response<Body> {
    error_response(
        INVALID_REQUEST,
        "the body is JSON, but not one JSON-RPC message of MCP: send one",
    )
}

/// Returns the syntax error of a text that is not JSON. Builds no value, since rmcp parses the text again.
fn json_error(text: &[u8]) -> Option<String> {
    match std::str::from_utf8(text) {
        Ok(text) => serde_json::from_str::<IgnoredAny>(text).err().map(|error| error.to_string()),
        Err(error) => Some(error.to_string()),
    }
}

fn error_response(code: i32, message: &str) -> Response<Body> {
    let error = json!({"jsonrpc": "2.0", "id": null, "error": {"code": code, "message": message}});
    let kind = [(header::CONTENT_TYPE, "application/json")];
    (StatusCode::BAD_REQUEST, kind, error.to_string()).into_response()
}
