//! Paths under `/v1` and `/v1beta` that are no chats: passed to the upstream of the caller's dialect, body by piece.
//!
//! What the server's credential opens is everybody's, so it serves only paths that read nobody's files, batches or
//! answers. Nothing here knows the shape of a body, beyond the model that a JSON body names.

use std::sync::Arc;

use axum::Extension;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::Response;
use bytes::Bytes;
use dialects::{Dialect, WireError};
use domain::Scope;
use domain::limits::PROXY_BODY_BYTES;
use serde::Deserialize;

use super::failure::{self, error};
use super::receive::target;
use super::stored_answers::{self, Asked};
use super::upstream::{ClientCredential, Forwarded, Remote, Upstream, response_headers};
use crate::app::App;
use crate::caller::Caller;
use crate::error::render::Spoken;

/// POST paths behind `/v1/` that hold nothing of anybody's.
const SHARED: [&str; 10] = [
    "embeddings",
    "moderations",
    "audio/speech",
    "audio/transcriptions",
    "audio/translations",
    "images/generations",
    "images/edits",
    "images/variations",
    "messages/count_tokens",
    stored_answers::INPUT_TOKENS,
];
/// The same as methods of a Gemini model; `predict` makes images.
const SHARED_METHODS: [&str; 4] = ["countTokens", "embedContent", "batchEmbedContents", "predict"];

/// A request on another path than those of the chats.
pub(super) struct Other {
    pub(super) dialect: &'static dyn Dialect,
    pub(super) method: Method,
    pub(super) uri: Uri,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
}

/// Handler of every path that no other route has.
pub(crate) async fn handle(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(Spoken(dialect)): Extension<Spoken>,
    request: Request,
) -> Response {
    let (parts, body) = request.into_parts();
    let other = Other { dialect, method: parts.method, uri: parts.uri, headers: parts.headers, body };
    answer(&app, &caller, other).await
}

/// Passes one request on, or says why not.
pub(super) async fn answer(app: &App, caller: &Caller, other: Other) -> Response {
    let dialect = other.dialect;
    match pass(app, caller, other).await {
        Ok(response) => response,
        Err(error) => failure::response(dialect, &error),
    }
}

async fn pass(app: &App, caller: &Caller, other: Other) -> Result<Response, WireError> {
    let mut other = other;
    let (dialect, uri) = (other.dialect, other.uri.clone());
    let Some(path) = plain(uri.path()) else {
        let message = "the path has segments that lead elsewhere; write it without `.` and `..`";
        return Err(error(StatusCode::BAD_REQUEST, "bad_request", message));
    };
    if let Some(asked) = Asked::read(dialect, &other.method, path)
        && let Some(response) = stored_answers::answer(app, caller, asked, &mut other).await?
    {
        return Ok(response);
    }
    if path == stored_answers::INPUT_TOKENS && dialect.provider() == "openai" {
        stored_answers::rename_previous(app, caller, &mut other).await?;
    }
    let Other { method, headers, body, .. } = other;
    let own = ClientCredential::find(&headers, uri.query());
    let (named, body) = model_in(&headers, body).await?;
    let model = model_of(path).or(named.as_deref());
    let upstream = app.upstreams().of_provider(dialect.provider(), model).next().cloned();
    let upstream = upstream.ok_or_else(|| nobody(dialect, model))?;
    let allowed =
        upstream.takes(own.as_ref()) || caller.may(Scope::Passthrough) || is_shared(dialect, &method, path);
    if !allowed {
        return Err(forbidden(&method, uri.path()));
    }
    let target = target(&uri);
    let (headers, credential) = (&headers, own.as_ref());
    forward(&upstream, Forwarded { dialect, method, target: &target, headers, credential, body }).await
}

/// Passes a request on and its answer back.
pub(super) async fn forward(upstream: &Remote, request: Forwarded<'_>) -> Result<Response, WireError> {
    let answer = upstream.forward(request).await.map_err(|e| failure::from_send(&e))?;
    let mut response = Response::new(Body::from_stream(answer.body));
    *response.status_mut() = answer.status;
    *response.headers_mut() = response_headers(&answer.headers);
    Ok(response)
}

/// What follows the version, unless a segment, escaped or not, leads out of its place: an upstream may tidy the
/// path and so arrive where nobody allowed it.
fn plain(path: &str) -> Option<&str> {
    let text = path.to_ascii_lowercase().replace("%2e", ".").replace("%2f", "/").replace("%5c", "/");
    let leads_away = text.split(['/', '\\']).any(|segment| segment == "." || segment == "..");
    let rest = path.strip_prefix("/v1/").or_else(|| path.strip_prefix("/v1beta/"))?;
    (!leads_away).then_some(rest)
}

