//! A file or full output that an execution leaves behind.

use serde::{Deserialize, Serialize};

/// An artifact without its bytes. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Artifact {
    /// UUID v7.
    pub id: String,
    /// The execution that left it.
    pub execution_id: String,
    /// Owner of the execution.
    pub api_key_id: String,
    /// File name without folders.
    pub name: String,
    /// Media type.
    pub mime: String,
    /// Size.
    pub bytes: u64,
    /// Lower-case hex sha256 of the content.
    pub sha256: String,
    /// RFC 3339 UTC.
    pub created_at: String,
}
