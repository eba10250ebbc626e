//! Anthropic messages as its provider speaks it. Refusals are in `strict`, answers in `write`.

mod media;
mod strict;
mod threads;
mod write;

use serde_json::{Value, json};

use super::memory::Memory;
use super::provider::{Incoming, Provider, Refusal, Reply, at, word};

/// The provider.
pub(crate) struct AnthropicMessages;

impl Provider for AnthropicMessages {
    fn path(&self) -> &'static str {
        "/v1/messages"
    }

    fn check(&self, ask: &Incoming<'_>) -> Result<(), Refusal> {
        threads::check(ask.body, ask.memory)?;
        strict::check(&Incoming { body: &threads::whole(ask.body, ask.memory), ..*ask })
    }

    fn whole(&self, body: &Value, memory: &Memory) -> Value {
        threads::whole(body, memory)
    }

    fn round_index(&self, body: &Value) -> usize {
        let messages = messages(body);
        let start = messages.iter().rposition(is_user_text).map_or(0, |at| at + 1);
        messages.iter().skip(start).filter(|message| message["role"] == "assistant").count()
    }

    fn user_text(&self, body: &Value) -> String {
        let last = messages(body).iter().rev().find(|message| is_user_text(message));
        last.map(|message| match &message["content"] {
            Value::String(text) => text.clone(),
            content => blocks(content).iter().filter_map(|block| block["text"].as_str()).collect(),
        })
        .unwrap_or_default()
    }

    fn callable(&self, body: &Value) -> Vec<String> {
        if at(body, "/tool_choice/type") == "none" {
            return Vec::new();
        }
        let tools = body["tools"].as_array().map(Vec::as_slice).unwrap_or_default();
        tools.iter().filter_map(|tool| tool["name"].as_str().map(str::to_owned)).collect()
    }

    fn call_id(&self, number: u64) -> String {
        format!("toolu_{}", word(number, 22))
    }

    fn plain(&self, reply: &Reply) -> Value {
        write::plain(reply)
    }

    fn events(&self, reply: &Reply) -> Vec<String> {
        write::events(reply)
    }

    fn error_event(&self, message: &str) -> String {
        let error = json!({"type": "error", "error": {"type": "overloaded_error", "message": message}});
        format!("event: error\ndata: {error}\n\n")
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let kind = match refusal.status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        };
        let message = match &refusal.param {
            Some(param) => format!("{param}: {}", refusal.message),
            None => refusal.message.clone(),
        };
        json!({"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_fake"})
    }

    fn remember(&self, reply: &Reply, memory: &mut Memory) {
        threads::remember(reply, memory);
        let sent: Vec<Value> = reply.thinking.iter().map(write::thinking).collect();
        for block in &sent {
            memory.blocks.insert(mark(block), block.clone());
        }
        for call in &reply.calls {
            memory.before_call.insert(call.id.clone(), sent.clone());
        }
    }
}

/// The messages of a body; none where there are none.
fn messages(body: &Value) -> &[Value] {
    body["messages"].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// The blocks of a content; none for a string.
fn blocks(content: &Value) -> &[Value] {
    content.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Whether a message is the user's own words and not the answer to a call.
fn is_user_text(message: &Value) -> bool {
    message["role"] == "user"
        && !blocks(&message["content"]).iter().any(|block| block["type"] == "tool_result")
}

/// What a thinking block is known by.
fn mark(block: &Value) -> String {
    block["signature"].as_str().or_else(|| block["data"].as_str()).unwrap_or_default().to_owned()
}
