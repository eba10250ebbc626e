//! The `artifacts` table: files that executions leave behind, with their bytes.

use domain::Artifact;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::cells::Columns;
use crate::common::{nanoseconds, signed};
use crate::error::{BadRow, SqlError, conflict};
use crate::rows;

macro_rules! select {
    ($where:literal) => {
        concat!(
            "SELECT id, execution_id, api_key_id, name, mime, bytes, sha256, created_at FROM artifacts WHERE ",
            $where
        )
    };
}

/// See [`store::Artifacts::put_artifact`].
pub(super) fn put(connection: &Connection, artifact: &Artifact, content: &[u8]) -> Result<(), SqlError> {
    let sql = "INSERT INTO artifacts (id, execution_id, api_key_id, name, mime, bytes, sha256, created_at, created_ns,
            content)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
    let values = params![
        artifact.id,
        artifact.execution_id,
        artifact.api_key_id,
        artifact.name,
        artifact.mime,
        signed(artifact.bytes),
        artifact.sha256,
        artifact.created_at,
        nanoseconds(&artifact.created_at)?,
        content,
    ];
    let written = connection.prepare_cached(sql)?.execute(values);
    written.map(drop).map_err(|e| conflict(e, || format!("artifact {}", artifact.id)))
}

/// See [`store::Artifacts::artifact`].
pub(super) fn one(connection: &Connection, id: &str) -> Result<Option<Artifact>, SqlError> {
    let mut statement = connection.prepare_cached(select!("id = ?1"))?;
    let read = statement.query_row([id], |row| Ok(read(row))).optional()?;
    Ok(read.transpose()?)
}

/// See [`store::Artifacts::artifact_content`].
pub(super) fn content(connection: &Connection, id: &str) -> Result<Option<Vec<u8>>, SqlError> {
    let mut statement = connection.prepare_cached("SELECT content FROM artifacts WHERE id = ?1")?;
    Ok(statement.query_row([id], |row| row.get(0)).optional()?)
}

/// See [`store::Artifacts::artifacts_of`].
pub(super) fn of(connection: &Connection, execution_id: &str) -> Result<Vec<Artifact>, SqlError> {
    let mut statement = connection.prepare_cached(select!("execution_id = ?1 ORDER BY rowid"))?;
    let mut rows = statement.query([execution_id])?;
    let mut artifacts = Vec::new();
    while let Some(row) = rows.next()? {
        artifacts.push(read(row)?);
    }
    Ok(artifacts)
}

fn read(row: &Row<'_>) -> Result<Artifact, BadRow> {
    rows::artifact(&mut Columns::new(row))
}
