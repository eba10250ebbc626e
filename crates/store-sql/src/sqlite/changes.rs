//! How a process learns that another one changed something that it holds in memory: a counter that triggers of the
//! schema move, and how much of it this process moved itself. Whoever writes is counted, whatever program it is.

use rusqlite::Connection;

use crate::common::count;
use crate::error::SqlError;

/// Prepares the writer's connection, which counts along from now on. What it counts takes part in its transactions, so
/// that a lost one takes its own count back too.
pub(super) fn count_along(connection: &Connection) -> Result<(), SqlError> {
    connection.execute_batch(
        "CREATE TEMP TABLE own_changes (number INTEGER NOT NULL);
         INSERT INTO own_changes SELECT number FROM main.changes;
         CREATE TEMP TRIGGER own_change AFTER UPDATE ON main.changes
             BEGIN UPDATE own_changes SET number = number + 1; END;",
    )?;
    Ok(())
}

/// Changes of everybody. Cheap; may be asked on any connection.
pub(super) fn of_all(connection: &Connection) -> Result<u64, SqlError> {
    let number = connection.prepare_cached("SELECT number FROM changes")?.query_row([], |row| row.get(0))?;
    Ok(count(number))
}

/// Changes of others since this store was opened. For the writer's connection.
pub(super) fn of_others(connection: &Connection) -> Result<u64, SqlError> {
    let sql = "SELECT (SELECT number FROM main.changes) - (SELECT number FROM temp.own_changes)";
    Ok(count(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?))
}
