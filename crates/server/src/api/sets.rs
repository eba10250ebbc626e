//! `/api/sets`: named groups of skills. A set says what is in it; whether it is there is looked up when it is used.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use domain::{SkillRef, SkillSet};
use serde_json::{Value, json};
use store::StoreError;

use super::audit::{Actor, Change, record};
use super::now;
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id, Object};
use crate::openapi::schema::{list as list_of, object, text, time};
use crate::openapi::shapes::{done, skill_reference};
use crate::openapi::{Operation, Shape, Tag};

/// Longest name, in characters.
const NAME_CHARS: usize = 100;
/// No `,`, `:`, `/`, no control characters, no space at either end.
const NAME: &str = r"^[^,:/\s\u0000-\u001f\u007f-\u009f]([^,:/\u0000-\u001f\u007f-\u009f]*[^,:/\s\u0000-\u001f\u007f-\u009f])?$";
/// Skills of one set.
const SKILLS: usize = 500;

/// A set.
const SET: Shape = Shape::new("SkillSet", || {
    object()
        .with("name", text())
        .with("skills", list_of(text()).about("`name` or `name@constraint`, in order."))
        .with("createdAt", time())
        .with("updatedAt", time())
});

pub(crate) fn list_doc() -> Operation {
    Operation::new(Tag::Sets, "listSets", "Every set, by name")
        .gives(object().with("data", list_of(SET.refer())))
}

/// `GET /api/sets`.
pub(crate) async fn list(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({"data": app.registry.current().sets()}))
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Sets, "getSet", "One set")
        .gives(object().with("set", SET.refer()))
        .errors(&[Code::SetNotFound])
}

/// `GET /api/sets/{id}`.
pub(crate) async fn get(State(app): State<Arc<App>>, Id(name): Id) -> Result<Json<Value>, ApiError> {
    let set = find(&app, &name).ok_or_else(|| missing(&name))?;
    Ok(Json(json!({"set": set})))
}

pub(crate) fn put_doc() -> Operation {
    let skills = list_of(skill_reference()).items_at_most(SKILLS);
    Operation::new(Tag::Sets, "putSet", "Write a set, over one of the same name")
        .path("id", text().length(1, NAME_CHARS).pattern(NAME).about("Its name."))
        .body(object().with("skills", skills).closed())
        .example(json!({"skills": ["file_read", "eval_code@^1"]}))
        .gives(object().with("set", SET.refer()))
}

/// `PUT /api/sets/{id}`.
pub(crate) async fn put(
    State(app): State<Arc<App>>,
    actor: Actor,
    Id(name): Id,
    Object(body): Object,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body);
    let skills = body.texts("skills");
    match &skills {
        None => body.refuse("skills", "is required"),
        Some(skills) if skills.len() > SKILLS => {
            body.refuse("skills", format!("has more than {SKILLS} skills"));
        }
        Some(skills) => {
            for (place, skill) in skills.iter().enumerate() {
                if let Err(error) = SkillRef::parse(skill) {
                    body.refuse(&format!("skills[{place}]"), error);
                }
            }
        }
    }
    let legal = (1..=NAME_CHARS).contains(&name.chars().count())
        && !name.chars().any(|c| c.is_control() || matches!(c, ',' | ':' | '/'))
        && name.trim() == name;
    if !legal {
        let rule = "the name of a set has 1 to 100 characters, without `,`, `:`, `/`, control characters and space around it";
        return Err(ApiError::field(Code::InvalidField, "name", rule));
    }
    body.finish()?;
    let before = find(&app, &name);
    let now = now();
    let set = SkillSet { name, skills: skills.unwrap_or_default(), created_at: now.clone(), updated_at: now };
    let set = app.store.put_set(set).await?;
    app.registry.invalidate().await?;
    record(&app, actor, Change::new("set.put", &set.name).from(&before).to(&set)).await;
    Ok(Json(json!({"set": set})))
}

pub(crate) fn delete_doc() -> Operation {
    Operation::new(Tag::Sets, "deleteSet", "Remove a set").gives(done()).errors(&[Code::SetNotFound])
}

/// `DELETE /api/sets/{id}`.
pub(crate) async fn delete(
    State(app): State<Arc<App>>,
    actor: Actor,
    Id(name): Id,
) -> Result<Json<Value>, ApiError> {
    let before = find(&app, &name);
    app.store.delete_set(&name).await.map_err(|error| match error {
        StoreError::NotFound { .. } => missing(&name),
        error => error.into(),
    })?;
    app.registry.invalidate().await?;
    record(&app, actor, Change::new("set.delete", &name).from(&before)).await;
    Ok(Json(json!({"success": true})))
}

fn find(app: &App, name: &str) -> Option<SkillSet> {
    app.registry.current().sets().iter().find(|set| set.name == name).cloned()
}

fn missing(name: &str) -> ApiError {
    let name = domain::text::excerpt(name, 60);
    ApiError::new(Code::SetNotFound, format!("no set `{name}`; GET /api/sets lists them"))
}
