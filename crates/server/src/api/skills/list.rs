//! `GET /api/skills` and `GET /api/skills/{id}`: read from the current snapshot, never from the database.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use domain::{Mode, SourceProvider};
use registry::{SkillFilter, SkillSort};
use serde_json::json;

use super::Shown;
use crate::api::page::page;
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id};

/// The catalog that installs come from.
const PROVIDER: &str = "skillsmp";

/// `GET /api/skills`.
pub(crate) async fn list(State(app): State<Arc<App>>, mut query: Fields) -> Result<Response, ApiError> {
    let filter = SkillFilter {
        q: query.text("q"),
        mode: query.word("mode", &["on", "off", "auto"], Mode::parse),
        source: query.word("source", &["builtin", "skillsmp", "skillssh", "local"], SourceProvider::parse),
        owner: query.text("owner"),
        enabled: query.flag("enabled"),
        sort: query.word("sort", &["name", "created", "installs"], SkillSort::parse).unwrap_or_default(),
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
        "provider": PROVIDER,
        "popularDefaults": [],
        "brokenRows": broken_rows,
    });
    Ok(Json(body).into_response())
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
