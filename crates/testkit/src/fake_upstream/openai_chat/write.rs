//! Writes chat completions, whole and as chunks, the way the real provider does.

use serde_json::{Value, json};

use crate::fake_upstream::provider::{Reply, pieces, word};
use crate::script::Usage;

/// The moment at which every answer was created (seconds of Unix time).
const CREATED: u64 = 1_790_000_000;

/// `chat.completion`.
pub(super) fn plain(reply: &Reply) -> Value {
    let mut message = serde_json::Map::new();
    let mut set = |key: &str, value: Value| message.insert(key.to_owned(), value);
    set("role", json!("assistant"));
    set("content", content(reply));
    set("refusal", json!(null));
    set("annotations", json!([]));
    if let Some(reasoning) = &reply.reasoning {
        set("reasoning_content", json!(reasoning));
    }
    if !reply.calls.is_empty() {
        let calls = reply.calls.iter().map(|call| {
            json!({"id": call.id, "type": "function",
                "function": {"name": call.name, "arguments": call.arguments}})
        });
        set("tool_calls", calls.collect());
    }
    json!({
        "id": id(reply), "object": "chat.completion", "created": CREATED, "model": reply.model,
        "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish(reply)}],
        "usage": usage(&reply.usage), "service_tier": "default", "system_fingerprint": "fp_fake",
    })
}

/// `chat.completion.chunk` events and the end mark.
pub(super) fn events(reply: &Reply) -> Vec<String> {
    let says = reply.calls.is_empty() || reply.text.is_some();
    let content = if says { json!("") } else { json!(null) };
    let mut deltas = vec![json!({"role": "assistant", "content": content, "refusal": null})];
    for piece in reply.reasoning.as_deref().map(pieces).unwrap_or_default() {
        deltas.push(json!({"reasoning_content": piece}));
    }
    for piece in reply.text.as_deref().map(pieces).unwrap_or_default() {
        deltas.push(json!({"content": piece}));
    }
    for (index, call) in reply.calls.iter().enumerate() {
        deltas.push(json!({"tool_calls": [{"index": index, "id": call.id, "type": "function",
            "function": {"name": call.name, "arguments": ""}}]}));
        for piece in pieces(&call.arguments) {
            deltas.push(json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}));
        }
    }
    let mut events: Vec<String> = deltas
        .into_iter()
        .map(|delta| {
            chunk(
                reply,
                &json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}]),
                None,
            )
        })
        .collect();
    let last = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": finish(reply)}]);
    events.push(chunk(reply, &last, None));
    if reply.include_usage {
        events.push(chunk(reply, &json!([]), Some(&reply.usage)));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn chunk(reply: &Reply, choices: &Value, tokens: Option<&Usage>) -> String {
    let mut chunk = json!({
        "id": id(reply), "object": "chat.completion.chunk", "created": CREATED, "model": reply.model,
        "service_tier": "default", "system_fingerprint": "fp_fake", "choices": choices,
    });
    if let (true, Some(members)) = (reply.include_usage, chunk.as_object_mut()) {
        members.insert("usage".to_owned(), tokens.map_or(json!(null), usage));
    }
    format!("data: {chunk}\n\n")
}

fn id(reply: &Reply) -> String {
    format!("chatcmpl-{}", word(reply.number, 20))
}

fn content(reply: &Reply) -> Value {
    match &reply.text {
        Some(text) => json!(text),
        None if reply.calls.is_empty() => json!(""),
        None => json!(null),
    }
}

fn finish(reply: &Reply) -> &str {
    match reply.finish.as_deref() {
        Some("refusal") => "content_filter",
        Some(reason) => reason,
        None if reply.calls.is_empty() => "stop",
        None => "tool_calls",
    }
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "prompt_tokens": input, "completion_tokens": usage.output, "total_tokens": input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cache_read, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0,
            "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0},
    })
}
