//! `[usage]`: what an answer reports about tokens.

use serde::Deserialize;

/// `[usage]`
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Usage {
    /// Which rounds' input tokens an answer reports.
    pub(crate) input: UsageInput,
}

/// `input`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UsageInput {
    /// All rounds together: what the provider bills.
    #[default]
    Sum,
    /// The last round: how full the context is.
    Last,
}
