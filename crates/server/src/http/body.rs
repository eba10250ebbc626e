//! Request bodies: read whole, up to a limit, before a handler sees them; and JSON objects out of them.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::limits::{API_BODY_BYTES, PROXY_BODY_BYTES};
use http_body_util::BodyExt;
use serde_json::{Map, Value};

use crate::error::{ApiError, Code};

/// Longest time a body may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(60);
/// Bytes that are read and thrown away after the limit: a client that is still sending does not see the answer.
const DRAINED: usize = 32 * 1024 * 1024;

/// Route layer, after the guard: the handler gets the whole body or is not called.
pub(crate) async fn buffer(request: Request, next: Next) -> Response {
    let limit = limit_of(request.uri().path());
    let (parts, body) = request.into_parts();
    let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    let room = announced.is_none_or(|n| n <= limit as u64);
    match tokio::time::timeout(ARRIVAL, read(body, if room { limit } else { 0 })).await {
        Ok(Ok(Some(bytes))) if room => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Ok(Ok(_)) => too_large(limit).into_response(),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a request body broke off");
            ApiError::new(Code::BrokenBody, "the request body broke off").into_response()
        },
        Err(_) => ApiError::new(Code::BodyTimeout, "the request body took too long to arrive").into_response(),
    }
}

fn limit_of(path: &str) -> usize {
    if super::is_proxy_path(path) { PROXY_BODY_BYTES } else { API_BODY_BYTES }
}

fn too_large(limit: usize) -> ApiError {
    let mib = limit / (1024 * 1024);
    ApiError::new(Code::BodyTooLarge, format!("the body is larger than {mib} MiB, the limit of this path"))
}

/// The bytes, or `None` if there are more than `limit`.
async fn read(mut body: Body, limit: usize) -> Result<Option<Bytes>, axum::Error> {
    let mut kept: Vec<u8> = Vec::new();
    let mut first: Option<Bytes> = None;
    let mut size = 0usize;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        size = size.saturating_add(data.len());
        if size > limit.saturating_add(DRAINED) {
            return Ok(None);
        }
        if size > limit {
            (first, kept) = (None, Vec::new());
            continue;
        }
        match first.take() {
            // Most bodies are one piece: it is handed on without a copy.
            None if kept.is_empty() => first = Some(data),
            None => kept.extend_from_slice(&data),
            Some(before) => {
                kept.extend_from_slice(&before);
                kept.extend_from_slice(&data);
            }
        }
    }
    if size > limit {
        return Ok(None);
    }
    Ok(Some(first.unwrap_or_else(|| kept.into())))
}

/// A JSON object as request body.
#[derive(Debug)]
pub(crate) struct Object(pub(crate) Map<String, Value>);

impl<S: Send + Sync> FromRequest<S> for Object {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
        if !kind.is_some_and(is_json) {
            return Err(ApiError::new(
                Code::UnsupportedMediaType,
                "the body has to be JSON: send `Content-Type: application/json`",
            ));
        }
        let bytes = Bytes::from_request(request, state).await.map_err(ApiError::internal)?;
        parse(&bytes).map(Self)
    }
}

fn is_json(kind: &str) -> bool {
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    let value = serde_json::from_slice::<Value>(bytes)
        .map_err(|e| ApiError::new(Code::MalformedJson, format!("the body is not valid JSON: {e}")))?;
    match value {
        Value::Object(members) => Ok(members),
        _ => Err(ApiError::new(Code::InvalidType, "the body has to be a JSON object")),
    }
}
