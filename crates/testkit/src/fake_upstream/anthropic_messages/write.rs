//! Writes messages, whole and as events, the way the real provider does.

use serde_json::{Value, json};

use crate::fake_upstream::provider::{Reply, pieces, word};
use crate::script::{Thinking, Usage};

/// `message`.
pub(super) fn plain(reply: &Reply) -> Value {
    let mut content: Vec<Value> = reply.thinking.iter().map(thinking).collect();
    content.extend(text(reply).map(|text| json!({"type": "text", "text": text})));
    content.extend(reply.calls.iter().map(|call| {
        let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}));
        json!({"type": "tool_use", "id": call.id, "name": call.name, "input": input})
    }));
    json!({
        "id": id(reply), "type": "message", "role": "assistant", "model": reply.model, "content": content,
        "stop_reason": stop_reason(reply), "stop_sequence": null, "usage": usage(&reply.usage, reply.usage.output),
    })
}

/// The events of a stream, `message_start` to `message_stop`.
pub(super) fn events(reply: &Reply) -> Vec<String> {
    let start = json!({"type": "message_start", "message": {
        "id": id(reply), "type": "message", "role": "assistant", "model": reply.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage(&reply.usage, 1),
    }});
    let mut events = vec![event(&start), event(&json!({"type": "ping"}))];
    let mut index = 0;
    for block in &reply.thinking {
        let deltas = match block {
            Thinking::Signed { text, signature } => pieces(text)
                .iter()
                .map(|piece| json!({"type": "thinking_delta", "thinking": piece}))
                .chain([json!({"type": "signature_delta", "signature": signature})])
                .collect(),
            Thinking::Redacted(_) => Vec::new(),
        };
        let opening = match block {
            Thinking::Signed { .. } => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Thinking::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
        };
        push_block(&mut events, &mut index, &opening, deltas);
    }
    if let Some(text) = text(reply) {
        let deltas = pieces(text).iter().map(|piece| json!({"type": "text_delta", "text": piece})).collect();
        push_block(&mut events, &mut index, &json!({"type": "text", "text": ""}), deltas);
    }
    for call in &reply.calls {
        let opening = json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}});
        let deltas = [String::new()]
            .into_iter()
            .chain(pieces(&call.arguments))
            .map(|piece| json!({"type": "input_json_delta", "partial_json": piece}))
            .collect();
        push_block(&mut events, &mut index, &opening, deltas);
    }
    let end = json!({"type": "message_delta", "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": usage(&reply.usage, reply.usage.output)});
    events.push(event(&end));
    events.push(event(&json!({"type": "message_stop"})));
    events
}

/// A thinking block as it stands in a message.
pub(super) fn thinking(block: &Thinking) -> Value {
    match block {
        Thinking::Signed { text, signature } => {
            json!({"type": "thinking", "thinking": text, "signature": signature})
        }
        Thinking::Redacted(data) => json!({"type": "redacted_thinking", "data": data}),
    }
}

fn push_block(events: &mut Vec<String>, index: &mut usize, opening: &Value, deltas: Vec<Value>) {
    events.push(event(&json!({"type": "content_block_start", "index": index, "content_block": opening})));
    for delta in deltas {
        events.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
    }
    events.push(event(&json!({"type": "content_block_stop", "index": index})));
    *index += 1;
}

fn event(data: &Value) -> String {
    format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
}

fn id(reply: &Reply) -> String {
    format!("msg_{}", word(reply.number, 22))
}

fn text(reply: &Reply) -> Option<&str> {
    reply.text.as_deref().filter(|text| !text.is_empty())
}

fn stop_reason(reply: &Reply) -> &str {
    match reply.finish.as_deref() {
        Some("length") => "max_tokens",
        Some(reason) => reason,
        None if reply.calls.is_empty() => "end_turn",
        None => "tool_use",
    }
}

fn usage(usage: &Usage, output: u64) -> Value {
    json!({
        "input_tokens": usage.input, "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cache_read, "output_tokens": output,
    })
}
