//! Where records of turns go: to the store, off the request's path.
//!
//! A record never holds back an answer and never fails one. When the store cannot keep up, records are dropped and
//! counted, loudly; executions are not written here, and never dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use domain::TurnRecord;
use store::Turns;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;

/// Records that may wait for the store.
const WAITING: usize = 4096;

/// Takes records of turns.
pub struct TurnJournal {
    store: Arc<dyn Turns>,
    waiting: Arc<Semaphore>,
    tasks: TaskTracker,
    dropped: AtomicU64,
}

impl TurnJournal {
    /// Over this store.
    pub fn new(store: Arc<dyn Turns>) -> Self {
        let waiting = Arc::new(Semaphore::new(WAITING));
        Self { store, waiting, tasks: TaskTracker::new(), dropped: AtomicU64::new(0) }
    }

    /// Takes a record. Never waits.
    pub(crate) fn record(&self, turn: TurnRecord) {
        let Ok(place) = Arc::clone(&self.waiting).try_acquire_owned() else {
            let dropped = self.dropped.fetch_add(1, Ordering::Relaxed) + 1;
            tracing::error!(
                turn = turn.id,
                dropped,
                "the store is too slow: the record of a turn is dropped"
            );
            return;
        };
        let store = Arc::clone(&self.store);
        self.tasks.spawn(async move {
            let id = turn.id.clone();
            if let Err(error) = store.record_turn(turn).await {
                let error = &error as &dyn std::error::Error;
                tracing::error!(turn = id, error, "the record of a turn could not be written");
            }
            drop(place);
        });
    }

    /// Returns when everything that was taken is written. For the end of the program.
    pub async fn flush(&self) {
        self.tasks.close();
        self.tasks.wait().await;
        self.tasks.reopen();
    }
}
