//! Writes responses, whole and as events, the way the real provider does.

use serde_json::{Map, Value, json};

use crate::fake_upstream::provider::{Reply, at, pieces, word};
use crate::script::Usage;

/// The moment at which every answer was created (seconds of Unix time).
const CREATED: u64 = 1_790_000_000;

/// `response`; one in the background has only begun.
pub(super) fn plain(reply: &Reply) -> Value {
    if *at(&reply.asked, "/background") == true { response(reply, "queued", &[]) } else { finished(reply) }
}

/// `response` when it is over.
pub(super) fn finished(reply: &Reply) -> Value {
    response(reply, status(reply), &output(reply))
}

/// `response.created` to the event that ends it.
pub(super) fn events(reply: &Reply) -> Vec<String> {
    let mut events = Events::default();
    let begun = response(reply, "in_progress", &[]);
    events.push("response.created", json!({"response": begun}));
    events.push("response.in_progress", json!({"response": begun}));
    for (index, item) in output(reply).iter().enumerate() {
        events.item(index, item);
    }
    let kind = format!("response.{}", status(reply));
    events.push(&kind, json!({"response": finished(reply)}));
    events.list
}

pub(super) fn id(reply: &Reply) -> String {
    format!("resp_{}", word(reply.number, 24))
}

/// The output items.
pub(super) fn output(reply: &Reply) -> Vec<Value> {
    let id = |kind: &str, index: usize| format!("{kind}_{}{index}", word(reply.number, 20));
    let mut output = Vec::new();
    if let Some(text) = &reply.reasoning {
        let mut item = json!({"id": id("rs", 0), "type": "reasoning", "summary": [{"type": "summary_text", "text": text}]});
        let include = at(&reply.asked, "/include").as_array().cloned().unwrap_or_default();
        if include.contains(&json!("reasoning.encrypted_content")) {
            item = sealed(&item);
        }
        output.push(item);
    }
    if let Some(text) = reply.text.as_ref().filter(|text| !text.is_empty() || reply.calls.is_empty()) {
        let part = json!({"type": "output_text", "annotations": [], "logprobs": [], "text": text});
        output.push(json!({"id": id("msg", 0), "type": "message", "status": item_status(reply),
            "role": "assistant", "content": [part]}));
    }
    output.extend(reply.calls.iter().enumerate().map(|(index, call)| {
        json!({"id": id("fc", index), "type": "function_call", "status": item_status(reply),
            "arguments": call.arguments, "call_id": call.id, "name": call.name})
    }));
    output
}

/// A reasoning item that can come back to a provider that stores nothing.
pub(super) fn sealed(item: &Value) -> Value {
    let id = at(item, "/id").as_str().unwrap_or_default();
    with(item, json!({"encrypted_content": format!("gAAAA{id}")}))
}

fn status(reply: &Reply) -> &'static str {
    match reply.finish.as_deref() {
        Some("length" | "refusal" | "content_filter") => "incomplete",
        _ => "completed",
    }
}

fn item_status(reply: &Reply) -> &'static str {
    status(reply)
}

fn response(reply: &Reply, status: &str, output: &[Value]) -> Value {
    let asked = |name: &str| at(&reply.asked, &format!("/{name}")).clone();
    let or = |value: Value, default: Value| if value.is_null() { default } else { value };
    let is_over = !["in_progress", "queued"].contains(&status);
    let reason =
        if reply.finish.as_deref() == Some("length") { "max_output_tokens" } else { "content_filter" };
    json!({
        "id": id(reply), "object": "response", "created_at": CREATED + reply.number, "status": status,
        "background": or(asked("background"), json!(false)), "error": null,
        "incomplete_details": if status == "incomplete" { json!({"reason": reason}) } else { json!(null) },
        "instructions": asked("instructions"), "max_output_tokens": null, "model": reply.model, "output": output,
        "parallel_tool_calls": true, "previous_response_id": asked("previous_response_id"),
        "reasoning": {"effort": null, "summary": null}, "store": or(asked("store"), json!(true)),
        "temperature": 1.0, "text": {"format": {"type": "text"}},
        "tool_choice": or(asked("tool_choice"), json!("auto")), "tools": or(asked("tools"), json!([])),
        "top_p": 1.0, "truncation": "disabled",
        "usage": if is_over { usage(&reply.usage) } else { json!(null) }, "user": null, "metadata": {},
    })
}

fn usage(usage: &Usage) -> Value {
    let input = usage.input + usage.cache_read + usage.cache_write;
    json!({
        "input_tokens": input, "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output, "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": input + usage.output,
    })
}

/// Events under their numbers.
#[derive(Default)]
struct Events {
    list: Vec<String>,
}

impl Events {
    fn push(&mut self, kind: &str, members: Value) {
        let mut event = Map::new();
        event.insert("type".to_owned(), kind.into());
        event.insert("sequence_number".to_owned(), self.list.len().into());
        if let Value::Object(members) = members {
            event.extend(members);
        }
        self.list.push(format!("event: {kind}\ndata: {}\n\n", Value::Object(event)));
    }

    fn item(&mut self, index: usize, item: &Value) {
        let kind = item["type"].as_str().unwrap_or_default();
        let start = match kind {
            "message" => json!({"content": [], "status": "in_progress"}),
            "reasoning" => json!({"summary": []}),
            _ => json!({"arguments": "", "status": "in_progress"}),
        };
        let start = with(item, start);
        self.push("response.output_item.added", json!({"output_index": index, "item": start}));
        let place = json!({"item_id": item["id"], "output_index": index});
        match kind {
            "message" => {
                let place = with(&place, json!({"content_index": 0}));
                self.part(&place, ["response.content_part", "response.output_text"], at(item, "/content/0"));
            }
            "reasoning" => {
                let place = with(&place, json!({"summary_index": 0}));
                let kinds = ["response.reasoning_summary_part", "response.reasoning_summary_text"];
                self.part(&place, kinds, at(item, "/summary/0"));
            }
            _ => {
                let arguments = &item["arguments"];
                for piece in pieces(arguments.as_str().unwrap_or_default()) {
                    self.push(
                        "response.function_call_arguments.delta",
                        with(&place, json!({"delta": piece})),
                    );
                }
                let done = with(&place, json!({"arguments": arguments, "name": item["name"]}));
                self.push("response.function_call_arguments.done", done);
            }
        }
        self.push("response.output_item.done", json!({"output_index": index, "item": item}));
    }

    /// A part with one text, which comes in pieces.
    fn part(&mut self, place: &Value, [part, text]: [&str; 2], whole: &Value) {
        let start = with(whole, json!({"text": ""}));
        self.push(&format!("{part}.added"), with(place, json!({"part": start})));
        let logprobs = if text.ends_with("output_text") { json!({"logprobs": []}) } else { json!({}) };
        for piece in pieces(whole["text"].as_str().unwrap_or_default()) {
            self.push(&format!("{text}.delta"), with(place, with(&logprobs, json!({"delta": piece}))));
        }
        self.push(&format!("{text}.done"), with(place, with(&logprobs, json!({"text": whole["text"]}))));
        self.push(&format!("{part}.done"), with(place, json!({"part": whole})));
    }
}

fn with(base: &Value, members: Value) -> Value {
    let mut all = base.as_object().cloned().unwrap_or_default();
    if let Value::Object(members) = members {
        all.extend(members);
    }
    Value::Object(all)
}
