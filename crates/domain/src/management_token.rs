//! Named management tokens: what operators and their programs log in with. The secret itself is never here.

use serde::{Deserialize, Serialize};

use crate::key::Scope;

/// A token as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagementToken {
    /// UUID v7.
    pub id: String,
    /// A unique name for people.
    pub name: String,
    /// What it may do; `manage` is everything.
    pub scopes: Vec<Scope>,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// RFC 3339 UTC, to the minute or so.
    pub last_used_at: Option<String>,
}
