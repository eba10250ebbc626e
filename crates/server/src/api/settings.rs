//! Settings that are kept in the database and hold at once: today the master switch.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};
use store::StoreError;

use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Object};
use crate::openapi::schema::{flag, object};
use crate::openapi::{Operation, Shape, Tag};

/// Name of the stored master switch, `true` or `false`.
const SKILLS_ENABLED: &str = "skills_enabled";

/// Applies what the database holds; to be called once, before serving.
pub async fn restore_settings(app: &App) -> Result<(), StoreError> {
    if let Some(stored) = app.store.value(SKILLS_ENABLED).await? {
        app.executor.set_enabled(stored == "true");
    }
    Ok(())
}

const SETTINGS: Shape = Shape::new("Settings", || {
    object()
        .with("skillsEnabled", flag().about("The master switch: `false` and nothing runs, through any door."))
});

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Settings, "getSettings", "The settings").gives(SETTINGS.refer())
}

/// `GET /api/settings`.
pub(crate) async fn get(State(app): State<Arc<App>>) -> Json<Value> {
    shown(&app)
}

pub(crate) fn change_doc() -> Operation {
    let body = object().maybe("skillsEnabled", flag()).members_at_least(1).closed();
    Operation::new(Tag::Settings, "changeSettings", "Change settings")
        .about("They hold at once; what is left out stays.")
        .body(body)
        .example(json!({"skillsEnabled": true}))
        .gives(SETTINGS.refer())
}

/// `PATCH /api/settings`.
pub(crate) async fn change(
    State(app): State<Arc<App>>,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body);
    let enabled = body.flag("skillsEnabled");
    body.finish()?;
    let Some(enabled) = enabled else {
        return Err(ApiError::new(Code::InvalidField, "nothing to change; send `skillsEnabled`"));
    };
    app.store.set_value(SKILLS_ENABLED, if enabled { "true" } else { "false" }).await?;
    app.executor.set_enabled(enabled);
    tracing::info!(enabled, "skills execution was switched");
    Ok(shown(&app))
}

fn shown(app: &App) -> Json<Value> {
    Json(json!({"skillsEnabled": app.executor.is_enabled()}))
}
