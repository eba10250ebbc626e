//! What is recorded of a turn: what was considered, what was asked, what it cost, how it ended. Never what was said.

use serde::{Deserialize, Serialize};

use crate::execution::StopReason;

/// One turn. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRecord {
    /// UUID v7; executions of the turn name it.
    pub id: String,
    /// Owner: an API key id, or `anonymous` or `management`.
    pub api_key_id: String,
    /// The end user, when known.
    pub user: Option<String>,
    /// The conversation, when known.
    pub session_id: Option<String>,
    /// Dialect that the client spoke.
    pub dialect: String,
    /// Model as the client named it.
    pub model: String,
    /// Name of the upstream that answered.
    pub upstream: String,
    /// Whether the answer was a stream.
    pub streamed: bool,
    /// HTTP status of the upstream's last answer; absent when none came.
    pub upstream_status: Option<u16>,
    /// How it ended.
    pub stop_reason: StopReason,
    /// Stable word of the error, when it ended with one.
    pub error_code: Option<String>,
    /// Skills that selection looked at. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub candidates: Vec<TurnCandidate>,
    /// What each round took. Empty in lists.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<TurnRound>,
    /// Number of rounds.
    pub round_count: u32,
    /// Input tokens that the upstream reported, all rounds together.
    pub input_tokens: u64,
    /// Output tokens, likewise.
    pub output_tokens: u64,
    /// Executions.
    pub executions: u32,
    /// Milliseconds to the first byte of the upstream's first answer.
    pub first_byte_ms: Option<u64>,
    /// Milliseconds from request to end.
    pub duration_ms: u64,
    /// RFC 3339 UTC of the request.
    pub created_at: String,
}

/// A skill that selection looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnCandidate {
    /// `name@version`, or the name alone where no version was found.
    pub skill: String,
    /// Its score against the request; absent where none was needed, because it was named, is `on` or was there before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<i32>,
    /// Why it was not offered; absent for one that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
}

/// One question to the upstream and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnRound {
    /// HTTP status.
    pub status: u16,
    /// Tokens, input and output, that the upstream reported for this round.
    pub tokens: u64,
    /// Calls of ours in it.
    pub calls: u32,
    /// Milliseconds from the question to the end of the answer.
    pub duration_ms: u64,
}
