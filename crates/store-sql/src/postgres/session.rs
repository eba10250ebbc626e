//! One connection with the statements that were prepared on it.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_postgres::types::ToSql;
use tokio_postgres::{CancelToken, Client, IsolationLevel, Row, Statement, Transaction};

use super::connect::answer;
use super::error::PgError;
use crate::error::SqlError;

/// Parameters of a statement.
pub(super) type Params<'a> = &'a [&'a (dyn ToSql + Sync)];

/// Ends its connection in an orderly way when it is dropped.
pub(super) struct Session {
    client: Client,
    prepared: Prepared,
    /// Whether a transaction of it waits for an answer, or nobody waits for it any more.
    waiting: Waiting,
}

#[derive(Default)]
struct Waiting(AtomicBool);

impl Waiting {
    /// Waits for an answer, but not for ever. When the caller gives up, or none comes, it stays noted.
    async fn answer<T>(
        &self,
        work: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, PgError> {
        self.0.store(true, Ordering::Relaxed);
        let answered = answer(work).await;
        if !matches!(answered, Err(PgError::NoAnswer)) {
            self.0.store(false, Ordering::Relaxed);
        }
        answered
    }
}

#[derive(Default)]
struct Prepared(Mutex<HashMap<String, Statement>>);

impl Prepared {
    fn known(&self) -> MutexGuard<'_, HashMap<String, Statement>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn get(&self, sql: &str) -> Option<Statement> {
        self.known().get(sql).cloned()
    }

    fn note(&self, sql: &str, statement: &Statement) {
        self.known().insert(sql.to_owned(), statement.clone());
    }
}

impl Session {
    pub(super) fn new(client: Client) -> Self {
        Self { client, prepared: Prepared::default(), waiting: Waiting::default() }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.client.is_closed()
    }

    /// Whether something is still on its way that nobody waits for.
    pub(super) fn is_left_alone(&self) -> bool {
        self.waiting.0.load(Ordering::Relaxed)
    }

    /// What ends a statement that nobody waits for.
    pub(super) fn cancel_token(&self) -> CancelToken {
        self.client.cancel_token()
    }

    /// Whether the server answers.
    pub(super) async fn is_alive(&self) -> bool {
        !self.is_closed() && answer(self.client.check_connection()).await.is_ok()
    }

    async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement);
        }
        let statement = self.client.prepare(sql).await?;
        self.prepared.note(sql, &statement);
        Ok(statement)
    }

    /// All rows of a statement, which is prepared and remembered: only for those of which there are few.
    pub(super) async fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, PgError> {
        answer(async { self.client.query(&self.prepare(sql).await?, params).await }).await
    }

    /// Runs such a statement. Returns the rows that it changed.
    pub(super) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, PgError> {
        answer(async { self.client.execute(&self.prepare(sql).await?, params).await }).await
    }

    /// Begins a transaction. What is not committed is rolled back.
    pub(super) async fn begin(&mut self) -> Result<Tx<'_>, SqlError> {
        let transaction = self.waiting.answer(self.client.transaction()).await?;
        Ok(Tx { transaction, prepared: &self.prepared, waiting: &self.waiting })
    }

    /// Begins one that only reads, all of it of the same moment.
    pub(super) async fn snapshot(&mut self) -> Result<Tx<'_>, SqlError> {
        let builder = self.client.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let transaction = self.waiting.answer(builder.read_only(true).start()).await?;
        Ok(Tx { transaction, prepared: &self.prepared, waiting: &self.waiting })
    }
}

/// A transaction.
pub(super) struct Tx<'a> {
    transaction: Transaction<'a>,
    prepared: &'a Prepared,
    waiting: &'a Waiting,
}

impl Tx<'_> {
    async fn prepare(&self, sql: &str) -> Result<Statement, tokio_postgres::Error> {
        if let Some(statement) = self.prepared.get(sql) {
            return Ok(statement);
        }
        let statement = self.transaction.prepare(sql).await?;
        self.prepared.note(sql, &statement);
        Ok(statement)
    }

    /// All rows of a statement, which is prepared and remembered: only for those of which there are few.
    pub(super) async fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, SqlError> {
        let rows =
            self.waiting.answer(async { self.transaction.query(&self.prepare(sql).await?, params).await });
        Ok(rows.await?)
    }

    /// The first row of such a statement.
    pub(super) async fn row(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, SqlError> {
        Ok(self.rows(sql, params).await?.into_iter().next())
    }

    /// Runs such a statement. Returns the rows that it changed.
    pub(super) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, SqlError> {
        let changed =
            self.waiting.answer(async { self.transaction.execute(&self.prepare(sql).await?, params).await });
        Ok(changed.await?)
    }

    /// All rows of a statement that was put together, which is planned for its values and not remembered.
    pub(super) async fn rows_once(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, SqlError> {
        Ok(self.waiting.answer(self.transaction.query(sql, params)).await?)
    }

    /// The first row of such a statement.
    pub(super) async fn row_once(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, SqlError> {
        Ok(self.rows_once(sql, params).await?.into_iter().next())
    }

    /// Returns when it is durable.
    pub(super) async fn commit(self) -> Result<(), SqlError> {
        Ok(self.waiting.answer(self.transaction.commit()).await?)
    }
}
