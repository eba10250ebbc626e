//! `/api/config/reload`: the configuration is read again; it is taken up whole or not at all.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, Code};
use crate::openapi::schema::{list, object, text};
use crate::openapi::{Operation, Tag};

pub(crate) fn reload_doc() -> Operation {
    let gives = object()
        .with("applied", list(text()).about("Settings that changed and hold now, as `section.key`."))
        .with("needsRestart", list(text()).about("Settings that changed and wait for the next start."));
    Operation::new(Tag::Settings, "reloadConfiguration", "Read the configuration file again")
        .about("All or nothing: a file with a fault changes nothing. SIGHUP does the same.")
        .gives(gives)
        .errors(&[Code::InvalidConfiguration, Code::ShuttingDown])
}

/// `POST /api/config/reload`.
pub(crate) async fn reload(State(app): State<Arc<App>>) -> Result<Json<Value>, ApiError> {
    match app.reloader.reload().await {
        Some(Ok(reloaded)) => {
            Ok(Json(json!({"applied": reloaded.applied, "needsRestart": reloaded.needs_restart})))
        }
        Some(Err(fault)) => Err(ApiError::new(Code::InvalidConfiguration, fault)),
        None => Err(ApiError::new(Code::ShuttingDown, "the gateway is stopping")),
    }
}
