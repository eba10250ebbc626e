//! Hidden rounds of Messages: how a message is read for them, and how they go back into a history.
//!
//! Thinking comes back with the call that it led to. Where the call is lost for good, its thinking goes too, because
//! the provider refuses it alone. Never reorders the client's results.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::json;

use crate::history::{Look, Past, Role, Ways, order, signature_key};
use crate::json;
use crate::kept::Kept;
use crate::reading;
use crate::splice::{Container, Edits};

pub(super) const WAYS: Ways =
    Ways { look, without, result: |result| super::result::tool_result(result).to_string() };

/// What the model is told where our results of a message are gone.
const EXPIRED: &str = "[The other results of this step have expired and cannot be shown any more.]";

fn word(object: &Container<'_>, name: &str) -> Option<String> {
    object.value(name).and_then(json::string)
}

fn look(message: &Container<'_>) -> Look {
    let role = match word(message, "role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Look::default(),
    };
    let mut look = Look { role, text: word(message, "content").unwrap_or_default(), ..Look::default() };
    let Some(blocks) = message.children("content") else { return look };
    for block in blocks.items.iter().filter_map(|item| blocks.element(item)) {
        match word(&block, "type").as_deref() {
            Some("text") => look.text.push_str(&word(&block, "text").unwrap_or_default()),
            Some("tool_use") => look.calls.push(word(&block, "id").unwrap_or_default()),
            _ => look.signatures.extend(signature(&block)),
        }
    }
    look
}

/// The signature of a thinking block.
fn signature(block: &Container<'_>) -> Option<String> {
    match word(block, "type").as_deref() {
        Some("thinking") => word(block, "signature"),
        Some("redacted_thinking") => word(block, "data"),
        _ => None,
    }
}

fn is_thinking(block: &Container<'_>) -> bool {
    matches!(word(block, "type").as_deref(), Some("thinking" | "redacted_thinking"))
}

/// The calls go, and thinking that leads to nothing else any more.
fn without(message: &str, ids: &HashSet<&str>) -> Option<String> {
    let object = Container::object(message, message).ok()?;
    let blocks = object.children("content")?;
    let mut kept: Vec<&str> = Vec::new();
    let mut leads_nowhere = true;
    for item in blocks.items.iter().rev() {
        let block = blocks.element(item)?;
        let is_gone = word(&block, "type").as_deref() == Some("tool_use")
            && ids.contains(word(&block, "id").unwrap_or_default().as_str());
        if is_gone || (leads_nowhere && is_thinking(&block)) {
            continue;
        }
        leads_nowhere = false;
        kept.push(item.value);
    }
    kept.reverse();
    let mut edits = Edits::new(message);
    edits.members(&object, &[], &[("content", format!("[{}]", kept.join(",")))]);
    (!kept.is_empty()).then(|| edits.apply())
}

/// See [`crate::history::PutBack`].
pub(super) fn put_back(past: &mut Past<'_>, place: usize, kept: &Kept) -> bool {
    if kept.expired {
        let told = tell(past, place);
        return let_orphans_go(past, place, &kept.orphans) || told;
    }
    if !kept.results.is_empty() && !put_results_back(past, place, kept) {
        return false;
    }
    let Some(own) = past.text(place) else { return false };
    let last =
        kept.instead.as_ref().map_or_else(|| own.to_owned(), |message| cached_like(own, message.get()));
    let all: Vec<&str> = kept.before.iter().map(|message| message.get()).chain([last.as_str()]).collect();
    past.set(place, all.join(","));
    true
}

/// Puts our results between the client's, in the order of the calls.
fn put_results_back(past: &mut Past<'_>, place: usize, kept: &Kept) -> bool {
    let Some(instead) = kept.instead.as_ref().map(|message| message.get()) else { return false };
    let Some(text) = past.text(place + 1).map(str::to_owned) else { return false };
    let Ok(message) = Container::object(&text, &text) else { return false };
    let Some(blocks) = message.children("content") else { return false };
    let results: Vec<(usize, String)> = blocks
        .items
        .iter()
        .enumerate()
        .filter_map(|(at, item)| Some((at, word(&blocks.element(item)?, "tool_use_id")?)))
        .collect();
    let theirs: Vec<String> = results.iter().map(|(_, id)| id.clone()).collect();
    let Some((last, _)) = results.last() else { return false };
    let calls = Container::object(instead, instead).map(|message| look(&message).calls).unwrap_or_default();
    let ours = kept.results.iter().map(|result| {
        let block = Container::object(result.get(), result.get()).ok();
        block.and_then(|block| word(&block, "tool_use_id")).unwrap_or_default()
    });
    let places = order(&calls, &ours.collect::<Vec<_>>(), &theirs);
    let mut all: Vec<&str> = Vec::new();
    for (at, item) in blocks.items.iter().enumerate() {
        let here = results.iter().position(|(result, _)| *result == at);
        all.extend(kept.results.iter().zip(&places).filter(|(_, p)| Some(**p) == here).map(|(r, _)| r.get()));
        all.push(item.value);
        if at == *last {
            let behind = kept.results.iter().zip(&places).filter(|(_, place)| **place == theirs.len());
            all.extend(behind.map(|(result, _)| result.get()));
        }
    }
    let mut edits = Edits::new(&text);
    edits.members(&message, &[], &[("content", format!("[{}]", all.join(",")))]);
    past.set(place + 1, edits.apply());
    true
}

