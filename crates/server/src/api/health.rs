//! For whoever watches the process: is it there, can it serve. No credential is needed, nothing is told.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, Code};
use crate::openapi::schema::{object, text, word};
use crate::openapi::{Operation, Tag};

pub(crate) fn live_doc() -> Operation {
    let gives = object().with("status", word(&["ok"])).with("version", text());
    Operation::new(Tag::Operations, "live", "Whether the process answers").gives(gives)
}

/// `GET /healthz`: the process answers.
pub(crate) async fn live() -> Json<Value> {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
}

pub(crate) fn ready_doc() -> Operation {
    Operation::new(Tag::Operations, "ready", "Whether the gateway can serve")
        .gives(object().with("status", word(&["ready"])))
        .errors(&[Code::NotReady])
}

/// `GET /readyz`: the store answers too.
pub(crate) async fn ready(State(app): State<Arc<App>>) -> Result<Json<Value>, ApiError> {
    match app.store.value("ready").await {
        Ok(_) => Ok(Json(json!({"status": "ready"}))),
        Err(error) => Err(ApiError::new(Code::NotReady, "the database does not answer")
            .with_retry_after(5)
            .with_cause(error)),
    }
}
