//! `[history]`: how long runs are kept, and how many.

use domain::limits;

use super::section::section;

section! {
    /// `[history]`
    History {
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
