//! The `api_keys` table. Holds hashes of secrets, never secrets.

use domain::ApiKey;
use store::{KeyUpdate, NewKey, StoreError};
use tokio_postgres::Row;

use super::cells::Columns;
use super::error::conflict;
use super::exclusive::Exclusive;
use super::lanes::Lanes;
use super::text::{json, optional, optional_json, text};
use crate::error::{BadRow, SqlError};
use crate::rows;

macro_rules! columns {
    () => {
        "id, name, scopes, custom_skill_execution_enabled, revoked, settings, created_at, last_used_at"
    };
}

/// See [`store::Store::create_key`].
pub(super) async fn create(lanes: &Lanes, key: &NewKey) -> Result<ApiKey, SqlError> {
    let sql = concat!(
        "INSERT INTO api_keys (id, name, secret_hash, scopes, custom_skill_execution_enabled, settings, created_at)
            VALUES ($1, $2, $3, $4, $5, $6, $7) RETURNING ",
        columns!()
    );
    let written = lanes
        .row(
            sql,
            &[
                &text(&key.id),
                &text(&key.name),
                &text(&key.secret_hash),
                &json(&key.scopes)?,
                &key.custom_skill_execution_enabled,
                &json(&key.settings)?,
                &text(&key.created_at),
            ],
        )
        .await;
    let row = written.map_err(|e| conflict(e, || format!("key {}", key.id)))?;
    Ok(read(&row.ok_or_else(|| not_found(&key.id))?)?)
}

/// Every readable key, newest first; one that cannot be read is logged and left out.
pub(super) async fn all(lanes: &Lanes) -> Result<Vec<ApiKey>, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM api_keys ORDER BY id DESC");
    let mut keys = Vec::new();
    for row in lanes.rows(sql, &[]).await? {
        match read(&row) {
            Ok(key) => keys.push(key),
            Err(error) => tracing::error!(%error, "an API key cannot be read"),
        }
    }
    Ok(keys)
}

/// See [`store::Store::key_by_hash`].
pub(super) async fn by_hash(lanes: &Lanes, secret_hash: &str) -> Result<Option<ApiKey>, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM api_keys WHERE secret_hash = $1");
    let row = lanes.row(sql, &[&text(secret_hash)]).await?;
    Ok(row.map(|row| read(&row)).transpose()?)
}

/// See [`store::Store::update_key`]. A revoked key stays revoked.
pub(super) async fn update(exclusive: &Exclusive, id: &str, update: &KeyUpdate) -> Result<ApiKey, SqlError> {
    let sql = concat!(
        "UPDATE api_keys SET name = coalesce($2, name), scopes = coalesce($3, scopes),
            custom_skill_execution_enabled = coalesce($4, custom_skill_execution_enabled),
            revoked = revoked OR coalesce($5, false), secret_hash = coalesce($6, secret_hash),
            settings = coalesce($7, settings)
        WHERE id = $1 RETURNING ",
        columns!()
    );
    let mut session = exclusive.take().await?;
    let tx = session.begin().await?;
    let changed = tx
        .row(
            sql,
            &[
                &text(id),
                &optional(update.name.as_ref()),
                &optional_json(update.scopes.as_ref())?,
                &update.custom_skill_execution_enabled,
                &update.revoked,
                &optional(update.secret_hash.as_ref()),
                &optional_json(update.settings.as_ref())?,
            ],
        )
        .await;
    let row = changed.map_err(|e| conflict(e, || "a key with this secret".into()))?;
    let key = read(&row.ok_or_else(|| not_found(id))?)?;
    tx.commit().await?;
    Ok(key)
}

/// See [`store::Store::delete_key`].
pub(super) async fn delete(lanes: &Lanes, id: &str) -> Result<(), SqlError> {
    match lanes.execute("DELETE FROM api_keys WHERE id = $1", &[&text(id)]).await? {
        0 => Err(not_found(id)),
        _ => Ok(()),
    }
}

/// See [`store::Store::touch_key`]. A key that was deleted meanwhile is no error.
pub(super) async fn touch(lanes: &Lanes, id: &str, now: &str) -> Result<(), SqlError> {
    lanes.execute("UPDATE api_keys SET last_used_at = $2 WHERE id = $1", &[&text(id), &text(now)]).await?;
    Ok(())
}

fn read(row: &Row) -> Result<ApiKey, BadRow> {
    rows::key(&mut Columns::new(row))
}

fn not_found(id: &str) -> SqlError {
    StoreError::NotFound { what: "key", id: id.to_owned() }.into()
}
