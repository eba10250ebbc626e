//! What comes out when skills are loaded, and what goes in when one changes.

use domain::{Mode, Policy, Skill, SkillDefault, SkillSet};

/// Every skill that could be read, and a line about each row that could not.
#[derive(Clone, Debug, Default)]
pub struct LoadedSkills {
    /// Readable rows.
    pub skills: Vec<Skill>,
    /// Row id and what is wrong with it.
    pub broken: Vec<(String, String)>,
    /// Every set, ordered by name.
    pub sets: Vec<SkillSet>,
    /// What names mean.
    pub defaults: Vec<SkillDefault>,
}

/// Fields to change; absent ones stay. `enabled` and `mode` act as `Skill::set_enabled` and `Skill::set_mode`,
/// `enabled` first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillUpdate {
    /// The switch.
    pub enabled: Option<bool>,
    /// Injection.
    pub mode: Option<Mode>,
    /// Execution.
    pub policy: Option<Policy>,
    /// Whole text.
    pub description: Option<String>,
    /// Normalised by the store's caller.
    pub tags: Option<Vec<String>>,
    /// Milliseconds; `Some(None)` = back to the default.
    pub timeout_ms: Option<Option<u64>>,
    /// `Some(None)` = back to the default.
    pub max_retries: Option<Option<u32>>,
    /// RFC 3339 UTC of the change.
    pub updated_at: String,
}
