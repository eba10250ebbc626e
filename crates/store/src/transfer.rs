//! Whole databases: backups, and rows that move from one database to another, of another kind too.

use std::path::Path;

use async_trait::async_trait;
use serde_json::Value;

use crate::Result;

/// What moves, in the order in which it has to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Skills.
    Skills,
    /// Sets.
    Sets,
    /// Defaults of names.
    Defaults,
    /// API keys, with the hashes of their secrets.
    Keys,
    /// Management tokens, with the hashes of their secrets.
    Tokens,
    /// Small values.
    Values,
    /// Executions.
    Executions,
    /// Words of persons on executions.
    Approvals,
    /// Turns.
    Turns,
    /// Artifacts, their content in base64.
    Artifacts,
    /// The audit table.
    Audit,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 11] = [
        Self::Skills,
        Self::Sets,
        Self::Defaults,
        Self::Keys,
        Self::Tokens,
        Self::Values,
        Self::Executions,
        Self::Approvals,
        Self::Turns,
        Self::Artifacts,
        Self::Audit,
    ];

    /// The word in export files.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Skills => "skills",
            Self::Sets => "sets",
            Self::Defaults => "defaults",
            Self::Keys => "keys",
            Self::Tokens => "tokens",
            Self::Values => "values",
            Self::Executions => "executions",
            Self::Approvals => "approvals",
            Self::Turns => "turns",
            Self::Artifacts => "artifacts",
            Self::Audit => "audit",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.as_str() == word)
    }
}

/// Rows of a table.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// One JSON object each, its members named as the columns, the same on every database. An absent member is SQL's
    /// NULL, flags are booleans, columns of JSON are that JSON itself (`null` is JSON's), times are RFC 3339, bytes are in
    /// base64. A turn is its `id` and its `record`, as the API shows it. What a database derives from these is not among
    /// them, and neither is the process that ran an execution.
    pub rows: Vec<Value>,
    /// Where the next rows begin; absent when these were the last. Rows come in the order of their primary key.
    pub next: Option<String>,
}

/// Whole databases.
#[async_trait]
pub trait Transfer: Send + Sync {
    /// Writes a copy of the database, consistent and complete, to a file that must not exist. Databases that have
    /// their own tools for this refuse and name them.
    async fn backup(&self, to: &Path) -> Result<()>;

    /// Rows of a table from `from` on (from the first without), at most `limit`. A row that cannot be read is logged and
    /// left out.
    async fn export_rows(&self, table: Table, from: Option<&str>, limit: u32) -> Result<Rows>;

    /// Writes rows of another database, in one transaction. A row that is here already stays as it is here. Returns how
    /// many were written. A row that does not fit is an error that names it, and nothing of the call is written.
    async fn import_rows(&self, table: Table, rows: Vec<Value>) -> Result<u64>;
}
