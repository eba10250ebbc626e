//! The stand-in in the `openai_responses` dialect. It stores nothing and says so.

use serde_json::{Value, json};

use super::openai_chat::{list, text};
use super::plan::{Reply, Seen};
use super::{DEMO_MODEL, tokens};

pub(super) struct Voice;

impl super::Voice for Voice {
    fn dialect(&self) -> &'static str {
        "openai_responses"
    }

    fn see(&self, body: &Value) -> Seen {
        let items = match body.get("input") {
            Some(Value::String(text)) => vec![json!({"role": "user", "content": text})],
            _ => list(body, "input"),
        };
        let word = |v: &Value, m: &str| v.get(m).and_then(Value::as_str).unwrap_or_default().to_owned();
        let mut results: Vec<(String, String)> = Vec::new();
        for item in items.iter().rev().take_while(|i| word(i, "type") == "function_call_output") {
            let id = word(item, "call_id");
            let called =
                items.iter().find(|i| word(i, "type") == "function_call" && word(i, "call_id") == id);
            let name = called.map_or_else(|| "tool".to_owned(), |i| word(i, "name"));
            results.insert(0, (name, text(item.get("output"))));
        }
        let user = items.iter().rev().find(|i| word(i, "role") == "user");
        let functions = list(body, "tools").into_iter().filter(|t| word(t, "type") == "function");
        Seen {
            tools: functions.map(|t| word(&t, "name")).collect(),
            may_call: body.get("tool_choice").and_then(Value::as_str) != Some("none"),
            user: user.map(|i| text(i.get("content"))).unwrap_or_default(),
            results,
        }
    }

    fn plain(&self, reply: &Reply, id: &str) -> Value {
        response(id, "completed", &output(reply, id))
    }

    fn stream(&self, reply: &Reply, id: &str, _usage_wanted: bool) -> Vec<String> {
        let output = output(reply, id);
        let begun = response(id, "in_progress", &[]);
        let mut events = vec![("response.created", json!({"response": begun}))];
        events.push(("response.in_progress", json!({"response": begun})));
        for (index, item) in output.iter().enumerate() {
            events.extend(item_events(index, item));
        }
        events.push(("response.completed", json!({"response": response(id, "completed", &output)})));
        events
            .into_iter()
            .enumerate()
            .map(|(number, (kind, members))| event(number, kind, &members))
            .collect()
    }
}

fn output(reply: &Reply, id: &str) -> Vec<Value> {
    match reply {
        Reply::Text(text) => {
            let part = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
            vec![json!({
                "id": format!("msg_{id}"), "type": "message", "status": "completed", "role": "assistant",
                "content": [part],
            })]
        }
        Reply::Calls(calls) => {
            let calls = calls.iter().enumerate().map(|(index, (name, arguments))| {
                json!({
                    "id": format!("fc_{index}{id}"), "type": "function_call", "status": "completed",
                    "call_id": format!("call_{index}{id}"), "name": name,
                    "arguments": Value::Object(arguments.clone()).to_string(),
                })
            });
            calls.collect()
        }
    }
}

fn response(id: &str, status: &str, output: &[Value]) -> Value {
    let count: u64 = output.iter().map(|item| tokens(&item.to_string())).sum();
    let usage = json!({
        "input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": count,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": count + 1,
    });
    json!({
        "id": format!("resp_{id}"), "object": "response", "created_at": 0, "status": status, "error": null,
        "incomplete_details": null, "instructions": null, "metadata": {}, "model": DEMO_MODEL, "output": output,
        "parallel_tool_calls": true, "temperature": null, "top_p": null, "tool_choice": "auto", "tools": [],
        "store": false, "usage": if output.is_empty() { Value::Null } else { usage },
    })
}

/// The events of one item, from its start to its end.
fn item_events(index: usize, item: &Value) -> Vec<(&'static str, Value)> {
    let id = item.get("id");
    let whole = item.pointer("/content/0/text").or_else(|| item.get("arguments")).and_then(Value::as_str);
    let whole = whole.unwrap_or_default();
    let mut events =
        vec![("response.output_item.added", json!({"output_index": index, "item": begun(item)}))];
    if let Some(part) = item.pointer("/content/0") {
        let place = |members: Value| {
            let mut event = json!({"item_id": id, "output_index": index, "content_index": 0});
            if let (Some(event), Value::Object(members)) = (event.as_object_mut(), members) {
                event.extend(members);
            }
            event
        };
        let empty = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": ""});
        events.push(("response.content_part.added", place(json!({"part": empty}))));
        for word in whole.split_inclusive(' ') {
            events.push(("response.output_text.delta", place(json!({"delta": word, "logprobs": []}))));
        }
        events.push(("response.output_text.done", place(json!({"text": whole, "logprobs": []}))));
        events.push(("response.content_part.done", place(json!({"part": part}))));
    } else {
        let place = |member: &str| json!({"item_id": id, "output_index": index, member: whole});
        events.push(("response.function_call_arguments.delta", place("delta")));
        events.push(("response.function_call_arguments.done", place("arguments")));
    }
    events.push(("response.output_item.done", json!({"output_index": index, "item": item})));
    events
}

/// An item before its words have come.
fn begun(item: &Value) -> Value {
    let mut start = item.clone();
    if let Some(start) = start.as_object_mut() {
        let is_message = start.contains_key("content");
        let (member, empty) = if is_message { ("content", json!([])) } else { ("arguments", json!("")) };
        start.insert(member.to_owned(), empty);
        start.insert("status".to_owned(), json!("in_progress"));
    }
    start
}

fn event(number: usize, kind: &str, members: &Value) -> String {
    let mut event = json!({"type": kind, "sequence_number": number});
    if let (Some(event), Some(members)) = (event.as_object_mut(), members.as_object()) {
        event.extend(members.clone());
    }
    format!("event: {kind}\ndata: {event}\n\n")
}
