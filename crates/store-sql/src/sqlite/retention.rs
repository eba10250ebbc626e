//! Keeps the history from growing without end, and gives the space back. Rows that have not ended are never touched.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, params};
use serde_json::to_string;
use store::{HistorySize, Prune, Pruned};

use super::connect::BUSY_TIMEOUT;
use crate::common::{count, nanoseconds, signed};
use crate::error::SqlError;

/// Pages that one call gives back at most; others wait to write meanwhile.
const PAGES: u32 = 2_560;
/// How long a shortening of the write-ahead log waits for those who still read it.
const CHECKPOINT_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(100);
/// A database without the means to give space back gets them at start if it is no larger.
const CONVERT: u64 = 512 * 1024 * 1024;

/// See [`store::Retention::prune`].
pub(super) fn prune(connection: &Connection, prune: &Prune) -> Result<Pruned, SqlError> {
    let before = prune.before.as_deref().map(nanoseconds).transpose()?;
    let mut pruned = Pruned::default();
    let mut old = of_age(connection, "skill_executions", before, prune)?;
    if let Some(room) = prune.keep_bytes {
        over(connection, room, prune.batch, &mut old)?;
    }
    pruned.executions = remove_executions(connection, &old)?;
    let old = of_age(connection, "turns", before, prune)?;
    pruned.turns =
        remove(connection, "DELETE FROM turns WHERE rowid IN (SELECT value FROM json_each(?1))", &old)?;
    if let Some(before) = &prune.artifacts_before {
        let sql = "DELETE FROM artifacts WHERE rowid IN
            (SELECT rowid FROM artifacts WHERE created_ns < ?1 ORDER BY created_ns LIMIT ?2)";
        pruned.artifacts +=
            rows(connection.prepare_cached(sql)?.execute(params![nanoseconds(before)?, prune.batch])?);
    }
    if prune.artifacts_before.is_some() || pruned.executions > 0 {
        let left = u64::from(prune.batch).saturating_sub(pruned.artifacts);
        let sql = "DELETE FROM artifacts WHERE rowid IN (SELECT rowid FROM artifacts a
            WHERE NOT EXISTS (SELECT 1 FROM skill_executions e WHERE e.id = a.execution_id) LIMIT ?1)";
        pruned.artifacts += rows(connection.prepare_cached(sql)?.execute([signed(left)])?);
    }
    let full = u64::from(prune.batch);
    pruned.more = full > 0 && [pruned.executions, pruned.turns, pruned.artifacts].iter().any(|n| *n >= full);
    Ok(pruned)
}

