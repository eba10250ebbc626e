//! Gemini as its provider speaks it. Refusals are in `strict` and `schema`, answers in `write`.
//!
//! Model and method stand in the path: they are put into the body as `model`, `stream` and `alt` for the rest of the
//! fake. Every member is known under its documented name and under the one with underscores.

mod schema;
mod strict;
mod write;

use serde_json::{Value, json};

use super::memory::Memory;
use super::provider::{Incoming, Provider, Refusal, Reply};

/// The provider.
pub(crate) struct Gemini;

impl Provider for Gemini {
    fn path(&self) -> &'static str {
        "/v1beta/models/"
    }

    fn serves(&self, path: &str) -> bool {
        let call = path.strip_prefix(self.path()).or_else(|| path.strip_prefix("/v1/models/"));
        call.is_some_and(|call| {
            !call.contains('/')
                && (call.ends_with(":generateContent") || call.ends_with(":streamGenerateContent"))
        })
    }

    fn request(&self, path: &str, query: &str, mut body: Value) -> Value {
        let (model, method) =
            path.rsplit('/').next().and_then(|call| call.rsplit_once(':')).unwrap_or_default();
        let Some(members) = body.as_object_mut() else { return body };
        let added = ["stream", "alt", "key"].into_iter().find(|name| members.contains_key(*name));
        if let Some(name) = added {
            members.insert("unknown".to_owned(), json!(name));
        }
        members.insert("model".to_owned(), json!(model));
        members.insert("stream".to_owned(), json!(method.starts_with("stream")));
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if matches!(name, "alt" | "key") {
                members.insert(name.to_owned(), json!(value));
            }
        }
        body
    }

    fn thinks(&self, _body: &Value) -> bool {
        true
    }

    fn stream_type(&self, body: &Value) -> &'static str {
        if body["alt"] == "sse" { "text/event-stream" } else { "application/json; charset=UTF-8" }
    }

    fn check(&self, ask: &Incoming<'_>) -> Result<(), Refusal> {
        strict::check(ask)
    }

    fn round_index(&self, body: &Value) -> usize {
        let contents = list(member(body, "contents"));
        let start = contents.iter().rposition(is_user_text).map_or(0, |at| at + 1);
        contents.iter().skip(start).filter(|content| content["role"] == "model").count()
    }

    fn user_text(&self, body: &Value) -> String {
        let last = list(member(body, "contents")).into_iter().rfind(is_user_text).unwrap_or_default();
        list(member(&last, "parts")).iter().filter_map(|part| part["text"].as_str()).collect()
    }

    fn callable(&self, body: &Value) -> Vec<String> {
        let mode = mode(body);
        if mode == "NONE" { Vec::new() } else { declarations(body).iter().filter_map(name).collect() }
    }

    /// Calls usually have no id.
    fn call_id(&self, _number: u64) -> String {
        String::new()
    }

    fn plain(&self, reply: &Reply) -> Value {
        write::plain(reply)
    }

    fn events(&self, reply: &Reply) -> Vec<String> {
        write::framed(&write::chunks(reply), &reply.asked)
    }

    fn error_event(&self, message: &str) -> String {
        format!("data: {}\n\n", self.error(&Refusal::status(503, message)))
    }

    fn error_event_in(&self, message: &str, asked: &Value) -> String {
        if asked["alt"] == "sse" {
            return self.error_event(message);
        }
        format!(",\r\n{}\n]\n", self.error(&Refusal::status(503, message)))
    }

    fn error(&self, refusal: &Refusal) -> Value {
        let status = match refusal.status {
            401 => "UNAUTHENTICATED",
            403 => "PERMISSION_DENIED",
            404 => "NOT_FOUND",
            429 => "RESOURCE_EXHAUSTED",
            503 => "UNAVAILABLE",
            504 => "DEADLINE_EXCEEDED",
            500.. => "INTERNAL",
            _ => "INVALID_ARGUMENT",
        };
        let message = match &refusal.param {
            Some(param) => format!("* {param}: {}", refusal.message),
            None => refusal.message.clone(),
        };
        json!({"error": {"code": refusal.status, "message": message, "status": status}})
    }

    fn remember(&self, reply: &Reply, memory: &mut Memory) {
        for part in write::parts(reply) {
            if let Some(signature) = member(&part, "thoughtSignature").as_str() {
                memory.blocks.insert(signature.to_owned(), part.clone());
                memory.blocks.insert(call_mark(&part), part);
            }
        }
    }
}

/// What a call is known by; its id may be missing.
fn call_mark(part: &Value) -> String {
    let call = &part["functionCall"];
    let arguments = call["args"].as_object().cloned().unwrap_or_default();
    format!("{} {}", call["name"], Value::Object(arguments))
}

/// A member under either of its names; null where there is none.
fn member<'a>(object: &'a Value, name: &str) -> &'a Value {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    object.get(name).unwrap_or(&object[snake])
}

/// The elements of a list; a lone object is a list of one.
fn list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(list) => list.clone(),
        Value::Object(_) => vec![value.clone()],
        _ => Vec::new(),
    }
}

fn declarations(body: &Value) -> Vec<Value> {
    list(member(body, "tools")).iter().flat_map(|tool| list(member(tool, "functionDeclarations"))).collect()
}

fn name(declaration: &Value) -> Option<String> {
    declaration["name"].as_str().map(str::to_owned)
}

fn mode(body: &Value) -> &str {
    member(member(member(body, "toolConfig"), "functionCallingConfig"), "mode").as_str().unwrap_or_default()
}

/// Whether a content is the user's own words and not the answer to a call.
fn is_user_text(content: &Value) -> bool {
    content["role"] != "model"
        && !list(&content["parts"]).iter().any(|part| !member(part, "functionResponse").is_null())
}
