//! `OpenAI` chat completions as its provider speaks it. Refusals are in `strict`, answers in `write`.

mod strict;
mod write;

use serde_json::{Value, json};

use super::memory::Memory;
use super::provider::{Incoming, Provider, Refusal, Reply, at, word};

/// The provider.
pub(crate) struct OpenAiChat;

impl Provider for OpenAiChat {
    fn path(&self) -> &'static str {
        "/v1/chat/completions"
    }

    fn check(&self, ask: &Incoming<'_>) -> Result<(), Refusal> {
        strict::check(ask)
    }

    fn round_index(&self, body: &Value) -> usize {
        let later = messages(body).iter().rev().take_while(|message| message["role"] != "user");
        later.filter(|message| message["role"] == "assistant").count()
    }

    fn user_text(&self, body: &Value) -> String {
        let last = messages(body).iter().rev().find(|message| message["role"] == "user");
        last.map(|message| text_of(&message["content"])).unwrap_or_default()
    }

    fn callable(&self, body: &Value) -> Vec<String> {
        if body["tool_choice"] == "none" {
            return Vec::new();
        }
        let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| at(tool, "/function/name").as_str().map(str::to_owned)).collect()
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
        let error = json!({"error": {"message": message, "type": "server_error", "param": null, "code": "server_error"}});
        format!("data: {error}\n\n")
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let (kind, code) = match refusal.status {
            401 => ("invalid_request_error", json!("invalid_api_key")),
            404 => ("invalid_request_error", json!("model_not_found")),
            429 => ("requests", json!("rate_limit_exceeded")),
            500.. => ("server_error", json!(null)),
            _ => ("invalid_request_error", json!(null)),
        };
        json!({"error": {"message": refusal.message, "type": kind, "param": refusal.param, "code": code}})
    }

    fn remember(&self, reply: &Reply, memory: &mut Memory) {
        if let Some(reasoning) = &reply.reasoning {
            for call in &reply.calls {
                memory.reasoning.insert(call.id.clone(), reasoning.clone());
            }
        }
    }
}

/// The messages of a body; none where there are none.
fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The text of a string or of text parts.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        _ => String::new(),
    }
}