/// Row ids of what is too old or too many, the oldest first, at most a batch.
fn of_age(
    connection: &Connection,
    table: &'static str,
    before: Option<i64>,
    prune: &Prune,
) -> Result<Vec<i64>, SqlError> {
    let mut old = match before {
        Some(before) => oldest(connection, table, (before, i64::MIN), prune.batch)?,
        None => Vec::new(),
    };
    if let Some(keep) = prune.keep {
        let sql = format!(
            "SELECT created_ns, rowid FROM {table} ORDER BY created_ns DESC, rowid DESC LIMIT 1 OFFSET ?1"
        );
        let mut statement = connection.prepare_cached(&sql)?;
        let first = statement.query_row([signed(keep)], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        let many =
            first.map_or_else(|| Ok(Vec::new()), |edge| oldest(connection, table, edge, prune.batch))?;
        // Both lists are of the oldest, so one holds the other.
        if many.len() > old.len() {
            old = many;
        }
    }
    Ok(old)
}

/// Rows up to this time and place.
fn oldest(
    connection: &Connection,
    table: &'static str,
    (created_ns, rowid): (i64, i64),
    batch: u32,
) -> Result<Vec<i64>, SqlError> {
    let ended = if table == "turns" { "" } else { ENDED };
    let sql = format!(
        "SELECT rowid FROM {table} WHERE created_ns <= ?1 AND (created_ns < ?1 OR rowid <= ?2){ended}
        ORDER BY created_ns, rowid LIMIT ?3"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let found = statement.query_map(params![created_ns, rowid, batch], |row| row.get(0))?;
    Ok(found.collect::<rusqlite::Result<_>>()?)
}

const ENDED: &str = " AND status NOT IN ('pending', 'running')";

/// Adds the oldest rows that have ended until what is over the bound is covered.
fn over(connection: &Connection, room: u64, batch: u32, old: &mut Vec<i64>) -> Result<(), SqlError> {
    let Some(mut excess) = bytes(connection)?.checked_sub(room).filter(|excess| *excess > 0) else {
        return Ok(());
    };
    let sql = format!(
        "SELECT rowid, octet_length(input) + coalesce(octet_length(output), 0) + octet_length(parts)
            + coalesce(octet_length(error_message), 0) FROM skill_executions
        WHERE created_ns > ?1{ENDED} ORDER BY created_ns, rowid LIMIT ?2"
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query(params![i64::MIN, batch])?;
    let mut taken = Vec::new();
    while excess > 0
        && let Some(row) = found.next()?
    {
        taken.push(row.get(0)?);
        excess = excess.saturating_sub(count(row.get(1)?) + ROW);
    }
    // Both lists are of the oldest, so one holds the other.
    if taken.len() > old.len() {
        *old = taken;
    }
    Ok(())
}

/// Bytes of a row beside its payloads, with its places in the indexes.
const ROW: u64 = 700;

fn remove_executions(connection: &Connection, old: &[i64]) -> Result<u64, SqlError> {
    if old.is_empty() {
        return Ok(0);
    }
    let places = to_string(old)?;
    let sql = "DELETE FROM skill_executions WHERE rowid IN (SELECT value FROM json_each(?1)) RETURNING id";
    let mut statement = connection.prepare_cached(sql)?;
    let gone =
        statement.query_map([&places], |row| row.get(0))?.collect::<rusqlite::Result<Vec<String>>>()?;
    let ids = to_string(&gone)?;
    for sql in [
        "DELETE FROM approvals WHERE execution_id IN (SELECT value FROM json_each(?1))",
        "DELETE FROM claims WHERE execution_id IN (SELECT value FROM json_each(?1))",
    ] {
        connection.prepare_cached(sql)?.execute([&ids])?;
    }
    Ok(gone.len() as u64)
}

fn remove(connection: &Connection, sql: &'static str, old: &[i64]) -> Result<u64, SqlError> {
    if old.is_empty() {
        return Ok(0);
    }
    Ok(rows(connection.prepare_cached(sql)?.execute([to_string(old)?])?))
}

fn rows(number: usize) -> u64 {
    number as u64
}

fn pragma(connection: &Connection, name: &'static str) -> Result<u64, SqlError> {
    Ok(count(connection.pragma_query_value(None, name, |row| row.get(0))?))
}

/// Bytes of the executions: what is used of the file without what is something else. Nothing is read for it but what
/// indexes hold, and the newest few turns and audit entries, which stand for the others.
fn bytes(connection: &Connection) -> Result<u64, SqlError> {
    let used = pragma(connection, "page_count")?.saturating_sub(pragma(connection, "freelist_count")?);
    let sql = "SELECT (SELECT coalesce(sum(bytes), 0) FROM artifacts)
        + (SELECT coalesce(sum(bytes), 0) FROM kept_rounds WHERE expired = 0)
        + (SELECT count(*) FROM turns) * (SELECT CAST(coalesce(avg(size), 0) AS INTEGER) FROM
            (SELECT octet_length(summary) + octet_length(details) + ?1 AS size FROM turns ORDER BY rowid DESC LIMIT 200))
        + (SELECT count(*) FROM audit) * (SELECT CAST(coalesce(avg(size), 0) AS INTEGER) FROM
            (SELECT coalesce(octet_length(before), 0) + coalesce(octet_length(after), 0) + ?1 AS size
            FROM audit ORDER BY rowid DESC LIMIT 200))";
    let other: i64 = connection.prepare_cached(sql)?.query_row([signed(ROW)], |row| row.get(0))?;
    Ok((used * pragma(connection, "page_size")?).saturating_sub(count(other)))
}

/// See [`store::Retention::history_size`].
pub(super) fn size(connection: &Connection, path: &Path) -> Result<HistorySize, SqlError> {
    let executions: i64 = connection
        .prepare_cached("SELECT count(*) FROM skill_executions")?
        .query_row([], |row| row.get(0))?;
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    // There is no log when nothing was written.
    let log = std::fs::metadata(log).map_or(0, |log| log.len());
    Ok(HistorySize {
        executions: count(executions),
        bytes: bytes(connection)?,
        database_bytes: std::fs::metadata(path)?.len() + log,
    })
}

/// See [`store::Retention::give_space_back`]. Must run outside of a transaction.
pub(super) fn give_back(connection: &Connection) -> Result<u64, SqlError> {
    let free = pragma(connection, "freelist_count")?;
    if free == 0 || pragma(connection, "auto_vacuum")? != INCREMENTAL {
        return Ok(0);
    }
    {
        let mut statement = connection.prepare(&format!("PRAGMA incremental_vacuum({PAGES})"))?;
        let mut steps = statement.query([])?;
        while steps.next()?.is_some() {}
    }
    let given = free.saturating_sub(pragma(connection, "freelist_count")?);
    // The file itself becomes shorter when the log is carried over.
    connection.busy_timeout(CHECKPOINT_TIMEOUT)?;
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, bool>(0));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if busy? {
        tracing::debug!("the log is still being read; the file becomes shorter later");
    }
    Ok(given * pragma(connection, "page_size")?)
}

/// `PRAGMA auto_vacuum` of a database that can give space back.
const INCREMENTAL: u64 = 2;

/// Rewrites a database of an older release once, so that it can give space back from then on. One that is large, or
/// for which there is no room, stays as it is and is only told of.
pub(super) fn convert(connection: &Connection, path: &Path) -> Result<(), SqlError> {
    if pragma(connection, "auto_vacuum")? == INCREMENTAL {
        return Ok(());
    }
    let size = pragma(connection, "page_count")? * pragma(connection, "page_size")?;
    if size > CONVERT || free_space(path).is_some_and(|free| free / 3 < size) {
        tracing::warn!(
            bytes = size,
            "the database cannot give space back; `backup` it and start with the copy to change that"
        );
        return Ok(());
    }
    if let Err(error) = connection.execute_batch("PRAGMA auto_vacuum = INCREMENTAL; VACUUM;") {
        tracing::warn!(%error, "the database could not be rewritten; it does not give space back yet");
    }
    Ok(())
}

/// Bytes that the file system of the database has left.
fn free_space(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let found = rustix::fs::statvfs(path).ok()?;
        Some(found.f_bavail.saturating_mul(found.f_frsize))
    }
    #[cfg(not(unix))]
    None
}
