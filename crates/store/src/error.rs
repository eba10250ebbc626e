//! What a caller can decide on when the store says no.

/// A failed store call. Messages carry no SQL, no paths and no payloads.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such row.
    #[error("no {what} `{id}`")]
    NotFound {
        /// `skill`, `key`, `execution`.
        what: &'static str,
        /// What was asked for.
        id: String,
    },
    /// A row with the same identity exists.
    #[error("{what} already exists")]
    Conflict {
        /// What stands in the way, such as `skill reverse-text@1.0.0`.
        what: String,
    },
    /// The database is closing or its writer is gone.
    #[error("the database is shutting down")]
    Closed,
    /// The schema of the database is newer than this program.
    #[error(
        "the database was written by a newer release (schema {found}, this program knows {known}); upgrade the program"
    )]
    TooNew {
        /// Newest migration in the database.
        found: u32,
        /// Newest migration of the program.
        known: u32,
    },
    /// The database itself failed.
    #[error("the database failed")]
    Backend(#[source] Box<dyn std::error::Error + Send + Sync>),
}
