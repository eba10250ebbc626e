//! The numbers that bound every run.

use domain::limits::{EXECUTION_TIMEOUT_MAX_MS, EXECUTION_TIMEOUT_MS, HISTORY_BYTES};

/// Settings of an [`crate::Executor`]. What may change at run time has a setter there.
#[derive(Clone, Debug)]
pub struct ExecutorConfig {
    /// The master switch (`skillsEnabled`).
    pub enabled: bool,
    /// Milliseconds a run gets when neither its skill nor its caller says otherwise.
    pub default_timeout_ms: u64,
    /// Milliseconds no run may exceed, whoever asks.
    pub max_timeout_ms: u64,
    /// Runs at the same time, all callers together; at least 1.
    pub global_concurrency: usize,
    /// Runs that may wait for a slot, first come first served; beyond it a run is refused as busy.
    pub queue: usize,
    /// Bytes of an input, of an output and of all parts that the history keeps.
    pub history_bytes: usize,
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            default_timeout_ms: EXECUTION_TIMEOUT_MS,
            max_timeout_ms: EXECUTION_TIMEOUT_MAX_MS,
            global_concurrency: 64,
            queue: 256,
            history_bytes: HISTORY_BYTES,
        }
    }
}
