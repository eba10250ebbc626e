//! What was used over time: turns and executions added up. Only reads.

use store::{Spending, UsageBy, UsageQuery, UsageRow};

use super::cells::Columns;
use super::conditions::Conditions;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::text::{owned, text};
use crate::cells::Cells;
use crate::common::nanoseconds;
use crate::error::SqlError;

/// Groups at most.
const GROUPS: usize = 1_000;

/// A sum that never overflows.
macro_rules! sum {
    ($of:literal) => {
        concat!("least(coalesce(sum(", $of, "), 0), 9223372036854775807)::bigint")
    };
}

const TURNS: &str = concat!(
    "count(*) AS n, ",
    sum!("executions"),
    " AS m, count(*) FILTER (WHERE failed), ",
    sum!("input_tokens"),
    ", ",
    sum!("output_tokens"),
    ", ",
    sum!("duration_ms"),
    " FROM turns"
);
const EXECUTIONS: &str = concat!(
    "count(DISTINCT turn_id) AS n, count(*) AS m, count(*) FILTER (WHERE status IN ('error', 'timeout')), 0::bigint,
    0::bigint, ", sum!("duration_ms"), " FROM skill_executions"
);
const SPENT: &str = concat!(
    "SELECT (SELECT ",
    sum!("input_tokens::numeric + output_tokens"),
    " FROM turns WHERE api_key_id = $1 AND created_ns >= $2),
    (SELECT count(*) FROM skill_executions WHERE api_key_id = $1 AND created_ns >= $2)"
);

/// See [`store::Turns::usage`].
pub(super) async fn usage(exclusive: &Exclusive, query: &UsageQuery) -> Result<Vec<UsageRow>, SqlError> {
    let mut conditions = Conditions::default();
    conditions.add("api_key_id = ?", query.api_key_id.clone().map(owned));
    conditions.between(query.since.as_deref(), query.until.as_deref())?;
    let day = "to_char(to_timestamp(div(created_ns, 1000000000)::bigint) AT TIME ZONE 'UTC', 'YYYY-MM-DD')";
    let (group, rest) = match query.by {
        UsageBy::Key => ("api_key_id", TURNS),
        UsageBy::Model => ("model", TURNS),
        UsageBy::Day => (day, TURNS),
        UsageBy::Skill => ("skill_name || '@' || version", EXECUTIONS),
    };
    let order = if query.by == UsageBy::Day { "grp DESC" } else { "n::numeric + m DESC, grp" };
    let sql = format!(
        "SELECT * FROM (SELECT {group} AS grp, {rest}{} GROUP BY 1) AS groups ORDER BY {order} LIMIT {GROUPS}",
        conditions.sql
    );
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    let mut groups = Vec::new();
    for row in snapshot.rows_once(&sql, &conditions.params()).await? {
        let mut cells = Columns::new(&row);
        groups.push(UsageRow {
            group: cells.text("group")?,
            turns: cells.count("turns")?,
            executions: cells.count("executions")?,
            errors: cells.count("errors")?,
            input_tokens: cells.count("input_tokens")?,
            output_tokens: cells.count("output_tokens")?,
            duration_ms: cells.count("duration_ms")?,
        });
    }
    snapshot.commit().await?;
    Ok(groups)
}

/// See [`store::Turns::spent_since`].
pub(super) async fn spent(lanes: &Lanes, owner: &str, since: &str) -> Result<Spending, SqlError> {
    let Some(row) = lanes.row(SPENT, &[&text(owner), &nanoseconds(since)?]).await? else {
        return Ok(Spending::default());
    };
    let mut cells = Columns::new(&row);
    Ok(Spending { tokens: cells.count("tokens")?, executions: cells.count("executions")? })
}
