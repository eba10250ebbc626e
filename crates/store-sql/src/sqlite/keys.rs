//! The `api_keys` table. Holds hashes of secrets, never secrets.

use domain::ApiKey;
use rusqlite::{Connection, OptionalExtension as _, Row, params};
use serde_json::to_string;
use store::{KeyUpdate, NewKey, StoreError};

use super::cells::Columns;
use crate::error::{BadRow, SqlError, conflict};
use crate::rows;

macro_rules! columns {
    () => {
        "id, name, scopes, custom_skill_execution_enabled, revoked, settings, created_at, last_used_at"
    };
}

/// See [`store::Store::create_key`].
pub(super) fn create(connection: &Connection, key: &NewKey) -> Result<ApiKey, SqlError> {
    let sql = "INSERT INTO api_keys (id, name, secret_hash, scopes, custom_skill_execution_enabled, settings,
            created_at)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let values = params![
        key.id,
        key.name,
        key.secret_hash,
        to_string(&key.scopes)?,
        key.custom_skill_execution_enabled,
        to_string(&key.settings)?,
        key.created_at,
    ];
    connection.prepare_cached(sql)?.execute(values).map_err(|e| conflict(e, || format!("key {}", key.id)))?;
    by_id(connection, &key.id)
}

/// Every readable key, newest first; one that cannot be read is logged and left out.
pub(super) fn all(connection: &Connection) -> Result<Vec<ApiKey>, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM api_keys ORDER BY id DESC");
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query([])?;
    let mut keys = Vec::new();
    while let Some(row) = rows.next()? {
        match read(row) {
            Ok(key) => keys.push(key),
            Err(error) => tracing::error!(%error, "an API key cannot be read"),
        }
    }
    Ok(keys)
}

/// See [`store::Store::key_by_hash`].
pub(super) fn by_hash(connection: &Connection, secret_hash: &str) -> Result<Option<ApiKey>, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM api_keys WHERE secret_hash = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    let read = statement.query_row([secret_hash], |row| Ok(read(row))).optional()?;
    Ok(read.transpose()?)
}

/// See [`store::Store::update_key`]. A revoked key stays revoked.
pub(super) fn update(connection: &Connection, id: &str, update: &KeyUpdate) -> Result<ApiKey, SqlError> {
    let sql = "UPDATE api_keys SET name = coalesce(?2, name), scopes = coalesce(?3, scopes),
            custom_skill_execution_enabled = coalesce(?4, custom_skill_execution_enabled),
            revoked = max(revoked, coalesce(?5, 0)), secret_hash = coalesce(?6, secret_hash),
            settings = coalesce(?7, settings)
        WHERE id = ?1";
    let values = params![
        id,
        update.name,
        update.scopes.as_ref().map(to_string).transpose()?,
        update.custom_skill_execution_enabled,
        update.revoked,
        update.secret_hash,
        update.settings.as_ref().map(to_string).transpose()?,
    ];
    connection
        .prepare_cached(sql)?
        .execute(values)
        .map_err(|e| conflict(e, || "a key with this secret".into()))?;
    by_id(connection, id)
}

/// See [`store::Store::delete_key`].
pub(super) fn delete(connection: &Connection, id: &str) -> Result<(), SqlError> {
    match connection.prepare_cached("DELETE FROM api_keys WHERE id = ?1")?.execute([id])? {
        0 => Err(not_found(id)),
        _ => Ok(()),
    }
}

/// See [`store::Store::touch_key`]. A key that was deleted meanwhile is no error.
pub(super) fn touch(connection: &Connection, id: &str, now: &str) -> Result<(), SqlError> {
    connection.prepare_cached("UPDATE api_keys SET last_used_at = ?2 WHERE id = ?1")?.execute([id, now])?;
    Ok(())
}

fn by_id(connection: &Connection, id: &str) -> Result<ApiKey, SqlError> {
    let sql = concat!("SELECT ", columns!(), " FROM api_keys WHERE id = ?1");
    let mut statement = connection.prepare_cached(sql)?;
    let read = statement.query_row([id], |row| Ok(read(row))).optional()?;
    Ok(read.ok_or_else(|| not_found(id))??)
}

fn read(row: &Row<'_>) -> Result<ApiKey, BadRow> {
    rows::key(&mut Columns::new(row))
}

fn not_found(id: &str) -> SqlError {
    StoreError::NotFound { what: "key", id: id.to_owned() }.into()
}
