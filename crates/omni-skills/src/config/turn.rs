//! `[turn]`: bounds of one turn, and what is remembered of it.

use domain::limits;
use serde::Deserialize;

/// `[turn]`
#[derive(Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Turn {
    /// Rounds in which our tools may run.
    pub(crate) rounds: u32,
    /// Milliseconds after which no further round or execution starts.
    pub(crate) wall_ms: u64,
    /// Executions of one turn.
    pub(crate) executions: u32,
    /// Bytes of one tool result that reach the model.
    pub(crate) result_bytes: usize,
    /// Bytes of all tool results that reach the model.
    pub(crate) results_bytes: usize,
    /// Tokens that the upstream reports for the rounds, after which the next is the last; 0: any number.
    pub(crate) tokens: u64,
    /// Milliseconds of silence after which a stream gets a keep-alive.
    pub(crate) keep_alive_ms: u64,
    /// Whether the model gets the tool rounds of earlier answers back, which the client never sees.
    pub(crate) memory: Memory,
    /// Milliseconds since their last use after which hidden rounds are forgotten.
    pub(crate) memory_ttl_ms: u64,
    /// Bytes of the hidden rounds of one API key; beyond it the least recently used are forgotten.
    pub(crate) memory_bytes: u64,
}

/// `memory`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Memory {
    /// Of every answer.
    #[default]
    Full,
    /// Only where an open call of the client's own tools needs them.
    Off,
}

impl Default for Turn {
    fn default() -> Self {
        Self {
            rounds: limits::ROUNDS,
            wall_ms: limits::TURN_MS,
            executions: limits::EXECUTIONS_PER_TURN,
            result_bytes: limits::RESULT_BYTES,
            results_bytes: limits::TURN_RESULT_BYTES,
            tokens: 0,
            keep_alive_ms: limits::KEEP_ALIVE_MS,
            memory: Memory::Full,
            memory_ttl_ms: limits::KEPT_TTL_MS,
            memory_bytes: limits::KEPT_OWNER_BYTES,
        }
    }
}
