//! Hidden rounds that come back: what a later request shows of a turn, and what belongs there in truth.
//!
//! The client never sees our calls, the model must never lose them. A turn with hidden rounds is kept under
//! [`anchors`](crate::Dialect::anchors) that a later request will show; what is kept is data of one dialect and is
//! written by that dialect alone.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// How keys of a client's call ids begin.
pub const CALL: &str = "call:";
/// How keys of an answer's id begin.
pub const RESPONSE: &str = "response:";

/// How keys of an item's id begin, where the item alone would be legal.
pub const ITEM: &str = "item:";

/// A place in a request's history where hidden rounds may belong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// What the place shows: `call:ID`, `text:HASH`, `signature:HASH`, `item:ID`, `response:ID`. A place may have several
    /// anchors: the surer ones come first. Keys of calls and responses hold with `memory = "off"` too, because the
    /// history would be wrong without what they lead to; responses are found from every session.
    pub key: String,
    /// Where it is, for the dialect.
    pub place: usize,
}

/// What stands in truth where the client shows one message.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Kept {
    /// Messages (or items) before it, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<Box<RawValue>>,
    /// What stands in its place; absent = the client's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instead: Option<Box<RawValue>>,
    /// Results of ours, in call order, that belong to the message itself (a mixed turn).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<Box<RawValue>>,
    /// What stands for `results` when they have expired, where the provider waits for some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Box<RawValue>>,
    /// The upstream's own id of the turn's last answer, where a client may name the answer by id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_id: Option<String>,
    /// Ids and call ids of the items that the answer of that id holds, where the client was shown all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub said: Vec<String>,
    /// Those of them whose results it holds, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answered: Vec<String>,
    /// Items that the client may name by id instead of showing them, as far as they are neither before nor instead.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<Box<RawValue>>,
    /// What the client shows of hidden calls and the provider refuses without them, as keys of anchors.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub orphans: Vec<String>,
    /// Only this trace is left: `orphans`, `response_id`, and in `results` what was `lost`; the model may be told so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
}

impl Kept {
    /// What is left of it when it has expired.
    #[must_use]
    pub fn trace(&self) -> Self {
        Self {
            results: self.lost.clone(),
            response_id: self.response_id.clone(),
            orphans: self.orphans.clone(),
            expired: true,
            ..Self::default()
        }
    }
}

/// A turn that is to be kept.
#[derive(Debug)]
pub struct Keeping {
    /// Under each of these it is found again.
    pub keys: Vec<String>,
    /// What is kept.
    pub kept: Kept,
}
