//! Records of turns, and what was used over time.

use async_trait::async_trait;
use domain::{StopReason, TurnRecord};
use serde::Serialize;

use crate::{Page, PageRequest, Result};

/// Which turns; absent fields do not restrict.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TurnFilter {
    /// Owner of the turn.
    pub api_key_id: Option<String>,
    /// Model, exact.
    pub model: Option<String>,
    /// Conversation.
    pub session_id: Option<String>,
    /// How it ended.
    pub stop_reason: Option<StopReason>,
    /// Created at or after, RFC 3339 UTC.
    pub since: Option<String>,
    /// Created before, RFC 3339 UTC.
    pub until: Option<String>,
}

/// What usage is added up by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageBy {
    /// Owner.
    Key,
    /// `name@version` of the skill; from the executions, so without tokens.
    Skill,
    /// Model, of turns.
    Model,
    /// UTC day, of turns.
    Day,
}

/// What to add up.
#[derive(Clone, Debug)]
pub struct UsageQuery {
    /// The groups.
    pub by: UsageBy,
    /// One owner only.
    pub api_key_id: Option<String>,
    /// Created at or after, RFC 3339 UTC.
    pub since: Option<String>,
    /// Created before, RFC 3339 UTC.
    pub until: Option<String>,
}

/// One group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UsageRow {
    /// Key id, skill, model or day (`2026-01-31`).
    pub group: String,
    /// Turns; by skill, those that ran it.
    pub turns: u64,
    /// Executions.
    pub executions: u64,
    /// Turns that ended with an error; by skill, executions that are no success.
    pub errors: u64,
    /// Input tokens; none by skill.
    pub input_tokens: u64,
    /// Output tokens; none by skill.
    pub output_tokens: u64,
    /// Milliseconds of all of them together.
    pub duration_ms: u64,
}

/// What an owner used since some time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spending {
    /// Tokens of its turns, input and output.
    pub tokens: u64,
    /// Its executions.
    pub executions: u64,
}

/// Turns.
#[async_trait]
pub trait Turns: Send + Sync {
    /// Writes the record of a turn that has ended.
    async fn record_turn(&self, turn: TurnRecord) -> Result<()>;

    /// One turn, whole.
    async fn turn(&self, id: &str) -> Result<Option<TurnRecord>>;

    /// One page, newest first, without candidates and rounds. Page and limit are brought into their bounds; a bound of
    /// time that is not RFC 3339 is an error.
    async fn turns(&self, filter: &TurnFilter, page: PageRequest) -> Result<Page<TurnRecord>>;

    /// Usage, the largest group (by turns and executions) first, days the newest first; at most 1,000 groups.
    async fn usage(&self, query: &UsageQuery) -> Result<Vec<UsageRow>>;

    /// What an owner used since then (RFC 3339 UTC).
    async fn spent_since(&self, api_key_id: &str, since: &str) -> Result<Spending>;
}
