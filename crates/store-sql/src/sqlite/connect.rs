//! Opens `SQLite` connections with the settings that make the store durable and quick. Runs no query of its own.
//!
//! WAL: one writer and many readers never wait for one another. With `synchronous=NORMAL` an acknowledged write survives
//! the death of the process, with `FULL` that of the machine too.

use std::fs::OpenOptions;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::SqlError;

/// How long a statement waits for a lock that another process holds.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Distinct statements are about eighty; filters of the history make some more.
const CACHED_STATEMENTS: usize = 128;

/// What an acknowledged write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// The death of the process (kill -9). After a loss of power the last writes may be missing; the database is whole.
    #[default]
    Normal,
    /// A loss of power too, at the price of waiting for the disk with each group of writes.
    Full,
}

/// The connection of the writer, which carries its log over into the file every 16 MiB: pages that change again and
/// again are written once. Creates the file, readable by its owner only, if there is none.
pub(super) fn read_write(path: &Path, synchronous: Synchronous) -> Result<Connection, SqlError> {
    create_private(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Counts for a new file only, and only before anything is written into it.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    switch_to_wal(&connection)?;
    let synchronous = match synchronous {
        Synchronous::Normal => "NORMAL",
        Synchronous::Full => "FULL",
    };
    connection.pragma_update(None, "synchronous", synchronous)?;
    connection.execute_batch(
        "PRAGMA foreign_keys = ON;
         PRAGMA trusted_schema = OFF;
         PRAGMA temp_store = MEMORY;
         PRAGMA cache_size = -16384;
         PRAGMA wal_autocheckpoint = 4096;
         PRAGMA journal_size_limit = 67108864;",
    )?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

/// A connection that can only read.
pub(super) fn read_only(path: &Path) -> Result<Connection, SqlError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -4096;",
    )?;
    connection.set_prepared_statement_cache_capacity(CACHED_STATEMENTS);
    Ok(connection)
}

/// `SQLite` gives its side files (-wal, -shm) the permissions of the main file, so this one is enough.
fn create_private(path: &Path) -> Result<(), SqlError> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)?;
    Ok(())
}

/// The switch needs the file for itself and does not always wait for its turn, so that two processes that open a new
/// file at the same moment need this loop.
fn switch_to_wal(connection: &Connection) -> Result<(), SqlError> {
    let deadline = Instant::now() + BUSY_TIMEOUT;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Ok(()) => return Ok(()),
            Err(error) if is_busy(&error) && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_the_file_are_as_asked_for() {
        for (synchronous, expected) in [(Synchronous::Normal, 1), (Synchronous::Full, 2)] {
            let folder = tempfile::tempdir().unwrap();
            let connection = read_write(&folder.path().join("x.db"), synchronous).unwrap();
            let number =
                |name: &str| -> i64 { connection.pragma_query_value(None, name, |row| row.get(0)).unwrap() };
            assert_eq!(number("synchronous"), expected);
            assert_eq!(number("auto_vacuum"), 2, "a new file can give space back");
            assert_eq!(number("foreign_keys"), 1);
            let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
    }
}
