//! Request bodies: read whole, up to a limit, before a handler sees them; and JSON objects out of them.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use domain::limits::{API_BODY_BYTES, PROXY_BODY_BYTES};
use http_body_util::BodyExt;
use serde_json::{Map, Value};

use crate::error::{ApiError, Code};

/// Longest silence inside a body.
const SILENCE: Duration = Duration::from_secs(30);
/// Bytes that are read and thrown away after the limit: a client that is still sending does not see the answer.
const DRAINED: usize = 32 * 1024 * 1024;

/// Why there is no body.
enum Bad {
    TooLarge,
    Late,
    Broken(axum::Error),
}

/// Route layer, after the guard: the handler gets the whole body or is not called.
pub(crate) async fn buffer(request: Request, next: Next) -> Response {
    let limit = if super::is_proxy_path(request.uri().path()) { PROXY_BODY_BYTES } else { API_BODY_BYTES };
    let (parts, body) = request.into_parts();
    match read(&parts.headers, body, limit).await {
        Ok(bytes) => next.run(Request::from_parts(parts, Body::from(bytes))).await,
        Err(bad) => refused(&bad, limit).into_response(),
    }
}

fn refused(bad: &Bad, limit: usize) -> ApiError {
    match bad {
        Bad::TooLarge => {
            let mib = limit / (1024 * 1024);
            let message = format!("the body is larger than {mib} MiB, the limit of this path");
            ApiError::new(Code::BodyTooLarge, message)
        }
        Bad::Late => ApiError::new(Code::BodyTimeout, "the request body did not arrive in time"),
        Bad::Broken(error) => {
            tracing::debug!(%error, "a request body broke off");
            ApiError::new(Code::BrokenBody, "the request body broke off")
        }
    }
}

async fn read(headers: &HeaderMap, mut body: Body, limit: usize) -> Result<Bytes, Bad> {
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    let mut large = announced.is_some_and(|n| n > limit as u64);
    if large && headers.contains_key(header::EXPECT) {
        // It waits for our word before it sends.
        return Err(Bad::TooLarge);
    }
    let mut kept = Pieces::default();
    let mut size = 0usize;
    loop {
        let frame = tokio::time::timeout(SILENCE, body.frame()).await.map_err(|_| Bad::Late)?;
        let Some(frame) = frame else { break };
        let Ok(data) = frame.map_err(Bad::Broken)?.into_data() else { continue };
        size = size.saturating_add(data.len());
        large |= size > limit;
        if size > limit.saturating_add(DRAINED) {
            break;
        }
        if large {
            kept = Pieces::default();
        } else {
            kept.push(data);
        }
    }
    if large { Err(Bad::TooLarge) } else { Ok(kept.joined()) }
}

/// Most bodies are one piece: it is handed on without a copy.
#[derive(Default)]
struct Pieces {
    first: Bytes,
    all: Vec<u8>,
}

impl Pieces {
    fn push(&mut self, data: Bytes) {
        if self.all.is_empty() && self.first.is_empty() {
            self.first = data;
            return;
        }
        if self.all.is_empty() {
            self.all.extend_from_slice(&self.first);
        }
        self.all.extend_from_slice(&data);
    }

    fn joined(self) -> Bytes {
        if self.all.is_empty() { self.first } else { self.all.into() }
    }
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
