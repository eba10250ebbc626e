//! Hidden rounds of a turn that later requests get back: for whom they are kept, how long, and how they are found.
//!
//! The payload is bytes that one dialect writes and reads; nothing here looks into it.

/// Whose rounds, and of which conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeptScope {
    /// Owner of the turn. Never found by another one.
    pub owner: String,
    /// The end user, empty if unknown. Never found by another one.
    pub user: String,
    /// The conversation.
    pub session: String,
    /// The dialect that wrote the payload.
    pub dialect: String,
}

/// Rounds to keep. Where a key of the scope leads somewhere already, it leads here from now on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRounds {
    /// Whose they are.
    pub scope: KeptScope,
    /// Under each of these they are found.
    pub keys: Vec<String>,
    /// What is kept.
    pub payload: Vec<u8>,
    /// What is left of them when they have expired or had to make room; none: nothing, and the keys go too.
    pub trace: Option<Vec<u8>>,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Bytes of all payloads of one owner; beyond it the least recently used make room.
    pub owner_bytes: u64,
}

/// A question for kept rounds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecallKept {
    /// Whose they must be.
    pub scope: KeptScope,
    /// Keys to look for in this session alone.
    pub keys: Vec<String>,
    /// Keys that lead to rounds of any session; this session's go first, then the newest.
    pub anywhere: Vec<String>,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Milliseconds since their last use after which rounds have expired.
    pub ttl_ms: i64,
}

/// Rounds that were found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecalledKept {
    /// The keys of the question that lead to them, in the order of the question.
    pub keys: Vec<String>,
    /// Session that they were kept in.
    pub session: String,
    /// The payload; the trace if they have expired.
    pub payload: Vec<u8>,
}

/// What is to be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PruneKept {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Milliseconds since their last use after which rounds have expired.
    pub ttl_ms: i64,
    /// Milliseconds since their last use after which a trace goes too.
    pub trace_ms: i64,
    /// Rounds that one call touches at most.
    pub batch: u32,
}
