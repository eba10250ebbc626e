//! The `approvals` table: which executions need a person's word, and what it was. Each decision is guarded in its own
//! statement, so that two deciders cannot both decide.

use domain::{Approval, ApprovalState, Execution};
use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::to_string;
use store::ApprovalDecision;

use super::executions;
use super::prepared::NewRow;
use crate::common::nanoseconds;
use crate::error::SqlError;

/// See [`store::Store::await_approval`].
pub(super) fn wait(
    connection: &Connection,
    execution: &Execution,
    call: &str,
    instance: Option<&str>,
) -> Result<(), SqlError> {
    let approval = execution.approval.as_ref().filter(|a| a.state == ApprovalState::Waiting);
    let approval = approval.ok_or(SqlError::NotWaiting)?;
    executions::insert(connection, &NewRow::of(execution)?, instance)?;
    let sql = "INSERT INTO approvals (execution_id, call, state, expires_ns, asked_ns, approval)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![
        execution.id,
        call,
        approval.state.as_str(),
        nanoseconds(&approval.expires_at)?,
        nanoseconds(&execution.created_at)?,
        to_string(approval)?
    ];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(())
}

/// See [`store::Store::execution_of_call`].
pub(super) fn of_call(connection: &Connection, call: &str) -> Result<Option<Execution>, SqlError> {
    let sql =
        "SELECT execution_id FROM approvals WHERE call = ?1 AND taken = 0 ORDER BY execution_id DESC LIMIT 1";
    let id: Option<String> =
        connection.prepare_cached(sql)?.query_row([call], |row| row.get(0)).optional()?;
    id.map_or(Ok(None), |id| executions::one(connection, &id))
}

/// See [`store::Store::decide_approval`]. The row is from now on of the process that decided: it is the one to run it.
pub(super) fn decide(
    connection: &Connection,
    id: &str,
    decision: &ApprovalDecision,
    instance: Option<&str>,
) -> Result<Option<Execution>, SqlError> {
    let Approval { state, .. } = decision.approval;
    if state == ApprovalState::Waiting {
        return Err(SqlError::NotADecision);
    }
    let sql = "UPDATE approvals SET state = ?2, approval = ?3 WHERE execution_id = ?1 AND state = 'waiting'";
    let values = params![id, state.as_str(), to_string(&decision.approval)?];
    if connection.prepare_cached(sql)?.execute(values)? == 0 {
        return Ok(None);
    }
    let input = decision.input.as_ref().map(to_string).transpose()?;
    if input.is_some() || instance.is_some() {
        let sql = "UPDATE skill_executions SET input = coalesce(?2, input), instance = coalesce(?3, instance)
            WHERE id = ?1";
        connection.prepare_cached(sql)?.execute(params![id, input, instance])?;
    }
    if state != ApprovalState::Approved {
        let sql = "UPDATE skill_executions SET status = 'error', error_message = ?2, duration_ms = 0
            WHERE id = ?1 AND status = 'pending'";
        connection.prepare_cached(sql)?.execute(params![id, decision.message])?;
    }
    executions::one(connection, id)
}

/// See [`store::Store::take_outcome`].
pub(super) fn take(connection: &Connection, id: &str) -> Result<bool, SqlError> {
    let sql = "UPDATE approvals SET taken = 1 WHERE execution_id = ?1 AND taken = 0";
    Ok(connection.prepare_cached(sql)?.execute([id])? == 1)
}

/// See [`store::Store::overdue_approvals`].
pub(super) fn overdue(connection: &Connection, now: &str, batch: u32) -> Result<Vec<String>, SqlError> {
    let sql = "SELECT execution_id FROM approvals WHERE state = 'waiting' AND expires_ns <= ?1
        ORDER BY expires_ns LIMIT ?2";
    let mut statement = connection.prepare_cached(sql)?;
    let ids = statement.query_map(params![nanoseconds(now)?, batch], |row| row.get(0))?;
    Ok(ids.collect::<rusqlite::Result<_>>()?)
}
