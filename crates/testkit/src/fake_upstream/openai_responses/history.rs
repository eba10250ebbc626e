//! Where `OpenAI` responses answers 400 about the items of a conversation, stored ones included.

use std::collections::HashSet;

use serde_json::Value;

use super::{conversation, history_of, id_of, is_output, items, kind, strict};
use crate::fake_upstream::provider::{Incoming, Refusal};
use crate::fake_upstream::rules;

/// Every item of the input, and how the whole fits together.
pub(super) fn check(ask: &Incoming<'_>) -> Result<(), Refusal> {
    let input = &ask.body["input"];
    let goes_on = conversation(ask.body).is_some() || ask.body["previous_response_id"].is_string();
    match input {
        Value::Null if goes_on || ask.body.get("prompt").is_some() => {}
        Value::Null => return Err(Refusal::bad("input", "Missing required parameter: 'input'.")),
        Value::String(_) | Value::Array(_) => {}
        _ => return Err(Refusal::bad("input", "Invalid type for 'input': expected a string or an array.")),
    }
    for (index, item) in items(ask.body).iter().enumerate() {
        one_item(ask, item, &format!("input[{index}]"))?;
    }
    let all = history_of(ask.body, ask.memory);
    unique_ids(&all)?;
    pairs(&all)?;
    reasoning(ask, &all)
}

fn one_item(ask: &Incoming<'_>, item: &Value, param: &str) -> Result<(), Refusal> {
    let text = |name: &str| {
        item[name].as_str().filter(|text| !text.is_empty()).ok_or_else(|| {
            let member = format!("{param}.{name}");
            Refusal::bad(&member, format!("Missing required parameter: '{member}'."))
        })
    };
    if let Some(key) = item.as_object().and_then(|item| item.keys().find(|key| key.starts_with("omni"))) {
        return Err(Refusal::bad(param, format!("Unknown parameter: '{param}.{key}'.")));
    }
    match kind(item) {
        "message" => strict::content(item, param),
        "function_call" => {
            text("call_id")?;
            rules::tool_name(&item["name"], 128, &format!("{param}.name"))?;
            if item["arguments"].is_string() {
                Ok(())
            } else {
                Err(Refusal::bad(format!("{param}.arguments"), "expected a string"))
            }
        }
        "function_call_output" | "custom_tool_call_output" => {
            text("call_id")?;
            match &item["output"] {
                Value::String(_) => Ok(()),
                Value::Array(parts) => parts
                    .iter()
                    .enumerate()
                    .try_for_each(|(index, part)| output_part(part, &format!("{param}.output[{index}]"))),
                _ => Err(Refusal::bad(format!("{param}.output"), "expected a string or an array")),
            }
        }
        "custom_tool_call" => text("call_id").and_then(|_| text("name")).map(drop),
        "reasoning" => reasoning_item(ask, item, param),
        "item_reference" => {
            let id = text("id")?;
            let is_known = ask.memory.stored.values().flatten().any(|item| id_of(item) == id);
            let unknown = || Refusal::status(404, format!("Item with id '{id}' not found."));
            if is_known { Ok(()) } else { Err(unknown()) }
        }
        kind if kind.ends_with("_call") || kind.ends_with("_output") || kind == "compaction" => Ok(()),
        kind => Err(Refusal::bad(format!("{param}.type"), format!("Invalid value: '{kind}'."))),
    }
}

/// What the result of a call may consist of.
fn output_part(part: &Value, param: &str) -> Result<(), Refusal> {
    let only = |known: &[&str]| match part
        .as_object()
        .and_then(|part| part.keys().find(|key| !known.contains(&key.as_str())))
    {
        Some(key) => Err(Refusal::bad(param, format!("Unknown parameter: '{param}.{key}'."))),
        None => Ok(()),
    };
    match part["type"].as_str() {
        Some("input_text") if part["text"].is_string() => only(&["type", "text"]),
        Some("input_image") => {
            only(&["type", "image_url", "file_id", "detail"])?;
            if !["auto", "low", "high"].iter().any(|detail| part["detail"] == *detail) {
                return Err(Refusal::bad(format!("{param}.detail"), "Invalid value"));
            }
            let types = ["image/png", "image/jpeg", "image/webp", "image/gif"];
            let is_data = part["image_url"].as_str().is_some_and(|url| !url.starts_with("https://"));
            if is_data {
                rules::data_url(&part["image_url"], &types, &format!("{param}.image_url"))
            } else {
                Ok(())
            }
        }
        Some("input_file") => {
            only(&["type", "file_data", "file_id", "file_url", "filename"])?;
            if part.get("file_data").is_none() {
                return Ok(());
            }
            if part["filename"].as_str().is_none_or(str::is_empty) {
                return Err(Refusal::bad(
                    format!("{param}.filename"),
                    format!("Missing required parameter: '{param}.filename'."),
                ));
            }
            let types = ["application/pdf", "text/plain", "text/csv", "application/json", "text/markdown"];
            rules::data_url(&part["file_data"], &types, &format!("{param}.file_data"))
        }
        _ => Err(Refusal::bad(format!("{param}.type"), format!("Invalid value: {}", part["type"]))),
    }
}

