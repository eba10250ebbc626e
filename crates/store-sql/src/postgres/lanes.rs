//! A few connections that everybody shares: statements of one round trip are sent one behind the other without waiting
//! for each answer. Each is its own transaction; what needs several goes over [`super::exclusive`].
//!
//! A lane that is lost is opened again by the next who needs it. A statement that may have changed something is never
//! sent twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use store::StoreError;
use tokio::sync::{Mutex, Semaphore, SemaphorePermit};
use tokio_postgres::Row;

use super::connect::{Connector, PATIENCE};
use super::error::PgError;
use super::session::{Params, Session};
use crate::error::SqlError;

/// Connections at most. Few callers use few of them.
const LANES: usize = 16;
/// Statements without an answer at most; beyond it callers wait to send theirs.
const WAITING: u32 = 1024;

pub(super) struct Lanes {
    connector: Arc<Connector>,
    all: [Lane; LANES],
    /// One for each statement that has no answer yet.
    permits: Semaphore,
}

#[derive(Default)]
struct Lane {
    /// Statements that have no answer yet.
    busy: AtomicUsize,
    /// Held while connecting, so that many who wait make one connection.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    session: Option<Arc<Session>>,
    /// When it was last tried in vain, and why.
    failed: Option<(Instant, PgError)>,
}

/// A lane in use.
struct Ride<'a> {
    lane: &'a Lane,
    _permit: SemaphorePermit<'a>,
}

impl Drop for Ride<'_> {
    fn drop(&mut self) {
        self.lane.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lanes {
    /// Connects to nothing yet.
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, all: Default::default(), permits: Semaphore::new(WAITING as usize) }
    }

    /// All rows of a statement.
    pub(super) async fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, SqlError> {
        let ride = self.ride().await?;
        let session = ride.lane.session(&self.connector).await?;
        match session.rows(sql, params).await {
            // Reading twice harms nobody.
            Err(error) if error.is_passing() && sql.starts_with("SELECT") => {
                ride.lane.forget(&session).await;
                Ok(ride.lane.session(&self.connector).await?.rows(sql, params).await?)
            }
            rows => Ok(rows?),
        }
    }

    /// The first row of a statement.
    pub(super) async fn row(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, SqlError> {
        Ok(self.rows(sql, params).await?.into_iter().next())
    }

    /// Runs a statement. Returns the rows that it changed.
    pub(super) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, SqlError> {
        let ride = self.ride().await?;
        Ok(ride.lane.session(&self.connector).await?.execute(sql, params).await?)
    }

    /// The lane with the least on it; of those the first, so that a quiet program keeps few connections.
    async fn ride(&self) -> Result<Ride<'_>, SqlError> {
        let permit = self.permits.acquire().await.map_err(|_| StoreError::Closed)?;
        let [first, rest @ ..] = &self.all;
        let mut best = first;
        for lane in rest {
            if lane.busy.load(Ordering::Relaxed) < best.busy.load(Ordering::Relaxed) {
                best = lane;
            }
        }
        best.busy.fetch_add(1, Ordering::Relaxed);
        Ok(Ride { lane: best, _permit: permit })
    }

    /// Lets those who wait for an answer get it; later callers are refused.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(WAITING).await {
            self.permits.close();
            drop(all);
        }
        for lane in &self.all {
            lane.state.lock().await.session = None;
        }
    }
}

impl Lane {
    /// A connection that is known to be lost is not used again, even before it knows so itself.
    async fn forget(&self, lost: &Arc<Session>) {
        let mut state = self.state.lock().await;
        if state.session.as_ref().is_some_and(|session| Arc::ptr_eq(session, lost)) {
            state.session = None;
        }
    }

    async fn session(&self, connector: &Connector) -> Result<Arc<Session>, PgError> {
        let asked = Instant::now();
        let mut state = self.state.lock().await;
        if let Some(session) = state.session.as_ref().filter(|session| !session.is_closed()) {
            return Ok(Arc::clone(session));
        }
        // Whoever waited while it was tried in vain does not try again.
        if let Some((_, error)) = state.failed.as_ref().filter(|(when, _)| *when >= asked) {
            return Err(error.clone());
        }
        match connector.open_patiently(PATIENCE, |_| {}).await {
            Ok(client) => {
                let session = Arc::new(Session::new(client));
                *state = State { session: Some(Arc::clone(&session)), failed: None };
                Ok(session)
            }
            Err(error) => {
                *state = State { session: None, failed: Some((Instant::now(), error.clone())) };
                Err(error)
            }
        }
    }
}
