//! The LLM proxy: one client request is one turn of one or more rounds.
//!
//! One file per step, in the order of a request: [`receive`] (whose request, what it asks), [`kept`] (hidden
//! rounds of earlier turns), [`inject`] (which skills, under which names), [`sticky`] (what was offered before),
//! [`upstream`] (the model), [`turn`] (rounds until the model answers), [`execute`] (the calls of one round),
//! [`respond`] (headers, bodies, streams), [`record`] (what is remembered of it), [`issued`] (ids of answers that a provider stores). Nothing here knows a
//! dialect's shapes.

mod budgets;
pub(crate) mod docs;
mod execute;
mod failure;
mod inject;
mod issued;
mod kept;
pub(crate) mod models;
mod options;
pub(crate) mod other_paths;
mod parts;
mod receive;
mod record;
mod respond;
mod results;
mod retry_plain;
mod sticky;
mod stored_answers;
mod turn;
pub(crate) mod upstream;

use std::sync::Arc;

use axum::body::Body;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use dialects::Dialect;
use domain::limits::PROXY_BODY_BYTES;

use crate::app::App;
use crate::caller::Caller;

pub use budgets::Budgets;
pub use kept::{KeptConfig, prune_kept};
pub use sticky::StickySets;

/// One route per dialect.
pub(crate) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new();
    for dialect in dialects::ALL.iter().copied() {
        let answer = move |State(app): State<Arc<App>>,
                           Extension(caller): Extension<Caller>,
                           uri: Uri,
                           headers: HeaderMap,
                           body: Result<Bytes, BytesRejection>| {
            handle(dialect, app, caller, uri, headers, body)
        };
        for route in dialect.routes() {
            router = router.route(route, post(answer));
        }
    }
    router.layer(DefaultBodyLimit::max(PROXY_BODY_BYTES))
}

/// A chat, or one of the provider's other methods on the same route.
async fn handle(
    dialect: &'static dyn Dialect,
    app: Arc<App>,
    caller: Caller,
    uri: Uri,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match body {
        Ok(body) if !dialect.is_chat(uri.path()) => {
            let (method, body) = (Method::POST, Body::from(body));
            other_paths::answer(&app, &caller, other_paths::Other { dialect, method, uri, headers, body })
                .await
        }
        body => receive::receive(dialect, app, caller, uri, headers, body).await,
    }
}
