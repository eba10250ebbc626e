//! Keeps the history from growing without end. Rows that have not ended are never touched. Space is given back by the
//! server's autovacuum.

use store::{HistorySize, Prune, Pruned};

use super::cells::Columns;
use super::exclusive::Exclusive;
use super::session::Tx;
use super::text::{Text, owned};
use crate::cells::Cells;
use crate::common::{nanoseconds, signed};
use crate::error::SqlError;

/// Two processes that remove at the same moment would remove too much.
const ALONE: &str =
    "SELECT pg_try_advisory_xact_lock(hashtextextended('omni-skills retention ' || current_schema(), 0))";

/// Bytes of a row beside its payloads, with its places in the indexes.
macro_rules! row_bytes {
    () => {
        "700"
    };
}

const BYTES: &str = concat!(
    "SELECT least(coalesce(sum(bytes), 0) + count(*) * ",
    row_bytes!(),
    ", 9223372036854775807)::bigint
    FROM skill_executions"
);

/// Of each ended row, what those before it take: the first that cover what is too much.
const OVER: &str = concat!(
    "SELECT id FROM (
        SELECT created_ns, id, sum(bytes + ",
    row_bytes!(),
    ") OVER (ORDER BY created_ns, id) - bytes - ",
    row_bytes!(),
    " AS freed
        FROM (SELECT created_ns, id, bytes FROM skill_executions WHERE status NOT IN ('pending', 'running')
            ORDER BY created_ns, id LIMIT $2) AS ended) AS oldest
    WHERE freed < $1::bigint ORDER BY created_ns, id"
);

const ORPHANED: &str = "DELETE FROM artifacts WHERE id IN (SELECT id FROM artifacts a
    WHERE NOT EXISTS (SELECT 1 FROM skill_executions e WHERE e.id = a.execution_id) LIMIT $1)";

/// Statements about a table with a history.
struct Aged {
    /// The row behind the newest that stay.
    edge: &'static str,
    /// The oldest up to a time and place.
    oldest: &'static str,
}

macro_rules! aged {
    ($table:literal, $ended:literal) => {
        Aged {
            edge: concat!(
                "SELECT created_ns, id FROM ",
                $table,
                " ORDER BY created_ns DESC, id DESC LIMIT 1 OFFSET $1"
            ),
            oldest: concat!(
                "SELECT id FROM ",
                $table,
                " WHERE (created_ns, id) <= ($1, $2)",
                $ended,
                " ORDER BY created_ns, id LIMIT $3"
            ),
        }
    };
}

const EXECUTIONS: Aged = aged!("skill_executions", " AND status NOT IN ('pending', 'running')");
const TURNS: Aged = aged!("turns", "");

/// See [`store::Retention::prune`].
pub(super) async fn prune(exclusive: &Exclusive, prune: &Prune) -> Result<Pruned, SqlError> {
    let before = prune.before.as_deref().map(nanoseconds).transpose()?;
    let artifacts_before = prune.artifacts_before.as_deref().map(nanoseconds).transpose()?;
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let alone = tx.row(ALONE, &[]).await?;
    if !alone.map_or(Ok(false), |row| Columns::new(&row).flag("lock"))? {
        return Ok(Pruned::default());
    }
    let mut pruned = Pruned::default();
    let mut old = of_age(&tx, &EXECUTIONS, before, prune).await?;
    if let Some(room) = prune.keep_bytes {
        // Both lists are of the oldest, so one holds the other.
        let over = over(&tx, room, prune.batch).await?;
        if over.len() > old.len() {
            old = over;
        }
    }
    pruned.executions = remove_executions(&tx, &old).await?;
    let old = of_age(&tx, &TURNS, before, prune).await?;
    if !old.is_empty() {
        pruned.turns = tx.execute("DELETE FROM turns WHERE id = ANY ($1)", &[&old]).await?;
    }
    let batch = i64::from(prune.batch);
    if let Some(before) = artifacts_before {
        let sql = "DELETE FROM artifacts WHERE id IN
            (SELECT id FROM artifacts WHERE created_ns < $1 ORDER BY created_ns LIMIT $2)";
        pruned.artifacts += tx.execute(sql, &[&before, &batch]).await?;
    }
    if artifacts_before.is_some() || pruned.executions > 0 {
        let left = batch.saturating_sub(signed(pruned.artifacts));
        pruned.artifacts += tx.execute(ORPHANED, &[&left]).await?;
    }
    tx.commit().await?;
    let full = u64::from(prune.batch);
    pruned.more = full > 0 && [pruned.executions, pruned.turns, pruned.artifacts].iter().any(|n| *n >= full);
    Ok(pruned)
}

