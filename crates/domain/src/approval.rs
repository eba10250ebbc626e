//! A person's word on an execution: what was asked, what was said, by whom.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where an approval stands. `waiting` is left once and for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ApprovalState {
    /// Nobody has decided yet; the execution is `pending`.
    Waiting,
    /// It may run, once.
    Approved,
    /// It must not run; the execution is an `error`.
    Denied,
    /// Nobody decided in time; the execution is an `error`.
    Expired,
}

impl ApprovalState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Waiting, Self::Approved, Self::Denied, Self::Expired];

    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Denied => "denied",
            Self::Expired => "expired",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }
}

/// The approval of one execution. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Where it stands.
    pub state: ApprovalState,
    /// RFC 3339 UTC; from then on nobody can decide any more.
    pub expires_at: String,
    /// Who decided: an API key id, or `management`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
    /// RFC 3339 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<String>,
    /// Why it was denied, in the person's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The model's own input, where the approver changed it. The execution's `input` is what ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_input: Option<Value>,
}

impl Approval {
    /// One that nobody has decided yet.
    pub fn waiting(expires_at: String) -> Self {
        Self {
            state: ApprovalState::Waiting,
            expires_at,
            decided_by: None,
            decided_at: None,
            reason: None,
            original_input: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_one_word() {
        for state in ApprovalState::ALL {
            assert_eq!(ApprovalState::parse(state.as_str()), Some(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        assert_eq!(ApprovalState::parse("pending"), None);
    }
}
