//! Conversations that the provider holds (`thread`): a request goes on with an answer by its id and sends only what is
//! new. Every answer can be gone on with once, so later rounds of such a turn name the round before.
//!
//! The provider holds the tools, too, and refuses others: none is ever added to them.

use bytes::Bytes;
use domain::ToolResult;
use serde_json::json;
use serde_json::value::RawValue;

use super::result::tool_result;
use super::{WIRE, memory};
use crate::answer::{Fault, Round, Shown};
use crate::history;
use crate::issued::Issued;
use crate::kept::{Anchor, Keeping, Kept, RESPONSE};
use crate::request::{Ask, ClientRequest};
use crate::splice::{Container, Edits};
use crate::{json, reading, writing};

/// The place of the answer that a request goes on with.
const PREVIOUS: usize = usize::MAX;
/// What stands for a result of ours that is gone.
const EXPIRED: &str = "[The result of this call has expired and cannot be shown any more.]";

fn word(object: &Container<'_>, name: &str) -> Option<String> {
    object.value(name).and_then(json::string)
}

/// Whether the provider is to hold the conversation.
pub(super) fn is_held(request: &ClientRequest) -> bool {
    reading::open(&request.raw).is_ok_and(|top| top.child("thread").is_some())
}

/// The answer that a body goes on with.
pub(super) fn previous(top: &Container<'_>) -> Option<String> {
    let thread = top.child("thread").filter(|thread| word(thread, "type").as_deref() == Some("continue"))?;
    word(&thread, "previous_message_id").filter(|id| !id.is_empty())
}

/// A round whose message has an id, taken apart.
pub(super) fn split(round: &Round) -> (Option<String>, Round) {
    let text = std::str::from_utf8(&round.message).unwrap_or_default();
    let Ok(message) = Container::object(text, text) else { return (None, round.clone()) };
    let mut edits = Edits::new(text);
    edits.members(&message, &["id"], &[]);
    (word(&message, "id"), Round { message: edits.apply().into(), ..round.clone() })
}

/// The next round of a turn that goes on with an answer; none if it does not.
pub(super) fn follow_up(
    body: &Bytes,
    round: &Round,
    results: &[ToolResult],
    ask: Ask,
    ours: &[String],
) -> Option<Result<Bytes, Fault>> {
    let top = reading::open(body).ok()?;
    previous(&top)?;
    let id = split(round).0?;
    let blocks: Vec<_> = results.iter().map(tool_result).collect();
    let mut edits = Edits::new(top.doc());
    let set = [
        ("messages", json!([{"role": "user", "content": blocks}]).to_string()),
        ("thread", json!({"type": "continue", "previous_message_id": id}).to_string()),
    ];
    edits.members(&top, &[], &set);
    // What the provider holds cannot be changed on the way.
    let ask = if top.value("tools").is_some() { ask } else { Ask::Again };
    Some(writing::settle_tools(&WIRE, &top, &mut edits, ask, ours).map(|()| edits.apply().into()))
}

/// The anchor of the answer that a request goes on with.
pub(super) fn anchor(request: &ClientRequest) -> Option<Anchor> {
    let id = reading::open(&request.raw).ok().and_then(|top| previous(&top))?;
    Some(Anchor { key: format!("{RESPONSE}{id}"), place: PREVIOUS })
}

/// What is kept of a turn; see [`crate::Dialect::keep`].
pub(super) fn keep(
    request: &ClientRequest,
    body: &Bytes,
    last: &Round,
    parked: &[ToolResult],
    shown: &Shown,
) -> Option<Keeping> {
    let (id, last) = split(last);
    let goes_on = reading::open(&request.raw).is_ok_and(|top| previous(&top).is_some());
    // The client's own history lacks what it goes on with: by its texts the turn would be known wrongly.
    let by_history = || history::keep(&memory::WAYS, request, body, &last, parked, shown);
    let keeping = if goes_on { None } else { by_history() };
    let (Some(id), Some(shown_id)) = (id, &shown.id) else { return keeping };
    let mut keeping = keeping.unwrap_or(Keeping { keys: Vec::new(), kept: Kept::default() });
    let raw = |value: serde_json::Value| RawValue::from_string(value.to_string()).ok();
    let expired = |result: &ToolResult| json!({"type": "tool_result", "tool_use_id": result.call_id, "content": EXPIRED});
    keeping.keys.push(format!("{RESPONSE}{shown_id}"));
    keeping.kept.response_id = Some(id);
    keeping.kept.results = parked.iter().filter_map(|result| raw(tool_result(result))).collect();
    keeping.kept.lost = parked.iter().filter_map(|result| raw(expired(result))).collect();
    Some(keeping)
}

/// The request with the provider's name of the answer, and our results in front of the client's.
pub(super) fn restore(body: &Bytes, kept: &[(Anchor, Kept)]) -> Option<Bytes> {
    let (_, kept) = kept.iter().find(|(anchor, _)| anchor.place == PREVIOUS)?;
    let top = reading::open(body).ok()?;
    let thread = top.child("thread")?;
    let mut edits = Edits::new(top.doc());
    edits.members(&thread, &[], &[("previous_message_id", json::quote(kept.response_id.as_deref()?))]);
    let ours: Vec<&str> = kept.results.iter().map(|result| result.get()).collect();
    if !ours.is_empty() {
        let messages = top.children("messages")?;
        let first = messages.items.first().and_then(|item| messages.element(item));
        if let Some(first) = first.filter(|first| word(first, "role").as_deref() == Some("user")) {
            let text = word(&first, "content").map(|text| json!({"type": "text", "text": text}).to_string());
            let own = first.children("content").map(|own| own.items).unwrap_or_default();
            let own = own.iter().map(|item| item.value).chain(text.as_deref());
            let all: Vec<&str> = ours.into_iter().chain(own).collect();
            edits.members(&first, &[], &[("content", format!("[{}]", all.join(",")))]);
        } else {
            let all = messages.items.iter().map(|item| item.value.to_owned());
            let own = format!("{{\"role\":\"user\",\"content\":[{}]}}", ours.join(","));
            let all: Vec<String> = std::iter::once(own).chain(all).collect();
            edits.members(&top, &[], &[("messages", format!("[{}]", all.join(",")))]);
        }
    }
    Some(edits.apply().into())
}

/// See [`crate::Dialect::issued`].
pub(super) fn issued(
    request: &ClientRequest,
    last: Option<&Round>,
    shown: &Shown,
    ours: &[String],
) -> Option<Issued> {
    let id = last.map_or_else(|| shown.id.clone(), |last| split(last).0).filter(|_| is_held(request))?;
    let client_tools = request.client_tools.clone();
    Some(Issued { ids: vec![id], tools: ours.to_vec(), client_tools, ..Issued::default() })
}