/// The message with the client's mark for the prompt cache, if it set one.
fn cached_like(own: &str, message: &str) -> String {
    let mark = |text: &str| -> Option<String> {
        let message = Container::object(text, text).ok()?;
        let blocks = message.children("content")?;
        let mut marks = blocks.items.iter().filter_map(|item| blocks.element(item)?.value("cache_control"));
        marks.next_back().map(str::to_owned)
    };
    let (Some(mark), Ok(object)) = (mark(own), Container::object(message, message)) else {
        return message.to_owned();
    };
    let mut edits = Edits::new(message);
    let blocks = object.children("content");
    let mut blocks =
        blocks.iter().flat_map(|blocks| blocks.items.iter().filter_map(|item| blocks.element(item)));
    if let Some(block) = blocks.rfind(|block| !is_thinking(block)) {
        edits.members(&block, &[], &[("cache_control", mark)]);
    }
    edits.apply()
}

/// Says in the last result of the client's that ours have expired.
fn tell(past: &mut Past<'_>, place: usize) -> bool {
    let calls = past.looks.get(place).map(|look| look.calls.clone()).unwrap_or_default();
    let Some(text) = past.text(place + 1).map(str::to_owned) else { return false };
    let Ok(message) = Container::object(&text, &text) else { return false };
    let Some(blocks) = message.children("content") else { return false };
    let answers = |block: &Container<'_>| word(block, "tool_use_id").is_some_and(|id| calls.contains(&id));
    let mut results = blocks.items.iter().filter_map(|item| blocks.element(item)).filter(answers);
    let Some(result) = results.next_back() else { return false };
    let mut edits = Edits::new(&text);
    let note = json!({"type": "text", "text": EXPIRED}).to_string();
    match (result.value("content"), result.children("content")) {
        (_, Some(parts)) => edits.elements(&parts, &|_| false, &[note]),
        (Some(raw), None) => {
            let Some(own) = json::string(raw) else { return false };
            let own = if own.is_empty() { EXPIRED.to_owned() } else { format!("{own}\n{EXPIRED}") };
            edits.members(&result, &[], &[("content", json::quote(&own))]);
        }
        (None, None) => edits.members(&result, &[], &[("content", json::quote(EXPIRED))]),
    }
    past.set(place + 1, edits.apply());
    true
}

/// Takes thinking out whose calls are lost. What is left of the message must begin with thinking, if it has any.
fn let_orphans_go(past: &mut Past<'_>, place: usize, orphans: &[String]) -> bool {
    let Some(text) = past.text(place).map(str::to_owned) else { return false };
    let Ok(message) = Container::object(&text, &text) else { return false };
    let Some(blocks) = message.children("content") else { return false };
    let (mut front, mut rest): (Vec<&str>, Vec<&str>) = (Vec::new(), Vec::new());
    let mut gone = false;
    // Thinking stands in front of the calls that it led to: what comes before it moves behind it.
    let mut moves = true;
    for item in &blocks.items {
        let Some(block) = blocks.element(item) else { return false };
        if signature(&block).is_some_and(|signature| orphans.contains(&signature_key(&signature))) {
            gone = true;
        } else if moves && is_thinking(&block) {
            front.push(item.value);
        } else {
            moves &= front.is_empty();
            rest.push(item.value);
        }
    }
    if !gone {
        return false;
    }
    front.extend(rest);
    let mut edits = Edits::new(&text);
    edits.members(&message, &[], &[("content", format!("[{}]", front.join(",")))]);
    past.set(place, edits.apply());
    true
}

/// A history with calls is refused without tools: those that it calls are declared, and may not be called.
pub(super) fn declare_called(body: Bytes) -> Bytes {
    let Ok(top) = reading::open(&body) else { return body };
    let Some(messages) = top.children("messages").filter(|_| top.value("tools").is_none()) else {
        return body;
    };
    let mut names: Vec<String> = Vec::new();
    for message in messages.items.iter().filter_map(|item| messages.element(item)) {
        let Some(blocks) = message.children("content") else { continue };
        for block in blocks.items.iter().filter_map(|item| blocks.element(item)) {
            let name = word(&block, "name").filter(|_| word(&block, "type").as_deref() == Some("tool_use"));
            names.extend(name.filter(|name| !names.contains(name)));
        }
    }
    if names.is_empty() {
        return body;
    }
    let tools: Vec<_> =
        names.iter().map(|name| json!({"name": name, "input_schema": {"type": "object"}})).collect();
    let mut edits = Edits::new(top.doc());
    let set = [("tools", json!(tools).to_string()), ("tool_choice", super::WIRE.none.to_owned())];
    edits.members(&top, &[], &set);
    edits.apply().into()
}