/// Whether every caller of the proxy may use a path with the server's credential.
fn is_shared(dialect: &dyn Dialect, method: &Method, path: &str) -> bool {
    let segments = path.split('/').count();
    match path.strip_prefix("models") {
        Some("") => *method == Method::GET,
        Some(model) if model.starts_with('/') && *method == Method::GET => {
            // Resources of a model lie behind its name; only OpenAI's lookalikes have slashes within names.
            segments == 2 || dialect.provider() == "openai"
        }
        Some(model) if model.starts_with('/') && *method == Method::POST && segments == 2 => {
            model.rsplit_once(':').is_some_and(|(_, word)| SHARED_METHODS.contains(&word))
        }
        _ => *method == Method::POST && SHARED.contains(&path),
    }
}

/// The model that a path names.
fn model_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix("models/")?;
    let word = name.rsplit_once(':').filter(|(_, word)| SHARED_METHODS.contains(word));
    Some(word.map_or(name, |(name, _)| name)).filter(|name| !name.is_empty())
}

#[derive(Deserialize)]
struct Named {
    model: Option<String>,
}

/// The model that a JSON body names, and the body again. Other bodies are not read.
async fn model_in(headers: &HeaderMap, body: Body) -> Result<(Option<String>, Body), WireError> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/json") {
        return Ok((None, body));
    }
    let bytes = whole(body).await?;
    let named = serde_json::from_slice::<Named>(&bytes).ok().and_then(|named| named.model);
    Ok((named, Body::from(bytes)))
}

/// A body in one piece.
pub(super) async fn whole(body: Body) -> Result<Bytes, WireError> {
    axum::body::to_bytes(body, PROXY_BODY_BYTES).await.map_err(|cause| {
        tracing::debug!(error = &cause as &dyn std::error::Error, "a request body could not be read");
        let message = format!("the body broke off or is larger than {PROXY_BODY_BYTES} bytes; send less");
        error(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", message)
    })
}

/// No upstream has this path.
pub(super) fn nobody(dialect: &dyn Dialect, model: Option<&str>) -> WireError {
    let provider = dialect.provider();
    let (code, what) = match model {
        Some(model) => ("model_not_found", format!("the model `{}`", domain::text::excerpt(model, 80))),
        None => ("route_not_found", "this path".to_owned()),
    };
    let message =
        format!("no upstream that speaks as {provider} does has {what}; add one under [[upstreams]]");
    error(StatusCode::NOT_FOUND, code, message)
}

fn forbidden(method: &Method, path: &str) -> WireError {
    let path = domain::text::excerpt(path, 120);
    let message = format!(
        "`{method} {path}` may show what belongs to others, so the server's credential does not open it; use a key \
         with the scope `passthrough`, or your own credential at an upstream with `passthrough = true`"
    );
    error(StatusCode::FORBIDDEN, "missing_scope", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shared(dialect: &str, method: &str, path: &str) -> bool {
        let Some(path) = plain(path) else { return false };
        is_shared(dialects::by_name(dialect).unwrap(), &method.parse().unwrap(), path)
    }

    #[test]
    fn only_what_is_nobodys_is_shared() {
        for (method, path) in [
            ("GET", "/v1/models"),
            ("GET", "/v1/models/gpt-4"),
            ("GET", "/v1/models/meta/llama"),
            ("POST", "/v1/embeddings"),
            ("POST", "/v1/audio/transcriptions"),
            ("POST", "/v1/messages/count_tokens"),
            ("POST", "/v1/responses/input_tokens"),
            ("POST", "/v1beta/models/m:batchEmbedContents"),
            ("POST", "/v1beta/models/m:predict"),
            ("POST", "/v1beta/models/m:countTokens"),
            ("POST", "/v1beta/models/m:embedContent"),
        ] {
            assert!(shared("openai_chat", method, path), "{method} {path}");
        }
        for (method, path) in [
            ("GET", "/v1/files"),
            ("GET", "/v1/responses/resp_1"),
            ("DELETE", "/v1/models/gpt-4"),
            ("POST", "/v1/models"),
            ("GET", "/v1/modelsx"),
            ("GET", "/v1/embeddings"),
            ("POST", "/v1/embeddings/"),
            ("POST", "/v1/messages/batches"),
            ("POST", "/v1beta/cachedContents"),
            ("POST", "/v1beta/models/m:generateAnswer"),
            ("POST", "/v1beta/models/m:predictLongRunning"),
            ("POST", "/v1beta/models/m:asyncBatchEmbedContent"),
            ("POST", "/v1/responses/compact"),
            ("POST", "/v1/models/a/b:countTokens"),
            ("GET", "/v1/models/../files"),
            ("GET", "/v1/models/%2E%2e/files"),
            ("GET", "/v1/models/x%2f..%2F..%2ffiles"),
            ("GET", "/v1/models/..%5Cfiles"),
            ("GET", "/v2/models"),
        ] {
            assert!(!shared("openai_chat", method, path), "{method} {path}");
        }
        assert!(!shared("gemini", "GET", "/v1beta/models/m/operations"));
    }

    #[test]
    fn a_path_names_its_model() {
        assert_eq!(model_of("models/m:countTokens"), Some("m"));
        assert_eq!(model_of("models/ft:gpt-4:org"), Some("ft:gpt-4:org"));
        assert_eq!((model_of("models/"), model_of("files/a")), (None, None));
    }
}
