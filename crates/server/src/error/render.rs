//! Writes the body of an [`ApiError`]: spec 07's shape on REST, the dialect's own on `/v1*`.
//!
//! The only place that turns an error into bytes, so a refusal by any middleware has the right shape too.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use dialects::{Dialect, WireError};
use serde::Serialize;

use super::{ApiError, Detail};
use crate::http::RequestId;

/// The dialect that a client of this path expects; `None` on REST paths.
pub(crate) fn dialect_of(path: &str, headers: &HeaderMap) -> Option<&'static dyn Dialect> {
    if !crate::http::is_proxy_path(path) {
        return None;
    }
    dialects::by_path(path).or_else(|| {
        let asks_anthropic = headers.contains_key("anthropic-version");
        dialects::by_name(if asks_anthropic { "anthropic_messages" } else { "openai_chat" })
    })
}

/// Middleware: fills in the body of every error that comes by, and logs its cause.
pub(crate) async fn render(request: Request, next: Next) -> Response {
    let dialect = dialect_of(request.uri().path(), request.headers());
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<ApiError>() else { return response };
    log(&error, &id);
    let body = match dialect {
        Some(dialect) => dialect.error_body(&WireError {
            status: error.code.status().as_u16(),
            code: error.code.as_str().to_owned(),
            message: error.message,
        }),
        None => rest_body(&error, &id),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    *response.body_mut() = Body::from(body);
    response
}

fn log(error: &ApiError, id: &RequestId) {
    let code = error.code.as_str();
    if let Some(cause) = &error.cause {
        let cause = cause.as_ref() as &(dyn std::error::Error + 'static);
        tracing::error!(error = cause, code, request.id = id.as_str(), "request failed");
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct RestBody<'a> {
    error: &'a str,
    code: &'a str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    details: &'a [Detail],
    request_id: &'a str,
}

fn rest_body(error: &ApiError, id: &RequestId) -> Bytes {
    let body = RestBody {
        error: &error.message,
        code: error.code.as_str(),
        details: &error.details,
        request_id: id.as_str(),
    };
    // Strings only: this cannot fail.
    serde_json::to_vec(&body).unwrap_or_default().into()
}
