//! Ids for calls that have none. The gateway and its clients need one; the provider never sees it.

use bytes::Bytes;
use domain::ids::sha256_hex;

use super::members::{child, each};
use crate::json;
use crate::reading;
use crate::splice::{Container, Edits};

const PREFIX: &str = "gemini_call_";
/// Hex digits behind it.
const DIGITS: usize = 16;

/// The ids of one turn.
#[derive(Clone, Debug, Default)]
pub(super) struct Ids {
    given: usize,
}

impl Ids {
    /// An id that no other call of this turn has, nor of any other answer.
    pub(super) fn next(&mut self, response_id: &str, name: &str, arguments: &str) -> String {
        self.given += 1;
        let hash = sha256_hex(format!("{} {response_id} {name} {arguments}", self.given));
        format!("{PREFIX}{}", hash.get(..DIGITS).unwrap_or_default())
    }
}

/// Whether an id is one that the gateway made.
pub(super) fn is_ours(id: &str) -> bool {
    id.strip_prefix(PREFIX).is_some_and(|rest| {
        rest.len() == DIGITS && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// The body without ids of ours in its history.
pub(super) fn taken_out(raw: &Bytes) -> Bytes {
    if memchr::memmem::find(raw, PREFIX.as_bytes()).is_none() {
        return raw.clone();
    }
    let Ok(top) = reading::open(raw) else { return raw.clone() };
    let mut edits = Edits::new(top.doc());
    for part in each(&top, "contents").iter().flat_map(|content| each(content, "parts")) {
        for named in ["functionCall", "functionResponse"].into_iter().filter_map(|name| child(&part, name)) {
            if id_of(&named).is_some_and(|id| is_ours(&id)) {
                edits.members(&named, &["id"], &[]);
            }
        }
    }
    if edits.is_empty() { raw.clone() } else { edits.apply().into() }
}

/// The id of a call or response; an empty one is none.
pub(super) fn id_of(named: &Container<'_>) -> Option<String> {
    named.value("id").and_then(json::string).filter(|id| !id.is_empty())
}
