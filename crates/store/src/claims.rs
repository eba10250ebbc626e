//! Claims make a repeated request harmless: whoever takes one first runs, everybody else gets what came of it.

/// A claim on doing something once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Names the doing: lower-case hex sha256 over owner, `Idempotency-Key` and place.
    pub key: String,
    /// Tells whether a repeat is the same: hash of skill and input.
    pub fingerprint: String,
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Milliseconds since 1970 from which on it counts no more.
    pub expires_ms: i64,
}

/// What an earlier claim of the same key was taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// The execution.
    pub execution_id: String,
    /// Its fingerprint.
    pub fingerprint: String,
}
