//! Stored answers, asked for by id: shown, listed, cancelled and deleted as the real provider does it.

use http::header::AUTHORIZATION;
use serde_json::{Value, json};

use super::id_of;
use crate::fake_upstream::memory::Memory;
use crate::fake_upstream::provider::{Other, Refusal, at};
use crate::fake_upstream::rules;

/// The answer on a path behind `/v1/responses/`.
pub(super) fn answer(ask: &Other<'_>, memory: &mut Memory) -> Option<Result<Value, Refusal>> {
    let rest = ask.path.strip_prefix("/v1/responses/")?;
    let (id, behind) = rest.split_once('/').unwrap_or((rest, ""));
    let known =
        matches!((ask.method, behind), ("GET" | "DELETE", "") | ("GET", "input_items") | ("POST", "cancel"));
    known.then(|| {
        allowed(ask)?;
        if !memory.answers.contains_key(id) {
            return Err(Refusal::status(404, format!("Response with id '{id}' not found.")));
        }
        match (ask.method, behind) {
            ("GET", "") => show(ask, id, memory),
            ("GET", _) => Ok(list(ask, id, memory)),
            ("DELETE", _) => {
                memory.answers.remove(id);
                memory.stored.remove(id);
                memory.inputs.remove(id);
                Ok(json!({"id": id, "object": "response", "deleted": true}))
            }
            _ => cancel(id, memory),
        }
    })
}

fn allowed(ask: &Other<'_>) -> Result<(), Refusal> {
    let bearer = ask.headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    rules::credential(
        ask.script.require_key.as_deref(),
        bearer.and_then(|value| value.strip_prefix("Bearer ")),
    )?;
    if ask.query.contains("osk_") {
        return Err(Refusal::bad("key", "a gateway key has reached the upstream"));
    }
    rules::no_leaks(ask.headers)
}

fn show(ask: &Other<'_>, id: &str, memory: &Memory) -> Result<Value, Refusal> {
    let answer = memory.answers.get(id).cloned().unwrap_or_default();
    if parameter(ask, "stream") == Some("true") && *at(&answer, "/background") != true {
        let message = "Only responses created with background=true can be streamed again.";
        return Err(Refusal::bad("stream", message));
    }
    Ok(answer)
}

fn cancel(id: &str, memory: &mut Memory) -> Result<Value, Refusal> {
    let answer = memory.answers.entry(id.to_owned()).or_default();
    if *at(answer, "/background") != true {
        return Err(Refusal::bad("response_id", "Cannot cancel a synchronous response."));
    }
    if let Some(status) = answer.get_mut("status") {
        *status = json!("cancelled");
    }
    Ok(answer.clone())
}

/// Newest first unless it is asked for otherwise.
fn list(ask: &Other<'_>, id: &str, memory: &Memory) -> Value {
    let mut items = memory.inputs.get(id).cloned().unwrap_or_default();
    for (number, item) in items.iter_mut().enumerate().filter(|(_, item)| id_of(item).is_empty()) {
        if let Some(item) = item.as_object_mut() {
            item.insert("id".to_owned(), json!(format!("in_{id}_{number}")));
        }
    }
    if parameter(ask, "order") != Some("asc") {
        items.reverse();
    }
    let after = parameter(ask, "after");
    let start = items.iter().position(|item| Some(id_of(item)) == after).map_or(0, |at| at + 1);
    let limit = parameter(ask, "limit").and_then(|limit| limit.parse().ok()).unwrap_or(20);
    let page: Vec<Value> = items.iter().skip(start).take(limit).cloned().collect();
    json!({
        "object": "list", "first_id": page.first().map(id_of), "last_id": page.last().map(id_of),
        "has_more": start + page.len() < items.len(), "data": page,
    })
}

fn parameter<'a>(ask: &Other<'a>, name: &str) -> Option<&'a str> {
    ask.query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .find(|(key, _)| *key == name)
        .map(|(_, value)| value)
}
