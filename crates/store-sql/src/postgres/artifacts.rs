//! The `artifacts` table: files that executions leave behind, with their bytes.

use domain::Artifact;
use tokio_postgres::Row;

use super::cells::Columns;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::text::text;
use crate::cells::Cells;
use crate::common::{nanoseconds, signed};
use crate::error::{BadRow, SqlError};
use crate::rows;

macro_rules! select {
    ($where:literal) => {
        concat!(
            "SELECT id, execution_id, api_key_id, name, mime, bytes, sha256, created_at FROM artifacts WHERE ",
            $where
        )
    };
}

/// See [`store::Artifacts::put_artifact`]. On a connection of its own: files are large.
pub(super) async fn put(exclusive: &Exclusive, artifact: &Artifact, content: &[u8]) -> Result<(), SqlError> {
    let sql = "INSERT INTO artifacts (id, execution_id, api_key_id, name, mime, bytes, sha256, created_at, created_ns,
            content)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)";
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let written = tx
        .execute(
            sql,
            &[
                &text(&artifact.id),
                &text(&artifact.execution_id),
                &text(&artifact.api_key_id),
                &text(&artifact.name),
                &text(&artifact.mime),
                &signed(artifact.bytes),
                &text(&artifact.sha256),
                &text(&artifact.created_at),
                &nanoseconds(&artifact.created_at)?,
                &content,
            ],
        )
        .await;
    written.map_err(|e| conflict(e, || format!("artifact {}", artifact.id)))?;
    tx.commit().await
}

/// See [`store::Artifacts::artifact`].
pub(super) async fn one(lanes: &Lanes, id: &str) -> Result<Option<Artifact>, SqlError> {
    let row = lanes.row(select!("id = $1"), &[&text(id)]).await?;
    Ok(row.map(|row| read(&row)).transpose()?)
}

/// See [`store::Artifacts::artifact_content`]. On a connection of its own: files are large.
pub(super) async fn content(exclusive: &Exclusive, id: &str) -> Result<Option<Vec<u8>>, SqlError> {
    let mut session = exclusive.take().await?;
    let snapshot = session.snapshot().await?;
    let row = snapshot.row("SELECT content FROM artifacts WHERE id = $1", &[&text(id)]).await?;
    snapshot.commit().await?;
    Ok(row.map(|row| Columns::new(&row).bytes("content")).transpose()?)
}

/// See [`store::Artifacts::artifacts_of`].
pub(super) async fn of(lanes: &Lanes, execution_id: &str) -> Result<Vec<Artifact>, SqlError> {
    let rows = lanes.rows(select!("execution_id = $1 ORDER BY seq"), &[&text(execution_id)]).await?;
    rows.iter().map(|row| Ok(read(row)?)).collect()
}

fn read(row: &Row) -> Result<Artifact, BadRow> {
    rows::artifact(&mut Columns::new(row))
}
