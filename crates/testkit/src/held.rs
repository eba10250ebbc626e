//! The assistant message that a plain client holds after an answer, and sends back with its next request.
//!
//! Put together without the product's own reader. Knows the dialects whose histories are `messages`.
#![expect(clippy::indexing_slicing, reason = "members of JSON values")]

use serde_json::{Value, json};

/// The message out of a whole body, plain or streamed.
pub fn assistant_message(dialect: &str, body: &str) -> Value {
    let plain = serde_json::from_str::<Value>(body).ok();
    match (dialect, plain) {
        ("openai_chat", Some(body)) => body["choices"][0]["message"].clone(),
        ("openai_chat", None) => chat(&events(body)),
        (_, Some(body)) => json!({"role": "assistant", "content": body["content"]}),
        (_, None) => messages(&events(body)),
    }
}

fn events(body: &str) -> Vec<Value> {
    let data = body.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

fn grow(whole: &mut Value, piece: &Value) {
    if let Some(piece) = piece.as_str() {
        *whole = format!("{}{piece}", whole.as_str().unwrap_or_default()).into();
    }
}

fn chat(events: &[Value]) -> Value {
    let (mut content, mut calls) = (Value::Null, Vec::<Value>::new());
    for delta in events.iter().map(|event| &event["choices"][0]["delta"]) {
        grow(&mut content, &delta["content"]);
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            match calls.iter_mut().find(|call| call["index"] == piece["index"]) {
                Some(call) => grow(&mut call["function"]["arguments"], &piece["function"]["arguments"]),
                None => calls.push(piece.clone()),
            }
        }
    }
    let mut message = json!({"role": "assistant", "content": content});
    for call in &mut calls {
        call.as_object_mut().map(|call| call.remove("index"));
    }
    if !calls.is_empty() {
        message["tool_calls"] = calls.into();
    }
    message
}

fn messages(events: &[Value]) -> Value {
    let mut blocks: Vec<Value> = Vec::new();
    let mut inputs: Vec<String> = Vec::new();
    for event in events {
        match event["type"].as_str() {
            Some("content_block_start") => {
                blocks.push(event["content_block"].clone());
                inputs.push(String::new());
            }
            Some("content_block_delta") => {
                let (Some(block), Some(input)) = (blocks.last_mut(), inputs.last_mut()) else { continue };
                for member in ["text", "thinking", "signature"] {
                    if event["delta"][member].is_string() {
                        grow(&mut block[member], &event["delta"][member]);
                    }
                }
                input.push_str(event["delta"]["partial_json"].as_str().unwrap_or_default());
            }
            _ => {}
        }
    }
    for (block, input) in blocks.iter_mut().zip(&inputs) {
        if !input.is_empty() {
            block["input"] = serde_json::from_str(input).unwrap_or_default();
        }
    }
    json!({"role": "assistant", "content": blocks})
}
