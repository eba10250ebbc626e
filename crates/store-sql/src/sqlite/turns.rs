//! The `turns` table: records of turns, and the pages of them. What was used over time is added up in `usage`.

use domain::{StopReason, TurnRecord};
use rusqlite::{Connection, OptionalExtension as _, params, params_from_iter};
use serde_json::to_string;
use store::{Page, PageRequest, TurnFilter};

use super::cells::Columns;
use super::conditions::Conditions;
use crate::cells::Cells;
use crate::common::{bounded, count, failed, nanoseconds, signed, split};
use crate::error::{SqlError, conflict};
use crate::rows;

/// See [`store::Turns::record_turn`].
pub(super) fn record(connection: &Connection, turn: TurnRecord) -> Result<(), SqlError> {
    let id = turn.id.clone();
    let written = write(connection, turn, "INSERT")?;
    written.map(drop).map_err(|e| conflict(e, || format!("turn {id}")))
}

/// Writes the row with these first words of an INSERT. Returns the rows written.
pub(super) fn write(
    connection: &Connection,
    turn: TurnRecord,
    insert: &'static str,
) -> Result<rusqlite::Result<usize>, SqlError> {
    let failed = failed(&turn);
    let (turn, details) = split(turn);
    let sql = format!(
        "{insert} INTO turns (id, api_key_id, session_id, model, stop_reason, failed, input_tokens, output_tokens,
            executions, duration_ms, created_ns, summary, details)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
    );
    let values = params![
        turn.id,
        turn.api_key_id,
        turn.session_id,
        turn.model,
        turn.stop_reason.as_str(),
        failed,
        signed(turn.input_tokens),
        signed(turn.output_tokens),
        turn.executions,
        signed(turn.duration_ms),
        nanoseconds(&turn.created_at)?,
        to_string(&turn)?,
        to_string(&details)?,
    ];
    Ok(connection.prepare_cached(&sql)?.execute(values))
}

/// See [`store::Turns::turn`].
pub(super) fn one(connection: &Connection, id: &str) -> Result<Option<TurnRecord>, SqlError> {
    let mut statement = connection.prepare_cached("SELECT summary, details FROM turns WHERE id = ?1")?;
    let read = statement.query_row([id], |row| Ok(rows::turn(&mut Columns::new(row)))).optional()?;
    Ok(read.transpose()?)
}

/// See [`store::Turns::turns`]. A record that cannot be read is logged and left out.
pub(super) fn page(
    connection: &Connection,
    filter: &TurnFilter,
    page: PageRequest,
) -> Result<Page<TurnRecord>, SqlError> {
    let page = bounded(page);
    let mut conditions = Conditions::default();
    conditions.add("session_id = ?", filter.session_id.clone());
    conditions.add("api_key_id = ?", filter.api_key_id.clone());
    conditions.add("model = ?", filter.model.clone());
    let (answered, rare): (Vec<_>, Vec<_>) =
        filter.stop_reason.into_iter().partition(|reason| *reason == StopReason::Completed);
    // The first condition, a consequence of the second, opens the index of what is rare.
    conditions.add("stop_reason <> 'completed' AND stop_reason = ?", rare.first().map(|r| r.as_str()));
    conditions.add("stop_reason = ?", answered.first().map(|r| r.as_str()));
    conditions.between(filter.since.as_deref(), filter.until.as_deref())?;
    let Conditions { sql, mut values } = conditions;
    let snapshot = connection.unchecked_transaction()?;
    let total = format!("SELECT count(*) FROM turns{sql}");
    let total: i64 =
        snapshot.prepare_cached(&total)?.query_row(params_from_iter(values.iter()), |row| row.get(0))?;
    values.push(Box::new(page.limit));
    values.push(Box::new(i64::from(page.page - 1) * i64::from(page.limit)));
    let select = format!(
        "SELECT summary FROM turns WHERE rowid IN
            (SELECT rowid FROM turns{sql} ORDER BY created_ns DESC, rowid DESC LIMIT ? OFFSET ?)
            ORDER BY created_ns DESC, rowid DESC"
    );
    let mut statement = snapshot.prepare_cached(&select)?;
    let mut rows = statement.query(params_from_iter(values.iter()))?;
    let mut data = Vec::new();
    while let Some(row) = rows.next()? {
        match Columns::new(row).json("summary") {
            Ok(turn) => data.push(turn),
            Err(error) => tracing::error!(%error, "a turn cannot be read"),
        }
    }
    Ok(Page::new(data, count(total), page))
}
