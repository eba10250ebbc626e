//! What the migrations of every database have in common: numbered files, and what a database says about them.

use domain::ids::sha256_hex;
use store::StoreError;

use crate::error::SqlError;

/// One embedded file.
pub(crate) struct Migration {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) sql: &'static str,
}

/// The database must hold an unchanged prefix of what the program knows. `applied` are the numbers and checksums in it,
/// in order.
pub(crate) fn check(applied: &[(u32, String)], migrations: &[Migration]) -> Result<(), SqlError> {
    let known = migrations.last().map_or(0, |m| m.number);
    if let Some((found, _)) = applied.last()
        && *found > known
    {
        return Err(StoreError::TooNew { found: *found, known }.into());
    }
    for (migration, (number, sha256)) in migrations.iter().zip(applied) {
        if migration.number != *number {
            return Err(SqlError::MigrationMissing(migration.number));
        }
        if sha256_hex(migration.sql) != *sha256 {
            return Err(SqlError::MigrationChanged(*number));
        }
    }
    Ok(())
}
