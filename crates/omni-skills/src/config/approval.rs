//! `[approval]`: when a person is asked, and how long one waits.

use domain::limits;
use serde::Deserialize;

/// `[approval]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Approval {
    /// Whether runs of `hybrid` skills that change nothing outside themselves go ahead.
    pub(crate) effect_free: EffectFree,
    /// Milliseconds a streamed turn waits for a person, where one is there.
    pub(crate) timeout_ms: u64,
    /// Milliseconds a plain answer waits.
    pub(crate) plain_timeout_ms: u64,
    /// Milliseconds after which nobody can decide about a waiting call any more.
    pub(crate) expires_ms: u64,
    /// Names of skills whose policy is `auto` in this process.
    pub(crate) allow: Vec<String>,
}

/// `effect_free`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffectFree {
    /// They run.
    #[default]
    Auto,
    /// They ask like any other.
    Ask,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            effect_free: EffectFree::Auto,
            timeout_ms: limits::APPROVAL_WAIT_MS,
            plain_timeout_ms: limits::APPROVAL_WAIT_PLAIN_MS,
            expires_ms: limits::APPROVAL_EXPIRES_MS,
            allow: Vec::new(),
        }
    }
}
