//! `[skills]`: the master switch and where skills are looked for.

use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[skills]`
    Skills {
        /// The master switch: `false` refuses every run, and nothing is offered.
        enabled: bool = true, Live;
        /// The catalog that is searched and installed from: `skillsmp` or `skillssh`.
        provider: Provider = Provider::Skillsmp, Live;
        /// Credential of the `SkillsMP` catalog. Never shown.
        skillsmp_api_key: Option<String> = None, Live;
    }
}

/// `provider`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Provider {
    /// The `SkillsMP` marketplace.
    Skillsmp,
    /// skills.sh.
    Skillssh,
}
