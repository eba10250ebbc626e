//! Why a selection came out as it did, for people: every candidate it looked at, with its score by signal.

use std::sync::Arc;

use domain::scoring::Score;

use crate::entry::Entry;
use crate::skip::SkipReason;

/// What became of a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is in the request.
    Injected,
    /// It is not.
    Skipped(SkipReason),
}

/// A candidate that the selection looked at.
#[derive(Clone, Debug)]
pub struct Considered {
    /// The skill.
    pub entry: Arc<Entry>,
    /// Its score against the request; named and `on` skills have one too, it decides nothing for them.
    pub score: Score,
    /// What became of it.
    pub outcome: Outcome,
}
