//! Names for more than one skill, and for which version of a name is meant.

use serde::{Deserialize, Serialize};

/// A named group of skills. JSON names are those of the REST API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillSet {
    /// Unique name.
    pub name: String,
    /// `name` or `name@constraint`, in order.
    pub skills: Vec<String>,
    /// RFC 3339 UTC.
    pub created_at: String,
    /// RFC 3339 UTC.
    pub updated_at: String,
}

/// Which versions a bare name means to those who see skills of this owner. Without one it is the highest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SkillDefault {
    /// Owner of the skills: an API key id, or `system`.
    pub api_key_id: String,
    /// Name of the skill.
    pub name: String,
    /// Constraint, such as `^1.2`.
    pub constraint: String,
}
