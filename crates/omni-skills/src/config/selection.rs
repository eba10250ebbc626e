//! `[selection]`: which skills are offered with a request.

use domain::limits;
use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[selection]`
    Selection {
        /// Best `auto` skills injected into one request.
        auto_max_skills: usize = limits::AUTO_MAX_SKILLS, Live [0..=limits::TOOLS_PER_REQUEST];
        /// Least score of an `auto` skill that is injected.
        auto_min_score: i32 = limits::AUTO_MIN_SCORE, Live [0..=1000];
        /// Bytes of all injected definitions of one request.
        max_injected_bytes: usize = limits::INJECTED_BYTES, Live;
        /// Whether file and code skills are offered beside tools of the client: `named`, only when the request names
        /// them, or `all`, like any other skill.
        with_client_tools: WithClientTools = WithClientTools::Named, Live;
        /// Whether a conversation keeps the skills that it was offered, see below.
        sticky: bool = true, Live;
    }
}

/// `with_client_tools`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WithClientTools {
    /// Only when the request names them.
    Named,
    /// Like any other skill.
    All,
}
