//! Executions as they are written, turned into text by the caller: the one thread that writes has better things to do.

use domain::Execution;
use serde_json::{Value, to_string};
use store::ExecutionOutcome;

use crate::common::{nanoseconds, signed};
use crate::error::SqlError;

/// A new row, without its approval.
pub(super) struct NewRow {
    pub(super) id: String,
    pub(super) skill_id: String,
    pub(super) skill_name: String,
    pub(super) version: String,
    pub(super) api_key_id: String,
    pub(super) user: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) turn_id: Option<String>,
    pub(super) door: &'static str,
    pub(super) status: &'static str,
    pub(super) duration_ms: Option<i64>,
    pub(super) attempts: u32,
    pub(super) engine: Option<String>,
    pub(super) isolation: Option<String>,
    pub(super) created_at: String,
    pub(super) created_ns: i64,
    pub(super) error_message: Option<String>,
    pub(super) input: String,
    pub(super) output: Option<String>,
    pub(super) parts: String,
}

impl NewRow {
    pub(super) fn of(execution: &Execution) -> Result<Self, SqlError> {
        Ok(Self {
            id: execution.id.clone(),
            skill_id: execution.skill_id.clone(),
            skill_name: execution.skill_name.clone(),
            version: execution.version.to_string(),
            api_key_id: execution.api_key_id.clone(),
            user: execution.user.clone(),
            session_id: execution.session_id.clone(),
            turn_id: execution.turn_id.clone(),
            door: execution.door.as_str(),
            status: execution.status.as_str(),
            duration_ms: execution.duration_ms.map(signed),
            attempts: execution.attempts,
            engine: execution.engine.clone(),
            isolation: execution.isolation.clone(),
            created_at: execution.created_at.clone(),
            created_ns: nanoseconds(&execution.created_at)?,
            error_message: execution.error_message.clone(),
            input: to_string(&execution.input)?,
            output: optional_json(execution.output.as_ref())?,
            parts: to_string(&execution.parts)?,
        })
    }

    /// One that may start at once; not one that needs a person.
    pub(super) fn ordinary(execution: &Execution) -> Result<Self, SqlError> {
        if execution.approval.is_some() { Err(SqlError::NotOrdinary) } else { Self::of(execution) }
    }
}

/// The terminal part of a row.
pub(super) struct Ended {
    pub(super) status: &'static str,
    pub(super) output: Option<String>,
    pub(super) parts: String,
    pub(super) error_message: Option<String>,
    pub(super) duration_ms: i64,
    pub(super) attempts: u32,
    pub(super) engine: Option<String>,
    pub(super) isolation: Option<String>,
}

impl Ended {
    pub(super) fn of(outcome: ExecutionOutcome) -> Result<Self, SqlError> {
        if !outcome.status.is_terminal() {
            return Err(SqlError::NotTerminal(outcome.status.as_str()));
        }
        Ok(Self {
            status: outcome.status.as_str(),
            output: optional_json(outcome.output.as_ref())?,
            parts: to_string(&outcome.parts)?,
            error_message: outcome.error_message,
            duration_ms: signed(outcome.duration_ms),
            attempts: outcome.attempts,
            engine: outcome.engine,
            isolation: outcome.isolation,
        })
    }
}

/// `None` is NULL; JSON's `null` is the text `null`.
pub(super) fn optional_json(value: Option<&Value>) -> Result<Option<String>, SqlError> {
    Ok(value.map(to_string).transpose()?)
}
