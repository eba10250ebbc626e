//! What goes in when a key is made or changed.

use domain::{KeySettings, Scope};

/// A key to be written.
#[derive(Clone, Debug)]
pub struct NewKey {
    /// UUID v7.
    pub id: String,
    /// A name for people.
    pub name: String,
    /// Lower-case hex sha256 of the secret.
    pub secret_hash: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// Whether custom skills run for it.
    pub custom_skill_execution_enabled: bool,
    /// What an operator set for it.
    pub settings: KeySettings,
    /// RFC 3339 UTC.
    pub created_at: String,
}

/// Fields to change; absent ones stay.
#[derive(Clone, Debug, Default)]
pub struct KeyUpdate {
    /// A name for people.
    pub name: Option<String>,
    /// What it may do.
    pub scopes: Option<Vec<Scope>>,
    /// Whether custom skills run for it.
    pub custom_skill_execution_enabled: Option<bool>,
    /// All of what an operator set for it.
    pub settings: Option<KeySettings>,
    /// Switched off for good.
    pub revoked: Option<bool>,
    /// Lower-case hex sha256 of a new secret (rotation).
    pub secret_hash: Option<String>,
}
