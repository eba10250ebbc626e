//! `[history]`: what is kept of runs, and for how long.

use super::section::section;

section! {
    /// `[history]`
    History {
        /// Whether inputs and outputs of runs are kept. Without, the history has who, what, when and how it ended.
        payloads: bool = true, Live;
        /// Days that executions and turns are kept; 0: for ever.
        days: u64 = 30, Live [0..=36_500];
        /// Newest executions that are kept, and as many turns; 0: any number.
        executions: u64 = 1_000_000, Live [0..=1_000_000_000];
        /// Bytes of all executions that are kept, the newest; 0: any number.
        bytes: u64 = 4 * 1024 * 1024 * 1024, Live [0..=1_000_000_000_000_000_i64];
        /// Days that artifacts are kept; 0: as long as their execution.
        artifact_days: u64 = 30, Live [0..=36_500];
    }
}
