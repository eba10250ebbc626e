//! The `skill_executions` table: the history. Terminal rows never change; every transition is guarded in its own
//! statement, so that two writers cannot both end a run.

use std::time::Instant;

use domain::{Execution, Status};
use rusqlite::{Connection, OptionalExtension as _, Row, StatementStatus, params, params_from_iter};
use store::{ExecutionFilter, Page, PageRequest};

use super::cells::Columns;
use super::conditions::Conditions;
use super::filter::Filter;
use super::prepared::{Ended, NewRow};
use crate::common::{bounded, count};
use crate::error::{BadRow, SqlError, conflict};
use crate::rows;
use crate::totals::Counted;

macro_rules! columns {
    () => {
        columns!("parts")
    };
    ($parts:literal) => {
        concat!(
            "id, skill_id, skill_name, version, api_key_id, user, session_id, turn_id, door, status, duration_ms, attempts, \
             engine, isolation, created_at, error_message, input, output, ",
            $parts
        )
    };
}

/// The columns of a row and, last, its approval.
macro_rules! select {
    () => {
        select!("parts")
    };
    ($parts:literal) => {
        concat!(
            "SELECT ",
            columns!($parts),
            ", approval FROM skill_executions LEFT JOIN approvals ON execution_id = id"
        )
    };
}

/// Writes a row without its approval.
pub(super) fn insert(connection: &Connection, row: &NewRow, instance: Option<&str>) -> Result<(), SqlError> {
    let sql = concat!(
        "INSERT INTO skill_executions (",
        columns!(),
        ", created_ns, instance) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, \
         ?18, ?19, ?20, ?21)"
    );
    let values = params![
        row.id,
        row.skill_id,
        row.skill_name,
        row.version,
        row.api_key_id,
        row.user,
        row.session_id,
        row.turn_id,
        row.door,
        row.status,
        row.duration_ms,
        row.attempts,
        row.engine,
        row.isolation,
        row.created_at,
        row.error_message,
        row.input,
        row.output,
        row.parts,
        row.created_ns,
        instance,
    ];
    let written = connection.prepare_cached(sql)?.execute(values);
    written.map(drop).map_err(|e| conflict(e, || format!("execution {}", row.id)))
}

/// See [`store::Store::start_execution`]. The row is from now on of the process that starts it.
pub(super) fn start(connection: &Connection, id: &str, instance: Option<&str>) -> Result<bool, SqlError> {
    let sql = "UPDATE skill_executions SET status = 'running', instance = coalesce(?2, instance)
        WHERE id = ?1 AND status = 'pending'
        AND NOT EXISTS (SELECT 1 FROM approvals WHERE execution_id = ?1 AND state <> 'approved')";
    Ok(connection.prepare_cached(sql)?.execute(params![id, instance])? == 1)
}

/// See [`store::Store::finish_execution`].
pub(super) fn finish(connection: &Connection, id: &str, ended: &Ended) -> Result<bool, SqlError> {
    let sql = "UPDATE skill_executions SET status = ?2, output = ?3, parts = ?4, error_message = ?5, duration_ms = ?6,
            attempts = ?7, engine = ?8, isolation = ?9
        WHERE id = ?1 AND status IN ('pending', 'running')
            AND NOT EXISTS (SELECT 1 FROM approvals WHERE execution_id = ?1 AND state = 'waiting')";
    let values = params![
        id,
        ended.status,
        ended.output,
        ended.parts,
        ended.error_message,
        ended.duration_ms,
        ended.attempts,
        ended.engine,
        ended.isolation,
    ];
    Ok(connection.prepare_cached(sql)?.execute(values)? == 1)
}

/// See [`store::Store::interrupt_executions`]. When the run ended is unknown, so `duration_ms` stays empty.
pub(super) fn interrupt(connection: &Connection, message: &str) -> Result<u64, SqlError> {
    // The second condition, a consequence of the first, opens the index of what is no success.
    let sql = "UPDATE skill_executions SET status = 'error', error_message = ?1
        WHERE status IN ('pending', 'running') AND status <> 'success' AND id NOT IN (SELECT execution_id FROM approvals WHERE state = 'waiting')";
    let rows = connection.prepare_cached(sql)?.execute([message])?;
    Ok(u64::try_from(rows).unwrap_or(u64::MAX))
}

