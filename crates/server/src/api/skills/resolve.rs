//! `GET /api/skills/resolve`: from a name and a constraint to the one skill that they mean for the caller.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::{Constraint, SkillRef, Version};
use serde_json::{Value, json};

use super::{SHOWN_SKILL, Shown};
use crate::app::App;
use crate::authorise::acting_for;
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::Fields;
use crate::openapi::schema::{list, object};
use crate::openapi::shapes::{constraint, skill_name, version};
use crate::openapi::{Operation, Tag};

pub(crate) fn resolve_doc() -> Operation {
    Operation::new(Tag::Skills, "resolveSkill", "The skill that a name and a constraint mean")
        .about("For the caller; for anybody's key with `apiKeyId`, for management. The highest version that fits wins.")
        .needs_query("name", skill_name())
        .query("constraint", constraint().about("Such as `^1.2`, `~1`, `>=1.0.0`, `1.2.3`; absent: any."))
        .owned()
        .gives(
            object()
                .with("skill", SHOWN_SKILL.refer())
                .with("version", version())
                .with("versions", list(version()).about("All of this name, highest first.")),
        )
        .errors(&[Code::SkillNotFound, Code::VersionNotFound])
}

/// The handler.
pub(crate) async fn resolve(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    mut query: Fields,
) -> Result<Json<Value>, ApiError> {
    let name = query.required_text("name");
    let constraint = query.parsed("constraint", str::parse::<Constraint>);
    let owner = acting_for(&caller, query.text("apiKeyId"))?.unwrap_or_else(|| caller.owner().to_owned());
    query.finish()?;
    let snapshot = app.registry.current();
    let entry = snapshot.resolve(&owner, &SkillRef { name: name.clone(), constraint })?;
    let versions: Vec<Version> =
        snapshot.versions(&owner, &name).iter().map(|entry| entry.skill.version).collect();
    let body = json!({
        "skill": Shown::new(&entry, &app),
        "version": entry.skill.version,
        "versions": versions,
    });
    Ok(Json(body))
}
