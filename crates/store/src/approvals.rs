//! What a person decides about a waiting execution.

use domain::Approval;
use serde_json::Value;

/// One decision. The approval's state says which: `approved`, `denied` or `expired`; `waiting` is an error.
#[derive(Clone, Debug, PartialEq)]
pub struct ApprovalDecision {
    /// The approval as it is from now on, whole.
    pub approval: Approval,
    /// The input that runs in place of the row's; none: the row's own.
    pub input: Option<Value>,
    /// Error message of the row, when it must not run.
    pub message: Option<String>,
}
