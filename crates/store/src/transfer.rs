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
    /// One JSON object each, its members named as the columns, the same on every database.
    pub rows: Vec<Value>,
    /// Where the next rows begin; absent when these were the last.
    pub next: Option<String>,
}

/// Whole databases.
#[async_trait]
pub trait Transfer: Send + Sync {
    /// Writes a copy of the database, consistent and complete, to a file that must not exist. Databases that have
    /// their own tools for this refuse and name them.
    async fn backup(&self, to: &Path) -> Result<()>;

    /// Rows of a table from `from` on (from the first without), at most `limit`.
    async fn export_rows(&self, table: Table, from: Option<&str>, limit: u32) -> Result<Rows>;

    /// Writes rows of another database, in one transaction. A row that is here already stays as it is here. Returns how
    /// many were written. A row that does not fit is an error that names it, and nothing of the call is written.
    async fn import_rows(&self, table: Table, rows: Vec<Value>) -> Result<u64>;
}
