//! `[approval]`: when a person is asked, and how long one waits.

use domain::limits;
use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[approval]`
    Approval {
        /// Whether calls of `hybrid` skills that change nothing outside themselves run (`auto`) or ask a person (`ask`).
        effect_free: EffectFree = EffectFree::Auto, Restart;
        /// Milliseconds a stream waits for a person, where one is there.
        timeout_ms: u64 = limits::APPROVAL_WAIT_MS, Live;
        /// Milliseconds a plain answer waits.
        plain_timeout_ms: u64 = limits::APPROVAL_WAIT_PLAIN_MS, Live;
        /// Milliseconds after which nobody can decide about a waiting call any more.
        expires_ms: u64 = limits::APPROVAL_EXPIRES_MS, Restart;
        /// Skills whose policy is `auto` in this process, as with `serve --allow NAME`.
        allow: Vec<String> = Vec::new(), Live;
    }
}

/// `effect_free`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EffectFree {
    /// They run.
    Auto,
    /// They ask like any other.
    Ask,
}
