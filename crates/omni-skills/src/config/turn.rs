//! `[turn]`: bounds of one turn, and what is remembered of it.

use domain::limits;
use serde::{Deserialize, Serialize};

use super::section::section;

section! {
    /// `[turn]`
    Turn {
        /// Rounds in which our tools may run.
        rounds: u32 = limits::ROUNDS, Live [1..=1000];
        /// Milliseconds after which no further round or execution starts; never cuts an answer.
        wall_ms: u64 = limits::TURN_MS, Live;
        /// Executions of one turn.
        executions: u32 = limits::EXECUTIONS_PER_TURN, Live;
        /// Bytes of one tool result that reach the model.
        result_bytes: usize = limits::RESULT_BYTES, Live;
        /// Bytes of all tool results of one turn that reach the model.
        results_bytes: usize = limits::TURN_RESULT_BYTES, Live;
        /// Input and output tokens that the upstream reports for the rounds, after which the next is the last; 0: any
        /// number.
        tokens: u64 = 0, Live;
        /// Milliseconds of silence after which a stream gets a keep-alive.
        keep_alive_ms: u64 = limits::KEEP_ALIVE_MS, Live [1..=3_600_000];
        /// `full`: the model gets the tool rounds of earlier answers back, which the client never sees. `off`: only those
        /// that an open call of the client's own tools needs.
        memory: Memory = Memory::Full, Live;
        /// Milliseconds since their last use after which hidden rounds are forgotten.
        memory_ttl_ms: u64 = limits::KEPT_TTL_MS, Live;
        /// Bytes of the hidden rounds of one API key; beyond it the least recently used are forgotten.
        memory_bytes: u64 = limits::KEPT_OWNER_BYTES, Live;
    }
}

/// `memory`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Memory {
    /// Of every answer.
    Full,
    /// Only where an open call of the client's own tools needs them.
    Off,
}
