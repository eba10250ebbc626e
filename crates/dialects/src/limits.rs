//! Bytes that one answer may hold in memory, so that a hostile upstream cannot exhaust it.

/// One server-sent event.
pub(crate) const EVENT_BYTES: usize = 16 * 1024 * 1024;
/// A plain answer, or the message of one streamed round.
pub(crate) const BODY_BYTES: usize = 64 * 1024 * 1024;
/// Arguments of the calls of one streamed round, and frames that are held back.
pub(crate) const HELD_BYTES: usize = 16 * 1024 * 1024;
/// Calls, or content blocks, of one streamed round: each event looks through them.
pub(crate) const PARTS: usize = 4096;
