//! The `kv` table: small named values, such as token hashes and settings.

use rusqlite::{Connection, OptionalExtension as _};

use crate::error::SqlError;

/// See [`store::Store::value`].
pub(super) fn get(connection: &Connection, name: &str) -> Result<Option<String>, SqlError> {
    let mut statement = connection.prepare_cached("SELECT value FROM kv WHERE name = ?1")?;
    Ok(statement.query_row([name], |row| row.get(0)).optional()?)
}

/// See [`store::Store::set_value`].
pub(super) fn set(connection: &Connection, name: &str, value: &str) -> Result<(), SqlError> {
    let sql = "INSERT INTO kv (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    connection.prepare_cached(sql)?.execute([name, value])?;
    Ok(())
}
