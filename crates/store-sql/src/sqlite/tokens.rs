//! The `management_tokens` table. Holds hashes of secrets, never secrets.

use domain::ManagementToken;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::to_string;
use store::StoreError;

use super::cells::Columns;
use crate::error::{BadRow, SqlError, conflict};
use crate::rows;

/// See [`store::Tokens::create_token`].
pub(super) fn create(
    connection: &Connection,
    token: &ManagementToken,
    secret_hash: &str,
) -> Result<(), SqlError> {
    let sql = "INSERT INTO management_tokens (id, name, secret_hash, scopes, created_at, last_used_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let values = params![
        token.id,
        token.name,
        secret_hash,
        to_string(&token.scopes)?,
        token.created_at,
        token.last_used_at
    ];
    let written = connection.prepare_cached(sql)?.execute(values);
    written.map(drop).map_err(|e| conflict(e, || format!("token `{}`", token.name)))
}

/// Every readable token, newest first; one that cannot be read is logged and left out.
pub(super) fn all(connection: &Connection) -> Result<Vec<ManagementToken>, SqlError> {
    let sql = "SELECT id, name, scopes, created_at, last_used_at FROM management_tokens ORDER BY id DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut tokens = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(token) => tokens.push(token),
            Err(error) => tracing::error!(%error, "a management token cannot be read"),
        }
    }
    Ok(tokens)
}

/// See [`store::Tokens::token_by_hash`].
pub(super) fn by_hash(
    connection: &Connection,
    secret_hash: &str,
) -> Result<Option<ManagementToken>, SqlError> {
    let sql =
        "SELECT id, name, scopes, created_at, last_used_at FROM management_tokens WHERE secret_hash = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let read = statement.query_row([secret_hash], |row| Ok(read(row))).optional()?;
    Ok(read.transpose()?)
}

/// See [`store::Tokens::delete_token`].
pub(super) fn delete(connection: &Connection, id: &str) -> Result<(), SqlError> {
    match connection.prepare_cached("DELETE FROM management_tokens WHERE id = ?1")?.execute([id])? {
        0 => Err(StoreError::NotFound { what: "token", id: id.to_owned() }.into()),
        _ => Ok(()),
    }
}

/// See [`store::Tokens::touch_token`].
pub(super) fn touch(connection: &Connection, id: &str, now: &str) -> Result<(), SqlError> {
    let sql = "UPDATE management_tokens SET last_used_at = ?2 WHERE id = ?1";
    connection.prepare_cached(sql)?.execute([id, now])?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<ManagementToken, BadRow> {
    rows::token(&mut Columns::new(row))
}
