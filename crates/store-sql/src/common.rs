//! What both databases do the same way and is no SQL: times, bounds, changes of a skill, the halves of a turn.

use domain::{Skill, StopReason, TurnCandidate, TurnRecord, TurnRound};
use serde::{Deserialize, Serialize};
use store::{PageRequest, SkillUpdate};

use crate::error::SqlError;

/// Since 1970; times beyond an i64 (years 1677 to 2262) count as its ends.
pub(crate) fn nanoseconds(text: &str) -> Result<i64, SqlError> {
    let time: jiff::Timestamp =
        text.parse().map_err(|source| SqlError::BadTime { text: domain::text::excerpt(text, 40), source })?;
    let edge = if time < jiff::Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX };
    Ok(i64::try_from(time.as_nanosecond()).unwrap_or(edge))
}

/// Numbers of the databases are signed: one beyond them is stored as the largest one.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A count that a database gave.
pub(crate) fn count(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

/// Brings page and limit into their bounds.
pub(crate) fn bounded(page: PageRequest) -> PageRequest {
    PageRequest { page: page.page.max(1), limit: page.limit.clamp(1, domain::limits::PAGE_MAX) }
}

/// Rows before a page that is within its bounds.
pub(crate) fn offset(page: PageRequest) -> i64 {
    (i64::from(page.page) - 1) * i64::from(page.limit)
}

/// Changes the fields that an update names.
pub(crate) fn apply(skill: &mut Skill, update: SkillUpdate) {
    if let Some(enabled) = update.enabled {
        skill.set_enabled(enabled);
    }
    if let Some(mode) = update.mode {
        skill.set_mode(mode);
    }
    if let Some(policy) = update.policy {
        skill.policy = policy;
    }
    if let Some(description) = update.description {
        skill.description = description;
    }
    if let Some(tags) = update.tags {
        skill.tags = tags;
    }
    if let Some(timeout_ms) = update.timeout_ms {
        skill.timeout_ms = timeout_ms;
    }
    if let Some(max_retries) = update.max_retries {
        skill.max_retries = max_retries;
    }
    skill.updated_at = update.updated_at;
}

/// What lists do not show of a turn.
#[derive(Serialize, Deserialize)]
pub(crate) struct Details {
    candidates: Vec<TurnCandidate>,
    rounds: Vec<TurnRound>,
}

/// Takes what lists do not show out of a turn.
pub(crate) fn split(mut turn: TurnRecord) -> (TurnRecord, Details) {
    let candidates = std::mem::take(&mut turn.candidates);
    let rounds = std::mem::take(&mut turn.rounds);
    (turn, Details { candidates, rounds })
}

/// Puts it back.
pub(crate) fn join(summary: TurnRecord, details: Details) -> TurnRecord {
    TurnRecord { candidates: details.candidates, rounds: details.rounds, ..summary }
}

/// Whether usage counts it as an error.
pub(crate) fn failed(turn: &TurnRecord) -> bool {
    turn.error_code.is_some() || turn.stop_reason == StopReason::UpstreamError
}

/// The key after which an export goes on: what it gave out as `next`, a JSON array of so many texts.
pub(crate) fn place(from: &str, width: usize) -> Result<Vec<String>, SqlError> {
    let values: Option<Vec<String>> = serde_json::from_str(from).ok();
    let bad = || SqlError::BadPlace(domain::text::excerpt(from, 40));
    values.filter(|values| values.len() == width).ok_or_else(bad)
}
