//! Who changed what: one line of the append-only audit table.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A change of something that an operator answers for. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// UUID v7.
    pub id: String,
    /// Who: an API key id, `management`, `token:ID`, or `system` for the gateway itself.
    pub actor: String,
    /// What was done, such as `skill.update`.
    pub action: String,
    /// Id of what it was done to.
    pub target: String,
    /// What it was before, without secrets; absent for what is new.
    pub before: Option<Value>,
    /// What it became, without secrets; absent for what is gone.
    pub after: Option<Value>,
    /// Request that did it; absent for the command line.
    pub request_id: Option<String>,
    /// RFC 3339 UTC.
    pub created_at: String,
}
