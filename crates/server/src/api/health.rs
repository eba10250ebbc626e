//! For whoever watches the process: is it there, can it serve. No credential is needed, nothing is told.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, Code};

/// `GET /healthz`: the process answers.
pub(crate) async fn live() -> Json<Value> {
    Json(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}))
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
