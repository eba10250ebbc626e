//! What went wrong between this program and `PostgreSQL`, in words that may be logged: never statements, values,
//! addresses with passwords, or the server's details, which quote rows.

use std::error::Error as _;

use store::StoreError;
use tokio_postgres::error::SqlState;

use crate::error::SqlError;

/// A failure of the driver or of the server. Cheap to clone, so that many who wait for one connection share one.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum PgError {
    /// The address cannot be used as it is.
    #[error("the PostgreSQL address {0}")]
    Address(String),
    /// The server said no.
    #[error("PostgreSQL refused: {message} ({code})")]
    Refused {
        /// SQLSTATE.
        code: String,
        /// Its one line.
        message: String,
    },
    /// There is no connection, or it was lost on the way.
    #[error("no connection to PostgreSQL: {0}")]
    NoConnection(String),
    /// The server is not the one that was asked for, or speaks no TLS that this program does.
    #[error("no trusted connection to PostgreSQL: {0}")]
    Untrusted(String),
    /// The connection is there, but no answer came.
    #[error("PostgreSQL did not answer in time")]
    NoAnswer,
    /// Too many wait for a connection.
    #[error("every connection to PostgreSQL is busy")]
    Busy,
    /// Not this program's business.
    #[error("PostgreSQL has its own tools for backups: use pg_dump, or `omni-skills export`")]
    OwnTools,
    /// Others change the same thing again and again.
    #[error("others change the same in PostgreSQL at the same moment")]
    Contended,
    /// The driver could not read or write a value.
    #[error("PostgreSQL and this program do not understand one another: {0}")]
    Protocol(String),
    /// The database cannot hold what this program writes.
    #[error("the PostgreSQL database {0}")]
    Unsuitable(String),
}

impl PgError {
    /// Whether the same may work a moment later, with nothing done so far.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::NoConnection(_) | Self::Busy => true,
            Self::Refused { code, .. } => is_passing(code),
            _ => false,
        }
    }

    /// Whether a row does not fit into its table.
    pub(super) fn is_about_the_row(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code.starts_with("22") || code.starts_with("23") || code == "54000")
    }

    fn is_duplicate(&self) -> bool {
        matches!(self, Self::Refused { code, .. } if code == SqlState::UNIQUE_VIOLATION.code())
    }
}

/// Connection trouble, a server that starts or stops, and one that is full.
fn is_passing(code: &str) -> bool {
    code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "53300")
}

impl From<tokio_postgres::Error> for PgError {
    fn from(error: tokio_postgres::Error) -> Self {
        if let Some(db) = error.as_db_error() {
            return Self::Refused { code: db.code().code().to_owned(), message: db.message().to_owned() };
        }
        let mut text = error.to_string();
        let mut source = error.source();
        let (mut io, mut tls) = (false, false);
        while let Some(cause) = source {
            if let Some(cause) = cause.downcast_ref::<std::io::Error>() {
                io = true;
                tls |= cause.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()).is_some();
            }
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        match (tls, error.is_closed() || io) {
            (true, _) => Self::Untrusted(text),
            (false, true) => Self::NoConnection(text),
            (false, false) => Self::Protocol(text),
        }
    }
}

impl From<tokio_postgres::Error> for SqlError {
    fn from(error: tokio_postgres::Error) -> Self {
        PgError::from(error).into()
    }
}

/// Turns a duplicate into [`StoreError::Conflict`] about `what`; any other failure stays as it is.
pub(super) fn conflict(error: SqlError, what: impl FnOnce() -> String) -> SqlError {
    match error {
        SqlError::Postgres(error) if error.is_duplicate() => StoreError::Conflict { what: what() }.into(),
        other => other,
    }
}
