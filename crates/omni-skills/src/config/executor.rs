//! `[executor]`: bounds of every run of a skill.

use domain::limits;

use super::section::section;

section! {
    /// `[executor]`
    Executor {
        /// Milliseconds a run gets when neither its skill nor its caller says otherwise.
        timeout_ms: u64 = limits::EXECUTION_TIMEOUT_MS, Live [1..=limits::EXECUTION_TIMEOUT_MAX_MS];
        /// Times that a run is tried again after a passing failure, where neither its skill nor its key says otherwise;
        /// only skills that may run twice are tried again.
        max_retries: u32 = 0, Live [0..=3];
        /// Runs at the same time, all callers together.
        concurrency: usize = 64, Restart [1..=10_000];
        /// Runs of one API key at the same time, where the key has no limit of its own; absent: half of `concurrency`.
        per_key_concurrency: Option<usize> = None, Restart [1..=10_000];
        /// Runs that may wait, of all API keys together and half as many of one; beyond it a run is refused as busy,
        /// unless its key has no other.
        queue: usize = 1024, Restart [0..=1_000_000];
    }
}
