//! `POST /api/skills/cache/invalidate`: reads the registry again, for writes that did not come through this process.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use crate::app::App;
use crate::error::{ApiError, Code};
use crate::openapi::schema::count;
use crate::openapi::shapes::done;
use crate::openapi::{Operation, Tag};

pub(crate) fn invalidate_doc() -> Operation {
    Operation::new(Tag::Skills, "invalidateSkills", "Read all skills again")
        .about("Answers when what the database holds is what requests see.")
        .gives(done().with("skills", count()))
        .errors(&[Code::NotReady])
}

/// The handler.
pub(crate) async fn invalidate(State(app): State<Arc<App>>) -> Result<Json<Value>, ApiError> {
    app.registry.invalidate().await?;
    Ok(Json(json!({"success": true, "skills": app.registry.current().len()})))
}
