//! Brings a database to the newest schema. Forward only; every file is applied once, whole, under an exclusive lock.
//!
//! Never edits data outside the embedded files, and never touches a database that a newer release wrote.

use domain::ids::sha256_hex;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::SqlError;
use crate::migration::{Migration, check};

/// Ordered by number, without holes, from 1.
const ALL: &[Migration] = &[
    Migration { number: 1, name: "init", sql: include_str!("../../migrations/sqlite/0001_init.sql") },
    Migration { number: 2, name: "kept", sql: include_str!("../../migrations/sqlite/0002_kept.sql") },
    Migration {
        number: 3,
        name: "approvals",
        sql: include_str!("../../migrations/sqlite/0003_approvals.sql"),
    },
    Migration {
        number: 4,
        name: "operations",
        sql: include_str!("../../migrations/sqlite/0004_operations.sql"),
    },
];

/// Applies what is missing. Safe to call from several processes at once.
pub(super) fn apply(connection: &mut Connection) -> Result<(), SqlError> {
    apply_all(connection, ALL)
}

fn apply_all(connection: &mut Connection, migrations: &[Migration]) -> Result<(), SqlError> {
    for migration in migrations {
        // Each transaction looks again: another process may have gone ahead in between.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Exclusive)?;
        let applied = applied(&transaction)?;
        check(&applied, migrations)?;
        if applied.iter().all(|(number, _)| *number != migration.number) {
            run(&transaction, migration)?;
        }
        transaction.commit()?;
    }
    Ok(())
}

/// Numbers and checksums in the database, in order.
fn applied(transaction: &Transaction<'_>) -> Result<Vec<(u32, String)>, SqlError> {
    transaction.execute_batch(
        "CREATE TABLE IF NOT EXISTS schema_migrations (
             number     INTEGER NOT NULL PRIMARY KEY,
             name       TEXT    NOT NULL,
             sha256     TEXT    NOT NULL,
             applied_at TEXT    NOT NULL
         ) STRICT;",
    )?;
    let mut statement =
        transaction.prepare("SELECT number, sha256 FROM schema_migrations ORDER BY number")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn run(transaction: &Transaction<'_>, migration: &Migration) -> Result<(), SqlError> {
    transaction.execute_batch(migration.sql)?;
    transaction.execute(
        "INSERT INTO schema_migrations (number, name, sha256, applied_at) VALUES (?1, ?2, ?3, ?4)",
        (migration.number, migration.name, sha256_hex(migration.sql), jiff::Timestamp::now().to_string()),
    )?;
    tracing::info!(number = migration.number, name = migration.name, "database migration applied");
    Ok(())
}

#[cfg(test)]
mod tests {
    use store::StoreError;

    use super::*;

    const ONE: Migration = Migration { number: 1, name: "one", sql: "CREATE TABLE a (x) STRICT;" };
    const A: Migration = Migration { number: 1, name: "one", sql: "CREATE TABLE a (x TEXT) STRICT;" };
    const A_CHANGED: Migration = Migration { number: 1, name: "one", sql: "CREATE TABLE a (y TEXT) STRICT;" };
    const B: Migration = Migration { number: 2, name: "two", sql: "CREATE TABLE b (x TEXT) STRICT;" };
    const B_BAD: Migration = Migration {
        number: 2,
        name: "two",
        sql: "CREATE TABLE b (x TEXT) STRICT; INSERT INTO nowhere VALUES (1);",
    };

    fn numbers(connection: &mut Connection) -> Vec<u32> {
        let transaction = connection.transaction().unwrap();
        applied(&transaction).unwrap().into_iter().map(|(number, _)| number).collect()
    }

    #[test]
    fn the_embedded_files_are_numbered_without_holes() {
        let found: Vec<u32> = ALL.iter().map(|m| m.number).collect();
        let expected: Vec<u32> = (1..=u32::try_from(ALL.len()).unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn applies_what_is_missing_once() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply_all(&mut connection, &[A]).unwrap();
        apply_all(&mut connection, &[A, B]).unwrap();
        apply_all(&mut connection, &[A, B]).unwrap();
        assert_eq!(numbers(&mut connection), [1, 2]);
        connection.execute("INSERT INTO b VALUES ('x')", []).unwrap();
    }

    #[test]
    fn refuses_a_changed_file_and_a_newer_database() {
        let mut connection = Connection::open_in_memory().unwrap();
        apply_all(&mut connection, &[A, B]).unwrap();
        assert!(matches!(apply_all(&mut connection, &[A_CHANGED, B]), Err(SqlError::MigrationChanged(1))));
        let newer = apply_all(&mut connection, &[A]);
        assert!(matches!(newer, Err(SqlError::Store(StoreError::TooNew { found: 2, known: 1 }))));
        connection.execute("DELETE FROM schema_migrations WHERE number = 1", []).unwrap();
        assert!(matches!(apply_all(&mut connection, &[A, B]), Err(SqlError::MigrationMissing(1))));
    }

    #[test]
    fn a_failing_file_leaves_nothing_behind() {
        let mut connection = Connection::open_in_memory().unwrap();
        assert!(apply_all(&mut connection, &[ONE]).is_err(), "STRICT tables need types");
        assert!(apply_all(&mut connection, &[A, B_BAD]).is_err());
        assert_eq!(numbers(&mut connection), [1]);
        apply_all(&mut connection, &[A, B]).unwrap();
    }
}