/// Without stored answers reasoning must bring its content along.
fn reasoning_item(ask: &Incoming<'_>, item: &Value, param: &str) -> Result<(), Refusal> {
    if !item["summary"].is_array() {
        return Err(Refusal::bad(
            format!("{param}.summary"),
            format!("Missing required parameter: '{param}.summary'."),
        ));
    }
    let id = id_of(item);
    let sealed = &item["encrypted_content"];
    match ask.memory.led_to.get(id) {
        Some((sent, _)) if !sealed.is_null() && sent["encrypted_content"] != *sealed => {
            Err(Refusal::bad(param, "The encrypted content could not be verified."))
        }
        Some(_) if !sealed.is_null() => Ok(()),
        _ if sealed.is_null() && ask.memory.stored.values().flatten().any(|item| id_of(item) == id) => Ok(()),
        _ => Err(Refusal::bad(
            "input",
            format!(
                "Item with id '{id}' not found. Items are not persisted when `store` is set to false. Try again with \
                 `store` set to true, or remove this item from your input."
            ),
        )),
    }
}

fn unique_ids(all: &[Value]) -> Result<(), Refusal> {
    let mut seen = HashSet::new();
    let mut ids = all.iter().map(id_of).filter(|id| !id.is_empty());
    match ids.find(|id| !seen.insert(*id)) {
        Some(id) => Err(Refusal::bad("input", format!("Duplicate item found with id {id}."))),
        None => Ok(()),
    }
}

/// Every call has one result behind it, every result its call before it.
fn pairs(all: &[Value]) -> Result<(), Refusal> {
    let mut called = HashSet::new();
    let mut open: Vec<&str> = Vec::new();
    for item in all {
        let id = item["call_id"].as_str().unwrap_or_default();
        if matches!(kind(item), "function_call" | "custom_tool_call") {
            if !called.insert(id) {
                return Err(Refusal::bad("input", format!("Duplicate function call with call_id {id}.")));
            }
            open.push(id);
        } else if is_output(item) {
            let Some(at) = open.iter().position(|call| *call == id) else {
                return Err(Refusal::bad(
                    "input",
                    format!("No tool call found for function call output with call_id {id}."),
                ));
            };
            open.remove(at);
        } else if kind(item) == "message" && item["role"] == "user" {
            answered(&open)?;
        }
    }
    answered(&open)
}

fn answered(open: &[&str]) -> Result<(), Refusal> {
    match open.first() {
        Some(id) => Err(Refusal::bad("input", format!("No tool output found for function call {id}."))),
        None => Ok(()),
    }
}

/// Reasoning stands right before what it led to; a call that came with reasoning does not go without.
fn reasoning(ask: &Incoming<'_>, all: &[Value]) -> Result<(), Refusal> {
    for (index, item) in all.iter().enumerate() {
        if kind(item) == "reasoning" {
            let (_, next) = ask.memory.led_to.get(id_of(item)).cloned().unwrap_or_default();
            let follows = all.get(index + 1).is_some_and(|item| is_same(item, &next));
            if !follows {
                return Err(Refusal::bad(
                    "input",
                    format!(
                        "Item '{}' of type 'reasoning' was provided without its required following item.",
                        id_of(item)
                    ),
                ));
            }
        } else if kind(item) == "function_call" && !id_of(item).is_empty() {
            let led = ask.memory.led_to.values().find(|(_, next)| is_same(item, next));
            let before = index.checked_sub(1).and_then(|at| all.get(at));
            if led.is_some_and(|(reasoning, _)| before.map(id_of) != Some(id_of(reasoning))) {
                return Err(Refusal::bad(
                    "input",
                    format!(
                        "Item '{}' of type 'function_call' was provided without its required 'reasoning' item.",
                        id_of(item)
                    ),
                ));
            }
        }
    }
    Ok(())
}

/// Clients may leave ids out of messages, never out of calls.
fn is_same(a: &Value, b: &Value) -> bool {
    kind(a) == kind(b) && (a["call_id"] == b["call_id"]) && (id_of(a).is_empty() || id_of(a) == id_of(b))
}
