//! Responses as their provider writes them: items, bodies, streams.

use serde_json::{Value, json};

pub(crate) fn message(id: &str, text: &str) -> Value {
    let part = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
    json!({"id": id, "type": "message", "status": "completed", "role": "assistant", "content": [part]})
}

pub(crate) fn call(id: &str, call_id: &str, name: &str, arguments: &str) -> Value {
    json!({"id": id, "type": "function_call", "status": "completed", "call_id": call_id, "name": name,
        "arguments": arguments})
}

pub(crate) fn reasoning(id: &str, text: &str) -> Value {
    json!({"id": id, "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]})
}

/// Reasoning that can come back to a provider that stores nothing.
pub(crate) fn sealed(id: &str, text: &str) -> Value {
    let mut item = reasoning(id, text);
    item["encrypted_content"] = json!(format!("sealed {id}"));
    item
}

pub(crate) fn response(id: &str, status: &str, output: &[Value]) -> Value {
    let usage = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 5,
        "output_tokens_details": {"reasoning_tokens": 1}, "total_tokens": 15});
    let usage = if status == "in_progress" { Value::Null } else { usage };
    json!({"id": id, "object": "response", "created_at": 7, "status": status, "error": null, "model": "m",
        "incomplete_details": if status == "incomplete" { json!({"reason": "max_output_tokens"}) } else { Value::Null },
        "output": output, "usage": usage})
}

/// The events of a completed answer.
pub(crate) fn stream(id: &str, items: &[Value]) -> String {
    ended(id, items, "completed")
}

/// The events of an answer that ends in this way.
pub(crate) fn ended(id: &str, items: &[Value], status: &str) -> String {
    sse(&events(id, items, status))
}

pub(crate) fn events(id: &str, items: &[Value], status: &str) -> Vec<Value> {
    let mut events = vec![
        json!({"type": "response.created", "response": response(id, "in_progress", &[])}),
        json!({"type": "response.in_progress", "response": response(id, "in_progress", &[])}),
    ];
    for (index, item) in items.iter().enumerate() {
        events.extend(item_events(index, item));
    }
    events.push(json!({"type": format!("response.{status}"), "response": response(id, status, items)}));
    events
}

/// Server-sent events under their numbers.
pub(crate) fn sse(events: &[Value]) -> String {
    let numbered = events.iter().enumerate().map(|(number, event)| {
        let mut event = event.clone();
        event["sequence_number"] = number.into();
        format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())
    });
    numbered.collect()
}

fn item_events(index: usize, item: &Value) -> Vec<Value> {
    let id = &item["id"];
    let mut start = item.clone();
    let mut events = Vec::new();
    match item["type"].as_str().unwrap() {
        "message" => {
            (start["content"], start["status"]) = (json!([]), json!("in_progress"));
            let part = &item["content"][0];
            let text = part["text"].as_str().unwrap();
            let event = |kind: &str, member: &str, value: Value| json!({"type": kind, "item_id": id, "output_index": index, "content_index": 0, member: value});
            let empty = json!({"type": "output_text", "annotations": [], "text": ""});
            events.push(event("response.content_part.added", "part", empty));
            events
                .extend(pieces(text).map(|piece| event("response.output_text.delta", "delta", piece.into())));
            events.push(event("response.output_text.done", "text", text.into()));
            events.push(event("response.content_part.done", "part", part.clone()));
        }
        "reasoning" => {
            start["summary"] = json!([]);
            let part = &item["summary"][0];
            let event = |kind: &str, member: &str, value: Value| json!({"type": kind, "item_id": id, "output_index": index, "summary_index": 0, member: value});
            let empty = json!({"type": "summary_text", "text": ""});
            events.push(event("response.reasoning_summary_part.added", "part", empty));
            events.push(event("response.reasoning_summary_text.delta", "delta", part["text"].clone()));
            events.push(event("response.reasoning_summary_text.done", "text", part["text"].clone()));
            events.push(event("response.reasoning_summary_part.done", "part", part.clone()));
        }
        "function_call" => {
            (start["arguments"], start["status"]) = (json!(""), json!("in_progress"));
            let arguments = item["arguments"].as_str().unwrap();
            let event = |kind: &str, member: &str, value: &str| json!({"type": kind, "item_id": id, "output_index": index, member: value});
            let delta = "response.function_call_arguments.delta";
            events.extend(pieces(arguments).map(|piece| event(delta, "delta", &piece)));
            events.push(event("response.function_call_arguments.done", "arguments", arguments));
        }
        _ => {}
    }
    events.insert(0, json!({"type": "response.output_item.added", "output_index": index, "item": start}));
    events.push(json!({"type": "response.output_item.done", "output_index": index, "item": item}));
    events
}

fn pieces(text: &str) -> impl Iterator<Item = String> {
    let letters: Vec<char> = text.chars().collect();
    let pieces: Vec<String> = letters.chunks(3).map(|piece| piece.iter().collect()).collect();
    pieces.into_iter()
}
