//! A few read-only connections, lent one at a time to blocking tasks. They see every write that was acknowledged
//! before the read began, and can change nothing.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use store::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::connect;
use crate::error::SqlError;

/// Connections at most; a read beyond them waits its turn.
const READERS: usize = 4;

/// The connections. Opened when first needed, then kept.
#[derive(Clone)]
pub(super) struct Readers {
    shared: Arc<Shared>,
    permits: Arc<Semaphore>,
}

struct Shared {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Shared {
    fn take(&self) -> Result<Connection, SqlError> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.map_or_else(|| connect::read_only(&self.path), Ok)
    }

    fn put_back(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Readers {
    /// No connection is opened yet.
    pub(super) fn new(path: &Path) -> Self {
        let shared = Shared { path: path.to_owned(), idle: Mutex::new(Vec::with_capacity(READERS)) };
        Self { shared: Arc::new(shared), permits: Arc::new(Semaphore::new(READERS)) }
    }

    /// Runs `work` on a connection of its own, off the async threads.
    pub(super) async fn run<T, F>(&self, work: F) -> store::Result<T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, SqlError> + Send + 'static,
    {
        // Closed means that the store was closed.
        let permit = self.permits.clone().acquire_owned().await.map_err(|_| StoreError::Closed)?;
        let shared = self.shared.clone();
        let answer = tokio::task::spawn_blocking(move || lend(&shared, permit, work)).await;
        let result = answer
            .map_err(|error| if error.is_panic() { SqlError::Panicked } else { StoreError::Closed.into() });
        Ok(result.flatten()?)
    }

    /// Refuses further reads, waits for those that run and closes the connections.
    pub(super) async fn stop(&self) {
        let all = u32::try_from(READERS).unwrap_or(u32::MAX);
        // An error means that they were closed before.
        let last = self.permits.acquire_many(all).await.ok();
        self.permits.close();
        drop(last);
        self.shared.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A connection whose job panicked is not lent again.
fn lend<T>(
    shared: &Shared,
    permit: OwnedSemaphorePermit,
    work: impl FnOnce(&Connection) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let connection = shared.take()?;
    let result = work(&connection);
    shared.put_back(connection);
    // Only now may the next reader go, or it would open a connection too many.
    drop(permit);
    result
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn readers() -> (tempfile::TempDir, Readers) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let writer = connect::read_write(&path, connect::Synchronous::Normal).unwrap();
        writer.execute_batch("CREATE TABLE t (x TEXT) STRICT").unwrap();
        (folder, Readers::new(&path))
    }

    fn count(connection: &Connection) -> Result<u32, SqlError> {
        Ok(connection.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?)
    }

    #[tokio::test]
    async fn a_reader_cannot_write() {
        let (_folder, readers) = readers();
        let write = readers.run(|c| Ok(c.execute("INSERT INTO t VALUES ('x')", [])?)).await;
        assert!(matches!(write, Err(StoreError::Backend(_))));
        assert_eq!(readers.run(count).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn panics_use_up_no_reader() {
        let (_folder, readers) = readers();
        for _ in 0..READERS * 2 {
            let error = readers.run::<(), _>(|_| panic!("on purpose")).await.unwrap_err();
            assert!(error.source().unwrap().to_string().contains("panicked"));
        }
        assert_eq!(readers.run(count).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn stopping_waits_for_reads_that_run() {
        let (_folder, readers) = readers();
        let (release, held) = std::sync::mpsc::channel::<()>();
        let read = readers.run(move |c| {
            held.recv().ok();
            count(c)
        });
        let stop = async {
            drop(release);
            readers.stop().await;
        };
        let (read, ()) = tokio::join!(read, stop);
        assert_eq!(read.unwrap(), 0);
        assert!(matches!(readers.run(count).await, Err(StoreError::Closed)));
    }
}
