//! `GET /api/skills` and `GET /api/skills/{id}`: read from the current snapshot, never from the database.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{Mode, SourceProvider};
use registry::{SkillFilter, SkillSort};
use serde_json::json;

use super::{SHOWN_SKILL, Shown};
use crate::api::page::page;
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id};
use crate::openapi::schema::{flag, list as list_of, object, text, word};
use crate::openapi::shapes::{MODES, SOURCES, page_of};
use crate::openapi::{Operation, Tag};

/// The words of an order.
const SORTS: &[&str] = &["name", "created", "installs"];

/// The id of the first row, for links.
const FIRST: &[(&str, &str)] = &[("id", "$response.body#/data/0/id")];

pub(crate) fn list_doc() -> Operation {
    let gives = page_of(SHOWN_SKILL)
        .with("skills", list_of(SHOWN_SKILL.refer()).about("The same as `data`."))
        .with("provider", text().about("The catalog that installs come from."))
        .with("popularDefaults", list_of(text()))
        .with("brokenRows", list_of(object().with("id", text()).with("reason", text())));
    Operation::new(Tag::Skills, "listSkills", "Skills of every owner")
        .query("q", text().about("Words in names, descriptions and tags."))
        .query("mode", word(MODES))
        .query("source", word(SOURCES))
        .query("owner", text().about("An API key id, or `system`."))
        .query("enabled", flag())
        .query("sort", word(SORTS).default("name"))
        .paged()
        .gives(gives)
        .link("getSkill", FIRST)
        .link("updateSkill", FIRST)
        .link("deleteSkill", FIRST)
}

/// `GET /api/skills`.
pub(crate) async fn list(State(app): State<Arc<App>>, mut query: Fields) -> Result<Response, ApiError> {
    let filter = SkillFilter {
        q: query.text("q"),
        mode: query.word("mode", MODES, Mode::parse),
        source: query.word("source", SOURCES, SourceProvider::parse),
        owner: query.text("owner"),
        enabled: query.flag("enabled"),
        sort: query.word("sort", SORTS, SkillSort::parse).unwrap_or_default(),
    };
    let wanted = page(&mut query);
    query.finish()?;
    let snapshot = app.registry.current();
    let found = snapshot.list(&filter, wanted);
    let skills: Vec<_> = found.data.iter().map(|entry| Shown::new(entry, &app)).collect();
    let broken_rows: Vec<_> =
        snapshot.broken_rows().iter().map(|row| json!({"id": row.id, "reason": row.reason})).collect();
    let body = json!({
        "data": skills,
        "skills": skills,
        "total": found.total,
        "page": found.page,
        "limit": found.limit,
        "totalPages": found.total_pages,
        "provider": app.settings.text(crate::settings::SKILLS_PROVIDER),
        "popularDefaults": [],
        "brokenRows": broken_rows,
    });
    Ok(Json(body).into_response())
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Skills, "getSkill", "One skill")
        .gives(SHOWN_SKILL.refer())
        .errors(&[Code::SkillNotFound])
}

/// `GET /api/skills/{id}`.
pub(crate) async fn get(State(app): State<Arc<App>>, Id(id): Id) -> Result<Response, ApiError> {
    let snapshot = app.registry.current();
    let entry = snapshot.get(&id).ok_or_else(|| {
        let id = domain::text::excerpt(&id, 60);
        ApiError::new(Code::SkillNotFound, format!("no skill with the id `{id}`; GET /api/skills lists them"))
    })?;
    Ok(Json(Shown::new(entry, &app)).into_response())
}
