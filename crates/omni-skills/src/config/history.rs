//! `[history]`: what is kept of runs, and for how long.

use domain::limits;
use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[history]`
    History {
        /// What is kept of inputs and outputs of runs: all but secrets (`redacted`), everything (`full`), or their sizes
        /// alone (`none`).
        payloads: Payloads = Payloads::Redacted, Live;
        /// Days that executions and turns are kept; 0: for ever.
        days: u64 = limits::HISTORY_DAYS, Live [0..=36_500];
        /// Newest executions that are kept, and as many turns; 0: any number.
        executions: u64 = limits::HISTORY_EXECUTIONS, Live [0..=1_000_000_000];
        /// Bytes of all executions that are kept, the newest; 0: any number.
        bytes: u64 = limits::HISTORY_TOTAL_BYTES, Live [0..=1_000_000_000_000_000_i64];
        /// Days that artifacts are kept; 0: as long as their execution.
        artifact_days: u64 = limits::ARTIFACT_DAYS, Live [0..=36_500];
    }
}

/// `payloads`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Payloads {
    /// All but secrets.
    Redacted,
    /// Everything.
    Full,
    /// Sizes alone.
    None,
}
