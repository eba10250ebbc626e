//! `[usage]`: what an answer reports about tokens.

use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[usage]`
    Usage {
        /// Input tokens that an answer reports: of all rounds together (`sum`), which the provider bills, or of the last
        /// round (`last`), which says how full the context is.
        input: UsageInput = UsageInput::Sum, Live;
    }
}

/// `input`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum UsageInput {
    /// All rounds together.
    Sum,
    /// The last round.
    Last,
}
