//! The `management_tokens` table. Holds hashes of secrets, never secrets.

use domain::ManagementToken;
use store::StoreError;
use tokio_postgres::Row;

use super::cells::Columns;
use super::error::conflict;
use super::lanes::Lanes;
use super::text::{json, optional, text};
use crate::error::{BadRow, SqlError};
use crate::rows;

macro_rules! select {
    ($rest:literal) => {
        concat!("SELECT id, name, scopes, created_at, last_used_at FROM management_tokens ", $rest)
    };
}

/// See [`store::Tokens::create_token`].
pub(super) async fn create(
    lanes: &Lanes,
    token: &ManagementToken,
    secret_hash: &str,
) -> Result<(), SqlError> {
    let sql = "INSERT INTO management_tokens (id, name, secret_hash, scopes, created_at, last_used_at)
        VALUES ($1, $2, $3, $4, $5, $6)";
    let written = lanes
        .execute(
            sql,
            &[
                &text(&token.id),
                &text(&token.name),
                &text(secret_hash),
                &json(&token.scopes)?,
                &text(&token.created_at),
                &optional(token.last_used_at.as_ref()),
            ],
        )
        .await;
    written.map(drop).map_err(|e| conflict(e, || format!("token `{}`", token.name)))
}

/// Every readable token, newest first; one that cannot be read is logged and left out.
pub(super) async fn all(lanes: &Lanes) -> Result<Vec<ManagementToken>, SqlError> {
    let mut tokens = Vec::new();
    for row in lanes.rows(select!("ORDER BY id DESC"), &[]).await? {
        match read(&row) {
            Ok(token) => tokens.push(token),
            Err(error) => tracing::error!(%error, "a management token cannot be read"),
        }
    }
    Ok(tokens)
}

/// See [`store::Tokens::token_by_hash`].
pub(super) async fn by_hash(lanes: &Lanes, secret_hash: &str) -> Result<Option<ManagementToken>, SqlError> {
    let row = lanes.row(select!("WHERE secret_hash = $1"), &[&text(secret_hash)]).await?;
    Ok(row.map(|row| read(&row)).transpose()?)
}

/// See [`store::Tokens::delete_token`].
pub(super) async fn delete(lanes: &Lanes, id: &str) -> Result<(), SqlError> {
    match lanes.execute("DELETE FROM management_tokens WHERE id = $1", &[&text(id)]).await? {
        0 => Err(StoreError::NotFound { what: "token", id: id.to_owned() }.into()),
        _ => Ok(()),
    }
}

/// See [`store::Tokens::touch_token`].
pub(super) async fn touch(lanes: &Lanes, id: &str, now: &str) -> Result<(), SqlError> {
    let sql = "UPDATE management_tokens SET last_used_at = $2 WHERE id = $1";
    lanes.execute(sql, &[&text(id), &text(now)]).await?;
    Ok(())
}

fn read(row: &Row) -> Result<ManagementToken, BadRow> {
    rows::token(&mut Columns::new(row))
}
