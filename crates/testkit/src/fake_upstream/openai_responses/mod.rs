//! `OpenAI` responses as its provider speaks it. Refusals are in `strict` and `history`, answers in `write`.
//!
//! It stores answers unless told not to, and knows every reasoning item that it ever sent.

mod history;
mod stored;
mod strict;
mod write;

use serde_json::{Value, json};

use super::memory::Memory;
use super::provider::{Incoming, Other, Provider, Refusal, Reply, at, word};

/// The provider.
pub(crate) struct OpenAiResponses;

impl Provider for OpenAiResponses {
    fn path(&self) -> &'static str {
        "/v1/responses"
    }

    fn check(&self, ask: &Incoming<'_>) -> Result<(), Refusal> {
        strict::check(ask)
    }

    fn other(&self, ask: &Other<'_>, memory: &mut Memory) -> Option<Result<Value, Refusal>> {
        stored::answer(ask, memory)
    }

    fn whole(&self, body: &Value, memory: &Memory) -> Value {
        let mut whole = body.as_object().cloned().unwrap_or_default();
        whole.insert("input".to_owned(), Value::Array(history_of(body, memory)));
        Value::Object(whole)
    }

    fn round_index(&self, body: &Value) -> usize {
        let items = items(body);
        let start = items.iter().rposition(is_user).map_or(0, |at| at + 1);
        // Each round that called ends with results.
        let is_result = |at: usize| items.get(at).is_some_and(is_output);
        let last_of_a_run = |at: &usize| is_result(*at) && !is_result(at + 1);
        (start..items.len()).filter(last_of_a_run).count()
    }

    fn user_text(&self, body: &Value) -> String {
        let items = items(body);
        items
            .iter()
            .rev()
            .find(|item| is_user(item))
            .map(|item| text_of(&item["content"]))
            .unwrap_or_default()
    }

    fn callable(&self, body: &Value) -> Vec<String> {
        if body["tool_choice"] == "none" {
            return Vec::new();
        }
        let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        let functions = tools.iter().filter(|tool| tool["type"] == "function");
        functions.filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    fn call_id(&self, number: u64) -> String {
        format!("call_{}", word(number, 24))
    }

    fn plain(&self, reply: &Reply) -> Value {
        write::plain(reply)
    }

    fn events(&self, reply: &Reply) -> Vec<String> {
        write::events(reply)
    }

    fn error_event(&self, message: &str) -> String {
        let error =
            json!({"type": "server_error", "code": "server_error", "message": message, "param": null});
        let event = json!({"type": "error", "error": error});
        format!("event: error\ndata: {event}\n\n")
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let (kind, code) = match refusal.status {
            401 => ("invalid_request_error", json!("invalid_api_key")),
            429 => ("requests", json!("rate_limit_exceeded")),
            500.. => ("server_error", json!("server_error")),
            _ => ("invalid_request_error", json!(null)),
        };
        json!({"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}})
    }

    fn remember(&self, reply: &Reply, memory: &mut Memory) {
        let output = write::output(reply);
        for (index, item) in output.iter().enumerate().filter(|(_, item)| item["type"] == "reasoning") {
            let next = output.get(index + 1).cloned().unwrap_or_default();
            memory.led_to.insert(id_of(item).to_owned(), (write::sealed(item), next));
        }
        let mut all = history_of(&reply.asked, memory);
        if *at(&reply.asked, "/store") != false {
            memory.answers.insert(write::id(reply), write::finished(reply));
            memory.inputs.insert(write::id(reply), all.clone());
        }
        all.extend(output);
        if let Some(conversation) = conversation(&reply.asked) {
            memory.stored.insert(conversation.to_owned(), all.clone());
        }
        if *at(&reply.asked, "/store") != false {
            memory.stored.insert(write::id(reply), all);
        }
    }
}

/// Everything said before the answer: what is stored, then the input.
fn history_of(body: &Value, memory: &Memory) -> Vec<Value> {
    let before = conversation(body).or_else(|| body["previous_response_id"].as_str());
    let mut all = before.and_then(|id| memory.stored.get(id)).cloned().unwrap_or_default();
    let stored = |id: &str| memory.stored.values().flatten().find(|item| id_of(item) == id).cloned();
    all.extend(items(body).into_iter().map(|item| match kind(&item) {
        "item_reference" => stored(id_of(&item)).unwrap_or(item),
        _ => item,
    }));
    all
}

/// The id of the conversation that a request belongs to.
fn conversation(body: &Value) -> Option<&str> {
    body["conversation"].as_str().or_else(|| at(body, "/conversation/id").as_str())
}

/// The input as items; a text is a message.
fn items(body: &Value) -> Vec<Value> {
    match &body["input"] {
        Value::String(text) => vec![json!({"type": "message", "role": "user", "content": text})],
        Value::Array(items) => items.clone(),
        _ => Vec::new(),
    }
}

fn id_of(item: &Value) -> &str {
    item["id"].as_str().unwrap_or_default()
}

/// The type of an item; a bare message has none, and a bare id is a reference.
fn kind(item: &Value) -> &str {
    let bare = if item["role"].is_null() && item["id"].is_string() { "item_reference" } else { "message" };
    item["type"].as_str().unwrap_or(bare)
}

fn is_user(item: &Value) -> bool {
    kind(item) == "message" && item["role"] == "user"
}

fn is_output(item: &Value) -> bool {
    matches!(kind(item), "function_call_output" | "custom_tool_call_output")
}

/// The text of a string or of text parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
