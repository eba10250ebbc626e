//! Brings a database to the newest schema. Forward only; every file is applied once, whole, while a lock of the database
//! keeps other processes waiting.
//!
//! Never edits data outside the embedded files, and never touches a database that a newer release wrote.

use domain::ids::sha256_hex;
use tokio_postgres::Client;

use super::connect::answer;
use crate::error::SqlError;
use crate::migration::{Migration, check};

/// Ordered by number, without holes, from 1.
const ALL: &[Migration] =
    &[Migration { number: 1, name: "init", sql: include_str!("../../migrations/postgres/0001_init.sql") }];

/// Held by the session that migrates; others wait for it.
const LOCK: &str =
    "SELECT pg_advisory_lock(hashtextextended('omni-skills migrations ' || current_schema(), 0))";
const UNLOCK: &str =
    "SELECT pg_advisory_unlock(hashtextextended('omni-skills migrations ' || current_schema(), 0))";

/// Applies what is missing. Safe to call from several processes at once. Needs the connection for itself.
pub(super) async fn apply(client: &mut Client) -> Result<(), SqlError> {
    apply_all(client, ALL).await
}

async fn apply_all(client: &mut Client, migrations: &[Migration]) -> Result<(), SqlError> {
    // A change of a large table takes its time, and so does the wait for one.
    client.batch_execute("SET statement_timeout = 0").await?;
    client.batch_execute(LOCK).await?;
    let applied = apply_locked(client, migrations).await;
    answer(client.batch_execute(UNLOCK)).await?;
    applied
}

async fn apply_locked(client: &mut Client, migrations: &[Migration]) -> Result<(), SqlError> {
    client
        .batch_execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations (
                 number     bigint NOT NULL PRIMARY KEY,
                 name       text   NOT NULL,
                 sha256     text   NOT NULL,
                 applied_at text   NOT NULL)",
        )
        .await?;
    let rows = client.query("SELECT number, sha256 FROM schema_migrations ORDER BY number", &[]).await?;
    let mut applied = Vec::with_capacity(rows.len());
    for row in rows {
        let number: i64 = row.try_get(0)?;
        applied.push((u32::try_from(number).unwrap_or(u32::MAX), row.try_get::<_, String>(1)?));
    }
    check(&applied, migrations)?;
    for migration in migrations.iter().skip(applied.len()) {
        let tx = client.transaction().await?;
        tx.batch_execute(migration.sql).await?;
        let sql = "INSERT INTO schema_migrations (number, name, sha256, applied_at) VALUES ($1, $2, $3, $4)";
        let (number, now) = (i64::from(migration.number), jiff::Timestamp::now().to_string());
        tx.execute(sql, &[&number, &migration.name, &sha256_hex(migration.sql), &now]).await?;
        tx.commit().await?;
        tracing::info!(number = migration.number, name = migration.name, "database migration applied");
    }
    Ok(())
}
