//! Writes the body of an [`ApiError`]: spec 07's shape on REST, the dialect's own on `/v1*`.
//!
//! The only place that turns an error into bytes, so a refusal by any middleware has the right shape too.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{Extensions, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use dialects::{Dialect, WireError};
use serde::Serialize;

use super::{ApiError, Detail};
use crate::http::RequestId;

/// The dialect that the caller of a proxy path speaks; in the extensions of its request.
#[derive(Clone, Copy)]
pub(crate) struct Spoken(pub(crate) &'static dyn Dialect);

/// The dialect that this request's caller expects; `None` on REST paths. On paths that several providers have, the
/// form of the credential tells.
fn dialect_of(request: &Request) -> Option<&'static dyn Dialect> {
    let (path, query, headers) = (request.uri().path(), request.uri().query(), request.headers());
    if !crate::http::is_proxy_path(path) {
        return None;
    }
    let by_path =
        dialects::by_path(path).filter(|dialect| request.method() == Method::POST || dialect.is_chat(path));
    by_path.or_else(|| {
        let key_in_query = query.is_some_and(|query| crate::http::query::keys(query).next().is_some());
        dialects::by_name(if headers.contains_key("anthropic-version") {
            "anthropic_messages"
        } else if headers.contains_key("x-goog-api-key") || key_in_query || path.starts_with("/v1beta") {
            "gemini"
        } else {
            "openai_chat"
        })
    })
}

/// Middleware: fills in the body of every error that comes by, and logs its cause.
pub(crate) async fn render(mut request: Request, next: Next) -> Response {
    // Before the credential is taken out of the request.
    let dialect = dialect_of(&request);
    request.extensions_mut().extend(dialect.map(spoken).unwrap_or_default());
    let id = request.extensions().get::<RequestId>().cloned().unwrap_or_default();
    let mut response = next.run(request).await;
    let Some(error) = response.extensions_mut().remove::<ApiError>() else { return response };
    log(&error, &id);
    let body = match dialect {
        Some(dialect) => dialect.error_body(&WireError {
            status: error.code.status().as_u16(),
            code: error.code.as_str().to_owned(),
            message: error.message,
            // It is among the headers already.
            retry_after_s: None,
        }),
        None => rest_body(&error, &id),
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(body.len()));
    *response.body_mut() = Body::from(body);
    response
}

fn spoken(dialect: &'static dyn Dialect) -> Extensions {
    let mut extensions = Extensions::new();
    extensions.insert(Spoken(dialect));
    extensions
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
