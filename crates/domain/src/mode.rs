//! The two switches of a skill: its injection [`Mode`] and its execution [`Policy`].
//!
//! They never stand for one another: a mode says whether the model is offered the skill, a policy who may start it.

use serde::{Deserialize, Serialize};

/// When a skill is offered to the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Always offered.
    On,
    /// Never offered and never executable, through any door.
    Off,
    /// Scored against the request; offered when it is among the best.
    #[default]
    Auto,
}

impl Mode {
    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::On => "on",
            Self::Off => "off",
            Self::Auto => "auto",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::On, Self::Off, Self::Auto].into_iter().find(|m| m.as_str() == word)
    }
}

/// Who may start an execution (the seeds' `SkillMode`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The model may call it when it sees fit.
    #[default]
    Auto,
    /// Only a person's own act starts it (REST, CLI); never offered to the model.
    Manual,
    /// The model may suggest it; a run with effects needs a person's approval.
    Hybrid,
}

impl Policy {
    /// The word in API and storage.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Manual => "manual",
            Self::Hybrid => "hybrid",
        }
    }

    /// Reads the word back.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Auto, Self::Manual, Self::Hybrid].into_iter().find(|p| p.as_str() == word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_storage_and_api_are_the_same() {
        for mode in [Mode::On, Mode::Off, Mode::Auto] {
            assert_eq!(Mode::parse(mode.as_str()), Some(mode));
            assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
        }
        for policy in [Policy::Auto, Policy::Manual, Policy::Hybrid] {
            assert_eq!(Policy::parse(policy.as_str()), Some(policy));
            assert_eq!(serde_json::to_value(policy).unwrap(), policy.as_str());
        }
        assert_eq!(Mode::parse("ON"), None);
    }
}
