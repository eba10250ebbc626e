//! Connections that one caller has for itself for a while: transactions of several statements, and reads that take long.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use store::StoreError;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::connect::{Connector, PATIENCE};
use super::error::PgError;
use super::session::{Session, Tx};
use crate::error::SqlError;

/// Connections at most.
const SESSIONS: u32 = 4;
/// Longest time to wait for one of them.
const QUEUE: Duration = Duration::from_secs(20);

pub(super) struct Exclusive {
    connector: Arc<Connector>,
    idle: Mutex<Vec<Session>>,
    permits: Semaphore,
}

impl Exclusive {
    /// Connects to nothing yet.
    pub(super) fn new(connector: Arc<Connector>) -> Self {
        Self { connector, idle: Mutex::default(), permits: Semaphore::new(SESSIONS as usize) }
    }

    /// A connection; it comes back when the result is dropped.
    pub(super) async fn take(&self) -> Result<Taken<'_>, SqlError> {
        let permit = tokio::time::timeout(QUEUE, self.permits.acquire()).await.map_err(|_| PgError::Busy)?;
        let permit = permit.map_err(|_| StoreError::Closed)?;
        // One that was lost while nobody used it does not always know so.
        while let Some(session) = self.idle() {
            if session.is_alive().await {
                return Ok(Taken { session: Some(session), home: self, _permit: permit });
            }
        }
        let session = Session::new(self.connector.open_patiently(PATIENCE, |_| {}).await?);
        Ok(Taken { session: Some(session), home: self, _permit: permit })
    }

    fn idle(&self) -> Option<Session> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop()
    }

    /// Lets those who have a connection finish; later callers are refused.
    pub(super) async fn close(&self) {
        if let Ok(all) = self.permits.acquire_many(SESSIONS).await {
            self.permits.close();
            drop(all);
        }
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A connection of one's own.
pub(super) struct Taken<'a> {
    /// `None` only while dropping.
    session: Option<Session>,
    home: &'a Exclusive,
    // Given back last, when the connection is there for the next.
    _permit: SemaphorePermit<'a>,
}

impl Taken<'_> {
    /// Begins a transaction. What is not committed is rolled back.
    pub(super) async fn begin(&mut self) -> Result<Tx<'_>, SqlError> {
        self.session.as_mut().ok_or(StoreError::Closed)?.begin().await
    }

    /// Begins one that only reads, all of it of the same moment.
    pub(super) async fn snapshot(&mut self) -> Result<Tx<'_>, SqlError> {
        self.session.as_mut().ok_or(StoreError::Closed)?.snapshot().await
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        let Some(session) = self.session.take().filter(|session| !session.is_closed()) else { return };
        if session.is_left_alone() {
            // The next one shall not wait for what nobody wants any more.
            self.home.connector.cancel(session.cancel_token());
        } else {
            self.home.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
        }
    }
}