/// Ids of what is too old or too many, the oldest first, at most a batch.
async fn of_age(
    tx: &Tx<'_>,
    table: &Aged,
    before: Option<i64>,
    prune: &Prune,
) -> Result<Vec<Text<'static>>, SqlError> {
    let mut old = match before {
        // No id is less than the empty one.
        Some(before) => oldest(tx, table, before, "", prune.batch).await?,
        None => Vec::new(),
    };
    if let Some(keep) = prune.keep
        && let Some(edge) = tx.row(table.edge, &[&signed(keep)]).await?
    {
        let mut cells = Columns::new(&edge);
        let (created_ns, id) = (cells.number("created_ns")?, cells.text("id")?);
        let many = oldest(tx, table, created_ns, &id, prune.batch).await?;
        // Both lists are of the oldest, so one holds the other.
        if many.len() > old.len() {
            old = many;
        }
    }
    Ok(old)
}

/// Rows up to this time and place.
async fn oldest(
    tx: &Tx<'_>,
    table: &Aged,
    created_ns: i64,
    id: &str,
    batch: u32,
) -> Result<Vec<Text<'static>>, SqlError> {
    let params: [&(dyn tokio_postgres::types::ToSql + Sync); 3] =
        [&created_ns, &owned(id.to_owned()), &i64::from(batch)];
    ids(&tx.rows(table.oldest, &params).await?)
}

/// The oldest rows that have ended until what is over the bound is covered.
async fn over(tx: &Tx<'_>, room: u64, batch: u32) -> Result<Vec<Text<'static>>, SqlError> {
    let held = tx.row(BYTES, &[]).await?;
    let held = held.map_or(Ok(0), |row| Columns::new(&row).count("bytes"))?;
    let Some(excess) = held.checked_sub(room).filter(|excess| *excess > 0) else {
        return Ok(Vec::new());
    };
    ids(&tx.rows(OVER, &[&signed(excess), &i64::from(batch)]).await?)
}

fn ids(rows: &[tokio_postgres::Row]) -> Result<Vec<Text<'static>>, SqlError> {
    rows.iter().map(|row| Ok(owned(Columns::new(row).text("id")?))).collect()
}

async fn remove_executions(tx: &Tx<'_>, old: &[Text<'static>]) -> Result<u64, SqlError> {
    if old.is_empty() {
        return Ok(0);
    }
    let sql = "DELETE FROM skill_executions WHERE id = ANY ($1) AND status NOT IN ('pending', 'running')";
    let gone = tx.execute(sql, &[&old]).await?;
    for sql in [
        "DELETE FROM approvals WHERE execution_id = ANY ($1)",
        "DELETE FROM claims WHERE execution_id = ANY ($1)",
    ] {
        tx.execute(sql, &[&old]).await?;
    }
    Ok(gone)
}

/// See [`store::Retention::history_size`].
pub(super) async fn size(exclusive: &Exclusive) -> Result<HistorySize, SqlError> {
    // What is stored may be packed, so the tables say the upper bound.
    let sql = concat!(
        "SELECT count(*), least(coalesce(sum(bytes), 0) + count(*) * ",
        row_bytes!(),
        ", pg_total_relation_size('skill_executions'))::bigint,
            (SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c
                WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r')
        FROM skill_executions"
    );
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    let row = snapshot.row(sql, &[]).await?;
    snapshot.commit().await?;
    let Some(row) = row else { return Ok(HistorySize::default()) };
    let mut cells = Columns::new(&row);
    Ok(HistorySize {
        executions: cells.count("executions")?,
        bytes: cells.count("bytes")?,
        database_bytes: cells.count("database_bytes")?,
    })
}
