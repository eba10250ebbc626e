//! The LLM proxy: one client request is one turn of one or more rounds.
//!
//! One file per step, in the order of a request: [`receive`] (whose request, what it asks), [`inject`] (which
//! skills, under which names), [`upstream`] (the model), [`turn`] (rounds until the model answers), [`execute`]
//! (the calls of one round), [`respond`] (headers, bodies, streams). Nothing here knows a dialect's shapes.

mod budgets;
mod execute;
mod failure;
mod inject;
mod options;
mod receive;
mod respond;
mod results;
mod turn;
pub(crate) mod upstream;

use std::sync::Arc;

use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Uri};
use axum::routing::post;
use axum::{Extension, Router};
use bytes::Bytes;
use domain::limits::PROXY_BODY_BYTES;

use crate::app::App;
use crate::caller::Caller;

pub use budgets::Budgets;

/// One route per dialect.
pub(crate) fn routes() -> Router<Arc<App>> {
    let mut router = Router::new();
    for dialect in dialects::ALL.iter().copied() {
        let answer = move |State(app): State<Arc<App>>,
                           Extension(caller): Extension<Caller>,
                           uri: Uri,
                           headers: HeaderMap,
                           body: Result<Bytes, BytesRejection>| {
            receive::receive(dialect, app, caller, uri, headers, body)
        };
        for route in dialect.routes() {
            router = router.route(route, post(answer));
        }
    }
    router.layer(DefaultBodyLimit::max(PROXY_BODY_BYTES))
}
