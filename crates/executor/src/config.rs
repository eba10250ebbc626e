//! The numbers that bound every run.

use std::time::Duration;

use domain::limits::{
    APPROVAL_EXPIRES_MS, BREAKER_FAILURES, BREAKER_PAUSE_MS, EXECUTION_TIMEOUT_MAX_MS, EXECUTION_TIMEOUT_MS,
    HISTORY_BYTES, HISTORY_PART_BYTES,
};

/// Settings of an [`crate::Executor`]. What may change at run time has a setter there.
#[derive(Clone, Debug)]
pub struct ExecutorConfig {
    /// The master switch (`skillsEnabled`).
    pub enabled: bool,
    /// Milliseconds a run gets when neither its skill nor its caller says otherwise.
    pub default_timeout_ms: u64,
    /// Milliseconds no run may exceed, whoever asks.
    pub max_timeout_ms: u64,
    /// Times that a run is tried again where neither its skill nor its owner says otherwise.
    pub max_retries: u32,
    /// Transient failures in a row after which a skill is refused to its owner for a moment; 0: never.
    pub breaker_failures: u32,
    /// How long that moment is.
    pub breaker_pause: Duration,
    /// Runs at the same time, all callers together; at least 1.
    pub global_concurrency: usize,
    /// Runs of one owner at the same time, where the owner has no limit of its own; none: half of those of all.
    pub concurrency_per_owner: Option<usize>,
    /// Runs that may wait, of all owners together; beyond it a run is refused as busy, unless its owner has no other.
    pub queue: usize,
    /// Runs of one owner that may wait, first come first served; none: half of those of all.
    pub queue_per_owner: Option<usize>,
    /// Bytes of an input and of an output that the history keeps.
    pub history_bytes: usize,
    /// Bytes of all parts of a run that the history keeps.
    pub history_part_bytes: usize,
    /// Whether runs of `hybrid` skills ask a person even where they change nothing outside themselves.
    pub ask_effect_free: bool,
    /// Time after which nobody can decide about a waiting call any more.
    pub approval_expires: Duration,
}

impl Default for ExecutorConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            default_timeout_ms: EXECUTION_TIMEOUT_MS,
            max_timeout_ms: EXECUTION_TIMEOUT_MAX_MS,
            max_retries: 0,
            breaker_failures: BREAKER_FAILURES,
            breaker_pause: Duration::from_millis(BREAKER_PAUSE_MS),
            global_concurrency: 64,
            concurrency_per_owner: None,
            queue: 1024,
            queue_per_owner: None,
            history_bytes: HISTORY_BYTES,
            history_part_bytes: HISTORY_PART_BYTES,
            ask_effect_free: false,
            approval_expires: Duration::from_millis(APPROVAL_EXPIRES_MS),
        }
    }
}
