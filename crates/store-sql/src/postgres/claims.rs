//! The `claims` table: what may be done once. A claim and the row it was taken for are written together or not at all.

use domain::Execution;
use store::{Claim, Claimed};

use super::cells::Columns;
use super::error::{PgError, conflict};
use super::executions::{INSERT, NewRow};
use super::lanes::Lanes;
use super::text::text;
use crate::cells::Cells;
use crate::error::SqlError;

/// Between losing a claim and asking who has it, it may have been forgotten.
const TRIES: usize = 3;

/// Takes the claim, unless somebody has it.
macro_rules! claim {
    ($key:literal, $id:literal, $fingerprint:literal, $expires:literal, $now:literal) => {
        concat!(
            "INSERT INTO claims (key, execution_id, fingerprint, expires_ms) VALUES (",
            $key, ", ", $id, ", ", $fingerprint, ", ", $expires,
            ") ON CONFLICT (key) DO UPDATE SET execution_id = excluded.execution_id, fingerprint = excluded.fingerprint,
                expires_ms = excluded.expires_ms WHERE claims.expires_ms <= ",
            $now,
            " RETURNING 1"
        )
    };
}

const TAKE: &str = claim!("$1", "$2", "$3", "$4", "$5");

/// Its parameters come behind those of the row.
const TAKE_WITH_ROW: &str = claim!("$23", "$1", "$24", "$25", "$26");

/// See [`store::Store::create_execution_once`].
pub(super) async fn create_once(
    lanes: &Lanes,
    execution: &Execution,
    claim: &Claim,
    instance: Option<&str>,
) -> Result<Option<Claimed>, SqlError> {
    if execution.approval.is_some() {
        return Err(SqlError::NotOrdinary);
    }
    let sql = format!("WITH taken AS ({TAKE_WITH_ROW}) {INSERT} WHERE EXISTS (SELECT 1 FROM taken)");
    let row = NewRow::of(execution, instance)?;
    let (key, fingerprint) = (text(&claim.key), text(&claim.fingerprint));
    for _ in 0..TRIES {
        let mut params = row.params();
        params.extend_from_slice(&[&key, &fingerprint, &claim.expires_ms, &claim.now_ms]);
        let written = lanes.execute(&sql, &params).await;
        if written.map_err(|e| conflict(e, || format!("execution {}", execution.id)))? == 1 {
            return Ok(None);
        }
        if let Some(claimed) = claimed(lanes, &claim.key, claim.now_ms).await? {
            return Ok(Some(claimed));
        }
    }
    Err(PgError::Contended.into())
}

/// See [`store::Store::claimed`].
pub(super) async fn claimed(lanes: &Lanes, key: &str, now_ms: i64) -> Result<Option<Claimed>, SqlError> {
    let sql = "SELECT execution_id, fingerprint FROM claims WHERE key = $1 AND expires_ms > $2";
    let Some(row) = lanes.row(sql, &[&text(key), &now_ms]).await? else { return Ok(None) };
    let mut cells = Columns::new(&row);
    Ok(Some(Claimed { execution_id: cells.text("execution_id")?, fingerprint: cells.text("fingerprint")? }))
}

/// See [`store::Store::take_claim`].
pub(super) async fn take(
    lanes: &Lanes,
    execution_id: &str,
    claim: &Claim,
) -> Result<Option<Claimed>, SqlError> {
    let (key, id, fingerprint) = (text(&claim.key), text(execution_id), text(&claim.fingerprint));
    for _ in 0..TRIES {
        let taken = lanes.row(TAKE, &[&key, &id, &fingerprint, &claim.expires_ms, &claim.now_ms]).await?;
        if taken.is_some() {
            return Ok(None);
        }
        if let Some(claimed) = claimed(lanes, &claim.key, claim.now_ms).await? {
            return Ok(Some(claimed));
        }
    }
    Err(PgError::Contended.into())
}

/// See [`store::Store::prune_claims`].
pub(super) async fn prune(lanes: &Lanes, now_ms: i64, batch: u32) -> Result<u64, SqlError> {
    let sql = "DELETE FROM claims WHERE key IN
        (SELECT key FROM claims WHERE expires_ms <= $1 ORDER BY expires_ms LIMIT $2 FOR UPDATE SKIP LOCKED)";
    lanes.execute(sql, &[&now_ms, &i64::from(batch)]).await
}
