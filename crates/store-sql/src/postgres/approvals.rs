//! The `approvals` table: which executions need a person's word, and what it was. Each decision is guarded in its own
//! statement, so that two deciders cannot both decide.

use domain::{Approval, ApprovalState, Execution};
use store::ApprovalDecision;

use super::cells::Columns;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::executions::{self, INSERT, NewRow};
use super::lanes::Lanes;
use super::text::{json, optional, optional_json, text};
use crate::cells::Cells;
use crate::common::nanoseconds;
use crate::error::SqlError;

/// See [`store::Store::await_approval`].
pub(super) async fn wait(
    lanes: &Lanes,
    execution: &Execution,
    call: &str,
    instance: Option<&str>,
) -> Result<(), SqlError> {
    let approval = execution.approval.as_ref().filter(|a| a.state == ApprovalState::Waiting);
    let approval = approval.ok_or(SqlError::NotWaiting)?;
    let sql = format!(
        "WITH execution AS ({INSERT})
        INSERT INTO approvals (execution_id, call, state, expires_ns, approval) VALUES ($1, $23, 'waiting', $24, $25)"
    );
    let row = NewRow::of(execution, instance)?;
    let (call, expires, approval) = (text(call), nanoseconds(&approval.expires_at)?, json(approval)?);
    let mut params = row.params();
    params.extend_from_slice(&[&call, &expires, &approval]);
    let written = lanes.execute(&sql, &params).await;
    written.map(drop).map_err(|e| conflict(e, || format!("execution {}", execution.id)))
}

/// See [`store::Store::execution_of_call`].
pub(super) async fn of_call(lanes: &Lanes, call: &str) -> Result<Option<Execution>, SqlError> {
    let sql =
        "SELECT execution_id FROM approvals WHERE left(call, 64) = left($1, 64) AND call = $1 AND NOT taken
        ORDER BY execution_id DESC LIMIT 1";
    match lanes.row(sql, &[&text(call)]).await? {
        None => Ok(None),
        Some(row) => executions::one(lanes, &Columns::new(&row).text("execution_id")?).await,
    }
}

/// See [`store::Store::decide_approval`]. The row is from now on of the process that decided: it is the one to run it.
pub(super) async fn decide(
    exclusive: &Exclusive,
    id: &str,
    decision: &ApprovalDecision,
    instance: Option<&str>,
) -> Result<Option<Execution>, SqlError> {
    let Approval { state, .. } = decision.approval;
    if state == ApprovalState::Waiting {
        return Err(SqlError::NotADecision);
    }
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let sql = "UPDATE approvals SET state = $2, approval = $3 WHERE execution_id = $1 AND state = 'waiting'";
    let id_ = text(id);
    if tx.execute(sql, &[&id_, &state.as_str(), &json(&decision.approval)?]).await? == 0 {
        return Ok(None);
    }
    let input = optional_json(decision.input.as_ref())?;
    let sql = "UPDATE skill_executions SET input = coalesce($2, input), instance = coalesce($3, instance),
            bytes = bytes + octet_length(coalesce($2, input)) - octet_length(input)
        WHERE id = $1";
    tx.execute(sql, &[&id_, &input, &instance.map(text)]).await?;
    if state != ApprovalState::Approved {
        let sql = "UPDATE skill_executions SET status = 'error', error_message = $2, duration_ms = 0
            WHERE id = $1 AND status = 'pending'";
        tx.execute(sql, &[&id_, &optional(decision.message.as_ref())]).await?;
    }
    let execution = executions::one_within(&tx, id).await?;
    tx.commit().await?;
    Ok(execution)
}

/// See [`store::Store::take_outcome`].
pub(super) async fn take(lanes: &Lanes, id: &str) -> Result<bool, SqlError> {
    let sql = "UPDATE approvals SET taken = true WHERE execution_id = $1 AND NOT taken";
    Ok(lanes.execute(sql, &[&text(id)]).await? == 1)
}

/// See [`store::Store::overdue_approvals`].
pub(super) async fn overdue(lanes: &Lanes, now: &str, batch: u32) -> Result<Vec<String>, SqlError> {
    let sql = "SELECT execution_id FROM approvals WHERE state = 'waiting' AND expires_ns <= $1
        ORDER BY expires_ns LIMIT $2";
    let rows = lanes.rows(sql, &[&nanoseconds(now)?, &i64::from(batch)]).await?;
    rows.iter().map(|row| Ok(Columns::new(row).text("execution_id")?)).collect()
}
