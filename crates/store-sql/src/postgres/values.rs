//! The `kv` table: small named values, such as token hashes and settings.

use super::cells::Columns;
use super::lanes::Lanes;
use super::text::text;
use crate::cells::Cells;
use crate::error::SqlError;

/// See [`store::Store::value`].
pub(super) async fn get(lanes: &Lanes, name: &str) -> Result<Option<String>, SqlError> {
    let row = lanes.row("SELECT value FROM kv WHERE name = $1", &[&text(name)]).await?;
    Ok(row.map(|row| Columns::new(&row).text("value")).transpose()?)
}

/// See [`store::Store::set_value`].
pub(super) async fn set(lanes: &Lanes, name: &str, value: &str) -> Result<(), SqlError> {
    let sql = "INSERT INTO kv (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    lanes.execute(sql, &[&text(name), &text(value)]).await?;
    Ok(())
}
