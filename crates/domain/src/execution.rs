//! One recorded run of a skill, and the ways a turn ends.
//!
//! [`Status`] is a one-way street: `pending`, `running`, then exactly one of `success`, `error`, `timeout`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::approval::Approval;
use crate::version::Version;

/// Where an execution stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Written, not started.
    Pending,
    /// The handler runs.
    Running,
    /// The handler returned a valid output.
    Success,
    /// The handler failed, was refused, interrupted or cancelled.
    Error,
    /// The time limit ended it.
    Timeout,
}

impl Status {
    /// Every status, in the order of a life.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Success, Self::Error, Self::Timeout];

    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Success => "success",
            Self::Error => "error",
            Self::Timeout => "timeout",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }

    /// Whether the row never changes again.
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Success | Self::Error | Self::Timeout)
    }
}

/// The way an execution came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Door {
    /// A model called it inside a turn.
    Loop,
    /// `POST /api/skills/executions`.
    Rest,
}

impl Door {
    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loop => "loop",
            Self::Rest => "rest",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Loop, Self::Rest].into_iter().find(|d| d.as_str() == word)
    }
}

/// A piece of a result that is not JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Part {
    /// Plain text.
    Text {
        /// The text.
        text: String,
    },
    /// An image, base64.
    Image {
        /// Media type, such as `image/png`.
        mime: String,
        /// Base64 of the bytes.
        data: String,
    },
    /// A file by name, base64.
    File {
        /// File name without folders.
        name: String,
        /// Media type.
        mime: String,
        /// Base64 of the bytes.
        data: String,
    },
}

/// One row of the history. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Execution {
    /// UUID v7.
    pub id: String,
    /// The skill that ran; its row may be gone by now.
    pub skill_id: String,
    /// Name, copied so that history outlives the skill.
    pub skill_name: String,
    /// Version, copied likewise.
    pub version: Version,
    /// Owner of the run: an API key id, or `anonymous` or `management`.
    pub api_key_id: String,
    /// The end user behind the request, when known.
    pub user: Option<String>,
    /// The conversation behind the request, when known.
    pub session_id: Option<String>,
    /// The turn it belongs to, when a model called it.
    pub turn_id: Option<String>,
    /// The way it came in.
    pub door: Door,
    /// Where it stands.
    pub status: Status,
    /// Input as given, bounded.
    pub input: Value,
    /// Output, bounded; an error may have one.
    pub output: Option<Value>,
    /// Parts beside the output.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// One sentence, when it did not succeed.
    pub error_message: Option<String>,
    /// Milliseconds from start to end; absent until it ended.
    pub duration_ms: Option<u64>,
    /// Runs of the handler, 1 without retries, 0 when it never started.
    pub attempts: u32,
    /// Sandbox engine, for sandboxed runs.
    pub engine: Option<String>,
    /// Isolation in force, for sandboxed runs.
    pub isolation: Option<String>,
    /// What a person said, where one was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// RFC 3339 UTC.
    pub created_at: String,
}

/// Why a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The model answered.
    Completed,
    /// The model called tools of the client.
    ClientTools,
    /// The rounds were used up.
    MaxRounds,
    /// The wall time was used up.
    Deadline,
    /// The bytes for results were used up.
    OutputBudget,
    /// The executions were used up.
    ExecutionBudget,
    /// The same call with the same result, again and again.
    RepeatedCall,
    /// A call waits for a person.
    ApprovalPending,
    /// The upstream failed.
    UpstreamError,
    /// The client went away.
    ClientDisconnected,
}

impl StopReason {
    /// Every reason.
    pub const ALL: [Self; 10] = [
        Self::Completed,
        Self::ClientTools,
        Self::MaxRounds,
        Self::Deadline,
        Self::OutputBudget,
        Self::ExecutionBudget,
        Self::RepeatedCall,
        Self::ApprovalPending,
        Self::UpstreamError,
        Self::ClientDisconnected,
    ];

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::ClientTools => "client_tools",
            Self::MaxRounds => "max_rounds",
            Self::Deadline => "deadline",
            Self::OutputBudget => "output_budget",
            Self::ExecutionBudget => "execution_budget",
            Self::RepeatedCall => "repeated_call",
            Self::ApprovalPending => "approval_pending",
            Self::UpstreamError => "upstream_error",
            Self::ClientDisconnected => "client_disconnected",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_storage_and_api_are_the_same() {
        for status in Status::ALL {
            assert_eq!(Status::parse(status.as_str()), Some(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        for door in [Door::Loop, Door::Rest] {
            assert_eq!(Door::parse(door.as_str()), Some(door));
            assert_eq!(serde_json::to_value(door).unwrap(), door.as_str());
        }
        assert_eq!(Status::parse("Success"), None);
        for reason in StopReason::ALL {
            assert_eq!(StopReason::parse(reason.as_str()), Some(reason));
            assert_eq!(serde_json::to_value(reason).unwrap(), reason.as_str());
        }
    }

    #[test]
    fn three_statuses_end_a_life() {
        let ended: Vec<Status> = Status::ALL.into_iter().filter(|status| status.is_terminal()).collect();
        assert_eq!(ended, [Status::Success, Status::Error, Status::Timeout]);
    }
}
