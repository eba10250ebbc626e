//! The `claims` table: what may be done once. A claim and the row it was taken for are written together or not at all.

use rusqlite::{Connection, OptionalExtension as _, params};
use store::{Claim, Claimed};

use super::executions;
use super::prepared::NewRow;
use crate::error::SqlError;

/// See [`store::Store::create_execution_once`].
pub(super) fn create_once(
    connection: &Connection,
    row: &NewRow,
    claim: &Claim,
    instance: Option<&str>,
) -> Result<Option<Claimed>, SqlError> {
    let taken = take(connection, &row.id, claim)?;
    if taken.is_none() {
        executions::insert(connection, row, instance)?;
    }
    Ok(taken)
}

/// See [`store::Store::claimed`].
pub(super) fn claimed(connection: &Connection, key: &str, now_ms: i64) -> Result<Option<Claimed>, SqlError> {
    let sql = "SELECT execution_id, fingerprint FROM claims WHERE key = ?1 AND expires_ms > ?2";
    let taken = connection.prepare_cached(sql)?.query_row(params![key, now_ms], |row| {
        Ok(Claimed { execution_id: row.get(0)?, fingerprint: row.get(1)? })
    });
    Ok(taken.optional()?)
}

/// See [`store::Store::take_claim`].
pub(super) fn take(
    connection: &Connection,
    execution_id: &str,
    claim: &Claim,
) -> Result<Option<Claimed>, SqlError> {
    if let Some(taken) = claimed(connection, &claim.key, claim.now_ms)? {
        return Ok(Some(taken));
    }
    let sql = "INSERT INTO claims (key, execution_id, fingerprint, expires_ms) VALUES (?1, ?2, ?3, ?4)
        ON CONFLICT (key) DO UPDATE SET execution_id = excluded.execution_id, fingerprint = excluded.fingerprint,
            expires_ms = excluded.expires_ms";
    let values = params![claim.key, execution_id, claim.fingerprint, claim.expires_ms];
    connection.prepare_cached(sql)?.execute(values)?;
    Ok(None)
}

/// See [`store::Store::prune_claims`].
pub(super) fn prune(connection: &Connection, now_ms: i64, batch: u32) -> Result<u64, SqlError> {
    let sql = "DELETE FROM claims WHERE key IN
        (SELECT key FROM claims WHERE expires_ms <= ?1 ORDER BY expires_ms LIMIT ?2)";
    let rows = connection.prepare_cached(sql)?.execute(params![now_ms, batch])?;
    Ok(u64::try_from(rows).unwrap_or(u64::MAX))
}
