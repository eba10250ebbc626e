//! `PUT` and `DELETE /api/skills/{id}`: the switches and texts of a skill. Its definition changes by a new install.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::limits::EXECUTION_TIMEOUT_MAX_MS;
use domain::{Mode, Policy};
use serde_json::{Value, json};
use store::SkillUpdate;

use super::install::RETRIES;
use crate::api::now;
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id, Object};
use crate::openapi::schema::{flag, list, object, text, whole, word};
use crate::openapi::shapes::{MODES, POLICIES, SKILL, done};
use crate::openapi::{Operation, Tag};

pub(crate) fn update_doc() -> Operation {
    let body = object()
        .maybe("enabled", flag())
        .maybe("mode", word(MODES))
        .maybe("policy", word(POLICIES))
        .maybe("description", text())
        .maybe("tags", list(text()))
        .maybe("timeoutMs", whole(1..=EXECUTION_TIMEOUT_MAX_MS).or_null().about("`null`: the default again."))
        .maybe("maxRetries", whole(0..=RETRIES).or_null().about("`null`: the default again."))
        .members_at_least(1)
        .closed();
    Operation::new(Tag::Skills, "updateSkill", "Change a skill's switches and texts")
        .about("What is left out stays. Its definition changes by a new install.")
        .body(body)
        .example(json!({"mode": "auto"}))
        .gives(done().with("skill", SKILL.refer()))
        .errors(&[Code::SkillNotFound, Code::BuiltinSkill, Code::NotReady])
}

/// `PUT /api/skills/{id}`.
pub(crate) async fn update(
    State(app): State<Arc<App>>,
    Id(id): Id,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let empty = body.is_empty();
    let update = read(Fields::from(body))?;
    if empty {
        return Err(ApiError::new(Code::InvalidField, "nothing to change; send at least one field"));
    }
    let skill = app.registry.update(&id, update).await?;
    Ok(Json(json!({"success": true, "skill": skill})))
}

pub(crate) fn delete_doc() -> Operation {
    Operation::new(Tag::Skills, "deleteSkill", "Remove a skill")
        .about("Its history stays.")
        .gives(done())
        .errors(&[Code::SkillNotFound, Code::BuiltinSkill, Code::NotReady])
}

/// `DELETE /api/skills/{id}`.
pub(crate) async fn delete(State(app): State<Arc<App>>, Id(id): Id) -> Result<Json<Value>, ApiError> {
    app.registry.delete(&id).await?;
    Ok(Json(json!({"success": true})))
}

/// For `timeoutMs` and `maxRetries`, `null` means the default again; for the others it is no value.
fn read(mut body: Fields) -> Result<SkillUpdate, ApiError> {
    for name in ["enabled", "mode", "policy", "description", "tags"] {
        if body.is_null(name) {
            body.refuse(name, "cannot be null; leave it out to keep it");
        }
    }
    let no_timeout = body.is_null("timeoutMs");
    let no_retries = body.is_null("maxRetries");
    let timeout = body.whole("timeoutMs", 1..=EXECUTION_TIMEOUT_MAX_MS);
    let retries = body.whole("maxRetries", 0..=RETRIES).and_then(|n| u32::try_from(n).ok());
    let update = SkillUpdate {
        enabled: body.flag("enabled"),
        mode: body.word("mode", MODES, Mode::parse),
        policy: body.word("policy", POLICIES, Policy::parse),
        description: body.text("description"),
        tags: body.texts("tags"),
        timeout_ms: if no_timeout { Some(None) } else { timeout.map(Some) },
        max_retries: if no_retries { Some(None) } else { retries.map(Some) },
        updated_at: now(),
    };
    body.finish()?;
    Ok(update)
}
