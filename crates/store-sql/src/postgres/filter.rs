//! The filters of the history, worded so that a page of a million rows comes from one index in its order.

use domain::{ApprovalState, Door, Status};
use store::ExecutionFilter;

use super::conditions::Conditions;
use super::text::owned;
use crate::error::SqlError;

/// Everything but the cursor.
pub(super) fn conditions(filter: &ExecutionFilter) -> Result<Conditions, SqlError> {
    let mut all = Conditions::default();
    all.add("turn_id = ?", filter.turn_id.clone().map(owned));
    all.add("left(session_id, 64) = left(?, 64) AND session_id = ?", filter.session_id.clone().map(owned));
    let asked = "id IN (SELECT execution_id FROM approvals WHERE state = ?)";
    all.add(asked, filter.approval.map(ApprovalState::as_str));
    all.add("skill_id = ?", filter.skill_id.clone().map(owned));
    all.add("skill_name = ?", filter.skill_name.clone().map(owned));
    all.add("api_key_id = ?", filter.api_key_id.clone().map(owned));
    all.add("door = ?", filter.door.map(Door::as_str));
    // The first condition, a consequence of the second, opens the index of what is no success.
    let status = match filter.status {
        Some(Status::Success) | None => "status = ?",
        Some(_) => "status <> 'success' AND status = ?",
    };
    all.add(status, filter.status.map(Status::as_str));
    all.between(filter.since.as_deref(), filter.until.as_deref())?;
    Ok(all)
}
