//! How executions are asked for and how they end.

use domain::{ApprovalState, Door, Part, Status};
use serde::Serialize;
use serde_json::Value;

/// The terminal part of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct ExecutionOutcome {
    /// A terminal status.
    pub status: Status,
    /// Output, bounded by the caller.
    pub output: Option<Value>,
    /// Parts beside the output.
    pub parts: Vec<Part>,
    /// One sentence, when it did not succeed.
    pub error_message: Option<String>,
    /// Milliseconds from start to end.
    pub duration_ms: u64,
    /// Runs of the handler.
    pub attempts: u32,
    /// Sandbox engine, for sandboxed runs.
    pub engine: Option<String>,
    /// Isolation in force, for sandboxed runs.
    pub isolation: Option<String>,
}

/// Which executions; absent fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExecutionFilter {
    /// Owner of the run.
    pub api_key_id: Option<String>,
    /// Skill id.
    pub skill_id: Option<String>,
    /// Skill name, exact.
    pub skill_name: Option<String>,
    /// Status.
    pub status: Option<Status>,
    /// Door.
    pub door: Option<Door>,
    /// Session.
    pub session_id: Option<String>,
    /// Turn.
    pub turn_id: Option<String>,
    /// Where its approval stands; executions that asked nobody have none.
    pub approval: Option<ApprovalState>,
    /// Created at or after, RFC 3339 UTC.
    pub since: Option<String>,
    /// Created before, RFC 3339 UTC.
    pub until: Option<String>,
    /// Only what comes behind this execution in the list: [`Page::next_cursor`] of the page before, asked for with page
    /// 1. Quick however deep. Behind one that is gone comes nothing.
    pub before: Option<String>,
}

/// Which page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// From 1.
    pub page: u32,
    /// 1 to [`domain::limits::PAGE_MAX`].
    pub limit: u32,
}

/// One page of a list.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Page<T> {
    /// The rows.
    pub data: Vec<T>,
    /// Rows of the whole filter, whatever its cursor. Large ones may be some seconds old.
    pub total: u64,
    /// From 1.
    pub page: u32,
    /// Rows a page.
    pub limit: u32,
    /// Pages of the whole filter.
    pub total_pages: u64,
    /// What the next page is asked for with; absent on the last one, and in lists that have page numbers only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// A page with its totals worked out.
    pub fn new(data: Vec<T>, total: u64, request: PageRequest) -> Self {
        let limit = u64::from(request.limit.max(1));
        Self {
            data,
            total,
            page: request.page,
            limit: request.limit,
            total_pages: total.div_ceil(limit),
            next_cursor: None,
        }
    }
}
