//! Rules of a chat completion stream.

use std::collections::BTreeMap;

use serde_json::Value;

use super::frames::Frame;
use super::{Call, Summary, rule, str_at};

#[derive(Default)]
struct Choice {
    begun: bool,
    text: String,
    thinking: String,
    calls: Vec<Call>,
    finish: Option<String>,
}

pub(super) fn lint(frames: &[Frame]) -> Result<Summary, String> {
    let mut summary = Summary::default();
    let mut choices: BTreeMap<u64, Choice> = BTreeMap::new();
    let mut head: Option<(Value, Value, Value)> = None;
    let mut done = false;
    for (i, frame) in frames.iter().enumerate() {
        rule(!done, i, "comes after [DONE]")?;
        rule(summary.error.is_none(), i, "comes after the error")?;
        if frame.data == "[DONE]" {
            done = true;
            continue;
        }
        let chunk: Value =
            serde_json::from_str(&frame.data).map_err(|error| format!("event {i}: {error}"))?;
        if let Some(error) = chunk.get("error").filter(|error| !error.is_null()) {
            rule(!str_at(error, "/message").is_empty(), i, "an error without a message")?;
            summary.error = Some(error.clone());
            continue;
        }
        rule(
            str_at(&chunk, "/object") == "chat.completion.chunk",
            i,
            "`object` is not chat.completion.chunk",
        )?;
        let list = chunk.get("choices").and_then(Value::as_array);
        let list = list.ok_or_else(|| format!("event {i}: `choices` is missing"))?;
        let usage = chunk.get("usage").filter(|usage| !usage.is_null());
        if list.is_empty() && usage.is_some() {
            rule(choices.values().all(|choice| choice.finish.is_some()), i, "usage before the finish")?;
            rule(!choices.is_empty(), i, "usage before any choice")?;
        }
        summary.usage = usage.cloned().or(summary.usage);
        if !list.is_empty() || usage.is_some() {
            let member = |name: &str| chunk.get(name).cloned().unwrap_or_default();
            let this = (member("id"), member("created"), member("model"));
            let first = head.get_or_insert_with(|| this.clone());
            rule(*first == this, i, "id, created or model differ from the first chunk's")?;
            rule(!str_at(&chunk, "/id").is_empty(), i, "no id")?;
        }
        for choice in list {
            let number = choice.get("index").and_then(Value::as_u64);
            let number = number.ok_or_else(|| format!("event {i}: a choice without an index"))?;
            take(choices.entry(number).or_default(), choice, i)?;
        }
        summary.omni = chunk.get("omni").cloned().or(summary.omni);
    }
    if summary.error.is_none() {
        rule(done, frames.len(), "[DONE] is missing")?;
        rule(!choices.is_empty(), frames.len(), "no choice at all")?;
        for choice in choices.values() {
            rule(choice.finish.is_some(), frames.len(), "a choice without a finish reason")?;
        }
    }
    summary.id = head.and_then(|(id, ..)| id.as_str().map(str::to_owned)).unwrap_or_default();
    if let Some(choice) = choices.remove(&0) {
        summary.texts = vec![choice.text];
        (summary.thinking, summary.calls, summary.finish) = (choice.thinking, choice.calls, choice.finish);
    }
    Ok(summary)
}

fn take(choice: &mut Choice, chunk: &Value, i: usize) -> Result<(), String> {
    let delta = chunk.get("delta").and_then(Value::as_object);
    let delta = delta.ok_or_else(|| format!("event {i}: a choice without a delta"))?;
    if choice.finish.is_some() {
        let empty = |value: &Value| value.is_null() || value == "";
        rule(delta.values().all(empty), i, "a delta after the finish reason")?;
        rule(chunk.get("finish_reason").is_none_or(Value::is_null), i, "a second finish reason")?;
        return Ok(());
    }
    if let Some(role) = delta.get("role").filter(|role| !role.is_null()) {
        rule(!choice.begun, i, "a role in a later delta")?;
        rule(role == "assistant", i, "the role is not assistant")?;
    }
    choice.begun = true;
    let text = |name: &str| delta.get(name).and_then(Value::as_str).unwrap_or_default();
    choice.text.push_str(text("content"));
    choice.thinking.push_str(text("reasoning_content"));
    for call in delta.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        take_call(&mut choice.calls, call, i)?;
    }
    if let Some(finish) = chunk.get("finish_reason").and_then(Value::as_str) {
        rule(
            finish != "tool_calls" || !choice.calls.is_empty(),
            i,
            "finished by tool calls that are not there",
        )?;
        choice.finish = Some(finish.to_owned());
    }
    Ok(())
}

fn take_call(calls: &mut Vec<Call>, delta: &Value, i: usize) -> Result<(), String> {
    let index = delta.get("index").and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
    let index = index.ok_or_else(|| format!("event {i}: a tool call without an index"))?;
    rule(index <= calls.len(), i, "tool call indexes have a gap")?;
    let id = str_at(delta, "/id");
    let inner = delta.get("function").or_else(|| delta.get("custom")).unwrap_or(&Value::Null);
    let name = str_at(inner, "/name");
    if index == calls.len() {
        rule(!id.is_empty() && !name.is_empty(), i, "a tool call begins without id and name")?;
        calls.push(Call { id: id.to_owned(), name: name.to_owned(), arguments: String::new() });
    }
    let Some(call) = calls.get_mut(index) else { return Ok(()) };
    rule(id.is_empty() || id == call.id, i, "a tool call changes its id")?;
    rule(name.is_empty() || name == call.name, i, "a tool call changes its name")?;
    call.arguments.push_str(str_at(inner, "/arguments"));
    call.arguments.push_str(str_at(inner, "/input"));
    Ok(())
}
