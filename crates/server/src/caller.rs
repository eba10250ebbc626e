//! Who is asking, after authentication.

use std::collections::BTreeMap;
use std::sync::Arc;

use domain::{ApiKey, KeyLimits, KeySettings, ManagementToken, OnDisconnect, Policy, Scope, TurnBudgets};
use executor::{Decider, OwnerLimits};

/// The authenticated caller of a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// The management token of the configuration.
    Management,
    /// A named management token; what it may do stands in its scopes.
    Token(Arc<ManagementToken>),
    /// An API key that is not revoked.
    Key(Arc<ApiKey>),
    /// Nobody known, where the anonymous rules of spec 07 allow it.
    Anonymous,
}

impl Caller {
    /// What an anonymous caller may do, where anonymous callers are let in at all.
    const ANONYMOUS: [Scope; 3] = [Scope::Proxy, Scope::ReadSkills, Scope::ExecuteSkills];

    /// The owner of what the caller runs.
    pub fn owner(&self) -> &str {
        match self {
            Self::Management => "management",
            Self::Token(token) => &token.id,
            Self::Key(key) => &key.id,
            Self::Anonymous => "anonymous",
        }
    }

    /// Whether the caller has this scope; `manage` includes all. The rules stand in `authorise.rs`.
    pub fn may(&self, scope: Scope) -> bool {
        let has = |scopes: &[Scope]| scopes.contains(&scope) || scopes.contains(&Scope::Manage);
        match self {
            Self::Management => true,
            Self::Token(token) => has(&token.scopes),
            Self::Key(key) => has(&key.scopes),
            Self::Anonymous => Self::ANONYMOUS.contains(&scope),
        }
    }

    /// Whether it manages.
    pub fn is_management(&self) -> bool {
        self.may(Scope::Manage)
    }

    /// What it is when it decides about a waiting call. A token is a person's; a key with all scopes is still a key.
    pub fn decider(&self) -> Option<Decider> {
        let is_token = matches!(self, Self::Management | Self::Token(_));
        self.may(Scope::ApproveSkills).then(|| Decider { id: self.owner().to_owned(), is_token })
    }

    /// What an operator set for it.
    fn settings(&self) -> Option<&KeySettings> {
        match self {
            Self::Key(key) => Some(&key.settings),
            Self::Management | Self::Token(_) | Self::Anonymous => None,
        }
    }

    /// The policy of a skill where an operator set one for this caller.
    pub fn policy(&self, skill: &str) -> Option<Policy> {
        self.settings()?.policies.get(skill).copied()
    }

    /// Bounds that an operator set for its turns.
    pub(crate) fn budgets(&self) -> TurnBudgets {
        self.settings().map(|settings| settings.budgets).unwrap_or_default()
    }

    /// How much it may do.
    pub fn limits(&self) -> KeyLimits {
        self.settings().map(|settings| settings.limits).unwrap_or_default()
    }

    /// Bounds that an operator set for its runs.
    pub(crate) fn run_limits(&self) -> OwnerLimits {
        self.settings().map(OwnerLimits::from).unwrap_or_default()
    }

    /// Policies that an operator set for it, by skill name.
    pub(crate) fn policies(&self) -> Option<&BTreeMap<String, Policy>> {
        self.settings().map(|settings| &settings.policies)
    }

    /// Whether its chats must say who the end user is.
    pub(crate) fn requires_user(&self) -> bool {
        self.settings().is_some_and(|settings| settings.require_user)
    }

    /// What becomes of its executions when it leaves.
    pub fn on_disconnect(&self) -> OnDisconnect {
        self.settings().map(|settings| settings.on_disconnect).unwrap_or_default()
    }

    /// Whether custom skills run for it.
    pub fn custom_skills(&self) -> bool {
        !matches!(self, Self::Key(key) if !key.custom_skill_execution_enabled)
    }
}
