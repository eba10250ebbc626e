//! How the history is kept from growing without end.

use async_trait::async_trait;

use crate::Result;

/// What to remove; absent bounds remove nothing. Executions that have not ended are never removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prune {
    /// Executions and turns created before go (RFC 3339 UTC).
    pub before: Option<String>,
    /// Newest executions that stay, and as many turns.
    pub keep: Option<u64>,
    /// Bytes of all executions that stay, the newest first; to a tenth or so.
    pub keep_bytes: Option<u64>,
    /// Artifacts created before go (RFC 3339 UTC), and those whose execution is gone.
    pub artifacts_before: Option<String>,
    /// Rows of each table that one call removes at most.
    pub batch: u32,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Executions.
    pub executions: u64,
    /// Turns.
    pub turns: u64,
    /// Artifacts.
    pub artifacts: u64,
    /// Whether a batch was full, so that there may be more.
    pub more: bool,
}

/// How large the history is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HistorySize {
    /// Executions.
    pub executions: u64,
    /// Bytes of the executions, as near as the database can tell without reading them all.
    pub bytes: u64,
    /// Bytes of the whole database on disk.
    pub database_bytes: u64,
}

/// Retention.
#[async_trait]
pub trait Retention: Send + Sync {
    /// Removes one batch. Short transactions: others write in between.
    async fn prune(&self, prune: &Prune) -> Result<Pruned>;

    /// Gives space that is free back to the file system, some of it with each call. Returns the bytes; 0 when there is
    /// nothing more to give, or when the database does so by itself.
    async fn give_space_back(&self) -> Result<u64>;

    /// How large the history is.
    async fn history_size(&self) -> Result<HistorySize>;
}
