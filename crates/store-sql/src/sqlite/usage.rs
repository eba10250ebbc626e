//! What was used over time: turns and executions added up. Only reads.

use rusqlite::{Connection, params, params_from_iter};
use store::{Spending, UsageBy, UsageQuery, UsageRow};

use super::conditions::Conditions;
use crate::common::{count, nanoseconds};
use crate::error::SqlError;

/// Groups at most.
const GROUPS: usize = 1_000;

// total() never overflows, where sum() would fail.
const TURNS: &str = "count(*) AS n, CAST(total(executions) AS INTEGER) AS m, sum(failed),
    CAST(total(input_tokens) AS INTEGER), CAST(total(output_tokens) AS INTEGER), CAST(total(duration_ms) AS INTEGER)
    FROM turns";
const EXECUTIONS: &str =
    "count(DISTINCT turn_id) AS n, count(*) AS m, sum(status IN ('error', 'timeout')), 0, 0,
    CAST(total(duration_ms) AS INTEGER) FROM skill_executions";

/// See [`store::Turns::usage`].
pub(super) fn usage(connection: &Connection, query: &UsageQuery) -> Result<Vec<UsageRow>, SqlError> {
    let mut conditions = Conditions::default();
    conditions.add("api_key_id = ?", query.api_key_id.clone());
    conditions.between(query.since.as_deref(), query.until.as_deref())?;
    let (group, rest) = match query.by {
        UsageBy::Key => ("api_key_id", TURNS),
        UsageBy::Model => ("model", TURNS),
        UsageBy::Day => ("date(created_ns / 1000000000, 'unixepoch')", TURNS),
        UsageBy::Skill => ("skill_name || '@' || version", EXECUTIONS),
    };
    let order = if query.by == UsageBy::Day { "1 DESC" } else { "n + m DESC, 1" };
    let sql = format!("SELECT {group}, {rest}{} GROUP BY 1 ORDER BY {order} LIMIT {GROUPS}", conditions.sql);
    let mut statement = connection.prepare_cached(&sql)?;
    let rows = statement.query_map(params_from_iter(conditions.values.iter()), |row| {
        Ok(UsageRow {
            group: row.get(0)?,
            turns: count(row.get(1)?),
            executions: count(row.get(2)?),
            errors: count(row.get(3)?),
            input_tokens: count(row.get(4)?),
            output_tokens: count(row.get(5)?),
            duration_ms: count(row.get(6)?),
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// See [`store::Turns::spent_since`].
pub(super) fn spent(connection: &Connection, owner: &str, since: &str) -> Result<Spending, SqlError> {
    let sql = "SELECT
        (SELECT CAST(total(input_tokens) + total(output_tokens) AS INTEGER) FROM turns WHERE api_key_id = ?1 AND created_ns >= ?2),
        (SELECT count(*) FROM skill_executions WHERE api_key_id = ?1 AND created_ns >= ?2)";
    let values = params![owner, nanoseconds(since)?];
    Ok(connection.prepare_cached(sql)?.query_row(values, |row| {
        Ok(Spending { tokens: count(row.get(0)?), executions: count(row.get(1)?) })
    })?)
}
