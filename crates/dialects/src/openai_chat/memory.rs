//! Hidden rounds of chat completions: how a message is read for them, and how they go back into a history.
//!
//! Never reorders what the client sent, and never leaves a call of ours without its result.

use std::collections::HashSet;

use domain::ToolResult;
use serde_json::{Value, json};

use crate::history::{Look, Past, Role, Ways, order};
use crate::json;
use crate::kept::Kept;
use crate::splice::{Container, Edits};

pub(super) const WAYS: Ways = Ways { look, without, result: |result| result_message(result).to_string() };

/// What the model is told where our results of a message are gone.
const EXPIRED: &str = "\n[The other results of this step have expired and cannot be shown any more.]";

/// A result as a message.
pub(super) fn result_message(result: &ToolResult) -> Value {
    json!({"role": "tool", "tool_call_id": result.call_id, "content": result.content})
}

fn word(object: &Container<'_>, name: &str) -> Option<String> {
    object.value(name).and_then(json::string)
}

fn look(message: &Container<'_>) -> Look {
    let role = match word(message, "role").as_deref() {
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        _ => return Look::default(),
    };
    let parts = message.children("content");
    let texts = parts
        .iter()
        .flat_map(|parts| parts.items.iter().filter_map(|part| word(&parts.element(part)?, "text")));
    let text = word(message, "content").unwrap_or_else(|| texts.collect());
    let calls = message.children("tool_calls");
    let ids = calls.iter().flat_map(|calls| calls.items.iter().filter_map(|call| calls.element(call)));
    let calls = ids.map(|call| word(&call, "id").unwrap_or_default()).collect();
    Look { role, text, calls, signatures: Vec::new() }
}

fn without(message: &str, ids: &HashSet<&str>) -> Option<String> {
    let object = Container::object(message, message).ok()?;
    let mut edits = Edits::new(message);
    let list = object.children("tool_calls")?;
    let is_gone = |item| {
        let id = list.element(item).and_then(|call| word(&call, "id"));
        ids.contains(id.unwrap_or_default().as_str())
    };
    let gone: Vec<bool> = list.items.iter().map(is_gone).collect();
    if gone.contains(&false) {
        edits.elements(&list, &|i| gone.get(i) == Some(&true), &[]);
    } else if look(&object).text.is_empty() {
        return None;
    } else {
        edits.members(&object, &["tool_calls"], &[]);
    }
    Some(edits.apply())
}

/// The place and the call id of each tool message that follows a place.
fn answers(past: &Past<'_>, place: usize) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, item) in past.messages.items.iter().enumerate().skip(place + 1) {
        let Some(message) = past.messages.element(item) else { break };
        if word(&message, "role").as_deref() != Some("tool") {
            break;
        }
        found.push((at, word(&message, "tool_call_id").unwrap_or_default()));
    }
    found
}

/// See [`crate::history::PutBack`].
pub(super) fn put_back(past: &mut Past<'_>, place: usize, kept: &Kept) -> bool {
    let answers = answers(past, place);
    if kept.expired {
        return tell(past, place, &answers);
    }
    if !kept.results.is_empty() {
        let (Some((first, _)), Some(instead)) = (answers.first(), &kept.instead) else { return false };
        let theirs: Vec<String> = answers.iter().map(|(_, id)| id.clone()).collect();
        let results: Vec<&str> = kept.results.iter().map(|result| result.get()).collect();
        let ours: Vec<String> = results.iter().map(|text| answered(text)).collect();
        let calls = Container::object(instead.get(), instead.get()).map(|message| look(&message).calls);
        let places = order(&calls.unwrap_or_default(), &ours, &theirs);
        for at in 0..=theirs.len() {
            let here: Vec<&str> = results
                .iter()
                .zip(&places)
                .filter(|(_, place)| **place == at)
                .map(|(text, _)| *text)
                .collect();
            let before = at < theirs.len();
            let neighbour = if before { first + at } else { first + at - 1 };
            let Some(text) = past.text(neighbour).filter(|_| !here.is_empty()) else { continue };
            let all =
                if before { [here.join(","), text.to_owned()] } else { [text.to_owned(), here.join(",")] };
            past.set(neighbour, all.join(","));
        }
    }
    let Some(own) = past.text(place) else { return false };
    let last = kept.instead.as_ref().map_or(own, |message| message.get());
    let all: Vec<&str> = kept.before.iter().map(|message| message.get()).chain([last]).collect();
    past.set(place, all.join(","));
    true
}

/// The call that a result answers.
fn answered(result: &str) -> String {
    let message = Container::object(result, result).ok();
    message.and_then(|message| word(&message, "tool_call_id")).unwrap_or_default()
}

/// Says in the last result of the client's that ours have expired.
fn tell(past: &mut Past<'_>, place: usize, answers: &[(usize, String)]) -> bool {
    let calls = past.looks.get(place).map(|look| look.calls.clone()).unwrap_or_default();
    let Some((at, _)) = answers.iter().rev().find(|(_, id)| calls.contains(id)) else { return false };
    let Some(text) = past.text(*at).map(str::to_owned) else { return false };
    let Ok(message) = Container::object(&text, &text) else { return false };
    let mut edits = Edits::new(&text);
    let note = json::quote(EXPIRED);
    match (message.value("content"), message.children("content")) {
        (_, Some(parts)) => {
            edits.elements(&parts, &|_| false, &[format!("{{\"type\":\"text\",\"text\":{note}}}")]);
        }
        (Some(raw), None) => {
            let Some(text) = json::string(raw) else { return false };
            edits.members(&message, &[], &[("content", json::quote(&format!("{text}{EXPIRED}")))]);
        }
        (None, None) => edits.members(&message, &[], &[("content", note)]),
    }
    past.set(*at, edits.apply());
    true
}
