//! `GET /api/upstreams`: where models are asked, and how that goes. Never a credential.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::openapi::schema::{flag, list as list_of, object, text, time, word};
use crate::openapi::{Operation, Shape, Tag};

/// An upstream.
const UPSTREAM: Shape = Shape::new("Upstream", || {
    let error = object().with("message", text()).with("at", time());
    object()
        .with("name", text())
        .with("dialects", list_of(text()))
        .with("baseUrl", text())
        .with("models", list_of(text()))
        .with("passthrough", flag())
        .with(
            "health",
            word(&["ok", "failing", "paused"])
                .about("`paused`: not asked for a moment, after failures in a row."),
        )
        .with("lastError", error.or_null())
});

pub(crate) fn list_doc() -> Operation {
    Operation::new(
        Tag::Operations,
        "listUpstreams",
        "Upstreams and their health, in the order in which they are asked",
    )
    .gives(object().with("data", list_of(UPSTREAM.refer())))
}

/// The handler.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({"data": app.upstreams().health()}))
}
