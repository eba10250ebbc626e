//! `[selection]`: which skills are offered with a request.

use domain::limits;
use serde::Deserialize;

/// `[selection]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Selection {
    /// Best `auto` skills injected into one request.
    pub(crate) auto_max_skills: usize,
    /// Least score of an `auto` skill that is injected.
    pub(crate) auto_min_score: i32,
    /// Bytes of all injected definitions of one request.
    pub(crate) max_injected_bytes: usize,
    /// Whether file and code skills are offered beside tools of the client without being named.
    pub(crate) with_client_tools: WithClientTools,
    /// Whether a conversation keeps the skills that it was offered.
    pub(crate) sticky: bool,
}

impl Default for Selection {
    fn default() -> Self {
        Self {
            auto_max_skills: limits::AUTO_MAX_SKILLS,
            auto_min_score: limits::AUTO_MIN_SCORE,
            max_injected_bytes: limits::INJECTED_BYTES,
            with_client_tools: WithClientTools::Named,
            sticky: true,
        }
    }
}

/// `with_client_tools`
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WithClientTools {
    /// Only when the request names them.
    Named,
    /// Like any other skill.
    All,
}
