//! Which models there are: the lists of the upstreams that the caller's dialect reaches, and `demo`.
//!
//! An upstream that cannot be asked is a line in the log, not a failure, as long as there is something to show. A
//! model that would be asked elsewhere is left out.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use dialects::{Dialect, WireError};
use futures_util::future::join_all;
use serde_json::{Value, json};

use super::failure;
use super::other_paths::{self, Other};
use super::upstream::{ClientCredential, DEMO_MODEL, Forwarded, Remote, Upstream, Upstreams};
use crate::app::App;
use crate::caller::Caller;
use crate::error::render::Spoken;

/// Longest wait for an upstream's list.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of a list.
const LIST_BYTES: usize = 8 * 1024 * 1024;

/// How a provider writes a list of models.
struct Shape {
    list: &'static str,
    id: &'static str,
    /// In front of an id.
    prefix: &'static str,
    demo: fn() -> Value,
    empty: fn() -> Value,
    /// Whether the list goes on elsewhere.
    more: fn(&Value) -> bool,
}

const OPENAI: Shape = Shape {
    list: "data",
    id: "id",
    prefix: "",
    demo: || json!({"id": DEMO_MODEL, "object": "model", "created": 0, "owned_by": "omni-skills"}),
    empty: || json!({"object": "list", "data": []}),
    more: |page| page.get("has_more") == Some(&Value::Bool(true)),
};
const ANTHROPIC: Shape = Shape {
    demo: || json!({"type": "model", "id": DEMO_MODEL, "display_name": "Demo", "created_at": "1970-01-01T00:00:00Z"}),
    empty: || json!({"data": [], "has_more": false, "first_id": null, "last_id": null}),
    ..OPENAI
};
const GOOGLE: Shape = Shape {
    list: "models",
    id: "name",
    prefix: "models/",
    demo: || {
        json!({
            "name": format!("models/{DEMO_MODEL}"), "version": "1", "displayName": "Demo",
            "description": "A rule-based stand-in that calls the tool you name.",
            "inputTokenLimit": 1_000_000, "outputTokenLimit": 65_536,
            "supportedGenerationMethods": ["generateContent", "streamGenerateContent"],
        })
    },
    empty: || json!({"models": []}),
    more: |page| page.get("nextPageToken").and_then(Value::as_str).is_some_and(|token| !token.is_empty()),
};

fn shape(dialect: &dyn Dialect) -> &'static Shape {
    match dialect.provider() {
        "anthropic" => &ANTHROPIC,
        "google" => &GOOGLE,
        _ => &OPENAI,
    }
}

impl Shape {
    fn id_of<'v>(&self, model: &'v Value) -> Option<&'v str> {
        let id = model.get(self.id)?.as_str()?;
        Some(id.strip_prefix(self.prefix).unwrap_or(id))
    }
}

/// `GET /v1/models` and `GET /v1beta/models`.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(Spoken(dialect)): Extension<Spoken>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let own = ClientCredential::find(&headers, uri.query());
    let all = app.upstreams();
    let upstreams: Vec<&Arc<Remote>> = all.of_provider(dialect.provider(), None).collect();
    let asked = upstreams.iter().map(|upstream| ask(upstream, dialect, &uri, &headers, own.as_ref()));
    let answers = join_all(asked).await;
    let shape = shape(dialect);
    let mut page: Option<Value> = None;
    let mut refusal = None;
    for (upstream, answer) in upstreams.into_iter().zip(answers) {
        match answer {
            Ok(Listed::Page(other)) => add(&all, dialect, upstream, &mut page, other),
            // The client's own credential was judged: that is its answer.
            Ok(Listed::Refused(response)) if upstream.takes(own.as_ref()) => refusal = Some(response),
            Ok(Listed::Refused(response)) => {
                tracing::warn!(upstream = upstream.name(), status = %response.status(), "no list of models came");
                refusal = refusal.or((!all.has_demo()).then_some(response));
            }
            Err(error) if all.has_demo() => {
                tracing::warn!(upstream = upstream.name(), reason = error.message, "no list of models came");
            }
            Err(error) => refusal = refusal.or_else(|| Some(failure::response(dialect, &error))),
        }
    }
    match (page, refusal) {
        (None, Some(refusal)) => refusal,
        (page, _) => Json(with_demo(&all, shape, page.unwrap_or_else(shape.empty))).into_response(),
    }
}

enum Listed {
    Page(Value),
    Refused(Response),
}

async fn ask(
    upstream: &Remote,
    dialect: &dyn Dialect,
    uri: &Uri,
    headers: &HeaderMap,
    own: Option<&ClientCredential>,
) -> Result<Listed, WireError> {
    let late = |_| {
        let message = format!("upstream `{}` did not list its models in time", upstream.name());
        failure::error(StatusCode::GATEWAY_TIMEOUT, "upstream_timeout", message)
    };
    let target = super::receive::target(uri);
    let (method, body) = (Method::GET, Body::empty());
    let request = Forwarded { dialect, method, target: &target, headers, credential: own, body };
    let asked = other_paths::forward(upstream, request);
    let response = tokio::time::timeout(PATIENCE, asked).await.map_err(late)??;
    if !response.status().is_success() {
        return Ok(Listed::Refused(response));
    }
    let read = axum::body::to_bytes(response.into_body(), LIST_BYTES);
    let bytes = tokio::time::timeout(PATIENCE, read).await.map_err(late)?.unwrap_or_default();
    let page = serde_json::from_slice::<Value>(&bytes).ok().filter(Value::is_object);
    page.map(Listed::Page).ok_or_else(|| {
        let message = format!("upstream `{}` did not list its models as JSON", upstream.name());
        failure::error(StatusCode::BAD_GATEWAY, "upstream_broken", message)
    })
}

/// Takes in one upstream's page; the first one's other members stay.
fn add(
    all: &Upstreams,
    dialect: &dyn Dialect,
    upstream: &Arc<Remote>,
    page: &mut Option<Value>,
    mut other: Value,
) {
    let shape = shape(dialect);
    let Some(models) = other.get_mut(shape.list).and_then(Value::as_array_mut) else { return };
    let is_asked = |model: &Value| {
        shape.id_of(model).is_some_and(|id| {
            let first = all.of_provider(dialect.provider(), Some(id)).next();
            first.is_some_and(|first| Arc::ptr_eq(first, upstream))
        })
    };
    models.retain(is_asked);
    let models = std::mem::take(models);
    let whole = page.get_or_insert(other);
    if let Some(list) = whole.get_mut(shape.list).and_then(Value::as_array_mut) {
        list.extend(models);
    }
}

/// With `demo` at the end of the last page.
fn with_demo(all: &Upstreams, shape: &Shape, mut page: Value) -> Value {
    let last = all.has_demo() && !(shape.more)(&page);
    if let Some(list) = page.get_mut(shape.list).and_then(Value::as_array_mut).filter(|_| last) {
        list.retain(|model| shape.id_of(model) != Some(DEMO_MODEL));
        list.push((shape.demo)());
    }
    page
}

/// `GET /v1/models/{id}` and `GET /v1beta/models/{id}`.
pub(crate) async fn one(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Extension(Spoken(dialect)): Extension<Spoken>,
    request: Request,
) -> Response {
    if app.upstreams().has_demo() && request.uri().path().rsplit('/').next() == Some(DEMO_MODEL) {
        return Json((shape(dialect).demo)()).into_response();
    }
    let (parts, body) = request.into_parts();
    let other = Other { dialect, method: parts.method, uri: parts.uri, headers: parts.headers, body };
    other_paths::answer(&app, &caller, other).await
}
