//! `GET /api/skills/executions` and `GET /api/skills/executions/{id}`: own rows, all rows for management.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::{ApprovalState, Artifact, Door, Execution, Scope, Status};
use serde_json::{Value, json};
use store::{ExecutionFilter, Page};

use crate::api::page::page;
use crate::api::time::time;
use crate::app::App;
use crate::authorise::{Resource, acting_for, authorise, owner_of_list};
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id};
use crate::openapi::schema::{list as list_of, text, time as time_text, word};
use crate::openapi::shapes::{ARTIFACT, EXECUTION, one_execution, page_of};
use crate::openapi::{Operation, Tag};

/// The words of a door.
const DOORS: &[&str] = &["loop", "rest"];

pub(crate) fn list_doc() -> Operation {
    Operation::new(Tag::Executions, "listExecutions", "The history, newest first")
        .about("Own runs; all of them for management. Rows of a page have no `parts`.")
        .query("skill", text().about("Name or id."))
        .query("status", word(&Status::ALL.map(Status::as_str)))
        .query("approval", word(&ApprovalState::ALL.map(ApprovalState::as_str)))
        .query("door", word(DOORS))
        .query("session", text())
        .query("turn", text())
        .query("since", time_text())
        .query("until", time_text())
        .query("before", text().about("`nextCursor` of the page before; with it `page` stays 1."))
        .owned()
        .paged()
        .gives(page_of(EXECUTION))
        .link("getExecution", &[("id", "$response.body#/data/0/id")])
}

/// `GET /api/skills/executions`.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    mut query: Fields,
) -> Result<Json<Page<Execution>>, ApiError> {
    let skill = query.text("skill");
    let by_id = skill.as_deref().is_some_and(|s| uuid::Uuid::parse_str(s).is_ok());
    let (skill_id, skill_name) = if by_id { (skill, None) } else { (None, skill) };
    let named = query.text("apiKeyId");
    let filter = ExecutionFilter {
        api_key_id: None,
        skill_id,
        skill_name,
        status: query.word("status", &Status::ALL.map(Status::as_str), Status::parse),
        approval: query.word(
            "approval",
            &ApprovalState::ALL.map(ApprovalState::as_str),
            ApprovalState::parse,
        ),
        door: query.word("door", DOORS, Door::parse),
        session_id: query.text("session"),
        turn_id: query.text("turn"),
        since: query.parsed("since", time),
        until: query.parsed("until", time),
        before: query.text("before"),
    };
    let wanted = page(&mut query);
    query.finish()?;
    // Whoever decides sees what waits, whose ever it is.
    let waits = filter.approval == Some(ApprovalState::Waiting);
    let all_that_waits = waits && authorise(&caller, Scope::ApproveSkills, Resource::Common).is_ok();
    let owner = if all_that_waits { acting_for(&caller, named)? } else { owner_of_list(&caller, named)? };
    let filter = ExecutionFilter { api_key_id: owner, ..filter };
    Ok(Json(app.executor.list_executions(&filter, wanted).await?))
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Executions, "getExecution", "One execution")
        .about("One of the caller's own; whoever may approve sees those that asked for a person, too.")
        .gives(one_execution().with("artifacts", list_of(ARTIFACT.refer()).about("Files that it left.")))
        .errors(&[Code::ExecutionNotFound])
}

/// `GET /api/skills/executions/{id}`. Somebody else's row is not there.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
) -> Result<Json<Value>, ApiError> {
    let execution = visible(&app, &caller, Scope::ReadSkills, &id).await?;
    let artifacts = app.store.artifacts_of(&id).await?;
    let shown = |artifact: Artifact| {
        let Artifact { id, name, mime, bytes, sha256, created_at, .. } = artifact;
        let url = format!("/api/artifacts/{id}");
        json!({"id": id, "name": name, "mime": mime, "bytes": bytes, "sha256": sha256, "url": url, "createdAt": created_at})
    };
    let artifacts: Vec<_> = artifacts.into_iter().map(shown).collect();
    Ok(Json(json!({"execution": execution, "artifacts": artifacts})))
}

/// The row, if the caller may see it: its own, one that asked for a person's word where it may give that, or any.
pub(super) async fn visible(
    app: &App,
    caller: &Caller,
    scope: Scope,
    id: &str,
) -> Result<Execution, ApiError> {
    let found = app.executor.get_execution(id).await?;
    let may = |row: &Execution| may(caller, scope, &row.api_key_id, row.approval.is_some());
    found.filter(may).ok_or_else(|| {
        let id = domain::text::excerpt(id, 60);
        ApiError::new(Code::ExecutionNotFound, format!("no execution `{id}` of yours"))
    })
}

/// Whether the caller may see an execution, or decide about it.
pub(super) fn may(caller: &Caller, scope: Scope, owner: &str, asked: bool) -> bool {
    let resource = if asked { Resource::Asked(owner) } else { Resource::Of(owner) };
    authorise(caller, scope, resource).is_ok()
}
