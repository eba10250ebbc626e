//! `POST /api/skills/executions`: a person's own act. Every run that started is a 200, whatever its status.
//!
//! A client that goes away drops the handler's future, and with it the run, unless it sent an `Idempotency-Key`: then
//! the same request, sent again, gets the outcome.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::FromRequest as _;
use axum::extract::{Request, State};
use axum::{Extension, Json};
use domain::{Door, SkillRef};
use executor::{Refusal, Run};
use registry::{Entry, ResolveError, Snapshot};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::api::plain::{OWNER_CHARS, plain};
use crate::app::App;
use crate::authorise::acting_for;
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Object, idempotency_key};
use crate::openapi::schema::{free_object, object, text, whole};
use crate::openapi::shapes::{PLAIN, one_execution, skill_reference};
use crate::openapi::{Operation, Tag};

/// A day: more is a slip. The executor's own maximum holds below it.
const TIMEOUT_MS: u64 = 86_400_000;
/// Longest session id, in characters.
const SESSION_CHARS: usize = 256;

pub(crate) fn run_doc() -> Operation {
    let body = object()
        .with("skillName", skill_reference().about("`name`, `name@version` or `name@constraint`."))
        .maybe("input", free_object())
        .maybe("sessionId", text().length(0, SESSION_CHARS).pattern(PLAIN))
        .maybe(
            "apiKeyId",
            text().length(1, OWNER_CHARS).pattern(PLAIN).about("Somebody else; for management alone."),
        )
        .maybe("timeoutMs", whole(1..=TIMEOUT_MS))
        .closed();
    Operation::new(Tag::Executions, "createExecution", "Run a skill")
        .about("Every run that started is a 200, whatever its `status`.")
        .header(
            "idempotency-key",
            text().length(0, 255).about("The same again gets the first run's outcome."),
        )
        .body(body)
        .example(json!({"skillName": "eval_code", "input": {"language": "python", "code": "print(6 * 7)"}}))
        .gives(one_execution())
        .errors(&[Code::BadHeader, Code::ForeignOwner, Code::PolicyViolation, Code::CustomSkillsDisabled])
        .errors(&[Code::SkillNotFound, Code::VersionNotFound, Code::SkillInactive, Code::SkillBroken])
        .errors(&[
            Code::IdempotencyKeyReused,
            Code::ExecutionRunning,
            Code::InvalidInput,
            Code::InvalidSchema,
        ])
        .errors(&[Code::SkillsDisabled, Code::HandlerMissing, Code::Busy, Code::SkillUnavailable])
        .link("getExecution", &[("id", "$response.body#/execution/id")])
        .link("cancelExecution", &[("id", "$response.body#/execution/id")])
}

/// The handler.
pub(crate) async fn run(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    request: Request,
) -> Result<Json<Value>, ApiError> {
    // The master switch comes before any other question, the body included.
    if !app.executor.is_enabled() {
        return Err(Refusal::SkillsDisabled.into());
    }
    let key = idempotency_key(request.headers()).map_err(|e| ApiError::new(Code::BadHeader, e))?;
    let Object(body) = Object::from_request(request, &()).await?;
    let asked = read(Fields::from(body))?;
    let named = acting_for(&caller, asked.api_key_id)?;
    let snapshot = app.registry.current();
    let entry = match &named {
        None if caller.is_management() => of_anybody(&snapshot, caller.owner(), &asked.skill)?,
        owner => snapshot.resolve(owner.as_deref().unwrap_or(caller.owner()), &asked.skill)?,
    };
    if let Some(reason) = &entry.broken {
        let message = format!("the skill `{}` cannot run: {reason}", entry.skill.identity());
        return Err(ApiError::new(Code::SkillBroken, message));
    }
    let api_key_id = named.unwrap_or_else(|| caller.owner().to_owned());
    let run = Run {
        policy: entry.skill.policy,
        approval_wait: Duration::ZERO,
        // A client that may ask again wants the run to go on when it has to.
        outlives_caller: key.is_some(),
        once: key.map(|key| once(&api_key_id, &key)),
        skill: Arc::new(entry.skill.clone()),
        input_schema: Arc::new(entry.input().clone()),
        output_schema: entry.output.clone().map(Arc::new),
        input: asked.input,
        api_key_id,
        user: None,
        session_id: asked.session_id,
        turn_id: None,
        door: Door::Rest,
        timeout_ms: asked.timeout_ms,
        cancel: CancellationToken::new(),
        custom_allowed: caller.custom_skills(),
        limits: caller.run_limits(),
    };
    let execution = app.executor.execute(run).await?;
    Ok(Json(json!({"execution": execution})))
}

/// The name of a run that a client may ask for again.
fn once(owner: &str, key: &str) -> String {
    // Lengths keep ("ab", "c") and ("a", "bc") apart.
    domain::ids::sha256_hex(format!("rest {} {owner} {} {key}", owner.len(), key.len()))
}

struct Asked {
    skill: SkillRef,
    input: Value,
    session_id: Option<String>,
    api_key_id: Option<String>,
    timeout_ms: Option<u64>,
}

fn read(mut body: Fields) -> Result<Asked, ApiError> {
    let name = body.required_text("skillName");
    let skill = SkillRef::parse(&name);
    if let Err(error) = &skill
        && !name.is_empty()
    {
        body.refuse("skillName", error);
    }
    let input = body.value("input").unwrap_or_else(|| Value::Object(Map::new()));
    let session_id = body.parsed("sessionId", |text| plain(text, 0, SESSION_CHARS));
    let api_key_id = body.parsed("apiKeyId", |text| plain(text, 1, OWNER_CHARS));
    let timeout_ms = body.whole("timeoutMs", 1..=TIMEOUT_MS);
    body.finish()?;
    let skill = skill.map_err(|e| ApiError::field(Code::InvalidField, "skillName", &e.to_string()))?;
    Ok(Asked { skill, input, session_id, api_key_id, timeout_ms })
}

/// Management sees everybody's skills: its own and `system`'s first, then that of the one owner who has the name.
fn of_anybody(snapshot: &Snapshot, own: &str, wanted: &SkillRef) -> Result<Arc<Entry>, ApiError> {
    let missing = match snapshot.resolve(own, wanted) {
        Err(missing @ ResolveError::NotFound(_)) => missing,
        found => return Ok(found?),
    };
    let owners: BTreeSet<&str> = snapshot
        .entries()
        .filter(|e| e.skill.name == wanted.name)
        .map(|e| e.skill.api_key_id.as_str())
        .collect();
    let mut owners = owners.into_iter();
    match (owners.next(), owners.next()) {
        (Some(owner), None) => Ok(snapshot.resolve(owner, wanted)?),
        (Some(_), Some(_)) => Err(ApiError::field(
            Code::InvalidField,
            "apiKeyId",
            "several owners have a skill of this name; say whose is meant",
        )),
        _ => Err(missing.into()),
    }
}
