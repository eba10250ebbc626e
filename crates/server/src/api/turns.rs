//! `GET /api/turns`, `/api/turns/{id}` and `/api/usage`: what chats did, and what it cost; own turns, all for management.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use domain::{Scope, StopReason, TurnRecord};
use serde_json::{Value, json};
use store::{Page, TurnFilter, UsageBy, UsageQuery};

use super::page::page;
use super::time::time;
use crate::app::App;
use crate::authorise::{Resource, authorise, owner_of_list};
use crate::caller::Caller;
use crate::error::{ApiError, Code};
use crate::http::{Fields, Id};
use crate::openapi::schema::{
    count, flag, list as list_of, object, text, time as time_text, uuid, whole, word,
};
use crate::openapi::shapes::page_of;
use crate::openapi::{Operation, Shape, Tag};

/// The words of `by`.
const GROUPS: &[&str] = &["key", "skill", "model", "day"];

/// A turn.
const TURN: Shape = Shape::new("Turn", || {
    let candidate = object()
        .with("skill", text().about("`name@version`, or the name where no version was found."))
        .maybe("score", whole(0..=u64::from(u32::MAX)).about("Absent where none was needed."))
        .maybe("skipped", text().about("Why it was not offered; absent for one that was."));
    let round = object()
        .with("status", count())
        .with("tokens", count())
        .with("calls", count().about("Calls of ours."))
        .with("durationMs", count());
    object()
        .with("id", uuid())
        .with("apiKeyId", text())
        .with("user", text().or_null())
        .with("sessionId", text().or_null())
        .with("dialect", text())
        .with("model", text())
        .with("upstream", text())
        .with("streamed", flag())
        .with("upstreamStatus", count().or_null())
        .with("stopReason", word(&StopReason::ALL.map(StopReason::as_str)))
        .with("errorCode", text().or_null())
        .maybe("candidates", list_of(candidate).about("Not in lists."))
        .maybe("rounds", list_of(round).about("Not in lists."))
        .with("roundCount", count())
        .with("inputTokens", count())
        .with("outputTokens", count())
        .with("executions", count())
        .with("firstByteMs", count().or_null())
        .with("durationMs", count())
        .with("createdAt", time_text())
});

/// What was used by one group.
const USAGE: Shape = Shape::new("Usage", || {
    object()
        .with("group", text().about("Key id, `name@version`, model or UTC day."))
        .with("turns", count())
        .with("executions", count())
        .with("errors", count())
        .with("inputTokens", count())
        .with("outputTokens", count())
        .with("durationMs", count())
});

pub(crate) fn list_doc() -> Operation {
    Operation::new(Tag::Turns, "listTurns", "Turns, newest first")
        .about("Own turns; all of them for management. Without candidates and rounds.")
        .query("model", text())
        .query("session", text())
        .query("stop", word(&StopReason::ALL.map(StopReason::as_str)))
        .query("since", time_text())
        .query("until", time_text())
        .owned()
        .paged()
        .gives(page_of(TURN))
}

/// `GET /api/turns`.
pub(crate) async fn list(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    mut query: Fields,
) -> Result<Json<Page<TurnRecord>>, ApiError> {
    let named = query.text("apiKeyId");
    let filter = TurnFilter {
        api_key_id: None,
        model: query.text("model"),
        session_id: query.text("session"),
        stop_reason: query.word("stop", &StopReason::ALL.map(StopReason::as_str), StopReason::parse),
        since: query.parsed("since", time),
        until: query.parsed("until", time),
    };
    let wanted = page(&mut query);
    query.finish()?;
    let filter = TurnFilter { api_key_id: owner_of_list(&caller, named)?, ..filter };
    Ok(Json(app.store.turns(&filter, wanted).await?))
}

pub(crate) fn get_doc() -> Operation {
    Operation::new(Tag::Turns, "getTurn", "One turn, whole")
        .gives(object().with("turn", TURN.refer()))
        .errors(&[Code::TurnNotFound])
}

/// `GET /api/turns/{id}`. Somebody else's turn is not there.
pub(crate) async fn get(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    Id(id): Id,
) -> Result<Json<Value>, ApiError> {
    let turn = app.store.turn(&id).await?;
    let may =
        |turn: &TurnRecord| authorise(&caller, Scope::ReadSkills, Resource::Of(&turn.api_key_id)).is_ok();
    let turn = turn.filter(may).ok_or_else(|| {
        let id = domain::text::excerpt(&id, 60);
        ApiError::new(Code::TurnNotFound, format!("no turn `{id}` of yours"))
    })?;
    Ok(Json(json!({"turn": turn})))
}

pub(crate) fn usage_doc() -> Operation {
    Operation::new(Tag::Turns, "getUsage", "What was used, by key, skill, model or day")
        .about("Own usage; everybody's for management. Tokens are those that upstreams reported.")
        .query("by", word(GROUPS).default("day"))
        .query("since", time_text())
        .query("until", time_text())
        .owned()
        .gives(object().with("data", list_of(USAGE.refer())))
}

/// `GET /api/usage`.
pub(crate) async fn usage(
    State(app): State<Arc<App>>,
    Extension(caller): Extension<Caller>,
    mut query: Fields,
) -> Result<Json<Value>, ApiError> {
    let by = query.word("by", GROUPS, |word| match word {
        "key" => Some(UsageBy::Key),
        "skill" => Some(UsageBy::Skill),
        "model" => Some(UsageBy::Model),
        "day" => Some(UsageBy::Day),
        _ => None,
    });
    let named = query.text("apiKeyId");
    let (since, until) = (query.parsed("since", time), query.parsed("until", time));
    query.finish()?;
    let api_key_id = owner_of_list(&caller, named)?;
    let wanted = UsageQuery { by: by.unwrap_or(UsageBy::Day), api_key_id, since, until };
    Ok(Json(json!({"data": app.store.usage(&wanted).await?})))
}
