//! `POST /api/skills/executions/{id}/approve` and `/deny`: a person's word on a call that waits.
//!
//! An approved call runs as the skill is now, with the input as it was or as the approver wrote it, validated again.

use std::sync::Arc;

use axum::extract::{FromRequest as _, Request, State};
use axum::http::header;
use axum::{Extension, Json};
use domain::{Door, Execution, Policy, Scope};
use executor::{Decider, OwnerLimits, Run};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::app::App;
use crate::authorise::Denied;
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id, Object};
use crate::openapi::schema::{free_object, object, text};
use crate::openapi::shapes::one_execution;
use crate::openapi::{Operation, Tag};

/// Longest reason of a denial, in characters.
const REASON_CHARS: usize = 500;

const REFUSED: &[Code] = &[Code::ExecutionNotFound, Code::NotWaiting, Code::OwnCall, Code::SkillsDisabled];

pub(crate) fn approve_doc() -> Operation {
    Operation::new(Tag::Executions, "approveExecution", "Let a waiting call run")
        .about("Answers with the row as the decision left it; the run goes on by itself.")
        .maybe_body(object().maybe("input", free_object().about("Instead of the model's own.")).closed())
        .gives(one_execution())
        .errors(REFUSED)
        .errors(&[Code::OwnerRevoked, Code::SkillNotFound, Code::SkillBroken, Code::SkillInactive])
        .errors(&[Code::PolicyViolation, Code::CustomSkillsDisabled, Code::InvalidInput, Code::InvalidSchema])
        .errors(&[Code::HandlerMissing, Code::Busy, Code::SkillUnavailable, Code::TooLargeToApprove])
}

/// Takes `input?`; answers with the row as the decision left it, the run goes on by itself.
pub(crate) async fn approve(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body(request).await?);
    let input = body.free_object("input");
    body.finish()?;
    let by = decider(&caller)?;
    let row = super::list::visible(&app, &caller, Scope::ApproveSkills, &id).await?;
    let run = run(&app, &row, input).await?;
    let execution = app.executor.approve(&id, run, &by).await?;
    Ok(Json(json!({"execution": execution})))
}

pub(crate) fn deny_doc() -> Operation {
    Operation::new(Tag::Executions, "denyExecution", "Refuse a waiting call")
        .maybe_body(
            object()
                .maybe("reason", text().length(0, REASON_CHARS).about("What the model is told."))
                .closed(),
        )
        .gives(one_execution())
        .errors(REFUSED)
}

/// Takes `reason?`, which the model is told.
pub(crate) async fn deny(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    let mut body = Fields::from(body(request).await?);
    let reason = body.parsed("reason", |text| {
        let text = text.replace(char::is_control, " ");
        let text = text.trim();
        let fits = text.chars().count() <= REASON_CHARS;
        if fits { Ok(text.to_owned()) } else { Err(format!("has at most {REASON_CHARS} characters")) }
    });
    body.finish()?;
    let by = decider(&caller)?;
    super::list::visible(&app, &caller, Scope::ApproveSkills, &id).await?;
    let execution = app.executor.deny(&id, reason.filter(|r| !r.is_empty()), &by).await?;
    Ok(Json(json!({"execution": execution})))
}

/// A decision needs no body.
async fn body(request: Request) -> Result<Map<String, Value>, ApiError> {
    let is_bare = !request.headers().contains_key(header::CONTENT_TYPE)
        && axum::body::HttpBody::is_end_stream(request.body());
    if is_bare {
        return Ok(Map::new());
    }
    let Object(body) = Object::from_request(request, &()).await?;
    Ok(body)
}

fn decider(caller: &Caller) -> Result<Decider, ApiError> {
    caller.decider().ok_or_else(|| Denied::Lacks(Scope::ApproveSkills).into())
}

/// Whether custom skills run for the owner of a call, and its limits; a key or token that is gone has no calls any
/// more.
async fn custom_allowed(app: &App, owner: &str) -> Result<(bool, OwnerLimits), ApiError> {
    if uuid::Uuid::parse_str(owner).is_err() {
        return Ok((true, OwnerLimits::default()));
    }
    let keys = app.store.keys().await?;
    let key = keys.into_iter().find(|key| key.id == owner && !key.revoked);
    let revoked = || {
        let message = "the API key whose call this is has been revoked; deny the call";
        ApiError::new(Code::OwnerRevoked, message)
    };
    if let Some(key) = key {
        return Ok((key.custom_skill_execution_enabled, OwnerLimits::from(&key.settings)));
    }
    let is_token = app.store.tokens().await?.iter().any(|token| token.id == owner);
    is_token.then(|| (true, OwnerLimits::default())).ok_or_else(revoked)
}

async fn run(app: &App, row: &Execution, input: Option<Value>) -> Result<Run, ApiError> {
    let (custom_allowed, limits) = custom_allowed(app, &row.api_key_id).await?;
    let snapshot = app.registry.current();
    let Some(entry) = snapshot.get(&row.skill_id) else {
        let message = format!("the skill `{}@{}` is not installed any more", row.skill_name, row.version);
        return Err(ApiError::new(Code::SkillNotFound, message));
    };
    if let Some(reason) = &entry.broken {
        let message = format!("the skill `{}` cannot run: {reason}", entry.skill.identity());
        return Err(ApiError::new(Code::SkillBroken, message));
    }
    Ok(Run {
        skill: Arc::new(entry.skill.clone()),
        input_schema: Arc::new(entry.input().clone()),
        output_schema: entry.output.clone().map(Arc::new),
        input: input.unwrap_or_else(|| row.input.clone()),
        api_key_id: row.api_key_id.clone(),
        user: row.user.clone(),
        session_id: row.session_id.clone(),
        turn_id: row.turn_id.clone(),
        door: Door::Loop,
        policy: Policy::Auto,
        approval_wait: std::time::Duration::ZERO,
        once: None,
        timeout_ms: None,
        cancel: CancellationToken::new(),
        outlives_caller: true,
        custom_allowed,
        limits,
    })
}
