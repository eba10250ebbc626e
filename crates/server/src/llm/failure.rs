//! Errors of the proxy, in the dialect that the client speaks.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use dialects::{Dialect, Fault, WireError};
use executor::whole_seconds;
use serde_json::Value;

use super::upstream::SendError;

/// The turn cannot go on. The message is for the client; the cause was logged where it happened.
pub(super) fn error(status: StatusCode, code: &str, message: impl Into<String>) -> WireError {
    WireError { status: status.as_u16(), code: code.to_owned(), message: message.into(), retry_after_s: None }
}

/// An answer that has not begun.
pub(super) fn response(dialect: &dyn Dialect, error: &WireError) -> Response {
    let status = StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = [(header::CONTENT_TYPE, "application/json")];
    let mut response = (status, kind, dialect.error_body(error)).into_response();
    if let Some(seconds) = error.retry_after_s {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// No head of an answer came from the upstream.
pub(super) fn from_send(send: &SendError) -> WireError {
    let (status, code) = match send {
        SendError::Connect(..) => (StatusCode::BAD_GATEWAY, "upstream_unreachable"),
        SendError::TooLarge => (StatusCode::PAYLOAD_TOO_LARGE, "body_too_large"),
        SendError::Timeout(_) => (StatusCode::GATEWAY_TIMEOUT, "upstream_timeout"),
        SendError::Unavailable { wait, .. } => {
            let unavailable =
                error(StatusCode::SERVICE_UNAVAILABLE, "upstream_unavailable", send.to_string());
            return WireError { retry_after_s: Some(whole_seconds(*wait)), ..unavailable };
        }
    };
    tracing::warn!(error = send as &dyn std::error::Error, "upstream failed");
    error(status, code, send.to_string())
}

/// The upstream's answer cannot be used.
pub(super) fn from_fault(fault: &Fault) -> WireError {
    tracing::warn!(error = fault as &dyn std::error::Error, "upstream answer unusable");
    match fault {
        Fault::Upstream(value) => {
            let said = said(value).unwrap_or("the upstream reported an error in its stream");
            error(StatusCode::BAD_GATEWAY, "upstream_error", said)
        }
        _ => error(StatusCode::BAD_GATEWAY, "upstream_broken", fault.to_string()),
    }
}

/// The upstream refused a later round of a stream that has begun.
pub(super) fn from_refusal(status: StatusCode, body: &[u8]) -> WireError {
    let value = serde_json::from_slice::<Value>(body).unwrap_or_default();
    let message = said(&value).map_or_else(|| format!("the upstream answered {status}"), str::to_owned);
    error(status, "upstream_error", message)
}

/// The sentence inside an upstream's error, in any dialect's shape.
fn said(value: &Value) -> Option<&str> {
    let inside = value.pointer("/error/message").or_else(|| value.pointer("/response/error/message"));
    inside.or_else(|| value.get("message")).or_else(|| value.get("error"))?.as_str()
}
