//! Who is asking, after authentication.

use std::sync::Arc;

use domain::{ApiKey, Scope};

/// The authenticated caller of a request.
#[derive(Clone, Debug)]
pub enum Caller {
    /// The management token.
    Management,
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
            Self::Key(key) => &key.id,
            Self::Anonymous => "anonymous",
        }
    }

    /// Whether the caller has this scope; `manage` includes all.
    pub fn may(&self, scope: Scope) -> bool {
        match self {
            Self::Management => true,
            Self::Key(key) => key.scopes.contains(&scope) || key.scopes.contains(&Scope::Manage),
            Self::Anonymous => Self::ANONYMOUS.contains(&scope),
        }
    }

    /// Whether it manages.
    pub fn is_management(&self) -> bool {
        self.may(Scope::Manage)
    }

    /// Whether custom skills run for it.
    pub fn custom_skills(&self) -> bool {
        !matches!(self, Self::Key(key) if !key.custom_skill_execution_enabled)
    }
}
