//! Why a statement failed, and what a caller of the store learns of it: never SQL, paths or payloads.

use std::sync::Arc;

use store::StoreError;

/// Any failure below the trait. Becomes a [`StoreError`] at its edge; what is not a caller's decision becomes the
/// source of [`StoreError::Backend`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum SqlError {
    /// Already in the caller's words.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database said no.
    #[error(transparent)]
    Sqlite(#[from] rusqlite::Error),
    /// The other database said no.
    #[error(transparent)]
    Postgres(#[from] crate::postgres::PgError),
    /// The transaction that held this write and others was lost.
    #[error("the transaction of this write was lost")]
    Lost(#[source] Arc<rusqlite::Error>),
    /// A row that cannot be read.
    #[error(transparent)]
    BadRow(#[from] BadRow),
    /// A value that cannot be written as JSON.
    #[error("a value could not be written as JSON")]
    Json(#[from] serde_json::Error),
    /// A time that is not RFC 3339.
    #[error("`{text}` is not an RFC 3339 time")]
    BadTime {
        /// What was given.
        text: String,
        /// Why.
        #[source]
        source: jiff::Error,
    },
    /// An outcome whose status is not a terminal one.
    #[error("an execution cannot finish as `{0}`")]
    NotTerminal(&'static str),
    /// An execution that is to wait for a person, without an approval that waits.
    #[error("the execution has no waiting approval")]
    NotWaiting,
    /// An ordinary execution, which could start at once, with an approval.
    #[error("an execution that needs a person cannot be written as an ordinary one")]
    NotOrdinary,
    /// A decision that decides nothing.
    #[error("`waiting` is no decision")]
    NotADecision,
    /// The code that ran on the connection panicked; its changes were rolled back.
    #[error("a database job panicked; its changes were rolled back")]
    Panicked,
    /// A row of another database that has no place in this one.
    #[error("the row `{row}` of `{table}` {problem}")]
    Unfit {
        /// Word of the table in exports.
        table: &'static str,
        /// Its key.
        row: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A page to go on from that no export gave out.
    #[error("`{0}` is no place to go on from")]
    BadPlace(String),
    /// An instance id that cannot be the name of a file.
    #[error("an instance id is made of letters, digits and hyphens")]
    BadInstance,
    /// Something that is no folder stands where the lock files of processes belong.
    #[error("the folder of the lock files beside the database is not a folder of its own")]
    NotAFolder,
    /// The operating system said no.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// An applied migration is not the one this program was built with.
    #[error(
        "migration {0} was changed after it was applied; use the release that created this database, or restore a backup"
    )]
    MigrationChanged(u32),
    /// The applied migrations have a hole.
    #[error("migration {0} is missing although a later one was applied; restore a backup")]
    MigrationMissing(u32),
}

/// One column of one row that cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("column `{column}` {problem}")]
pub(crate) struct BadRow {
    /// The column.
    pub(crate) column: &'static str,
    /// What is wrong with it.
    pub(crate) problem: String,
}

impl From<SqlError> for StoreError {
    fn from(error: SqlError) -> Self {
        match error {
            SqlError::Store(error) => error,
            other => Self::Backend(Box::new(other)),
        }
    }
}

/// Whether a UNIQUE or PRIMARY KEY constraint refused the row.
pub(crate) fn is_duplicate(error: &rusqlite::Error) -> bool {
    use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE};
    error
        .sqlite_error()
        .is_some_and(|e| matches!(e.extended_code, SQLITE_CONSTRAINT_UNIQUE | SQLITE_CONSTRAINT_PRIMARYKEY))
}

/// Whether a constraint refused the row.
pub(crate) fn is_refused(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation)
}

/// Turns a duplicate into [`StoreError::Conflict`] about `what`; any other failure stays as it is.
pub(crate) fn conflict(error: rusqlite::Error, what: impl FnOnce() -> String) -> SqlError {
    if is_duplicate(&error) { StoreError::Conflict { what: what() }.into() } else { error.into() }
}
