//! Writes answers, whole and as chunks, the way the real provider does.

use serde_json::{Value, json};

use crate::fake_upstream::provider::{Reply, pieces, word};
use crate::script::Thinking;

/// The whole answer.
pub(super) fn plain(reply: &Reply) -> Value {
    let mut parts = parts(reply);
    if parts.is_empty() {
        parts.push(json!({"text": ""}));
    }
    response(reply, &json!(parts), Some(finish(reply)))
}

/// The chunks of a stream. The last one carries the finish reason, and the calls of an answer that makes some.
pub(super) fn chunks(reply: &Reply) -> Vec<Value> {
    let parts = parts(reply);
    let mut chunks = Vec::new();
    for part in &parts {
        match part["text"].as_str() {
            Some(text) => chunks.extend(pieces(text).iter().map(|piece| {
                let one = with(part.clone(), "text", json!(piece));
                response(reply, &json!([one]), None)
            })),
            None => chunks.push(response(reply, &json!([part]), None)),
        }
    }
    chunks.push(response(reply, &json!([{"text": ""}]), Some(finish(reply))));
    chunks
}

/// The chunks as events, or as the elements of one array.
pub(super) fn framed(chunks: &[Value], asked: &Value) -> Vec<String> {
    if asked["alt"] == "sse" {
        return chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect();
    }
    let last = chunks.len().saturating_sub(1);
    let one = |(i, chunk): (usize, &Value)| {
        let before = if i == 0 { "[" } else { ",\r\n" };
        let after = if i == last { "\n]\n" } else { "\n" };
        format!("{before}{chunk}{after}")
    };
    chunks.iter().enumerate().map(one).collect()
}

/// Thoughts, text, calls. The first call carries the signature of the thoughts.
pub(super) fn parts(reply: &Reply) -> Vec<Value> {
    let mut parts = Vec::new();
    let mut signature = None;
    for thought in &reply.thinking {
        match thought {
            Thinking::Signed { text, signature: own } => {
                parts.push(json!({"text": text, "thought": true}));
                signature = Some(own.clone());
            }
            Thinking::Redacted(data) => signature = Some(data.clone()),
        }
    }
    let text = reply.text.as_deref().filter(|text| !text.is_empty());
    parts.extend(text.map(|text| json!({"text": text})));
    for call in &reply.calls {
        let arguments = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        let mut whole = json!({"name": call.name, "args": arguments});
        if !call.id.is_empty() {
            whole = with(whole, "id", json!(call.id));
        }
        let mut part = json!({"functionCall": whole});
        if let Some(signature) = signature.take() {
            part = with(part, "thoughtSignature", json!(signature));
        }
        parts.push(part);
    }
    parts
}

fn finish(reply: &Reply) -> &str {
    match reply.finish.as_deref() {
        Some("length") => "MAX_TOKENS",
        Some("refusal") => "SAFETY",
        Some(reason) => reason,
        None => "STOP",
    }
}

fn response(reply: &Reply, parts: &Value, finish: Option<&str>) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    let usage = &reply.usage;
    let input = usage.input + usage.cache_read;
    let output = if finish.is_some() { usage.output } else { 1 };
    let mut counts = json!({
        "promptTokenCount": input, "candidatesTokenCount": output, "totalTokenCount": input + output,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": input}],
    });
    if usage.cache_read > 0 {
        counts = with(counts, "cachedContentTokenCount", json!(usage.cache_read));
    }
    if let Some(finish) = finish {
        candidate = with(candidate, "finishReason", json!(finish));
    }
    json!({
        "candidates": [candidate], "usageMetadata": counts, "modelVersion": reply.model,
        "responseId": word(reply.number, 22),
    })
}

/// An object with one more member.
fn with(mut object: Value, name: &str, value: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value);
    }
    object
}
