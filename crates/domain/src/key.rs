//! API keys and what they may do. The secret itself is never here: storage holds its hash.

use serde::{Deserialize, Serialize};

use crate::key_settings::KeySettings;

/// One thing a key may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Scope {
    /// Chat through `/v1`.
    #[serde(rename = "proxy")]
    Proxy,
    /// Any path of an upstream, with the server's credential.
    #[serde(rename = "passthrough")]
    Passthrough,
    /// Look at skills and own executions.
    #[serde(rename = "read:skills")]
    ReadSkills,
    /// Install skills from catalogs.
    #[serde(rename = "write:skills")]
    WriteSkills,
    /// Run skills.
    #[serde(rename = "execute:skills")]
    ExecuteSkills,
    /// Decide about waiting executions.
    #[serde(rename = "approve:skills")]
    ApproveSkills,
    /// Look at the agent skill catalog.
    #[serde(rename = "read:catalog")]
    ReadCatalog,
    /// Everything.
    #[serde(rename = "manage")]
    Manage,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 8] = [
        Self::Proxy,
        Self::Passthrough,
        Self::ReadSkills,
        Self::WriteSkills,
        Self::ExecuteSkills,
        Self::ApproveSkills,
        Self::ReadCatalog,
        Self::Manage,
    ];

    /// What a key gets when nothing is said.
    pub const DEFAULT: [Self; 4] = [Self::Proxy, Self::ReadSkills, Self::ExecuteSkills, Self::ReadCatalog];

    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proxy => "proxy",
            Self::Passthrough => "passthrough",
            Self::ReadSkills => "read:skills",
            Self::WriteSkills => "write:skills",
            Self::ExecuteSkills => "execute:skills",
            Self::ApproveSkills => "approve:skills",
            Self::ReadCatalog => "read:catalog",
            Self::Manage => "manage",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == word)
    }
}

/// A key as the API shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKey {
    /// UUID v7; the owner id of what the key creates.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whether only built-ins run for it.
    pub custom_skill_execution_enabled: bool,
    /// Whether it was switched off for good.
    pub revoked: bool,
    /// What an operator set for it.
    #[serde(flatten)]
    pub settings: KeySettings,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// RFC 3339 UTC, to the minute or so.
    pub last_used_at: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_scope_has_one_word() {
        for scope in Scope::ALL {
            assert_eq!(Scope::parse(scope.as_str()), Some(scope));
            assert_eq!(serde_json::to_value(scope).unwrap(), scope.as_str());
        }
        assert_eq!(Scope::parse("admin"), None);
    }
}
