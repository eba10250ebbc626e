//! The stand-in in the `openai_chat` dialect.

use serde_json::{Value, json};

use super::plan::{Reply, Seen};
use super::{DEMO_MODEL, data, tokens};

pub(super) struct Voice;

impl super::Voice for Voice {
    fn dialect(&self) -> &'static str {
        "openai_chat"
    }

    fn see(&self, body: &Value) -> Seen {
        let messages = list(body, "messages");
        let tools = list(body, "tools");
        let role = |m: &Value| m.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut results: Vec<(String, String)> = Vec::new();
        for message in messages.iter().rev().take_while(|m| role(m) == "tool") {
            let id = message.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
            let calls = messages.iter().flat_map(|m| list(m, "tool_calls"));
            let call = calls.into_iter().find(|c| c.get("id").and_then(Value::as_str) == Some(id));
            let name = call.and_then(|c| c.pointer("/function/name")?.as_str().map(str::to_owned));
            results.insert(0, (name.unwrap_or_else(|| "tool".to_owned()), text(message.get("content"))));
        }
        let user = messages.iter().rev().find(|m| role(m) == "user");
        Seen {
            tools: tools
                .iter()
                .filter_map(|t| t.pointer("/function/name")?.as_str().map(str::to_owned))
                .collect(),
            may_call: body.get("tool_choice").and_then(Value::as_str) != Some("none"),
            user: user.map(|m| text(m.get("content"))).unwrap_or_default(),
            results,
        }
    }

    fn plain(&self, reply: &Reply, id: &str) -> Value {
        let (message, finish) = match reply {
            Reply::Text(text) => (json!({"role": "assistant", "content": text}), "stop"),
            Reply::Calls(calls) => {
                let calls: Vec<_> = calls.iter().enumerate().map(|(i, c)| call(i, c, id)).collect();
                (json!({"role": "assistant", "content": null, "tool_calls": calls}), "tool_calls")
            }
        };
        json!({
            "id": format!("chatcmpl-{id}"), "object": "chat.completion", "created": 0, "model": DEMO_MODEL,
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish}],
            "usage": usage(reply),
        })
    }

    fn stream(&self, reply: &Reply, id: &str, usage_wanted: bool) -> Vec<String> {
        let chunk = |delta: Value, finish: Option<&str>| {
            data(&json!({
                "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": 0,
                "model": DEMO_MODEL, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
            }))
        };
        let mut frames = vec![chunk(json!({"role": "assistant", "content": ""}), None)];
        let finish = match reply {
            Reply::Text(text) => {
                frames.extend(text.split_inclusive(' ').map(|word| chunk(json!({"content": word}), None)));
                "stop"
            }
            Reply::Calls(calls) => {
                for (index, one) in calls.iter().enumerate() {
                    let mut call = call(index, one, id);
                    if let Some(call) = call.as_object_mut() {
                        call.insert("index".to_owned(), index.into());
                    }
                    frames.push(chunk(json!({"tool_calls": [call]}), None));
                }
                "tool_calls"
            }
        };
        frames.push(chunk(json!({}), Some(finish)));
        if usage_wanted {
            frames.push(data(&json!({
                "id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk", "created": 0,
                "model": DEMO_MODEL, "choices": [], "usage": usage(reply),
            })));
        }
        frames.push("data: [DONE]\n\n".to_owned());
        frames
    }
}

fn call(index: usize, (name, arguments): &(String, serde_json::Map<String, Value>), id: &str) -> Value {
    let arguments = Value::Object(arguments.clone()).to_string();
    json!({"id": format!("call_{index}{id}"), "type": "function", "function": {"name": name, "arguments": arguments}})
}

fn usage(reply: &Reply) -> Value {
    let output = match reply {
        Reply::Text(text) => tokens(text),
        Reply::Calls(calls) => tokens(&format!("{calls:?}")),
    };
    json!({"prompt_tokens": 1, "completion_tokens": output, "total_tokens": output + 1})
}

/// A member that is an array, else nothing.
pub(super) fn list(value: &Value, member: &str) -> Vec<Value> {
    value.get(member).and_then(Value::as_array).cloned().unwrap_or_default()
}

/// The text of a content that is a string or parts.
pub(super) fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => {
            let texts = parts.iter().filter_map(|p| p.get("text")?.as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