/// One execution; a row that cannot be read is an error.
pub(super) fn one(connection: &Connection, id: &str) -> Result<Option<Execution>, SqlError> {
    let sql = concat!(select!(), " WHERE id = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    let read = statement.query_row([id], |row| Ok(read(row))).optional()?;
    Ok(read.transpose()?)
}

/// One page, newest first, without the parts, which may be large. A row that cannot be read is left out of it with a
/// logged error: the rest of the history stays usable. `known` is the total, if it is known; the
/// second value is the total that was counted.
pub(super) fn page(
    connection: &Connection,
    wanted: &ExecutionFilter,
    page: PageRequest,
    known: Option<u64>,
) -> Result<(Page<Execution>, Counted), SqlError> {
    let page = bounded(page);
    let limit = page.limit as usize;
    let offset = i64::from(page.page - 1) * i64::from(page.limit);
    // One transaction, so that the total and the rows are of the same moment.
    let snapshot = connection.unchecked_transaction()?;
    let mut filter = Filter::of(wanted)?;
    let counted = match known {
        Some(total) => Counted { total, costly: None },
        None => total(&snapshot, wanted)?,
    };
    if let Some(before) = &wanted.before {
        let Some((created_ns, rowid)) = place(&snapshot, before)? else {
            return Ok((Page::new(Vec::new(), counted.total, page), counted));
        };
        filter.behind(created_ns, rowid);
    }
    // The places of the page come from an index where there is one; only the page's own rows are read whole.
    let select = format!(
        concat!(
            select!("'[]' AS parts"),
            " WHERE skill_executions.rowid IN ({}) ORDER BY created_ns DESC, skill_executions.rowid DESC"
        ),
        filter.places()
    );
    let mut values = filter.conditions.values;
    // One more than the page shows, to know whether there is one.
    values.push(Box::new(i64::from(page.limit) + 1));
    values.push(Box::new(offset));
    let mut statement = snapshot.prepare_cached(&select)?;
    let mut rows = statement.query(params_from_iter(values.iter()))?;
    let (mut data, mut seen, mut last, mut more) = (Vec::new(), 0, None, false);
    while let Some(row) = rows.next()? {
        if seen == limit {
            more = true;
            break;
        }
        seen += 1;
        last = row.get::<_, Option<String>>(0)?;
        match read(row) {
            Ok(execution) => data.push(execution),
            Err(error) => tracing::error!(%error, "an execution in the history cannot be read"),
        }
    }
    // A remembered total may be smaller than what is on this page.
    let shown = counted.total.max(if seen > 0 { count(offset) + seen as u64 } else { 0 });
    Ok((Page { next_cursor: last.filter(|_| more), ..Page::new(data, shown, page) }, counted))
}

/// Steps of `SQLite`'s machine above which counting is costly; some milliseconds.
const COSTLY: i32 = 200_000;

/// Counts the rows of a filter, whatever its cursor. Successes are what is left of all: those that are none are few, and
/// found by their index.
pub(super) fn total(connection: &Connection, wanted: &ExecutionFilter) -> Result<Counted, SqlError> {
    let start = Instant::now();
    let mut steps = 0_i32;
    let mut rows_of = |status: Option<Status>| -> Result<u64, SqlError> {
        let filter = ExecutionFilter { status, ..wanted.clone() };
        let Filter { from, conditions: Conditions { sql, values }, .. } = Filter::of(&filter)?;
        let mut statement = connection.prepare_cached(&format!("SELECT count(*) FROM {from}{sql}"))?;
        statement.reset_status(StatementStatus::VmStep);
        let rows = statement.query_row(params_from_iter(values.iter()), |row| row.get(0))?;
        steps = steps.saturating_add(statement.get_status(StatementStatus::VmStep));
        Ok(count(rows))
    };
    let mut total = rows_of(wanted.status.filter(|status| *status != Status::Success))?;
    if wanted.status == Some(Status::Success) {
        for status in Status::ALL.into_iter().filter(|status| *status != Status::Success) {
            total = total.saturating_sub(rows_of(Some(status))?);
        }
    }
    Ok(Counted { total, costly: (steps > COSTLY).then(|| start.elapsed()) })
}

/// Where a row is in the order of the list.
fn place(connection: &Connection, id: &str) -> Result<Option<(i64, i64)>, SqlError> {
    let sql = "SELECT created_ns, rowid FROM skill_executions WHERE id = ?1";
    Ok(connection.prepare_cached(sql)?.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
}

fn read(row: &Row<'_>) -> Result<Execution, BadRow> {
    rows::execution(&mut Columns::new(row))
}
