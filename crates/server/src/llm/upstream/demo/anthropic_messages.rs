//! The stand-in in the `anthropic_messages` dialect.

use serde_json::{Value, json};

use super::openai_chat::{list, text};
use super::plan::{Reply, Seen};
use super::{DEMO_MODEL, tokens};

pub(super) struct Voice;

impl super::Voice for Voice {
    fn dialect(&self) -> &'static str {
        "anthropic_messages"
    }

    fn see(&self, body: &Value) -> Seen {
        let messages = list(body, "messages");
        let word = |v: &Value, m: &str| v.get(m).and_then(Value::as_str).unwrap_or_default().to_owned();
        let blocks: Vec<Value> = messages.iter().flat_map(|m| list(m, "content")).collect();
        let last = messages.last().map(|m| list(m, "content")).unwrap_or_default();
        let mut results = Vec::new();
        for block in last.iter().filter(|b| word(b, "type") == "tool_result") {
            let id = word(block, "tool_use_id");
            let called = blocks.iter().find(|b| word(b, "type") == "tool_use" && word(b, "id") == id);
            let name = called.map_or_else(|| "tool".to_owned(), |b| word(b, "name"));
            results.push((name, text(block.get("content"))));
        }
        let user = messages.iter().rev().find(|m| word(m, "role") == "user");
        Seen {
            tools: list(body, "tools").iter().map(|t| word(t, "name")).collect(),
            may_call: body.pointer("/tool_choice/type").and_then(Value::as_str) != Some("none"),
            user: user.map(|m| text(m.get("content"))).unwrap_or_default(),
            results,
        }
    }

    fn plain(&self, reply: &Reply, id: &str) -> Value {
        let (content, stop) = blocks(reply, id);
        json!({
            "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": DEMO_MODEL,
            "content": content, "stop_reason": stop, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": output_tokens(&content)},
        })
    }

    fn stream(&self, reply: &Reply, id: &str, _usage_wanted: bool) -> Vec<String> {
        let (content, stop) = blocks(reply, id);
        let mut frames = vec![event(&json!({"type": "message_start", "message": {
            "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": DEMO_MODEL,
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }}))];
        for (index, block) in content.iter().enumerate() {
            let (start, deltas) = pieces(block);
            frames
                .push(event(&json!({"type": "content_block_start", "index": index, "content_block": start})));
            for delta in deltas {
                frames.push(event(&json!({"type": "content_block_delta", "index": index, "delta": delta})));
            }
            frames.push(event(&json!({"type": "content_block_stop", "index": index})));
        }
        frames.push(event(&json!({
            "type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null},
            "usage": {"output_tokens": output_tokens(&content)},
        })));
        frames.push(event(&json!({"type": "message_stop"})));
        frames
    }
}

fn blocks(reply: &Reply, id: &str) -> (Vec<Value>, &'static str) {
    match reply {
        Reply::Text(text) => (vec![json!({"type": "text", "text": text})], "end_turn"),
        Reply::Calls(calls) => {
            let blocks = calls.iter().enumerate().map(|(index, (name, input))| {
                json!({"type": "tool_use", "id": format!("toolu_{index}{id}"), "name": name, "input": input})
            });
            (blocks.collect(), "tool_use")
        }
    }
}

/// A block as a stream starts it, and the deltas that fill it.
fn pieces(block: &Value) -> (Value, Vec<Value>) {
    if let Some(text) = block.get("text").and_then(Value::as_str) {
        let deltas = text.split_inclusive(' ').map(|word| json!({"type": "text_delta", "text": word}));
        return (json!({"type": "text", "text": ""}), deltas.collect());
    }
    let input = block.get("input").map(Value::to_string).unwrap_or_default();
    let mut start = block.clone();
    if let Some(start) = start.as_object_mut() {
        start.insert("input".to_owned(), json!({}));
    }
    (start, vec![json!({"type": "input_json_delta", "partial_json": input})])
}

fn output_tokens(content: &[Value]) -> u64 {
    content.iter().map(|block| tokens(&block.to_string())).sum()
}

fn event(value: &Value) -> String {
    let name = value.get("type").and_then(Value::as_str).unwrap_or_default();
    format!("event: {name}\ndata: {value}\n\n")
}
